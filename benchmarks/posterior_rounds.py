"""Alignment error rate of α, of the exact posterior after so many rounds, and of the quick one: two runs of opposite directions, and both.

    python benchmarks/posterior_rounds.py run back test.en test.fr test.gold --rounds 1 3 --losses 0.01 0.1

`rnnsearch align --posterior --exact` does as many rounds as translation/forced.py says, and without --exact a row loses at most what
translation/bounded_posterior.py says; here both are varied. `same` is the share of links (F1, of both directions by product) that are those
of the exact posterior with the most rounds. Pairs per second are of CPU time, each pair counted once for each direction.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from rnnsearch.evaluation.alignment_error import alignment_error
from rnnsearch.evaluation.gold_links import read_gold
from rnnsearch.system.machine import set_up_cpu
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.translation import bounded_posterior, forced, forced_pairs
from rnnsearch.translation.translator import Translator
from rnnsearch.translation.word_aligner import PRODUCT, Aligned, WordAligner
from rnnsearch.word_links import Link


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("back", type=Path, help="a run of the other direction")
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("gold", help="gold links of the tokeniser's words: Pharaoh or NAACL")
    parser.add_argument("--rounds", type=int, nargs="+", default=[1, 2, 3], help="of the exact posterior")
    parser.add_argument("--losses", type=float, nargs="*", default=[bounded_posterior.LOSS], help="of the quick posterior")
    parser.add_argument("--precisions", nargs="*", default=[], help="of the quick posterior; default: that of `align`")
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    set_up_cpu(arguments.threads)
    runs = Translator.load(arguments.run), Translator.load(arguments.back)
    pairs, gold = list(read_pairs(arguments.source, arguments.target)), read_gold(arguments.gold)
    reference: list[list[Link]] = []
    print("| AER % | forward | backward | product | same % | pairs/s |\n|---|---|---|---|---|---|")

    def row(name: str, *, posterior: bool, exact: bool, is_reference: bool = False) -> None:
        aligner = WordAligner(*runs, method=PRODUCT, posterior=posterior, exact=exact, scored=False)
        begun = time.process_time()
        aligned = list(aligner.align(pairs))
        speed = 2 * len(pairs) / (time.process_time() - begun)
        if is_reference:
            reference[:] = [one.links for one in aligned]
        columns = [one.forward_links for one in aligned], [one.reverse_links or [] for one in aligned], [one.links for one in aligned]
        rates = " | ".join(f"{100 * alignment_error(links, gold).aer:.2f}" for links in columns)
        print(f"| {name} | {rates} | {100 * _same(aligned, reference):.2f} | {speed:.1f} |", flush=True)

    most = max(arguments.rounds)
    for rounds in (most, *(each for each in arguments.rounds if each != most)):
        forced.ROUNDS = rounds
        row(f"exact posterior, rounds: {rounds}", posterior=True, exact=True, is_reference=rounds == most)
    row("α", posterior=False, exact=False)
    for precision in arguments.precisions or [forced_pairs.fastest_precision(runs[0].networks[0].output.weight.device)]:
        forced_pairs.fastest_precision = lambda device, named=precision: named  # type: ignore[misc]
        for loss in arguments.losses:
            bounded_posterior.LOSS = loss
            for _ in range(2):  # the first one converts the weights
                row(f"quick posterior, loss: {loss:g}, {precision}", posterior=True, exact=False)


def _same(aligned: Sequence[Aligned], reference: Sequence[Sequence[Link]]) -> float:
    both = sum(len(set(one.links) & set(other)) for one, other in zip(aligned, reference, strict=True))
    links = sum(len(one.links) + len(other) for one, other in zip(aligned, reference, strict=True))
    return 2 * both / links if links else 1.0


if __name__ == "__main__":
    main()
