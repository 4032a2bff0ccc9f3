"""Several processes compute what one does: gradients of their shares, with the mean that DDP takes of
them."""

from __future__ import annotations

import itertools
import math
import shutil
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import learning_together as together
import numpy as np
import pytest
import torch

from rnnsearch.config import TrainingSettings, load_config
from rnnsearch.errors import InputError
from rnnsearch.text.store.batches import Batch
from rnnsearch.text.store.corpus import Corpus, Pairs, SentenceIds
from rnnsearch.text.store.order import BatchOrder, Position
from rnnsearch.text.store.store import CHECKSUMS
from rnnsearch.training import launch
from rnnsearch.training import processes as module
from rnnsearch.training.launch import Interrupt, Launch, check_agreement, launched, rendezvous
from rnnsearch.training.processes import (
    Processes,
    RankLostError,
    share_of,
    updates_from,
)

QUICK = ("adadelta, sparse rows, averaged", "adamw, links, backward decoder")


@pytest.mark.parametrize(
    ("world", "cases"),
    [(2, QUICK), *(pytest.param(world, tuple(together.CASES), marks=pytest.mark.slow) for world in (2, 3))],
)
def test_processes_learn_what_one_does(world: int, cases: tuple[str, ...]) -> None:
    """Weights, averages, optimiser state, NLL and norm of 30 updates in float64, where the order of sums
    hardly matters; word links that are forced at random too."""
    torch.set_num_threads(1)
    found, weights = launched(world, together.learn_everything, cases)
    for case in cases:
        assert_same(found[case], together.learned(case, Processes()))
    for other, case in itertools.product(weights[1:], cases):
        for name, tensor in weights[0][case].items():
            assert torch.equal(other[case][name], tensor), name  # bit for bit
    alone = together.learned(QUICK[0], Processes(), 3, pairs=1)
    assert_same(found["fewer pairs than processes"], alone)
    update, unchanged = found["skipped"]
    assert not update.applied
    assert unchanged


def assert_same(found: Any, expected: Any, tolerance: float = 1e-12) -> None:
    (state, updates), (expected_state, expected_updates) = found, expected
    torch.testing.assert_close(state, expected_state, rtol=tolerance, atol=tolerance)
    for one, other in zip(updates, expected_updates, strict=True):
        assert (one.pairs, one.target_tokens, one.applied) == (
            other.pairs,
            other.target_tokens,
            other.applied,
        )
        numbers = [
            (update.nll, update.gradient_norm, update.alignment_loss, update.linked_rows)
            for update in (one, other)
        ]
        assert numbers[0] == pytest.approx(numbers[1], rel=tolerance)


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("worlds", [(1,), (2,), (5,), (2, 3), (3, 1, 2)])
def test_every_pair_is_read_once_in_an_epoch(
    worlds: tuple[int, ...], accumulate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whatever number of processes, and by another number from where those before have stopped in the
    middle of it."""

    def collated(pairs: object, indices: Any, **_: object) -> Batch:
        ids = torch.tensor(indices).unsqueeze(1)
        lengths = torch.ones(len(ids), dtype=torch.int64)
        return Batch(ids, lengths, ids, lengths)

    monkeypatch.setattr(module, "collate", collated)
    training = TrainingSettings(batch_size=4, pool_batches=3, accumulate=accumulate, max_length=9)
    lengths = np.random.default_rng(1).integers(1, 8, (2, 61))
    unread = Pairs(SentenceIds.of([]), SentenceIds.of([]))
    order, position, read = BatchOrder(lengths[0], lengths[1], training), Position(), Counter[int]()
    left = len(order)  # so many updates are as many epochs as are accumulated
    for number, world in enumerate(worlds, 1):
        part = left if number == len(worlds) else 5
        left -= part
        for chosen, after in itertools.islice(updates_from(order, position, unread, training), part):
            shares = [share_of(None, chosen, training, Rank(rank, world)) for rank in range(world)]  # type: ignore[arg-type]
            for batch in itertools.chain.from_iterable(shares):
                read.update(batch.source[batch.target_lengths > 0].flatten().tolist())
            assert {len(share) for share in shares} == {len(chosen)}
            position = after
    assert position in ((accumulate, 0), (accumulate - 1, len(order)))
    assert read == dict.fromkeys(range(61), accumulate)


class Rank(Processes):
    """One of several, as far as its share is concerned."""

    def __init__(self, rank: int, world: int) -> None:
        self.rank, self.world = rank, world


class Two(Processes):
    """Rank 0 of two; the other says `theirs`."""

    world = 2

    def __init__(self, theirs: Any) -> None:
        self.theirs = theirs

    def gather(self, value: Any) -> list[Any]:
        return [value, self.theirs]


@pytest.mark.parametrize(
    ("override", "patched", "said"),
    [
        ("training.seed=5", {}, r"training\.seed is 5 in rank 1, and 1 in rank 0"),
        ("model.hidden_size=9", {}, r"model\.hidden_size is 9 in rank 1, and 1000 in rank 0"),
        ("", {"package_version": lambda: "9.9"}, r"the version of rnnsearch is 9\.9 in rank 1"),
        ("", {"file_checksum": lambda path: "another"}, "the checksum of the prepared dataset is another in"),
        ("training.threads=1", {}, ""),
        ("training.processes=2", {}, ""),
    ],
)
def test_ranks_that_would_learn_different_things_are_refused(
    override: str, patched: dict[str, Any], said: str, tiny_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = Corpus.open(tiny_store)
    with monkeypatch.context() as patch:
        for name, value in patched.items():
            patch.setattr(launch, name, value)
        theirs = launch._facts(load_config(overrides=[override] if override else []), corpus)
    if not said:
        check_agreement(Two(theirs), load_config(), corpus)
        return
    with pytest.raises(InputError, match=said):
        check_agreement(Two(theirs), load_config(), corpus)


def test_a_copy_of_the_dataset_agrees_and_another_one_does_not(tiny_store: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_store, tmp_path / "copy")
    settings, corpus = load_config(), Corpus.open(tiny_store)
    copy = Corpus.open(tmp_path / "copy")
    check_agreement(Two(launch._facts(settings, copy)), settings, corpus)
    with (tmp_path / "copy" / CHECKSUMS).open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(InputError, match="the checksum of the prepared dataset is"):
        check_agreement(Two(launch._facts(settings, copy)), settings, corpus)


class Work:
    """An exchange with rank 0 that is done after so many timeouts."""

    def __init__(self, timeouts: float) -> None:
        self.timeouts = timeouts

    def wait(self, limit: timedelta) -> None:
        time.sleep(limit.total_seconds())
        self.timeouts -= 1
        if self.timeouts > 0:
            raise RuntimeError("Operation timed out!")


def test_rank_0_is_waited_for_as_long_as_it_shows_signs_of_life() -> None:
    waiting: Any = object.__new__(module.DistributedProcesses)
    waiting.store, waiting.timeout = torch.distributed.HashStore(), 0.4
    with pytest.raises(torch.distributed.DistStoreError, match="timed out"):
        waiting._wait(Work(math.inf))
    with waiting._heartbeats():
        waiting._wait(Work(4))


def test_a_launcher_that_has_gone_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its store was there before the rank: if nobody listens, it was killed."""
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1", launch.LAUNCHERS_STORE: "True"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(launch.distributed, "rendezvous", lambda *_, **__: pytest.fail("waits"))
    with pytest.raises(RankLostError, match=r"no meeting point of the ranks at 127\.0\.0\.1:1: .*refused"):
        rendezvous(Launch(rank=1, world=2, local_rank=1, on_host=2, restarts=0), 500.0, Interrupt())


def test_a_store_that_goes_while_the_ranks_meet_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its launcher was killed then."""
    store = SimpleNamespace(set_timeout=lambda limit: (_ for _ in ()).throw(RuntimeError("reset by peer")))
    for name, value in {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(launch.LAUNCHERS_STORE, raising=False)
    monkeypatch.setattr(launch.distributed, "rendezvous", lambda url, timeout: iter([(store, 0, 2)]))
    with pytest.raises(RankLostError, match=r"^rank 0 has ended"):
        rendezvous(Launch(rank=0, world=2, local_rank=0, on_host=2, restarts=0), 500.0, Interrupt())
