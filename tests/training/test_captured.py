"""Updates in few shapes, as a GPU can record them, are those of the plain trainer. A CPU computes them without
recording; graphs are stood in for by the work that they would repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import pytest
import torch
from refusals import refusal
from small import linked_batch, small_network
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from rnnsearch.batch import Batch
from rnnsearch.config import load_config
from rnnsearch.training import captured
from rnnsearch.training.captured import CapturedTrainer, CaptureError, Graphs, padded
from rnnsearch.training.ranks import Ranks
from rnnsearch.training.setup import trainer_of
from rnnsearch.training.trainer import Trainer, Update

LINKS = [[(0, 0), (2, 1)], [], [(1, 0), (1, 1), (4, 3)]]
SGD = "optimiser.method=sgd"


def trainer(*changes: str, **model: Any) -> Trainer:
    settings = load_config(overrides=["training.batch_size=4", *changes])
    return trainer_of(small_network(**model), settings)


def batches(dtype: torch.dtype = torch.float64) -> tuple[Batch, Batch]:
    """Three pairs, and the last two of them."""
    three = linked_batch(LINKS)
    assert three.known_alignment is not None
    parts = three.parts() | {"known_alignment": three.known_alignment.to(dtype)}
    return Batch(**parts), Batch(**{name: part[1:] for name, part in parts.items()})


def ten(trainer: Trainer) -> list[Update]:
    """Updates; the fifth from two batches."""
    one, other = batches()
    return [
        trainer.update([one, other] if number == 5 else [(one, other)[number % 2]], number)
        for number in range(1, 11)
    ]


def assert_same(found: Trainer, expected: Trainer) -> None:
    for one, other in zip(ten(found), ten(expected), strict=True):
        assert astuple(one) == pytest.approx(astuple(other), rel=1e-10)
    close = {"rtol": 1e-9, "atol": 1e-11}
    torch.testing.assert_close(found.network.state_dict(), expected.network.state_dict(), **close)
    if expected.average:
        assert found.average
        torch.testing.assert_close(found.average.weights, expected.average.weights, **close)


@pytest.mark.parametrize(
    ("changes", "model"),
    [
        ([], {}),
        (["dropout.label_smoothing=0.1", "training.kernels=false"], {"wiring": "eq4"}),
        (["known_alignments.loss=product", "known_alignments.annealing=4"], {}),
        (["known_alignments.loss=cross-entropy", "known_alignments.smoothing=0.2", SGD], {}),
        (["known_alignments.loss=squared", "known_alignments.forcing=mixed"], {"wiring": "appendix"}),
        (["known_alignments.forcing=known", SGD], {"decoder": "bidirectional"}),
        (["optimiser.method=adam", "optimiser.learning_rate=0.01", "optimiser.average_decay=0.9"], {"decoder": "backward"}),
        (["optimiser.weight_decay=0.1", "optimiser.warmup=4"], {"tie_output": True}),
        ([SGD], {"alignment": "coverage-neural", "cell": "lstm", "encoder": "embedding-position"}),
    ],
    ids=str,
)  # fmt: skip
def test_updates_are_those_of_the_plain_trainer(changes: list[str], model: dict[str, Any]) -> None:
    """Losses, norms, weights and averages, with padding up to 8 positions and 4 pairs."""
    found = trainer("training.capture=true", *changes, **model)
    assert isinstance(found, CapturedTrainer)
    assert_same(found, trainer(*changes, **model))


def test_shapes_are_few() -> None:
    one, other = (padded(batch, 2) for batch in batches())
    assert one.source.shape == one.target.shape == (4, 8)
    assert other.source.shape == (2, 8)
    assert one.source_lengths.tolist() == [4, 2, 6, 1]
    assert one.target_lengths.tolist() == [3, 1, 5, 0]
    assert one.known_alignment is not None
    assert one.known_alignment.shape == (4, 8, 8)


class Values(TorchDispatchMode):
    """Fails where a graph cannot be recorded: at an operation with a tensor of the host."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **kwargs or {})
        for one in tree_leaves((args, kwargs, result)):
            assert not isinstance(one, torch.Tensor) or one.is_meta, function
        return result


@pytest.mark.parametrize(
    ("changes", "model"),
    [
        (["dropout.label_smoothing=0.1", "training.precision=bfloat16"], {}),
        (["known_alignments.loss=product", "known_alignments.forcing=mixed"], {"decoder": "bidirectional"}),
        ([], {"alignment": "window", "cell": "lstm", "encoder": "embedding-position"}),
        ([], {"alignment": "coverage-neural", "wiring": "appendix"}),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_recorded_needs_no_values(
    changes: list[str], model: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the meta device, where the code takes a GPU's branches: tensors have no values, so whatever asks the
    host to wait for one raises."""
    everywhere = [f"dropout.{part}=0.2" for part in ("embedding", "recurrent", "readout")]
    settings = load_config(
        overrides=["training.capture=true", "training.device=meta", SGD, *everywhere, *changes]
    )
    found = trainer_of(small_network(torch.float32, **model).to("meta"), settings)
    assert isinstance(found, CapturedTrainer)
    work, calls = found.add, []

    def watched(**inputs: Any) -> None:
        with Values():
            calls.append(work(**inputs))

    monkeypatch.setattr(found, "add", watched)
    found.add_gradients([batch.to("meta") for batch in batches(torch.float32)], 5, 1)
    assert len(calls) == 2


class Again:
    """Stands in for a graph."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.replay = work

    def pool(self) -> None: ...


@pytest.mark.parametrize(("limit", "graphs"), [(40, 2), (1, 1)])
def test_a_shape_is_recorded_once_and_then_repeated(
    limit: int, graphs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its inputs are copied to where the graph reads them; beyond the limit nothing is recorded."""
    recorded: list[Again] = []

    def record(work: Callable[[], None], *_: Any) -> Again:
        recorded.append(Again(work))
        return recorded[-1]

    monkeypatch.setattr(captured, "record", record)
    monkeypatch.setattr(captured, "GRAPHS", limit)
    changes = "training.batch_size=2", "known_alignments.loss=product"
    found = trainer("training.capture=true", *changes)
    assert isinstance(found, CapturedTrainer)
    found.add = Graphs(found._add)
    assert_same(found, trainer(*changes))
    assert len(recorded) == graphs


def test_what_cannot_be_recorded_is_computed_and_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def record(*_: Any) -> None:
        raise CaptureError("operation not permitted")

    monkeypatch.setattr(captured, "record", record)
    found = trainer("training.capture=true")
    assert isinstance(found, CapturedTrainer)
    found.add = Graphs(found._add)
    assert_same(found, trainer())
    said = "training.capture = true has no effect from update 2 on: operation not permitted\n"
    assert capsys.readouterr().err == said
    changed = {"setting": "training.capture", "before": True, "after": False}
    assert found.changes == [{"update": 1, **changed}]


def test_several_ranks_cannot_capture() -> None:
    settings = load_config(overrides=["training.capture=true"])
    with refusal("several ranks"):
        trainer_of(small_network(), settings, ranks=Ranks(0, 2))


def test_few_pairs_of_many_tokens_are_not_filled_up_to_many() -> None:
    plain, limited = (
        trainer("training.capture=true"),
        trainer("training.capture=true", "training.batch_tokens=2000"),
    )
    assert isinstance(plain, CapturedTrainer)
    assert isinstance(limited, CapturedTrainer)
    assert (plain.batch_size, limited.batch_size) == (4, captured.POSITIONS)


def test_adadelta_begins_without_a_state() -> None:
    """As a checkpoint before the first update has none."""
    one = trainer("training.capture=true", "optimiser.method=adadelta")
    one.optimiser.load_state_dict(one.optimiser.state_dict())
    assert ten(one)[0].applied
