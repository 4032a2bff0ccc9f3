"""An edited equation trains: whoever edits a plain function gets what plain PyTorch computes with it, and is
told so."""

from __future__ import annotations

import inspect
import json
import linecache
import shutil
import sys
import textwrap
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import refusal
from small import linked_batch, small_network, small_trainer
from torch import Tensor

from rnnsearch import Translator, train
from rnnsearch.config import load_config
from rnnsearch.errors import InputWarning
from rnnsearch.kernels import digest, fast_best_sums
from rnnsearch.kernels.gated import FastDecoder
from rnnsearch.kernels.output_loss import LOSS_EQUALS as LOSS
from rnnsearch.kernels.products import FastLinear, FastOutput
from rnnsearch.model import decoder
from rnnsearch.run import Run
from rnnsearch.serve.export import check_exportable
from rnnsearch.text.dataset import Corpus
from rnnsearch.translation.posterior import has_quick_posterior

EDITS = {
    "model.layers:tanh": ("_Tanh.apply(x)", "x.clamp(-1, 1)"),
    "model.layers:_Tanh.forward": ("sub_(1.0)", "sub_(0.5)"),
    "model.layers:_Tanh.backward": ("(gradient, y)", "(2.0 * gradient, y)"),
    "model.layers:Linear.forward": ("return F", "return 0.5 * F"),
    "model.cells:GatedCell.__init__": (
        "size, hidden_size, init",
        "size, hidden_size, bias=True, init",
    ),
    "model.cells:GatedCell.project": ("return torch", "return 2.0 * torch"),
    "model.cells:GatedCell.forward": ("lerp(state, candidate", "lerp(candidate, state"),
    "model.cells:GatedCell.hidden": ("return state", "return 2.0 * state"),
    "model.alignment.additive:AdditiveAlignment.__init__": (
        "alignment_size, init",
        "alignment_size, bias=True, init",
    ),
    "model.alignment.additive:AdditiveAlignment.energies": ("return e", "return 2.0 * e"),
    "model.alignment.additive:AdditiveAlignment.attended": ("return memory", "return None"),
    "model.decoder:Source.context": ("return weights", "return 2.0 * weights"),
    "model.decoder:Decoder.first_attended": ("return int(", "return 0 + int("),
    "model.decoder:Decoder.teacher_force": ("DecoderState(cell", "DecoderState(2.0 * cell"),
    "model.decoder:Decoder.predicting_states": ("words[i - 1] if", "2.0 * words[i - 1] if"),
    "model.decoder:Decoder.step": (
        "(self, word, state, source",
        "(self, None if word is None else 2.0 * word, state, source",
    ),
    "model.decoder:Decoder.attend": ("softmax(energies", "softmax(2.0 * energies"),
    "model.decoder:Decoder.advance": (
        "state.context, source.keep",
        "2.0 * state.context, source.keep",
    ),
    "model.decoder:eq4": ("advance(word", "advance(None"),
    "model.decoder:appendix": ("return predicting_state", "return state"),
    "model.decoder:released": ("advance(word", "advance(2.0 * word"),
    "training.loss:negative_log_likelihood": ("log_softmax(output", "log_softmax(2.0 * output"),
    "model.readout:OutputLayer.logits": ("return F", "return 0.5 * F"),
}
"""Function → a part of its source, and the part edited."""
WITHOUT_EFFECT = {"AdditiveAlignment.attended", "Decoder.first_attended"}


@pytest.fixture(autouse=True)
def _first_time() -> Any:
    """No other test has asked for the digests, and none will know of these edits."""
    for known in (digest.plain_instead, digest.source_digest):
        known.cache_clear()
    yield
    for known in (digest.plain_instead, digest.source_digest):
        known.cache_clear()


def edit(monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str) -> None:
    """Replaces a function by one with another source, wherever it is known by its name."""
    digest.source_digest.cache_clear()
    module_name, _, path = name.partition(":")
    module = import_module(f"rnnsearch.{module_name}")
    *outer, last = path.split(".")
    owner = reduce(getattr, outer, module)
    found = getattr(owner, last)
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(getattr(found, "fget", found))))
    assert old in source
    source = source.replace(old, new, 1).replace("super()", f"super({''.join(outer)}, self)")
    file, namespace = f"<edited {name}>", dict(vars(module))
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), namespace)
    monkeypatch.setattr(owner, last, namespace[last])
    monkeypatch.setitem(decoder.WIRINGS, last, namespace[last]) if last in decoder.WIRINGS else None
    for other in [
        other for key, other in sys.modules.items() if key.startswith("rnnsearch.") and not outer
    ]:
        if getattr(other, last, None) is found:
            monkeypatch.setattr(other, last, namespace[last])


def trained(wiring: str, kernels: bool) -> dict[str, Tensor]:
    """Returns the parameters after two updates."""
    network = small_network(wiring=wiring)
    sgd = "optimiser.method=sgd", "optimiser.learning_rate=0.1"
    trainer = small_trainer(network, *sgd, f"training.kernels={str(kernels).lower()}")
    for number in (1, 2):
        trainer.update([linked_batch()], number)
    return dict(network.state_dict())


def test_every_function_that_a_training_kernel_equals_is_tried() -> None:
    equals = {*FastDecoder.EQUALS, *FastLinear.EQUALS, *FastOutput.EQUALS, *LOSS}
    assert equals == EDITS.keys()


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_trains(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    function = name.partition(":")[2]
    wiring = function if function in decoder.WIRINGS else "released"
    before = trained(wiring, kernels=True)
    assert capsys.readouterr().err == ""
    digest.plain_instead.cache_clear()
    edit(monkeypatch, name, *EDITS[name])
    found, plain = trained(wiring, kernels=True), trained(wiring, kernels=False)
    torch.testing.assert_close(found, plain, rtol=1e-12, atol=1e-12)
    moved = found.keys() != before.keys() or any(
        not torch.allclose(found[key], before[key], rtol=1e-6) for key in before
    )
    assert moved == (function not in WITHOUT_EFFECT)
    said = capsys.readouterr().err
    assert f"{function} is edited, so " in said
    assert "in plain PyTorch (slower)" in said


def test_another_wiring_of_that_name_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(decoder.WIRINGS, "released", decoder.eq4)
    found, plain = trained("released", kernels=True), trained("released", kernels=False)
    torch.testing.assert_close(found, plain, rtol=1e-12, atol=1e-12)


def test_an_edit_of_the_choice_of_words_is_searched_with(monkeypatch: pytest.MonkeyPatch) -> None:
    edit(monkeypatch, "search.beam:best_sums", "descending=True", "descending=False")
    before, after = torch.zeros(1, 1), torch.arange(600.0).view(1, 1, 600)
    assert torch.equal(fast_best_sums(before, after, 2)[0], torch.tensor([[0.0, 1.0]]))


@pytest.mark.parametrize("name", ["model.readout:Readout.forward", "model.decoder:Decoder.attend"])
def test_an_edit_is_aligned_with_and_is_not_exported(
    name: str, monkeypatch: pytest.MonkeyPatch, tiny_run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    network, run = small_network(), Run.open(tiny_run)
    assert has_quick_posterior([network])
    check_exportable(run)
    digest.plain_instead.cache_clear()
    source = (
        ("return self.activation", "return 1.0 * self.activation")
        if "Readout" in name
        else EDITS[name]
    )
    edit(monkeypatch, name, *source)
    assert not has_quick_posterior([network])
    assert (
        "is edited, so `align` computes every posterior in plain PyTorch" in capsys.readouterr().err
    )
    with refusal("is edited, and the engine of the page has the equation as it was"):
        check_exportable(run)


def test_a_run_that_was_trained_with_an_edit_is_not_read_without_a_word(
    monkeypatch: pytest.MonkeyPatch, tiny_run: Path, tmp_path: Path
) -> None:
    run, name = tmp_path / "run", "model.decoder:Decoder.attend"
    shutil.copytree(tiny_run, run)
    line = "model/decoder.py: Decoder.attend is edited, so the decoder is computed in plain"
    statistics = json.loads((run / "log/statistics.json").read_text()) | {"edited": [line]}
    (run / "log/statistics.json").write_text(json.dumps(statistics))
    with pytest.warns(
        InputWarning, match="trained with edits of model/decoder.py: Decoder.attend,"
    ):
        Translator.load(run)
    edit(monkeypatch, name, *EDITS[name])
    Translator.load(run)  # a warning would be an error
    with pytest.warns(InputWarning, match=r"without the present edit of model/decoder.py: Decoder"):
        Translator.load(tiny_run)


@pytest.mark.parametrize("kernels", ["true", "false"])
def test_an_edit_of_one_session_is_remembered(
    kernels: str, monkeypatch: pytest.MonkeyPatch, tiny_store: Path, tmp_path: Path
) -> None:
    name, corpus = "model.decoder:Source.context", Corpus.open(tiny_store)
    for updates in (1, 2):
        with monkeypatch.context() as patch:
            if updates == 1:
                edit(patch, name, *EDITS[name])
            sizes = ("embedding", "hidden", "alignment", "maxout")
            how = [*(f"model.{size}_size=4" for size in sizes), f"training.kernels={kernels}"]
            how.append(f"stopping.max_updates={updates}")
            run = train(load_config(overrides=how), corpus, tmp_path / "run", resume=updates == 2)
        for known in (digest.plain_instead, digest.source_digest):
            known.cache_clear()
        assert run.edited == {"model/decoder.py: Source.context"}


@pytest.mark.parametrize("content", ["{", "[1]", '{"edited": 5}'])
def test_damaged_statistics_are_one_line(content: str, tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run, tmp_path / "run")
    (tmp_path / "run/log/statistics.json").write_text(content)
    with refusal(r"statistics\.json: is damaged: "):
        Translator.load(tmp_path / "run")
