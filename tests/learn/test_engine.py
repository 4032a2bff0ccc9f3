"""The networks that learn in the browser are the project's: the same loss, gradients, update and
translation."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from rnnsearch.config import ModelSettings, TrainingSettings
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.batches import Batch
from rnnsearch.training.trainer import Trainer

ENGINE = Path(__file__).resolve().parents[2] / "docs/assets/learn"
SIZES = {"embedding": 5, "hidden": 20, "alignment": 6, "maxout": 3}
SOURCE_WORDS, TARGET_WORDS, LONGEST = 9, 11, 8
CLOSE = {"rtol": 1e-5, "atol": 1e-5}

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")


def network_of(kind: str, wiring: Any) -> TranslationNetwork:
    """A network of the sizes whose every parameter is random."""
    parts: dict[str, Any] = {} if kind == "rnnsearch" else {"encoder": "forward", "alignment": "fixed"}
    sizes: dict[str, Any] = {f"{name}_size": size for name, size in SIZES.items()}
    network = TranslationNetwork(ModelSettings(wiring=wiring, **sizes, **parts), SOURCE_WORDS, TARGET_WORDS)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(0.4 * torch.randn(parameter.shape, generator=generator))
    return network


def batch() -> Batch:
    """Three pairs of unequal lengths; padding is 0, which is the end of sentence as well."""
    return Batch(
        torch.tensor([[3, 1, 4, 0, 0, 0], [2, 0, 0, 0, 0, 0], [5, 2, 8, 5, 3, 0]]),
        torch.tensor([4, 2, 6]),
        torch.tensor([[2, 5, 0, 0, 0], [0, 0, 0, 0, 0], [4, 10, 1, 3, 0]]),
        torch.tensor([3, 1, 5]),
    )


def in_node(folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Returns what `one_update.js` prints of a case."""
    (folder / "package.json").write_text('{"type": "module"}')  # Node takes .js files for modules
    shutil.copytree(ENGINE, folder / "engine")
    shutil.copy(Path(__file__).with_name("one_update.js"), folder)
    (folder / "case.json").write_text(json.dumps(case))
    command = ["node", "one_update.js", "case.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def assert_close(found: dict[str, list[float]], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(torch.tensor(found[name]), tensor.detach().flatten(), **CLOSE, msg=name)


@torch.no_grad()
def greedy(network: TranslationNetwork, pairs: Batch) -> tuple[list[list[int]], list[list[float]]]:
    """Returns each sentence's translation without its end, and the rows of α of the first."""
    written: list[list[int]] = []
    rows: list[list[float]] = []
    for place, length in enumerate(pairs.source_lengths.tolist()):
        source, state = network.encode(pairs.source[place : place + 1, :length], torch.tensor([length]))
        previous, words = None, []
        while len(words) < LONGEST:
            log_p, seen, state = network.step(previous, state, source)
            word = int(log_p[0, 0].argmax())
            if not place:
                rows.append(seen.weights[0, 0].tolist())
            if not word:
                break
            words.append(word)
            previous = torch.tensor([[word]])
        written.append(words)
    return written, rows


@pytest.mark.parametrize("plain", [False, True], ids=["wasm", "plain"])
@pytest.mark.parametrize("wiring", ["eq4", "appendix", "released"])
@pytest.mark.parametrize("kind", ["rnnsearch", "rnnencdec"])
def test_updates_and_translations_are_pythons(tmp_path: Path, kind: str, wiring: str, *, plain: bool) -> None:
    network, pairs = network_of(kind, wiring), batch()
    # ε is large because Adam's first update is g / (|g| + ε): a tiny one would show the rounding of g as ±
    # rate
    adam = {"rate": 0.01, "epsilon": 1e-3}
    case = {
        "settings": {"kind": kind, "wiring": wiring, "sizes": SIZES, "initialisation": "glorot"},
        "words": {"source": SOURCE_WORDS, "target": TARGET_WORDS},
        "weights": {name: tensor.flatten().tolist() for name, tensor in network.state_dict().items()},
        "batch": {
            "source": pairs.source.T.flatten().tolist(),
            "lengths": pairs.source_lengths.tolist(),
            "target": pairs.target.T.flatten().tolist(),
            "targetLengths": pairs.target_lengths.tolist(),
        },
        "adam": adam,
        "longest": LONGEST,
        "plain": plain,
    }
    found = in_node(tmp_path, case)
    assert found["simd"] is not plain

    settings = TrainingSettings(
        optimiser="adam", learning_rate=adam["rate"], epsilon=adam["epsilon"], clip_norm=5.0
    )
    trainer = Trainer(network, settings, 0)
    trainer.add_gradients([pairs], 3, 1)
    assert_close(found["gradients"], {name: one.grad for name, one in network.named_parameters()})  # type: ignore[misc]
    trainer.optimiser.zero_grad()
    updates = [trainer.update([pairs], 1)]
    assert_close(found["weights"], dict(network.named_parameters()))
    written, rows = greedy(network, pairs)
    assert found["translated"]["words"] == written
    if kind == "rnnsearch":
        torch.testing.assert_close(torch.tensor(found["translated"]["weights"]), torch.tensor(rows), **CLOSE)
    updates.append(trainer.update([pairs], 2))
    assert found["losses"] == pytest.approx([update.nll for update in updates], rel=1e-5)
    assert found["norm"] == pytest.approx(updates[0].gradient_norm, rel=1e-5)
