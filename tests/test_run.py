"""A run is one folder: it is written whole, it can be moved, and reading it executes nothing found in it."""

from __future__ import annotations

import pickle
import resource
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from rnnsearch.config import load_config
from rnnsearch.errors import InputError, RenamedWarning
from rnnsearch.run import Run
from rnnsearch.system.machine import usable_device
from rnnsearch.system.tensors import load_tensors, save_tensors


def test_a_run_is_what_it_was_made_of(tiny_run: Path, tmp_path: Path) -> None:
    known = Run.open(tiny_run)
    made = Run.create(tmp_path / "deep" / "run", known.settings, known.source, known.target)
    again = Run.open(made.path)
    assert again.settings == known.settings
    assert again.source.vocabulary == known.source.vocabulary
    assert again.target.vocabulary == known.target.vocabulary
    assert again.source.encode("The man sees.").ids == known.source.encode("The man sees.").ids
    assert sorted(path.name for path in made.path.iterdir()) == [
        "checkpoints",
        "config.toml",
        "log",
        "vocabulary.source.txt",
        "vocabulary.target.txt",
    ]
    with pytest.raises(InputError, match="holds a run already"):
        Run.create(made.path, known.settings, known.source, known.target)


def test_its_settings_are_resolved_and_name_the_version(tiny_run: Path) -> None:
    table = tomllib.loads((tiny_run / "config.toml").read_text(encoding="utf-8"))
    assert table["run"]["format"] == 1
    assert table["run"]["rnnsearch"]
    assert table["model"]["hidden_size"] == 16
    assert table["model"]["cell"] == "gated"  # a default, which may be another one some day
    assert "encoder_size" not in table["model"]  # not set


def test_settings_under_their_old_names_are_read(tiny_run: Path, tmp_path: Path) -> None:
    old = Path(shutil.copytree(tiny_run, tmp_path / "old"))
    text = (old / "config.toml").read_text(encoding="utf-8")
    for before, today in (("shortlist", "vocabulary_size"), ("frequent_candidates", "lexical_shortlist_frequent")):
        assert f"{today} = " in text
        text = text.replace(f"{today} = ", f"{before} = ")
    (old / "config.toml").write_text(text, encoding="utf-8")
    with pytest.warns(RenamedWarning, match=r"config\.toml: (data\.shortlist|search\.frequent_candidates) is now called") as warned:
        assert Run.open(old).settings == Run.open(tiny_run).settings
    assert len(warned) == 2


def test_subwords_travel_with_the_run(tiny_subword_run: Path, tmp_path: Path) -> None:
    known = Run.open(tiny_subword_run)
    moved = Run.open(Path(shutil.copytree(tiny_subword_run, tmp_path / "moved")))
    line = "The European woman sees nothing."
    assert moved.source.encode(line) == known.source.encode(line)
    assert len(known.source.encode(line).ids) > len(known.source.encode(line).words) + 1


@pytest.mark.parametrize("part", ["cell=lstm", "alignment=window", "tie_output=true", "initialisation=paper"])
def test_weights_that_are_read_are_not_initialised(part: str, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random numbers would be thrown away: at the paper's size that takes longer than reading the weights."""
    known = Run.open(tiny_run)
    sizes = [f"model.{name}_size=8" for name in ("embedding", "hidden", "alignment", "maxout")]
    run = Run.create(tmp_path / "run", load_config("", [*sizes, f"model.{part}"]), known.source, known.target)
    made = run.make_network()
    save_tensors(run.model_path, made.state_dict(), {})

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("drawn")

    with monkeypatch.context() as patch:
        for name in ("normal_", "zeros_", "orthogonal_", "xavier_uniform_"):
            patch.setattr(f"torch.nn.init.{name}", refused)
        loaded = run.load_network()
    assert all(torch.equal(one, other) for one, other in zip(made.parameters(), loaded.parameters(), strict=True))
    assert len(run.make_network().output.weight.unique()) > 100  # and afterwards they are drawn again


def test_the_best_weights_are_ready_for_search(tiny_run: Path) -> None:
    run = Run.open(tiny_run)
    network = run.load_network()
    assert not network.training
    stored, notes = load_tensors(run.model_path, "")
    assert notes["update"] == 20
    assert notes["dev_nll"] > 0
    assert stored.keys() == network.state_dict().keys()
    assert all(torch.equal(tensor, stored[name]) for name, tensor in network.state_dict().items())


def test_weights_of_other_parts_are_refused_in_one_line(tiny_run: Path, tmp_path: Path) -> None:
    run = Run.open(Path(shutil.copytree(tiny_run, tmp_path / "run")))
    tensors, notes = load_tensors(run.model_path, "")
    tensors["another"] = tensors.pop(min(tensors))
    save_tensors(run.model_path, tensors, notes)
    with pytest.raises(InputError, match=r"model\.safetensors: does not fit config\.toml: there is no tensor"):
        run.load_network()


def test_weights_that_are_not_numbers_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    run = Run.open(Path(shutil.copytree(tiny_run, tmp_path / "run")))
    tensors, notes = load_tensors(run.model_path, "")
    tensors["output.bias"][3] = float("nan")
    save_tensors(run.model_path, tensors, notes)
    with pytest.raises(InputError, match=r"model\.safetensors: is damaged: output\.bias holds values that are not numbers"):
        run.load_network()


class Bomb:
    """Whoever unpickles it makes the file `exploded`."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[object, tuple[Path, str]]:
        return Path.write_text, (self.place, "boom")


def test_nothing_in_a_run_is_executed(tiny_run: Path, tmp_path: Path) -> None:
    run = Run.open(Path(shutil.copytree(tiny_run, tmp_path / "run")))
    exploded = tmp_path / "exploded"
    for content in (pickle.dumps(Bomb(exploded)), b""):
        run.model_path.write_bytes(content)
        with pytest.raises(InputError, match="is damaged"):
            run.load_network()
    torch.save({"a": Bomb(exploded)}, run.model_path)
    with pytest.raises(InputError, match="is damaged"):
        run.load_network()
    assert not exploded.exists()


@pytest.mark.parametrize("part", ["cell", "encoder", "alignment", "readout"])
def test_foreign_code_is_not_even_imported_without_consent(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    (tmp_path / f"foreign_{part}.py").write_text(f"from pathlib import Path\nPath({str(tmp_path / 'ran')!r}).touch()\n")
    monkeypatch.syspath_prepend(tmp_path)
    known = Run.open(tiny_run)
    settings = load_config("demo", [f"model.{part}=foreign_{part}:Part"])
    run = Run(known.path, settings, known.source, known.target)
    with pytest.raises(InputError, match=f"model.{part} = 'foreign_{part}:Part' names code outside rnnsearch"):
        run.make_network()
    assert not (tmp_path / "ran").exists()
    with pytest.raises(InputError, match="cannot be imported"):  # with consent it is, and has no class of that name
        run.make_network(trust_code=True)
    assert (tmp_path / "ran").exists()


@pytest.fixture
def small_files() -> Iterator[None]:
    """The system itself refuses to write beyond 16 KiB, as a full disk would."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16384, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("small_files")
def test_tensors_that_cannot_be_written_leave_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "tensors"
    save_tensors(path, {"a": torch.ones(3)}, {"note": 1})
    with pytest.raises(OSError, match="File too large"):
        save_tensors(path, {"a": torch.zeros(10_000)}, {"note": 2})
    tensors, notes = load_tensors(path, "")
    assert (tensors["a"].tolist(), notes) == ([1, 1, 1], {"note": 1})
    assert [entry.name for entry in tmp_path.iterdir()] == ["tensors"]


def test_tensors_that_share_memory_are_written_each(tmp_path: Path) -> None:
    base = torch.arange(6.0).view(2, 3)
    save_tensors(tmp_path / "tensors", {"base": base, "turned": base.T, "same": base}, {})
    tensors, _ = load_tensors(tmp_path / "tensors", "")
    assert torch.equal(tensors["turned"], base.T)
    assert torch.equal(tensors["same"], base)


def test_missing_tensors_have_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nosuch: is missing \(look elsewhere\)"):
        load_tensors(tmp_path / "nosuch", "look elsewhere")


def test_devices() -> None:
    assert usable_device("cpu") == torch.device("cpu")
    for name in ("abacus", "cpu:x", "", "cuda:99"):
        with pytest.raises(InputError, match="cannot be used"):
            usable_device(name)
