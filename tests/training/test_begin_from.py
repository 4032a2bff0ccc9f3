"""`train --from`: the weights of another run or model, a new optimiser, and no other network or
vocabulary."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import started_commands
import torch
from command_line import Command, sizes
from refusals import refusal
from started_commands import settings
from torch import Tensor

from rnnsearch.pretrained.folder import save_model
from rnnsearch.run import Run, read_statistics
from rnnsearch.system.tensors import load_tensors
from rnnsearch.text.dataset import Corpus
from rnnsearch.training import loop
from rnnsearch.training.display import Display

SHORT = [
    *(*sizes(16), "training.max_length=70", "stopping.max_updates=4", "stopping.validate_every=4"),
    *("training.batch_size=20", "optimiser.average_decay=0.9"),
]


def train(store: Path, out: Path, *changes: str, **how: Any) -> Run:
    return started_commands.train(settings(*SHORT, *changes), Corpus.open(store), out, **how)


def saved(run: Path) -> dict[str, Tensor]:
    return load_tensors(run / "checkpoints" / "last.safetensors", "")[0]


class StoppedError(Exception):
    pass


@pytest.fixture
def stopping(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Lets trainings end before their first update, as if they were killed."""

    def stop(*_: Any) -> None:
        raise StoppedError

    monkeypatch.setattr(loop.Session, "update", stop)
    return monkeypatch


@pytest.mark.parametrize("kind", ["run", "int8 model"])
def test_the_first_weights_are_those_of_the_other(
    kind: str, tiny_store: Path, tiny_run: Path, tmp_path: Path, stopping: pytest.MonkeyPatch
) -> None:
    """And the first average; the optimiser remembers nothing. A kill before the first checkpoint of a session
    loses them not."""
    base = Run.open(tiny_run)
    if kind == "int8 model":
        network = base.load_network()
        codecs = base.source, base.target
        save_model(tmp_path / "model", base.settings, codecs, network, int8=True, card=None)
        base = Run.open(tmp_path / "model")
    with pytest.raises(StoppedError):
        train(tiny_store, tmp_path / "run", begin_from=base.path)
    found = saved(tmp_path / "run")
    for name, tensor in base.load_network().state_dict().items():
        assert torch.equal(found[f"network.{name}"], tensor), name
        assert torch.equal(found[f"average.{name}"], tensor), name
    assert not [name for name in found if name.startswith("optimiser.")]
    stopping.undo()
    train(tiny_store, tmp_path / "run", resume=True)
    train(tiny_store, tmp_path / "whole", begin_from=base.path)
    assert read_statistics(tmp_path / "run")["begun_from"] == str(base.path)
    torch.testing.assert_close(saved(tmp_path / "run"), saved(tmp_path / "whole"), rtol=0, atol=0)


@pytest.mark.parametrize(
    ("base", "changes", "said"),
    [
        ("tiny_run", ("model.hidden_size=8", "model.cell=lstm"), r"its network differs .*add "
         r'--set model\.cell="gated" --set model\.hidden_size=16 --set model\.encoder_size=16\)'),
        ("tiny_backward_run", (), r'its network differs .*add --set model\.decoder="backward"\)'),
        ("tiny_subword_run", (), r"data\.subwords = 'bpe', and this dataset has 'none' .*prepare "
        r"--vocabulary "),
        ("tiny_reverse_run", (), r"data\.source_language = 'fr', and this dataset has 'en'"),
        ("tiny_store", (), "is a dataset .name the run"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(
    base: str,
    changes: tuple[str, ...],
    said: str,
    tiny_store: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    with refusal(said):
        train(tiny_store, tmp_path / "run", *changes, begin_from=request.getfixturevalue(base))
    assert not (tmp_path / "run").exists()


def test_words_of_both_vocabularies_keep_their_weights(
    tiny_store: Path, tiny_unknown_run: Path, tmp_path: Path, stopping: pytest.MonkeyPatch
) -> None:
    base, corpus = Run.open(tiny_unknown_run), Corpus.open(tiny_store)
    with (tmp_path / "said").open("w") as stream, pytest.raises(StoppedError):
        train(tiny_store, tmp_path / "run", begin_from=base.path, display=Display(stream=stream))
    found, old = saved(tmp_path / "run"), base.load_network().state_dict()
    for side, names in {
        "source": ["source_embedding.weight"],
        "target": ["target_embedding.weight", "output.weight"],
    }.items():
        here, there = (getattr(codecs, side).vocabulary for codecs in (corpus, base))
        for name in names:
            kept = 0
            for number in range(len(here)):
                known = number if number < 2 else there.ids([here.word(number)])[0]
                same = torch.equal(found[f"network.{name}"][number], old[name][known])
                assert same == (number < 2 or here.word(number) in there), name
                kept += same
            said = f"other {side} vocabulary: {kept} of {len(here)} entries keep"
            assert 2 < kept < len(here)
            assert said in (tmp_path / "said").read_text()
    assert torch.equal(found["network.decoder.W_s.weight"], old["decoder.W_s.weight"])


def test_resuming_goes_on_and_refuses_another_beginning(
    tiny_store: Path, tiny_run: Path, other_tiny_run: Path, tmp_path: Path
) -> None:
    train(tiny_store, tmp_path / "run", "stopping.max_updates=2", begin_from=tiny_run)
    for base in ("", tiny_run):  # the same command, or one without --from
        train(tiny_store, tmp_path / "run", resume=True, begin_from=base)
    with refusal(r"began with .*, not with .* \(leave out --from: "):
        train(tiny_store, tmp_path / "run", resume=True, begin_from=other_tiny_run)
    train(tiny_store, tmp_path / "whole", begin_from=tiny_run)
    torch.testing.assert_close(saved(tmp_path / "run"), saved(tmp_path / "whole"), rtol=0, atol=0)


def test_without_word_links_what_learns_from_them_is_off(
    tiny_store: Path, tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the recipe of a model asks for them; also if the run is resumed by the same command."""
    links = "known_alignments.loss=product", "known_alignments.forcing=mixed"
    for resume in (False, True):
        run = train(
            tiny_store,
            tmp_path / "run",
            *links,
            begin_from=tiny_run,
            resume=resume,
            display=Display(),
        )
        known = run.settings.known_alignments
        assert (known.loss, known.forcing) == ("none", "none")
        said = "has no word links, which turns off known_alignments.loss and known_alignments.forcing\n"
        assert capsys.readouterr().err.count(said) == 1
    assert Run.open(tmp_path / "run").settings == run.settings
    with refusal(r"has no word links, which known_alignments\.loss"):
        train(tiny_store, tmp_path / "other", *links, resume=True)


def test_the_commands_of_the_page(command: Command, here: Path) -> None:
    """As they stand there, but for one update of three pairs."""
    pytest.importorskip("rnnsearch_models")
    page = Path(__file__).parents[2] / "docs" / "how-to" / "models-and-pages.md"
    text = page.read_text(encoding="utf-8").partition("## Fine-tune")[2]
    blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    pairs = {
        "en": "Good morning.\nWhere is the station?\nThank you.\n",
        "fr": "Bonjour.\nOù est la gare ?\nMerci.\n",
    }
    for (language, text), name in itertools.product(
        pairs.items(), ("ours", "ours-dev", "ours-test")
    ):
        Path(f"{name}.{language}").write_text(text, encoding="utf-8")
    for line in lines:
        program, *words = shlex.split(line)
        assert program == "rnnsearch"
        small = ["--set", "stopping.max_updates=1", "--set", "stopping.validate_every=1"]
        done = command(*words, *(small if words[0] == "train" else []))
        assert done.code == 0, done.err
    assert read_statistics("tuned")["begun_from"] == "en-fr"


FROZEN = "source_embedding", "decoder.alignment", "output"


@pytest.mark.parametrize("method", ["adadelta", "adam"])
def test_frozen_parameters_keep_their_weights(
    method: str, tiny_store: Path, tiny_run: Path, tmp_path: Path
) -> None:
    """With and without kernels, the others learn the same; also after the run is resumed."""
    changes = [f"training.frozen={json.dumps(FROZEN)}", f'optimiser.method="{method}"']
    changes += ["optimiser.learning_rate=0.01"] * (method == "adam")
    before = Run.open(tiny_run).load_network().state_dict()
    made = list[dict[str, Tensor]]()
    for kernels in ("true", "false"):
        out, own = tmp_path / kernels, [*changes, f"training.kernels={kernels}"]
        train(tiny_store, out, *own, "stopping.max_updates=2", begin_from=tiny_run)
        train(tiny_store, out, *own, resume=True)
        made.append(saved(out))
    for name, weights in before.items():
        one, other = (tensors[f"network.{name}"] for tensors in made)
        assert torch.equal(one, weights) == name.startswith(FROZEN), name
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("frozen", "message"),
    [
        (["encoders"], r"begins with 'encoders' .did you mean 'encoder'\?"),
        (["xyz"], "begins with 'xyz' .their parts are decoder, encoder, output, "),
        ([""], "leaves nothing to train"),
    ],
)
def test_what_cannot_be_frozen(
    tiny_store: Path, tmp_path: Path, frozen: list[str], message: str
) -> None:
    with refusal(message):
        train(tiny_store, tmp_path / "run", f"training.frozen={json.dumps(frozen)}")


@pytest.mark.parametrize("name", ["output", "target_embedding"])
def test_a_tied_layer_is_frozen_by_any_of_its_names(
    name: str, tiny_store: Path, tmp_path: Path
) -> None:
    tied = ["model.tie_output=true", f'training.frozen=["{name}"]']
    made = []
    for updates in (1, 3):
        train(tiny_store, tmp_path / f"{updates}", *tied, f"stopping.max_updates={updates}")
        made.append(saved(tmp_path / f"{updates}"))
    moved = {key for key, tensor in made[0].items() if not torch.equal(tensor, made[1][key])}
    assert "network.output.weight" not in moved
    assert ("network.output.bias" in moved) == (name != "output")


def test_the_weights_of_another_run_survive_a_kill_before_the_run_is_made(
    tiny_store: Path, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: Any) -> None:
        raise StoppedError

    with monkeypatch.context() as killed:
        killed.setattr(Run, "create", stop)
        with pytest.raises(StoppedError):
            train(tiny_store, tmp_path / "run", begin_from=tiny_run)
    run = train(tiny_store, tmp_path / "run", "stopping.max_updates=1", resume=True)
    assert read_statistics(run.path)["begun_from"] == str(tiny_run)
