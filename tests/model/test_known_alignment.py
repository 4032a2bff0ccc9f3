"""Known alignments in training: which row a link supervises in each wiring, contexts made of links, and where
gradients go.

The reference is the plain-loop network (equations/plain), whose alignment model is told what to attend to
step by step.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
import torch
from plain.alignments import AlignmentModel
from plain.network import WIRINGS as BY_HAND
from plain.parameters import Parameters, whole_network
from plain.vectors import Vector, softmax
from small import (
    CELLS,
    WIRINGS,
    assert_as_finite_differences,
    gradients,
    small_network,
    small_settings,
    small_trainer,
)
from small import linked_batch as batch
from torch import Tensor

from rnnsearch.batch import Batch
from rnnsearch.model.network import TeacherForced, TranslationNetwork
from rnnsearch.training.loss import LOSSES

SOME = [[(0, 0), (2, 0)], [], [(4, 0), (0, 1), (1, 1), (2, 1), (3, 1), (0, 3)]]
"""(source, target) positions of each pair of `sentences`: rows with 1, 2 and 4 links (shares without
rounding), rows and a pair without."""
ALL = [[(0, 0), (2, 0), (1, 1)], [(0, 0)], [(4, 0), (0, 1), (1, 1), (3, 2), (0, 3)]]
"""Every row of every pair has a link."""

SUPERVISED_STEP = {"eq4": 0, "released": 0, "appendix": -1}
"""The link of y_i is for the α that step i + this computes: the context that p(y_i) is read from was made of
it."""


def decode(network: TranslationNetwork, given: Batch, forced: bool) -> TeacherForced:
    known = given.known_alignment if forced else None
    return network.teacher_forced(given.source, given.source_lengths, given.target, known=known)[0]


@dataclass
class Told:
    """An alignment model that is told the weights of some steps. own: what it would have attended to, step by
    step."""

    model: AlignmentModel
    rows: list[Vector]
    own: list[Vector] = field(default_factory=list)

    def begin(self, h: list[Vector]) -> tuple[int, Any]:
        return 0, self.model.begin(h)

    def energies(
        self, s: Vector, h: list[Vector], memory: tuple[int, Any]
    ) -> tuple[Vector, tuple[int, Any]]:
        step, remembered = memory
        energies, remembered = self.model.energies(s, h, remembered)
        self.own.append(softmax(energies))
        if any(self.rows[step]):
            energies = [math.log(share) if share else -math.inf for share in self.rows[step]]
        return energies, (step + 1, remembered)

    def attended(
        self, s: Vector, h: list[Vector], memory: tuple[int, Any], alpha: Vector
    ) -> tuple[int, Any]:
        step, remembered = memory
        return step, self.model.attended(s, h, remembered, alpha)


def by_hand(
    network: TranslationNetwork, settings: dict[str, Any], given: Batch, b: int, forced: bool
) -> tuple[Tensor, list[Vector]]:
    """Of sentence b: (log p of every word (target, K), α that its model computes at step 1, 2, …)."""
    named = small_settings(**settings)
    J, I = int(given.source_lengths[b]), int(given.target_lengths[b])  # noqa: E741
    nothing = [[0.0] * J] * I
    rows = nothing
    if forced and given.known_alignment is not None:
        links = given.known_alignment[b, :I, :J].tolist()
        rows = [
            links[i - SUPERVISED_STEP[named.wiring]]
            if i - SUPERVISED_STEP[named.wiring] < I
            else nothing[0]
            for i in range(I)
        ]
    plain = whole_network(Parameters(network.state_dict()), named)
    told = Told(plain.alignment, rows)
    found = BY_HAND[named.wiring](
        dataclasses.replace(plain, alignment=told),
        given.source[b, :J].tolist(),
        given.target[b, :I].tolist(),
    )
    return torch.tensor([row for row, _ in found], dtype=torch.float64), told.own


@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize(
    ("alignment", "cell"),
    [
        *(("additive", cell) for cell in CELLS),
        ("window", "gated"),
        ("coverage", "gated"),
        ("recurrent", "lstm"),
    ],
)
@torch.no_grad()
def test_contexts_made_of_links(alignment: str, cell: str, wiring: str) -> None:
    """p(y_i) is read from the context of its own links; the row that is reported is the α that the model
    would have used.

    What a scorer remembers of the weights (coverage) is what was really attended to.
    """
    settings = {"alignment": alignment, "cell": cell, "wiring": wiring}
    network, given = small_network(**settings), batch(SOME)
    decoded = decode(network, given, forced=True)
    log_p = torch.log_softmax(_logits(network, decoded), -1)
    for b in range(3):
        J, I = int(given.source_lengths[b]), int(given.target_lengths[b])  # noqa: E741
        expected, own = by_hand(network, settings, given, b, forced=True)
        torch.testing.assert_close(log_p[b, :I], expected, rtol=0, atol=1e-11)
        for i in range(I):
            step = i + SUPERVISED_STEP[wiring]
            row = own[step] if step >= 0 else [0.0] * J
            torch.testing.assert_close(
                decoded.weights[b, i, :J],
                torch.tensor(row, dtype=torch.float64),
                rtol=0,
                atol=1e-11,
            )


def _logits(network: TranslationNetwork, decoded: TeacherForced) -> Tensor:
    return torch.nn.functional.linear(decoded.features, network.output.weight, network.output.bias)


def row_loss(form: str, links: Vector, alpha: Vector) -> float:
    """Of one row, from the definition."""
    pairs = list(zip(links, alpha, strict=True))
    match form:
        case "cross-entropy":
            return -sum(a * math.log(share) for a, share in pairs if a)
        case "squared":
            return sum((a - share) ** 2 for a, share in pairs)
    return -math.log(sum(a * share for a, share in pairs))


@pytest.mark.parametrize("forcing", ["none", "known"])
@pytest.mark.parametrize("wiring", WIRINGS)
@pytest.mark.parametrize("form", LOSSES)
def test_the_loss_of_an_update(form: str, wiring: str, forcing: str) -> None:
    """Summed over the rows with links and over the sentences; in `appendix` the first word has read no
    context, and carries none."""
    settings = {"wiring": wiring}
    network, given = small_network(**settings), batch(SOME)
    assert given.known_alignment is not None
    expected, rows = 0.0, 0
    for b in range(3):
        J, I = int(given.source_lengths[b]), int(given.target_lengths[b])  # noqa: E741
        _, own = by_hand(network, settings, given, b, forced=forcing == "known")
        for i in range(I):
            links, step = given.known_alignment[b, i, :J].tolist(), i + SUPERVISED_STEP[wiring]
            if any(links) and step >= 0:
                expected, rows = expected + row_loss(form, links, own[step]), rows + 1
    links = f"known_alignments.loss={form}", f"known_alignments.forcing={forcing}"
    update = small_trainer(network, *links).update([given], 1)
    assert update.linked_rows == rows == (4 if wiring == "appendix" else 6)
    assert update.alignment_loss == pytest.approx(expected, rel=1e-11)


def total(
    network: TranslationNetwork, given: Batch, form: str, weight: float, forced: bool
) -> Tensor:
    """NLL plus weighted alignment loss, of real positions, by plain indexing."""
    decoded = decode(network, given, forced)
    log_p = torch.log_softmax(_logits(network, decoded), -1)
    loss = log_p.new_zeros(())
    for b in range(len(given.source)):
        for i in range(int(given.target_lengths[b])):
            loss = loss - log_p[b, i, given.target[b, i]]
            if (
                given.known_alignment is not None
                and given.known_alignment[b, i].any()
                and i + SUPERVISED_STEP[network.decoder.wiring] >= 0
            ):
                loss = loss + weight * LOSSES[form](
                    decoded.weights[b, i], given.known_alignment[b, i]
                )
    return loss


@pytest.mark.parametrize(
    ("form", "wiring", "forced"),
    [("cross-entropy", "released", True), ("squared", "appendix", True), ("product", "eq4", False)],
)
def test_finite_differences(form: str, wiring: str, forced: bool) -> None:
    """Of NLL and alignment loss with respect to every parameter, each along a random direction."""
    network, given = small_network(wiring=wiring), batch(SOME)
    loss = partial(total, network, given, form, 0.7, forced)
    assert_as_finite_differences(network, loss, fast_mode=True)


@pytest.mark.parametrize("wiring", WIRINGS)
def test_forcing_alone_teaches_the_scorer_nothing_and_the_loss_still_does(wiring: str) -> None:
    """Where every context is made of links, α reaches the NLL nowhere: its parameters learn from the
    alignment loss, and only from it."""
    network, given = small_network(wiring=wiring), batch(ALL)
    forced = gradients(network, total(network, given, "cross-entropy", 0.0, forced=True))
    both = gradients(network, total(network, given, "cross-entropy", 1.0, forced=True))
    free = gradients(network, total(network, given, "cross-entropy", 0.0, forced=False))
    scorer = [name for name in forced if name.startswith("decoder.alignment.")]
    assert scorer
    for name in scorer:
        assert not forced[name].any(), name
        assert bool(both[name].any()), name
        assert bool(free[name].any()), name
    for name in ("encoder.forwards.U_zr.weight", "decoder.W_s.weight", "decoder.cell.C.weight"):
        assert bool(forced[name].any()), name  # the rest learns through the contexts
