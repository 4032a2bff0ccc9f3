"""The posterior in one walk: against Bayes' rule step by step; what may be left out; rounding; padding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from posterior_by_hand import BATCH, LENGTHS, SOURCE, TARGET, TARGET_LENGTHS, by_hand, network

from rnnsearch.batch import Batch
from rnnsearch.kernels import convert
from rnnsearch.model.decoder import WIRINGS
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.settings import ModelSettings
from rnnsearch.translation import forced
from rnnsearch.translation import posterior as posterior_module
from rnnsearch.translation.forced import forced_decoding
from rnnsearch.translation.posterior import quick_alignment

WORDS = int(TARGET_LENGTHS.max())


def quick(
    networks: list[TranslationNetwork],
    batch: Batch = BATCH,
    precision: str = "float32",
    **options: Any,
) -> torch.Tensor:
    fast = [convert(network, getattr(torch, precision)) for network in networks]
    return quick_alignment(fast, batch, **{"posterior": True, **options})


@pytest.fixture
def nothing_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posterior_module, "LOSS", 0.0)
    monkeypatch.setattr(posterior_module, "FREQUENT", 1)


@pytest.fixture
def met(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many positions met the whole output layer, call by call."""
    counts: list[int] = []
    normaliser = posterior_module.BoundedPosterior._normaliser

    def counted(self: Any, features: torch.Tensor) -> torch.Tensor:
        counts.append(len(features))
        return normaliser(self, features)

    monkeypatch.setattr(posterior_module.BoundedPosterior, "_normaliser", counted)
    return counts


@pytest.mark.usefixtures("nothing_left_out")
@pytest.mark.parametrize(
    "changes",
    [
        *({"wiring": wiring} for wiring in WIRINGS),
        {"cell": "lstm"},
        {"readout": "tanh", "factored_output": True},
        {"tie_output": True, "factored_output": True},
        {"alignment": "general"},
        {"encoder": "forward", "alignment": "fixed"},
    ],
    ids=str,
)
def test_one_walk_is_the_filter_step_by_step(changes: dict[str, Any]) -> None:
    """Each word's posterior makes the next state's context; in variants whose state asks before that, it only
    explains the word."""
    one = network(**changes)
    found = quick([one])
    for row in range(2):
        size, length = int(TARGET_LENGTHS[row]) - 1, int(LENGTHS[row])
        expected = by_hand(one, row, filtered=one.decoder.wiring == "released")
        torch.testing.assert_close(found[row, :size, :length], expected[:size])
        assert not found[row, :, length:].any()
        assert not found[row, size:].any()  # nobody asks for the end of sentence


@pytest.mark.usefixtures("nothing_left_out")
@pytest.mark.parametrize(
    "networks",
    [
        *(
            [{"decoder": decoder, "alignment": alignment}]
            for decoder in ("forward", "backward")
            for alignment in ("recurrent", "coverage")
        ),
        [{}, {"cell": "lstm"}],
    ],
    ids=str,
)
def test_it_is_what_exact_rounds_come_to(
    networks: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What scorers remember is the posterior; ensembles walk together."""
    monkeypatch.setattr(forced, "ROUNDS", WORDS + 1)
    made = [network(seed, **changes) for seed, changes in enumerate(networks, 1)]
    _, expected = forced_decoding(made, BATCH, posterior=True)
    found = quick(made)
    for row, size in enumerate((TARGET_LENGTHS - 1).tolist()):
        torch.testing.assert_close(found[row, :size], expected[row, :size])


@pytest.mark.parametrize(
    "changes",
    [{}, {"decoder": "backward"}, {"decoder": "bidirectional"}, {"wiring": "appendix"}],
    ids=str,
)
def test_alpha_is_that_of_forced_decoding(changes: dict[str, Any]) -> None:
    one = network(**changes)
    torch.testing.assert_close(quick([one], posterior=False), forced_decoding([one], BATCH)[1])


@pytest.mark.usefixtures("nothing_left_out")
@pytest.mark.parametrize("posterior", [True, False])
@pytest.mark.parametrize(
    "changes",
    [{}, {"decoder": "backward"}, {"wiring": "appendix"}, {"alignment": "coverage"}],
    ids=str,
)
def test_pairs_that_have_ended_leave_the_others(
    changes: dict[str, Any], posterior: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = network(**changes)
    order = torch.tensor([1, 0, 1, 0])
    batch = Batch(SOURCE[order], LENGTHS[order], TARGET[order], TARGET_LENGTHS[order])
    expected = quick([one], batch, posterior=posterior)
    monkeypatch.setattr(posterior_module, "MULTIPLE", 1)
    found = quick([one], batch, posterior=posterior)
    for row, size in enumerate(batch.target_lengths.tolist()):
        torch.testing.assert_close(found[row, :size], expected[row, :size])
        assert not found[row, size:].any()


SIZES = {
    "embedding_size": 12,
    "hidden_size": 10,
    "encoder_size": 9,
    "alignment_size": 8,
    "maxout_size": 14,
}


@pytest.fixture(scope="module")
def larger() -> tuple[TranslationNetwork, Batch]:
    """900 words and 40 positions, of which a few have most of the weight."""
    made = TranslationNetwork(ModelSettings.model_validate(SIZES), 900, 900).double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.9)
    lengths, target_lengths = torch.tensor([40, 21, 1, 33, 2]), torch.tensor([30, 28, 27, 1, 2])
    source = torch.randint(2, 900, (5, 40), generator=generator)
    target = torch.randint(2, 900, (5, 30), generator=generator)
    for row in range(5):
        source[row, lengths[row] - 1 :] = 0
        target[row, target_lengths[row] - 1 :] = 0
    return made, Batch(source, lengths, target, target_lengths)


def distances(one: torch.Tensor, other: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Total variation of the rows that are asked for."""
    wanted = torch.arange(one.shape[1]) < batch.target_lengths.unsqueeze(1) - 1
    return ((one - other).abs().sum(-1) / 2)[wanted]


@pytest.mark.parametrize("loss", [0.2, 0.01, 1e-4])
@pytest.mark.parametrize("first", [1.0, 0.03])
def test_rows_lose_no_more_than_is_stated(
    larger: tuple[TranslationNetwork, Batch],
    loss: float,
    first: float,
    met: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a variant whose states do not depend on it, so that losses do not add up; and much is left out."""
    made, batch = larger
    monkeypatch.setattr(made.decoder, "wiring", "eq4")
    _, expected = forced_decoding([made], batch, posterior=True)
    monkeypatch.setattr(posterior_module, "LOSS", loss)
    monkeypatch.setattr(posterior_module, "FIRST", first)
    monkeypatch.setattr(posterior_module, "FREQUENT", 100)
    lost = distances(quick([made], batch), expected, batch)
    assert float(lost.max()) <= loss
    wanted = batch.target_lengths - 1
    assert sum(met) < int((wanted * batch.source_lengths).sum())
    assert sum(met) >= int(wanted.sum())  # the highest bound of every row
    if loss == 0.2:
        assert float(lost.max()) > 1e-3  # the bound is put to the test


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_large_logits_neither_overflow_nor_vanish(scale: float) -> None:
    logits = torch.tensor([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0], [-3.0, -2.0, -1.0]]) * scale
    bias = torch.tensor([0.3, -torch.inf, 0.2]) * scale
    words = posterior_module._Words(logits, bias)
    expected = (logits + bias).logsumexp(1)
    torch.testing.assert_close(posterior_module._log_sum(torch.eye(3), [words]), expected)
    parts = [
        posterior_module._Words(logits[:, some], bias[some]) for some in (slice(2), slice(2, 3))
    ]
    torch.testing.assert_close(posterior_module._log_sum(torch.eye(3), parts), expected)


def test_bfloat16_is_nearly_the_same(larger: tuple[TranslationNetwork, Batch]) -> None:
    made, batch = larger
    single = TranslationNetwork(ModelSettings.model_validate(SIZES), 900, 900)
    single.load_state_dict({name: value.float() for name, value in made.state_dict().items()})
    lost = distances(quick([single], batch, "bfloat16"), quick([single], batch), batch)
    assert 0 < float(lost.median()) < 0.05


def test_empty_lines_and_single_words() -> None:
    one = network()
    ends = Batch(
        torch.zeros(2, 1, dtype=torch.int64),
        torch.tensor([1, 1]),
        torch.tensor([[1, 0], [0, 0]]),
        torch.tensor([2, 1]),
    )
    found = quick([one], ends)
    assert found.shape == (2, 2, 1)
    assert found.squeeze(2).tolist() == [[1.0, 0.0], [0.0, 0.0]]


def test_an_error_between_rows_ends_it() -> None:
    steps = iter([1])
    with pytest.raises(StopIteration):
        quick([network()], each_step=lambda: next(steps))
