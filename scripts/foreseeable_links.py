"""Where does a loss on α cost? −log p of each word of given translations, by how well its link was
foreseen.

    python scripts/foreseeable_links.py test.en test.fr additive loss-0.1 loss-1

The first run is the network that was taught no links. For each word, its posterior says where the
word comes from once it is known, and its α what the state before the word foresaw. `foreseen` is
the share that both have in common, Σ_j min(α_j, posterior_j); words are divided into fifths by it,
and by the entropy of the posterior. Of each fifth: −log p per word of every run, in nats, its
difference to that of the first run with a 95 % interval over sentences, and the share of each run's
α on the position that the first run's posterior prefers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rnnsearch.text.formats.lines import read_lines
from rnnsearch.translation.translator import Translator

Floats = NDArray[np.float64]
FIFTHS, SAMPLES = 5, 1000


def words_of(
    translator: Translator, pairs: Sequence[tuple[str, str]]
) -> tuple[list[Floats], list[Floats]]:
    """Returns −log p of each word, and its α, (words, source words + 1), of each pair."""
    nll, alpha = list[Floats](), list[Floats]()
    for (_, target), result in zip(pairs, translator.force(pairs), strict=True):
        word_of = np.array(
            translator.target.encode(target).word_of[: len(result.log_probabilities) - 1]
        )
        log_p = np.array(result.log_probabilities[:-1])
        nll.append(-np.bincount(word_of, log_p, len(result.tokens)).astype(np.float64))
        alpha.append(result.alignment.astype(np.float64))
    return nll, alpha


def interval(differences: Floats, sentences: NDArray[np.int64], count: int) -> tuple[float, float]:
    """Returns the 95 % interval of the mean difference per word, by resampling sentences."""
    sums, sizes = (
        np.bincount(sentences, each, count) for each in (differences, np.ones(len(sentences)))
    )
    drawn = np.random.default_rng(1).multinomial(count, np.full(count, 1 / count), SAMPLES)
    low, high = np.quantile(drawn @ sums / np.maximum(drawn @ sizes, 1), [0.025, 0.975])
    return float(low), float(high)


def main(source: str, target: str, *runs: str) -> None:
    """Prints both tables."""
    pairs = list(zip(read_lines(source), read_lines(target), strict=True))
    translators = [Translator.load(run) for run in runs]
    posterior = [
        one.alignment.astype(np.float64) for one in translators[0].align(pairs, posterior=True)
    ]
    nll, alpha = zip(*(words_of(translator, pairs) for translator in translators), strict=True)
    sentences = np.repeat(np.arange(len(pairs)), list(map(len, posterior)))
    preferred = [rows.argmax(1) for rows in posterior]
    foreseen = [np.minimum(a, rows).sum(1) for a, rows in zip(alpha[0], posterior, strict=True)]
    entropy = [-(rows * np.log(np.maximum(rows, 1e-12))).sum(1) for rows in posterior]
    losses = [np.concatenate(one) for one in nll]
    shares = [
        np.concatenate([a[np.arange(len(a)), best] for a, best in zip(one, preferred, strict=True)])
        for one in alpha
    ]
    for name, parts in (("foreseen", foreseen), ("entropy of the posterior", entropy)):
        values = np.concatenate(parts)
        edges = np.quantile(values, np.linspace(0, 1, FIFTHS + 1))
        fifth = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, FIFTHS - 1)
        print(
            f"{name}\twords\t" + "\t".join(f"{Path(run).name}\tdifference\tα there" for run in runs)
        )
        for number in range(FIFTHS):
            chosen = fifth == number
            cells = [f"{edges[number]:.2f}–{edges[number + 1]:.2f}", f"{chosen.sum():,}"]
            for loss, share in zip(losses, shares, strict=True):
                change = (loss - losses[0])[chosen]
                low, high = interval(change, sentences[chosen], len(pairs))
                cells += [
                    f"{loss[chosen].mean():.3f}",
                    f"{change.mean():+.3f} [{low:+.3f}, {high:+.3f}]",
                ]
                cells.append(f"{share[chosen].mean():.3f}")
            print("\t".join(cells))


if __name__ == "__main__":
    main(*sys.argv[1:])
