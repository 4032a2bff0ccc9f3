"""False positives of the test over seeds and sentences, by simulation of equal variants:

    python benchmarks/false_positives.py --seeds 3

Each line has the true variance of the mean over seeds, in units of that of the sentences; the share
of studies that call equal variants different, for four p; and the share of 95 % intervals that hold
the true difference."""

from __future__ import annotations

import argparse

import numpy as np

from rnnsearch.lab.significance import half_width

RATIOS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0)
ERRORS = (0.05, 0.01, 0.003, 0.001)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--studies", type=int, default=200_000)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    seeds, sentences, studies = options.seeds, options.sentences, options.studies
    print("seeds / sentences", *(f"p = {error}" for error in ERRORS), "in the interval", sep="\t")
    for ratio in RATIOS:
        differences = np.sqrt(ratio * seeds) * random.normal(size=(studies, seeds))
        differences += random.normal(size=(studies, 1))  # the sentences, which all seeds share
        of_seeds = differences.var(axis=1, ddof=1) / seeds
        of_sentences = random.chisquare(sentences - 1, studies) / (sentences - 1)
        estimated = (of_seeds, seeds - 1), (of_sentences, sentences - 1)
        means = np.abs(differences.mean(axis=1))
        wrong = [float(np.mean(means > half_width(error, *estimated))) for error in ERRORS]
        print(ratio, *(f"{share:.5f}" for share in wrong), f"{1 - wrong[0]:.4f}", sep="\t")


if __name__ == "__main__":
    main()
