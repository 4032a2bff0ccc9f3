"""Two drivers, one step: teacher forcing and beam search with several hypotheses per sentence say the same;
of ensembles too."""

from __future__ import annotations

import pytest
import torch
from agreement import assert_search_as_teacher_forced
from small import ALIGNMENTS, WIRINGS, sentences, small_network


@pytest.mark.parametrize(
    ("encoder", "wiring", "cell"),
    [
        ("bidirectional", "eq4", "gated"),
        ("embedding", "appendix", "tanh"),
        ("forward", "released", "lstm"),
    ],
)
@pytest.mark.parametrize("alignment", ALIGNMENTS)
def test_beam_search_equals_teacher_forcing(
    alignment: str, encoder: str, wiring: str, cell: str
) -> None:
    """The beam branches, reorders, repeats and drops: each hypothesis is what it is alone, and what a scorer
    remembers follows it."""
    network = small_network(
        torch.float32, alignment=alignment, encoder=encoder, wiring=wiring, cell=cell
    )
    assert_search_as_teacher_forced([network], sentences())


def test_an_ensemble_of_different_scorers() -> None:
    networks = [
        small_network(torch.float32, alignment=name, wiring=WIRINGS[k % 3])
        for k, name in enumerate(ALIGNMENTS)
    ]
    assert_search_as_teacher_forced(networks, sentences())
