"""Alignment error rate of α, and of the posterior after so many rounds: of two runs of opposite directions, and of both by product.

    python benchmarks/posterior_rounds.py run back test.en test.fr test.gold --rounds 1 3

`rnnsearch align --posterior` does as many rounds as translation/forced.py says; here their number is varied.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rnnsearch.evaluation.alignment_error import alignment_error
from rnnsearch.evaluation.gold_links import read_gold
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.translation import forced
from rnnsearch.translation.translator import Translator
from rnnsearch.translation.word_aligner import PRODUCT, WordAligner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("back", type=Path, help="a run of the other direction")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("gold", help="gold links of the tokeniser's words: Pharaoh or NAACL")
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    set_up_cpu(arguments.threads)
    translator, reverse = Translator.load(arguments.run), Translator.load(arguments.back)
    pairs, gold = list(read_pairs(arguments.source, arguments.target)), read_gold(arguments.gold)
    print("| AER % | forward | backward | product |\n|---|---|---|---|")
    for rounds in (0, *arguments.rounds):
        forced.ROUNDS = max(rounds, 1)
        aligned = list(WordAligner(translator, reverse, method=PRODUCT, posterior=rounds > 0).align(pairs))
        columns = [one.forward_links for one in aligned], [one.reverse_links or [] for one in aligned], [one.links for one in aligned]
        rates = (f"{100 * alignment_error(links, gold).aer:.2f}" for links in columns)
        print(f"| {f'posterior, rounds: {rounds}' if rounds else 'α'} | {' | '.join(rates)} |", flush=True)


if __name__ == "__main__":
    main()
