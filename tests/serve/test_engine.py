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
from small import SOURCE_WORDS, TARGET_WORDS, randomised, sentences, small_network
from torch import Tensor

from rnnsearch.batch import Batch
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.search.step import search
from rnnsearch.settings import OptimiserSettings, SearchSettings
from rnnsearch.training.trainer import BatchLoss, Trainer

ENGINE = Path(__file__).resolve().parents[2] / "docs/assets/learn"
SIZES = {"embedding": 5, "hidden": 20, "alignment": 6, "maxout": 3}
LONGEST = 8
CLOSE = {"rtol": 1e-5, "atol": 1e-5}

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")


def network_of(kind: str, wiring: str) -> TranslationNetwork:
    parts = {} if kind == "rnnsearch" else {"encoder": "forward", "alignment": "fixed"}
    sizes = {f"{name}_size": size for name, size in SIZES.items()}
    made = small_network(
        torch.float32, wiring=wiring, encoder_size=SIZES["hidden"], **sizes, **parts
    )
    randomised(made, 3, 0.4)
    return made


def in_node(folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    """Returns what `one_update.js` prints of a case."""
    (folder / "package.json").write_text('{"type": "module"}')  # Node takes .js files for modules
    shutil.copytree(ENGINE, folder / "engine")
    shutil.copy(Path(__file__).with_name("one_update.js"), folder)
    (folder / "case.json").write_text(json.dumps(case))
    command = ["node", "one_update.js", "case.json"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def assert_close(found: dict[str, list[float]], expected: dict[str, Tensor]) -> None:
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(
            torch.tensor(found[name]), tensor.detach().flatten(), **CLOSE, msg=name
        )


def greedy(network: TranslationNetwork, pairs: Batch) -> tuple[list[list[int]], Tensor]:
    """Returns each sentence's translation without its end, and the rows of α of the first."""
    limits = SearchSettings(beam=1, nbest=1, max_length_ratio=LONGEST)
    found = search([network], pairs.source, pairs.source_lengths, limits)
    written = [[word for word in best.ids if word][:LONGEST] for (best,) in found]
    return written, torch.tensor(found[0][0].weights[:LONGEST])


@pytest.mark.parametrize("plain", [False, True], ids=["wasm", "plain"])
@pytest.mark.parametrize("wiring", ["eq4", "appendix", "released"])
@pytest.mark.parametrize("kind", ["rnnsearch", "rnnencdec"])
def test_updates_and_translations_are_pythons(
    tmp_path: Path, kind: str, wiring: str, *, plain: bool
) -> None:
    network, pairs = network_of(kind, wiring), Batch(*sentences())
    # ε is large because Adam's first update is g / (|g| + ε): a tiny one would show the rounding of g as ±
    # rate
    adam = {"rate": 0.01, "epsilon": 1e-3}
    case = {
        "settings": {"kind": kind, "wiring": wiring, "sizes": SIZES, "initialisation": "glorot"},
        "words": {"source": SOURCE_WORDS, "target": TARGET_WORDS},
        "weights": {
            name: tensor.flatten().tolist() for name, tensor in network.state_dict().items()
        },
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

    settings = OptimiserSettings(
        method="adam", learning_rate=adam["rate"], epsilon=adam["epsilon"], clip_norm=5.0
    )
    trainer = Trainer(BatchLoss(network), settings)
    trainer.add_gradients([pairs], 3, 1)
    assert_close(found["gradients"], {name: one.grad for name, one in network.named_parameters()})  # type: ignore[misc]
    trainer.optimiser.zero_grad()
    updates = [trainer.update([pairs], 1)]
    assert_close(found["weights"], dict(network.named_parameters()))
    written, rows = greedy(network, pairs)
    assert found["translated"]["words"] == written
    if kind == "rnnsearch":
        torch.testing.assert_close(torch.tensor(found["translated"]["weights"]), rows, **CLOSE)
    updates.append(trainer.update([pairs], 2))
    assert found["losses"] == pytest.approx([update.nll for update in updates], rel=1e-5)
    assert found["norm"] == pytest.approx(updates[0].gradient_norm, rel=1e-5)
