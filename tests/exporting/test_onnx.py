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
from rnnsearch.exporting.onnx_readme import example
from rnnsearch.run import Run
from rnnsearch.system.tensors import save_tensors
from rnnsearch.text.codec import Codec, side_tokeniser
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.vocabulary import EOS, Vocabulary
from rnnsearch.translation.network_step import NetworkState, network_step
from rnnsearch.translation.translator import Translator

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

SIZES = (
    *("model.embedding_size=6", "model.hidden_size=7", "model.encoder_size=5", "model.alignment_size=8", "model.maxout_size=6"),
    *("model.initialisation=glorot", "data.vocabulary_size=20"),
)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def made_run(folder: Path, *changes: str) -> Path:
    """A run whose weights, biases too, are drawn."""
    settings = load_config(overrides=[*SIZES, *changes])
    codecs = [Codec(side_tokeniser(side, settings.data), Vocabulary(f"w{number}" for number in range(20))) for side in ("source", "target")]
    run = Run.create(folder, settings, *codecs)
    torch.manual_seed(1)
    weights = {name: tensor + 0.3 * torch.randn_like(tensor) for name, tensor in run.make_network().state_dict().items()}
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
        return {port.name: torch.from_numpy(value) for port, value in zip(graph.get_outputs(), found, strict=True)}


@pytest.mark.parametrize("wiring", ["eq4", "appendix", "released"])
@pytest.mark.parametrize("output", ["model.tie_output=true", "model.factored_output=true", "model.tie_output=false"])
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
        for words in ([[6, 2, 7], [1, 0, 3]], [[2, 2, 5], [9, 8, 7]], [[1, 2, 3], [4, 5, 6]], [[0, 0, 0], [0, 0, 0]]):
            ours = step(previous, state)
            given = torch.full((2, 1), -1) if previous is None else previous
            theirs = graphs.run(graphs.decoder, values | {"previous": given})
            torch.testing.assert_close(theirs["log_probabilities"], ours.log_probabilities, **CLOSE)
            torch.testing.assert_close(theirs["alignment"], ours.weights, **CLOSE)
            previous, order = torch.tensor(words), torch.tensor([[0, 0, 0], [0, 0, 0]] if previous is None else [[1, 0, 2], [2, 2, 0]])
            state = ours.state.select(None, order)
            rows = torch.arange(2)[:, None]
            values |= {name.removeprefix("next_"): value[rows, order] for name, value in theirs.items() if name.startswith("next_")}


@pytest.mark.parametrize("name", ["tiny_run", "tiny_subword_run"])
def test_the_example_of_its_readme_translates_as_greedy_search_does(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnxruntime, "InferenceSession", partial(onnxruntime.InferenceSession, sess_options=one_thread()))
    run = request.getfixturevalue(name)
    corpus = request.getfixturevalue("tiny_corpus")
    sizes = export_onnx(run, tmp_path / "onnx")
    assert sizes == {file: (tmp_path / "onnx" / file).stat().st_size for file in ("encoder.onnx", "step.onnx")}
    opened = Run.open(run)
    assert example(opened.settings) in (tmp_path / "onnx" / "README.md").read_text(encoding="utf-8")
    space: dict[str, Any] = {"folder": tmp_path / "onnx"}
    exec(example(opened.settings), space)
    lines = list(read_lines(str(corpus / "dev.en")))[:20]
    ours = Translator.load(run).translate(lines, beam=1, min_length_ratio=0.0, max_length_ratio=3.0)
    for line, result in zip(lines, ours, strict=True):
        ids = opened.source.encode(line).ids
        found = opened.target.decode([*space["translate"](ids, 3 * (len(ids) - 1)), EOS])
        assert found.words == result.tokens


def test_the_command_writes_a_folder_and_replaces_only_its_own(tiny_run: Path, tmp_path: Path, command: Callable[..., Any]) -> None:
    out = tmp_path / "onnx"
    for _ in range(2):
        outcome = command("export", tiny_run, "--format", "onnx", "--out", out)
        assert outcome.code == 0
        assert "encoder.onnx" in outcome.err
        assert {file.name for file in out.iterdir()} >= {"encoder.onnx", "step.onnx", "README.md", "config.toml", "vocabulary.source.txt"}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years", encoding="utf-8")
    assert command("export", tiny_run, "--format", "onnx", "--out", tmp_path / "mine").code == 2
    assert [file.name for file in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_refusals_are_one_clear_line(
    tiny_run: Path, tiny_backward_run: Path, tmp_path: Path, command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*runs: Path) -> str:
        outcome = command("export", *runs, "--format", "onnx", "--out", tmp_path / "onnx")
        assert outcome.code == 2
        assert outcome.err.count("\n") == 1
        assert not (tmp_path / "onnx").exists()
        return str(outcome.err)

    assert "hold one model" in refused(tiny_run, tiny_run)
    assert 'model.decoder = "backward": the ONNX export has only forward' in refused(tiny_backward_run)
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "rnnsearch[onnx]" in refused(tiny_run)
