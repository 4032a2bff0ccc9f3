"""Several ranks compute what one process does: gradients of their shares summed, every number of the parameters updated once."""

from __future__ import annotations

import copy
import itertools
import math
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from rank_threads import by_rank, together
from torch import Tensor

from rnnsearch.config import ModelSettings, TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.text.store.batches import Batch, BatchOrder, Position
from rnnsearch.training import parallel as parallel_module
from rnnsearch.training.flat import ALIGNED, FlatParameters
from rnnsearch.training.parallel import ParallelTrainer, Share, share_of, updates_from
from rnnsearch.training.ranks import Ranks
from rnnsearch.training.trainer import Trainer, Update

MODEL = ModelSettings(embedding_size=6, hidden_size=8, alignment_size=5, maxout_size=6, initialisation="glorot")
WORDS, UPDATES = 23, 30
ONE_AT_A_TIME = threading.Lock()
"""For what draws from the random state that threads share."""


def settings(**training: Any) -> TrainingSettings:
    return TrainingSettings(threads=1, **training)


def trainer(training: TrainingSettings, model: ModelSettings = MODEL, seed: int = 3) -> Trainer:
    with ONE_AT_A_TIME:
        torch.manual_seed(seed)
        return Trainer(TranslationNetwork(model, WORDS, WORDS).double(), training, 0)


def batches(number: int, training: TrainingSettings, pairs: int = 7) -> list[Batch]:
    """As many as are accumulated."""
    generator = torch.Generator().manual_seed(number)
    found = []
    for _ in range(training.accumulate):
        lengths = torch.randint(1, 6, (2, pairs), generator=generator)
        ids = torch.randint(0, WORDS, (2, pairs, 5), generator=generator)
        known = torch.rand(pairs, 5, 5, generator=generator, dtype=torch.float64)
        words = None
        if training.sampled_softmax:
            words = torch.randperm(WORDS, generator=generator)[: training.sampled_softmax].sort().values
            ids[1] = words[ids[1] % len(words)]
        found.append(Batch(ids[0], lengths[0], ids[1], lengths[1], known, words))
    return found


def share(whole: list[Batch], ranks: Ranks) -> Share:
    mine = [batch.share(ranks.rank, ranks.world) for batch in whole if len(batch.source) > ranks.rank]
    return Share(mine, sum(len(batch.source) for batch in whole))


Whole = Callable[[int], list[Batch]]


def shares(whole: Whole, ranks: Ranks, first: int = 1) -> Iterator[Share]:
    number = first
    while True:
        yield share(whole(number), ranks)
        number += 1


def learn(ranks: Ranks, training: TrainingSettings, whole: Whole, updates: range, model: ModelSettings, state: Any = None) -> Any:
    """Rank 0: (its trainer, whole again; the updates). The others begin from other weights, and get those of rank 0."""
    one = trainer(training, model, seed=3 + ranks.rank)
    if state is not None and not ranks.rank:
        restore(one, state)
    parallel = ParallelTrainer(one, ranks, training)
    if ranks.rank:
        return parallel.follow(shares(whole, ranks, updates[0]))
    done = [parallel.update(share(whole(number), ranks), number) for number in updates]
    parallel.collect(state=True)
    parallel.end(0)
    return one, done


State = tuple[dict[str, Tensor], dict[int, dict[str, Tensor]], dict[str, Tensor]]


def state_of(one: Trainer) -> State:
    """What a checkpoint holds."""
    average = {} if one.average is None else {name: tensor.clone() for name, tensor in one.average.weights.items()}
    slots = {i: {slot: value.clone() for slot, value in slots.items()} for i, slots in one.optimiser.state_dict()["state"].items()}
    return {name: tensor.clone() for name, tensor in one.network.state_dict().items()}, slots, average


def restore(one: Trainer, state: State) -> None:
    weights, slots, average = copy.deepcopy(state)
    one.network.load_state_dict(weights)
    one.optimiser.load_state_dict({"state": slots, "param_groups": one.optimiser.state_dict()["param_groups"]})
    if one.average is not None:
        for name, tensor in one.average.weights.items():
            tensor.copy_(average[name])


def assert_same(found: State, expected: State, tolerance: float) -> None:
    for one, other in ((found[0], expected[0]), (found[2], expected[2])):
        assert one.keys() == other.keys()
        for name, tensor in other.items():
            torch.testing.assert_close(one[name], tensor, rtol=tolerance, atol=tolerance, msg=name)
    assert found[1].keys() == expected[1].keys()
    for index, slots in expected[1].items():
        assert found[1][index].keys() == slots.keys()
        for slot, value in slots.items():
            torch.testing.assert_close(found[1][index][slot], value, rtol=tolerance, atol=tolerance, msg=f"{index}.{slot}")


TIED = MODEL.model_copy(update={"tie_output": True, "embedding_size": 6, "maxout_size": 6})
BOTH = MODEL.model_copy(update={"decoder": "bidirectional"})
CASES: dict[str, tuple[int, ModelSettings, dict[str, Any]]] = {
    "adadelta, sparse rows": (2, MODEL, {}),
    "adadelta, sparse rows, four ranks, averaged": (4, MODEL, {"average_decay": 0.9}),
    "adadelta, tied, clipped": (2, TIED, {"clip_norm": 0.01}),
    "adadelta, dense": (2, MODEL, {"weight_decay": 0.01}),
    "adam, averaged, both decoders, accumulated": (
        3,
        BOTH,
        {"optimiser": "adam", "learning_rate": 0.01, "average_decay": 0.9, "accumulate": 2},
    ),
    "adam": (2, MODEL, {"optimiser": "adam", "learning_rate": 0.01}),
    "adadelta, sampled softmax, both decoders, accumulated": (2, BOTH, {"sampled_softmax": 9, "accumulate": 2, "average_decay": 0.9}),
    "adadelta, sampled softmax, tied": (2, TIED, {"sampled_softmax": 9}),
    "adam, sampled softmax": (2, MODEL, {"optimiser": "adam", "learning_rate": 0.01, "sampled_softmax": 9}),
    "adamw, alignment loss, backward decoder": (
        2,
        MODEL.model_copy(update={"decoder": "backward"}),
        {"optimiser": "adamw", "learning_rate": 0.01, "weight_decay": 0.1, "alignment_loss": "cross-entropy"},
    ),
    "sgd, never clipped": (2, MODEL, {"optimiser": "sgd", "learning_rate": 0.1, "clip_norm": 0.0}),
}


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has memory files without a name")
QUICK = {"adadelta, sparse rows": False, "adam": True, "adadelta, sampled softmax, tied": False}
"""Case → whether ranks share memory; all others are slow."""


def case(name: str, share_memory: bool) -> Any:
    return pytest.param(name, share_memory, marks=[*[LINUX] * share_memory, *[pytest.mark.slow] * (QUICK.get(name) != share_memory)])


@pytest.mark.parametrize(("name", "share_memory"), [case(name, share_memory) for name in CASES for share_memory in (False, True)])
def test_ranks_learn_what_one_process_does(name: str, share_memory: bool) -> None:
    """Weights, averages, optimiser state, NLL and norm of 30 updates in float64, where the order of sums hardly matters."""
    world, model, changes = CASES[name]
    training = settings(**changes)
    alone = trainer(training, model)
    expected = [alone.update(batches(number, training), number) for number in range(1, UPDATES + 1)]

    def work(ranks: Ranks) -> Any:
        return learn(ranks, training, lambda n: batches(n, training), range(1, UPDATES + 1), model)

    first, found = together(world, work, share_memory=share_memory)[0]
    for one, other in zip(expected, found, strict=True):
        assert (one.pairs, one.target_tokens, one.applied) == (other.pairs, other.target_tokens, other.applied)
        numbers = [(update.nll, update.gradient_norm, update.alignment_loss, update.linked_rows) for update in (other, one)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-12)
    assert_same(state_of(first), state_of(alone), 1e-12)


@pytest.mark.parametrize(
    "name",
    ["adadelta, sparse rows, four ranks, averaged", pytest.param("adam, averaged, both decoders, accumulated", marks=pytest.mark.slow)],
)
def test_a_restored_training_goes_on_bit_for_bit_and_with_another_number_of_ranks(name: str) -> None:
    world, model, changes = CASES[name]
    training = settings(**changes)

    def part(updates: range, state: State | None = None, world: int = world) -> State:
        first, _ = together(world, lambda ranks: learn(ranks, training, lambda n: batches(n, training), updates, model, state))[0]
        return state_of(first)

    whole, half = part(range(1, 7)), part(range(1, 4))
    assert_same(part(range(4, 7), half), whole, 0.0)
    assert_same(part(range(4, 7), half, world=2), whole, 1e-12)


def test_bfloat16_on_the_way_changes_little() -> None:
    training = settings(exchange_precision="bfloat16", optimiser="sgd", learning_rate=0.1)
    alone = trainer(training)
    for number in range(1, 11):
        alone.update(batches(number, training), number)
    first, _ = together(2, lambda ranks: learn(ranks, training, lambda n: batches(n, training), range(1, 11), MODEL))[0]
    differences = [(one - other).abs().max() for one, other in zip(first.parameters, alone.parameters, strict=True)]
    assert 0 < max(differences) < 1e-3


def test_fewer_pairs_than_ranks() -> None:
    training = settings()
    alone = trainer(training)
    expected = [alone.update(batches(number, training, pairs=1), number) for number in (1, 2)]
    first, found = together(3, lambda ranks: learn(ranks, training, lambda n: batches(n, training, pairs=1), range(1, 3), MODEL))[0]
    assert [update.nll for update in found] == pytest.approx([update.nll for update in expected], rel=1e-12)
    assert_same(state_of(first), state_of(alone), 1e-12)


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    training = settings(optimiser="adam")

    def work(ranks: Ranks) -> Update | int:
        one = trainer(training)
        with torch.no_grad():
            one.network.output.bias[3] = math.nan
        parallel = ParallelTrainer(one, ranks, training)
        if ranks.rank:
            code = parallel.follow(shares(lambda n: batches(n, training), ranks))
        else:
            code = parallel.update(share(batches(1, training), ranks), 1)
            parallel.end(0)
        before = trainer(training).network.state_dict()
        before["output.bias"][3] = math.nan
        for name, tensor in one.network.state_dict().items():
            torch.testing.assert_close(tensor, before[name], equal_nan=True)
        return code

    update, code = together(2, work)
    assert not update.applied
    assert code == 0


@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_every_number_has_one_owner_and_the_parts_are_even(world: int) -> None:
    """Also with more ranks than there is to own."""
    sizes = [(5, 3), (1,), (4, 40), (7,)]
    parameters = [torch.nn.Parameter(torch.rand(size)) for size in sizes]
    before = [parameter.detach().clone() for parameter in parameters]

    class Alone:
        rank, others, share_memory = 0, list(range(1, world)), False

        def from_first(self, tensor: Tensor) -> None: ...

    Alone.world = world
    flat = FlatParameters(parameters, Alone())  # type: ignore[arg-type]
    owned = torch.zeros_like(flat.vector)
    for rank in range(world):
        for piece in flat.pieces_of(rank):
            assert piece.begin >= rank * flat.share
            assert piece.end <= (rank + 1) * flat.share
            owned[piece.begin : piece.end] += 1
    assert all((view == 1).all() for view in flat.views(owned))
    assert flat.share * world - sum(parameter.numel() for parameter in parameters) < ALIGNED * (world + len(sizes))
    for parameter, value in zip(parameters, before, strict=True):
        assert torch.equal(parameter, value)
        assert parameter.data_ptr() % (4 * ALIGNED) == flat.vector.data_ptr() % (4 * ALIGNED)


def test_other_pairs_in_another_rank_are_noticed() -> None:
    training = settings()

    def work(ranks: Ranks) -> None:
        parallel = ParallelTrainer(trainer(training), ranks, training)
        wrong = share(batches(1, training), ranks)._replace(check=ranks.rank)
        if ranks.rank:
            parallel.follow(iter([wrong]))
        else:
            parallel.update(wrong, 1)

    with pytest.raises(Exception, match="different pairs for update 1"):
        together(2, work)


def test_processors_that_round_differently_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are updated by every rank for itself."""
    say_rank = by_rank(monkeypatch, torch.backends.cpu, "get_cpu_capability", ["AVX2", "AVX512"])

    def work(ranks: Ranks) -> None:
        say_rank(ranks.rank)
        ParallelTrainer(trainer(settings()), ranks, settings())

    with pytest.raises(InputError, match=r"rank 1 .* computes with AVX512, and rank 0 with AVX2"):
        together(2, work)


def test_another_network_is_refused() -> None:
    def work(ranks: Ranks) -> None:
        ParallelTrainer(trainer(settings(), MODEL.model_copy(update={"hidden_size": 8 + ranks.rank})), ranks, settings())

    with pytest.raises(InputError, match=r"rank 1 .* has another network than rank 0"):
        together(2, work)


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("worlds", [(1,), (2,), (5,), (2, 3), (3, 1, 2)])
def test_every_pair_is_read_once_in_an_epoch(worlds: tuple[int, ...], accumulate: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whatever number of ranks, and by another number from where those before have stopped in the middle of it."""

    class Read(list[int]):
        def to(self, device: str) -> Read:
            return self

    monkeypatch.setattr(parallel_module, "collate", lambda pairs, indices, **_: Read(indices.tolist()))
    training = settings(batch_size=4, pool_batches=3, accumulate=accumulate, max_length=9)
    lengths = np.random.default_rng(1).integers(1, 8, (2, 61))
    order, position, read = BatchOrder(lengths[0], lengths[1], training), Position(), Counter[int]()
    left = len(order)  # so many updates are as many epochs as are accumulated
    for number, world in enumerate(worlds, 1):
        part = left if number == len(worlds) else 5
        left -= part
        for chosen, after in itertools.islice(updates_from(order, position, None, training), part):  # type: ignore[arg-type]
            shares = [share_of(None, chosen, training, rank, world) for rank in range(world)]  # type: ignore[arg-type]
            read.update(itertools.chain.from_iterable(itertools.chain.from_iterable(share.batches for share in shares)))
            assert {share.pairs for share in shares} == {sum(len(one.indices) for one in chosen)}
            assert len({share.check for share in shares}) == 1
            position = after
    assert position == (accumulate, 0) or position == (accumulate - 1, len(order))
    assert read == dict.fromkeys(range(61), accumulate)
