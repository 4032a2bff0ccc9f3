"""Whether data selection finds a domain: two experiments on real corpora.

    python benchmarks/selection_quality.py DATA

1. The pool is Europarl and Multi30k's training pairs, the domain Multi30k's development set. As many pairs are kept as Multi30k has; how
   many of them are Multi30k's?
2. The pool is Europarl, the domain newstest2012. Parts of several sizes are selected, and parts with as many words drawn at random; which
   of the two makes the better 4-gram model of newstest2013? Both models of a language know the words that occur twice in the two parts
   together. Unknown words of newstest2013 are left out of the perplexity: a part with many rare words would gain by expecting them.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections import Counter
from itertools import chain
from pathlib import Path

from rnnsearch.config import DataSettings
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.text.selecting.domain import Sentences, Tokenisers, random_sample, tokenised
from rnnsearch.text.selecting.ngrams import NgramModel, Text, as_text
from rnnsearch.text.selecting.select import Amount, score_pool, select
from rnnsearch.text.vocabulary import UNK, Vocabulary

SETTINGS = DataSettings()
TOKENISERS = Tokenisers(side_tokeniser("source", SETTINGS), side_tokeniser("target", SETTINGS))
ORDER = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with europarl, multi30k and newstest, .en.gz and .fr.gz")
    parser.add_argument(
        "--shares", type=float, nargs="+", default=[0.05, 0.1, 0.2, 0.4], help="of Europarl's target words, for experiment 2"
    )
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mixed_pool(arguments.data, Path(folder), arguments.workers, arguments.seed)
        news(arguments.data, Path(folder), arguments.shares, arguments.workers, arguments.seed)


def mixed_pool(data: Path, folder: Path, workers: int, seed: int) -> None:
    pool = [*sides(data / "europarl/train"), *sides(data / "multi30k/train")]
    score_pool(sides(data / "multi30k/val"), pool, folder / "mixed", settings=SETTINGS, order=ORDER, seed=seed, workers=workers)
    size = sum(1 for _ in read_pairs(*sides(data / "multi30k/train")))
    europarl, multi30k = select(folder / "mixed", folder / "mixed-kept", Amount(size, "pairs")).parts
    precision, chance = multi30k.kept_pairs / size, multi30k.pairs / (multi30k.pairs + europarl.pairs)
    print(f"1. Europarl ({europarl.pairs:,} pairs) and Multi30k ({multi30k.pairs:,}), domain Multi30k val: of the best {size:,} pairs")
    print(f"   {multi30k.kept_pairs:,} are Multi30k's: precision {100 * precision:.1f} % (at random {100 * chance:.1f} %)")


def news(data: Path, folder: Path, shares: list[float], workers: int, seed: int) -> None:
    pool = sides(data / "europarl/train")
    score_pool(sides(data / "newstest/newstest2012"), pool, folder / "news", settings=SETTINGS, order=ORDER, seed=seed, workers=workers)
    test = tokenised(read_pairs(*sides(data / "newstest/newstest2013")), TOKENISERS)
    print("2. Europarl, domain newstest2012: perplexity of newstest2013 under models of")
    for share in shares:
        source, target = select(folder / "news", folder / "news-kept", Amount(share, "share"), overwrite=True).files
        selected = tokenised(read_pairs(source, target), TOKENISERS)
        drawn = random_sample(read_pairs(*pool), TOKENISERS, sum(selected.words), seed + 1)
        for side, language in enumerate(("English", "French")):
            best, random = perplexities(selected, drawn, test, side)
            words = f"{selected.words[side] / 1e6:.2f} | {drawn.words[side] / 1e6:.2f} M words"
            print(f"   {100 * share:.0f} %, {language} ({words}): selected {best:.1f}, random {random:.1f} ({best / random - 1:+.1%})")


def perplexities(selected: Sentences, drawn: Sentences, test: Sentences, side: int) -> tuple[float, float]:
    """Of the test sentences of one side, under a model of the selected ones and one of those drawn at random."""
    counts = Counter(chain.from_iterable(line.split() for part in (selected, drawn) for line in part[side]))
    vocabulary = Vocabulary.from_counts(counts, len(counts), 2)
    best, random, asked = (as_text(map(str.split, part[side]), vocabulary) for part in (selected, drawn, test))
    return perplexity(best, asked, len(vocabulary)), perplexity(random, asked, len(vocabulary))


def perplexity(learnt: Text, asked: Text, words: int) -> float:
    logs = NgramModel.estimate(learnt, words, ORDER).log_probabilities(asked)
    return math.exp(-logs[(asked.ids != UNK) & (asked.ids != words)].mean())  # words is the id of <s>, which is not predicted


def sides(name: Path) -> tuple[Path, Path]:
    return Path(f"{name}.en.gz"), Path(f"{name}.fr.gz")


if __name__ == "__main__":
    main()
