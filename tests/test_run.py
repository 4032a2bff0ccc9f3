"""A run is one folder: it is written whole, it can be moved, and reading it executes nothing found in it."""

from __future__ import annotations

import pickle
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w
import torch
from folders import names
from refusals import refusal

from rnnsearch import Translator
from rnnsearch.run import Run, check_new
from rnnsearch.system.tensors import load_tensors, save_tensors


def test_a_run_is_what_it_was_made_of(tiny_run: Path, tmp_path: Path) -> None:
    known = Run.open(tiny_run)
    made = Run(tmp_path / "deep" / "run", known.settings, known.source, known.target).create()
    again = Run.open(made.path)
    assert again.settings == known.settings
    assert again.source.vocabulary == known.source.vocabulary
    assert again.target.vocabulary == known.target.vocabulary
    assert again.source.encode("The man sees.").ids == known.source.encode("The man sees.").ids
    assert names(made.path) == [
        "checkpoints",
        "config.toml",
        "log",
        "vocabulary.source.txt",
        "vocabulary.target.txt",
        "words.source.bloom",
        "words.target.bloom",
    ]
    with refusal("holds a run already"):
        Run(made.path, known.settings, known.source, known.target).create()


def test_a_part_of_ones_own_begins_with_the_weights_of_a_built_in_one(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copied.py").write_text(
        "from rnnsearch.model.alignment.additive import AdditiveAlignment as B\nclass A(B): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    run, made = Run.open(tiny_run), []
    for alignment in ("additive", "copied:A"):
        model = run.settings.model.model_copy(update={"alignment": alignment})
        settings = run.settings.model_copy(update={"model": model})
        torch.manual_seed(1)
        made.append(
            Run(run.path, settings, run.source, run.target)
            .make_network(trust_code=True)
            .state_dict()
        )
    torch.testing.assert_close(*made, rtol=0, atol=0)


FAULTY = """
from rnnsearch.model.cells import GatedCell
from rnnsearch.model.encoder import BidirectionalEncoder

class Short(GatedCell):
    def forward(self, *given):
        return super().forward(*given)[..., 1:]

class Tuple(BidirectionalEncoder):
    def forward(self, *given):
        return (super().forward(*given),)
"""


COUNTING = """
import torch
from rnnsearch.model.encoder import BidirectionalEncoder

class Counting(BidirectionalEncoder):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, *given):
        self.calls += 1
        return super().forward(*given)
"""


def test_trying_it_out_leaves_no_trace(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "counting.py").write_text(COUNTING)
    monkeypatch.syspath_prepend(tmp_path)
    run = Run.open(tiny_run)
    model = run.settings.model.model_copy(update={"encoder": "counting:Counting"})
    settings = run.settings.model_copy(update={"model": model})
    made = Run(tmp_path / "run", settings, run.source, run.target).make_network(trust_code=True)
    assert made.state_dict()["encoder.calls"] == 0


@pytest.mark.parametrize("setting", ["cell:Short", "encoder:Tuple"])
def test_a_part_of_ones_own_is_tried_out_first(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "faulty", raising=False)
    run, (part, name) = Run.open(tiny_run), setting.split(":")
    model = run.settings.model.model_copy(update={part: f"faulty:{name}"})
    settings = run.settings.model_copy(update={"model": model})
    made = Run(tmp_path / "run", settings, run.source, run.target)
    with refusal("code outside rnnsearch that its settings name raised "):
        made.make_network(trust_code=True)


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_with_other_files_is_no_place_for_a_run(tmp_path: Path, resume: bool) -> None:
    check_new(tmp_path / "new", resume)
    check_new(tmp_path, resume)
    (tmp_path / "thesis").touch()
    with refusal("exists and is not empty"):
        check_new(tmp_path, resume)
    (tmp_path / "checkpoints").mkdir()  # of a training that was killed before it had its settings
    check_new(tmp_path, resume)


CODEC_FILES = [
    *(
        "vocabulary.source.txt",
        "vocabulary.target.txt",
        "subwords.source.model",
        "subwords.target.model",
    ),
    *("words.source.bloom", "words.target.bloom"),
]


def exchanged(path: Path) -> None:
    """One letter of the file becomes another; a vocabulary stays one."""
    content = path.read_bytes()
    place = next(
        place for place in range(len(content) // 2, len(content)) if content[place] in b"ae"
    )
    path.write_bytes(content[:place] + b"\xc3\xb8" + content[place + 1 :])


@pytest.mark.parametrize("kind", ["run", "model"])
@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (exchanged, "is not what was written: its checksum differs"),
        (Path.unlink, "is missing"),
        (lambda path: path.write_bytes(b""), "is not what was written: its checksum differs"),
    ],
)
def test_every_file_is_held_to_its_checksum(
    tiny_subword_run: Path, tmp_path: Path, kind: str, damage: Callable[[Path], None], what: str
) -> None:
    folder = tmp_path / "folder"
    if kind == "run":
        shutil.copytree(tiny_subword_run, folder)
    else:
        Translator.load(tiny_subword_run).save_pretrained(folder)
    files = {path.name for path in folder.iterdir() if path.is_file()}
    assert files - {"config.toml", "model.safetensors", "README.md"} == set(CODEC_FILES)
    for name in CODEC_FILES:
        whole = (folder / name).read_bytes()
        damage(folder / name)
        with refusal(rf"folder/{re.escape(name)}: {what} \(copy it again"):
            Run.open(folder)
        (folder / name).write_bytes(whole)
    Run.open(folder)


def test_a_run_of_before_the_checksums_is_read(tiny_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    table = tomllib.loads((run / "config.toml").read_text("utf-8"))
    assert list(table["run"].pop("checksums")) == [
        *("vocabulary.source.txt", "vocabulary.target.txt"),
        *("words.source.bloom", "words.target.bloom"),
    ]
    for header in (table["run"], table["run"] | {"checksums": 3}):
        (run / "config.toml").write_text(tomli_w.dumps(table | {"run": header}), "utf-8")
        if "checksums" not in header:
            assert Run.open(run).settings == Run.open(tiny_run).settings
        else:
            with refusal(r"config\.toml: is damaged: run\.checksums is not a table"):
                Run.open(run)


def test_weights_that_are_not_numbers_are_refused(tiny_run: Path, tmp_path: Path) -> None:
    run = Run.open(Path(shutil.copytree(tiny_run, tmp_path / "run")))
    tensors, notes = load_tensors(run.model_path, "")
    tensors["output.bias"][3] = float("nan")
    save_tensors(run.model_path, tensors, notes)
    with refusal(r"model\.safetensors: is damaged: output\.bias holds values that are not numbers"):
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
        with refusal("is damaged"):
            run.load_network()
    torch.save({"a": Bomb(exploded)}, run.model_path)
    with refusal("is damaged"):
        run.load_network()
    assert not exploded.exists()
