"""Seconds of training until the translations of a test set reach a BLEU: Multi30k, words, one core.

    python benchmarks/time_to_quality.py DATA --threads 1
    python benchmarks/time_to_quality.py DATA --bleu 50 --set training.max_epochs=3 --set model.hidden_size=512

DATA holds train and test2016 as .en.gz and .fr.gz. The recipe is time_to_quality.toml beside this file; the test set decides nothing in it
but when to stop: at the end of each epoch after `--from-epoch`, and at the end of training, test2016 is translated by beam search with the
averaged weights, and BLEU is sacreBLEU's 13a, cased. The clock of training stands still meanwhile; "in all" has everything: reading,
numbering, training and all of these translations. Processor time is that of all threads: where other work shares the machine, it tells
more than the time on the wall.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple, Self

import torch

from rnnsearch.config import Settings, load_config
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.evaluation.statistics import Score
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import PRECISIONS, hardware, set_up_cpu
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.batches import BatchOrder, Position, collate
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.optimiser import total_updates
from rnnsearch.training.trainer import Trainer
from rnnsearch.translation.translator import Translator

PROGRESS = 100
"""Updates between two lines that show it."""


class Clock(NamedTuple):
    """Seconds on the wall, and of processor time."""

    wall: float
    processor: float

    @classmethod
    def now(cls) -> Self:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return cls(time.perf_counter(), used.ru_utime + used.ru_stime)

    def since(self, start: Clock, before: Clock | None = None) -> Clock:
        """The time that has passed from `start` to here, added to `before`."""
        before = before or Clock(0.0, 0.0)
        return Clock(before.wall + self.wall - start.wall, before.processor + self.processor - start.processor)

    def text(self) -> str:
        return f"{self.wall:.1f} s ({self.processor:.1f} s of processor time)"


@dataclass(frozen=True)
class Measured:
    """How training stands at one look at the test set."""

    epochs: float
    updates: int
    target_tokens: int
    training: Clock
    in_all: Clock
    bleu: float
    signature: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with train and test2016, each as .en.gz and .fr.gz")
    parser.add_argument("--bleu", type=float, default=53.1, help="training ends when this is reached")
    parser.add_argument("--recipe", default=str(Path(__file__).with_suffix(".toml")))
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--from-epoch", type=float, default=3.0, help="do not look at the test set before")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    settings = load_config(arguments.recipe, arguments.set)
    started = Clock.now()
    set_up_cpu(arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        pair = [arguments.data / f"train.{language}.gz" for language in ("en", "fr")]
        prepare(*pair, Path(folder) / "store", settings=settings.data)
        test = [lines(arguments.data / f"test2016.{language}.gz") for language in ("en", "fr")]
        corpus = Corpus.open(Path(folder) / "store")
        print(f"prepared after {Clock.now().since(started).text()}: {vocabularies(corpus)}", file=sys.stderr)
        looks = train(settings, corpus, test, arguments.bleu, arguments.from_epoch, started)
    last = looks[-1]
    reached = last.bleu >= arguments.bleu
    if arguments.json:
        conditions = {"hardware": hardware("cpu"), "torch": torch.__version__, "settings": settings.model_dump(exclude_none=True)}
        found = [asdict(look) | {"training": look.training._asdict(), "in_all": look.in_all._asdict()} for look in looks]
        print(json.dumps({**conditions, "bleu": arguments.bleu, "reached": reached, "looks": found}, indent=2))
    else:
        print(f"{hardware('cpu')}, torch {torch.__version__}; {last.signature}")
        print(f"BLEU {last.bleu:.2f}, {'which reaches' if reached else 'short of'} {arguments.bleu:g}, after {last.epochs:.2f} epochs")
        print(f"training  {last.training.text()}: {last.target_tokens / last.training.wall:,.0f} target tokens/s")
        print(f"in all    {last.in_all.text()}")
    sys.exit(0 if reached else 1)


def train(settings: Settings, corpus: Corpus, test: list[list[str]], wanted: float, first: float, started: Clock) -> list[Measured]:
    """Updates until the BLEU is reached or the recipe ends; every look at the test set."""
    training = settings.training
    order = BatchOrder(corpus.train.source_lengths, corpus.train.target_lengths, training)
    torch.manual_seed(training.seed)
    words = len(corpus.source.vocabulary), len(corpus.target.vocabulary)
    network = TranslationNetwork(settings.model, *words, product_dtype=PRECISIONS[training.precision])
    end = total_updates(training, len(order))
    trainer = Trainer(network, training, end)
    looks: list[Measured] = []
    tokens, spent, start = 0, Clock(0.0, 0.0), Clock.now()
    for number, (indices, position) in enumerate(order.batches(Position()), 1):
        update = trainer.update([collate(corpus.train, indices)], number)
        tokens += update.target_tokens
        if number % PROGRESS == 0:
            print(f"update {number:,} of {end:,}  nll/word {update.nll / update.target_tokens:.2f}", file=sys.stderr)
        epochs = position.epoch + position.batch / len(order)
        if number == end or (position.batch == 0 and epochs >= first):
            spent = Clock.now().since(start, spent)
            score = translated(trainer, corpus, settings, *test)
            in_all = Clock.now().since(started)
            looks.append(Measured(epochs, number, tokens, spent, in_all, score.value, score.signature))
            print(f"epoch {epochs:.2f}  BLEU {score.value:.2f}  training {spent.text()}  in all {in_all.text()}", file=sys.stderr)
            if number == end or score.value >= wanted:
                break
            start = Clock.now()
    return looks


def translated(trainer: Trainer, corpus: Corpus, settings: Settings, source: list[str], reference: list[str]) -> Score:
    """The score of the translations with the weights as they would be saved."""
    with trainer.for_use() as network:
        translator = Translator([network], corpus.source, corpus.target, settings.search)
        return bleu([result.text for result in translator.translate(source)], reference)


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8").rstrip("\n").split("\n")


def vocabularies(corpus: Corpus) -> str:
    return f"{len(corpus.train):,} pairs, {len(corpus.source.vocabulary):,} and {len(corpus.target.vocabulary):,} words"


if __name__ == "__main__":
    main()
