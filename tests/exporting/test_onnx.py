"""The ONNX graphs against the network, by ONNX Runtime."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from rnnsearch.config import load_config
from rnnsearch.exporting.onnx_model import export_onnx
from rnnsearch.run import Run
from rnnsearch.system.tensors import save_tensors
from rnnsearch.text.codec import Codec, side_tokeniser
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.vocabulary import EOS, Vocabulary
from rnnsearch.translation.readers import NetworkState, network_step
from rnnsearch.translation.translator import Translator

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")

SIZES = [
    *("model.embedding_size=6", "model.hidden_size=7", "model.encoder_size=5", "model.alignment_size=8"),
    *("model.maxout_size=6", "model.initialisation=glorot", "data.vocabulary_size=20"),
]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def made_run(folder: Path, *changes: str) -> Path:
    """A run whose weights, biases too, are drawn."""
    settings = load_config(overrides=[*SIZES, *changes])
    codecs = [
        Codec(side_tokeniser(side, settings.data), Vocabulary(f"w{number}" for number in range(20)))
        for side in ("source", "target")
    ]
    run = Run(folder, settings, *codecs).create()
    torch.manual_seed(1)
    weights = {
        name: tensor + 0.3 * torch.randn_like(tensor)
        for name, tensor in run.make_network().state_dict().items()
    }
    save_tensors(run.model_path, weights, {})
    return folder


def one_thread() -> Any:
    """Threads of ONNX Runtime wait by spinning, which the other test processes would pay for."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return options


class Graphs:
    def __init__(self, folder: Path) -> None:
        files = (str(folder / f"{name}.onnx") for name in ("encoder", "step"))
        self.encoder, self.decoder = (onnxruntime.InferenceSession(file, one_thread()) for file in files)

    def run(self, graph: Any, values: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        names = {port.name for port in graph.get_inputs()}
        found = graph.run(None, {name: value.numpy() for name, value in values.items() if name in names})
        return {
            port.name: torch.from_numpy(value) for port, value in zip(graph.get_outputs(), found, strict=True)
        }


@pytest.mark.parametrize(
    ("wiring", "output"),
    [
        ("eq4", "model.tie_output=false"),
        pytest.param("appendix", "model.factored_output=true", marks=pytest.mark.slow),
        pytest.param("released", "model.tie_output=true", marks=pytest.mark.slow),
    ],
)
def test_four_steps_of_three_hypotheses_are_the_network_s(tmp_path: Path, wiring: str, output: str) -> None:
    run = made_run(tmp_path / "run", f"model.wiring={wiring}", output)
    export_onnx(run, tmp_path / "onnx")
    graphs, network = Graphs(tmp_path / "onnx"), Run.open(run).load_network()
    source, lengths = torch.tensor([[5, 3, 9, 0], [4, 0, 0, 0]]), torch.tensor([4, 2])
    values = graphs.run(graphs.encoder, {"source": source, "lengths": lengths})
    values["weights"] = torch.zeros(2, 1, 4)
    with torch.no_grad():
        state = NetworkState(*network.encode(source, lengths))
        real = state.source.mask[:, 0]  # what stands on padding is nobody's
        torch.testing.assert_close(values["annotations"][real], state.source.annotations[real], **CLOSE)
        torch.testing.assert_close(values["keys"][real], state.source.keys[real], **CLOSE)
        step, previous = network_step(network), None
        for words in (
            [[6, 2, 7], [1, 0, 3]],
            [[2, 2, 5], [9, 8, 7]],
            [[1, 2, 3], [4, 5, 6]],
            [[0, 0, 0], [0, 0, 0]],
        ):
            ours = step(previous, state)
            given = torch.full((2, 1), -1) if previous is None else previous
            theirs = graphs.run(graphs.decoder, values | {"previous": given})
            torch.testing.assert_close(theirs["log_probabilities"], ours.log_probabilities, **CLOSE)
            torch.testing.assert_close(theirs["alignment"], ours.weights, **CLOSE)
            previous, order = (
                torch.tensor(words),
                torch.tensor([[0, 0, 0], [0, 0, 0]] if previous is None else [[1, 0, 2], [2, 2, 0]]),
            )
            state = ours.state.select(None, order)
            rows = torch.arange(2)[:, None]
            values |= {
                name.removeprefix("next_"): value[rows, order]
                for name, value in theirs.items()
                if name.startswith("next_")
            }


def check_example(run: Path, folder: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the folder's README.md translates as greedy search does."""
    session = partial(onnxruntime.InferenceSession, sess_options=one_thread())
    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    opened = Run.open(run)
    example = (folder / "README.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    space: dict[str, Any] = {"folder": folder}
    exec(example, space)
    lines = list(read_lines(str(corpus / "dev.en")))[:20]
    ours = Translator.load(run).translate(lines, beam=1, min_length_ratio=0.0, max_length_ratio=3.0)
    for line, result in zip(lines, ours, strict=True):
        ids = opened.source.encode(line).ids
        found = opened.target.decode([*space["translate"](ids, 3 * (len(ids) - 1)), EOS])
        assert found.words == result.tokens


@pytest.mark.slow
def test_an_example_with_subwords(
    tiny_subword_run: Path, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_onnx(tiny_subword_run, tmp_path / "onnx")
    check_example(tiny_subword_run, tmp_path / "onnx", tiny_corpus, monkeypatch)


def test_the_command_replaces_only_its_own_folder_with_a_model_that_translates(
    tiny_run: Path,
    tiny_corpus: Path,
    tmp_path: Path,
    command: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine, out = tmp_path / "mine", tmp_path / "onnx"
    for folder, names in ((mine, ["thesis.txt"]), (out, ["encoder.onnx", "step.onnx", "old"])):
        folder.mkdir()
        for name in names:
            (folder / name).write_text("years")
    outcome = command(f"export {tiny_run} --format onnx --out {out}")
    assert (outcome.code, "encoder.onnx" in outcome.err) == (0, True)
    assert {file.name for file in out.iterdir()} >= {"README.md", "config.toml", "vocabulary.source.txt"}
    assert not (out / "old").exists()
    check_example(tiny_run, out, tiny_corpus, monkeypatch)
    monkeypatch.setattr("rnnsearch.exporting.onnx_model._exported", lambda *_: None)
    assert command(f"export {tiny_run} --format onnx --out {mine}").code == 2
    assert [file.name for file in mine.iterdir()] == ["thesis.txt"]


def test_refusals_are_one_clear_line(
    tiny_run: Path,
    tiny_backward_run: Path,
    tmp_path: Path,
    command: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*runs: Path) -> str:
        outcome = command("export", *runs, "--format", "onnx", "--out", tmp_path / "onnx")
        assert outcome.code == 2
        assert outcome.err.count("\n") == 1
        assert not (tmp_path / "onnx").exists()
        return str(outcome.err)

    assert "hold one model" in refused(tiny_run, tiny_run)
    assert 'model.decoder = "backward": the ONNX export has only forward' in refused(tiny_backward_run)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    assert "rnnsearch[onnx]" in refused(tiny_run)
