"""A rank that follows: it learns with rank 0 and writes nothing."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from rnnsearch.config import Settings
from rnnsearch.errors import InputError
from rnnsearch.run import Run
from rnnsearch.system.machine import PRECISIONS, set_up_cpu
from rnnsearch.text.store.batches import BatchOrder, Position
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.agreement import check_agreement
from rnnsearch.training.interrupt import Interrupt, TrainingInterrupted, interruptible
from rnnsearch.training.launch import BAD_END, Launch, is_elastic, joined, use_device
from rnnsearch.training.optimiser import total_updates
from rnnsearch.training.parallel import ParallelTrainer, share_of, updates_from
from rnnsearch.training.ranks import RankLostError, Ranks
from rnnsearch.training.trainer import Trainer


def follow_launched(settings: Settings, corpus: Corpus, path: Path, launch: Launch) -> Run:
    """What a rank other than 0 does that a launcher has started, from the first to the last update.

    Returns the run as rank 0 knows it; nothing of it needs to be on this machine. Raises TrainingInterrupted as rank 0 does, and
    InputError if this is the process to say what went wrong; ends the process silently if another one of this machine says it.
    """
    run = Run(path, settings.model_copy(update={"data": corpus.settings}), corpus.source, corpus.target)
    training = settings.training
    use_device(training.device, launch)
    with ExitStack() as held:
        interrupt = held.enter_context(interruptible(insisting=not is_elastic()))
        try:
            ranks = held.enter_context(joined(launch, training.exchange_timeout, training.device, lambda: bool(interrupt.signal)))
        except KeyboardInterrupt:
            sys.exit(128 + interrupt.signal)
        except RankLostError:
            if is_elastic() and launch.local_rank:  # the first of this machine finds it too, and says it
                sys.exit(BAD_END)
            raise
        try:
            code = follow(ranks, settings, corpus, interrupt, launch.on_host)
        except KeyboardInterrupt:
            sys.exit(128 + interrupt.signal)
        except RankLostError as lost:
            if not lost.speaks:
                sys.exit(BAD_END)
            raise
        except InputError as error:
            ranks.fault(error)
            if not ranks.speaks():
                sys.exit(BAD_END)
            raise
        except Exception as error:
            ranks.fault(error)
            raise
    if code > 128:
        raise TrainingInterrupted(run, code - 128)
    if code:
        sys.exit(code)
    return run


def follow_started(ranks: Ranks, settings: Settings, store: Path) -> int:
    """The same for a process that rank 0 has started. Returns its exit code."""
    return follow(ranks, settings, Corpus.open(store), Interrupt(), settings.training.processes)


def follow(ranks: Ranks, settings: Settings, corpus: Corpus, interrupt: Interrupt, on_host: int) -> int:
    """Learns from this rank's share of all pairs until rank 0 ends it. on_host: ranks on this machine."""
    training = settings.training
    set_up_cpu(training.threads, on_host)
    check_agreement(ranks, settings, corpus)
    order = BatchOrder(corpus.train.source_lengths, corpus.train.target_lengths, training)
    shape = Run(Path(), settings.model_copy(update={"data": corpus.settings}), corpus.source, corpus.target)
    network = shape.make_network(trust_code=True, product_dtype=PRECISIONS[training.precision]).to(training.device)
    total = total_updates(training, len(order) / training.accumulate)
    # The average of the weights is sharded: no whole one is needed here.
    trainer = Trainer(network, training.model_copy(update={"average_decay": 0.0}), total)
    parallel = ParallelTrainer(trainer, ranks, training, interrupt)
    position = Position(*map(int, ranks.numbers_from_first([0, 0])))
    updates = updates_from(order, position, corpus.train, training)
    return parallel.follow(share_of(corpus.train, chosen, training, ranks.rank, ranks.world) for chosen, _ in updates)
