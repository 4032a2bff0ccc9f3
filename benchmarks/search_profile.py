"""Where the time of a search goes: the twin of update_profile.py.

    python benchmarks/search_profile.py --threads 1
    python benchmarks/search_profile.py --recipe multi30k --words 4002 --beam 5 --precision float32

Synthetic sentences of one length are translated together by a network that nothing has trained; every
translation is made to have that length too. By part: seconds within the functions that make up a search. By
kind: shares that torch's profiler finds, which makes everything slower.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile
from update_profile import PRODUCTS, by_part

from rnnsearch.bench import random_ids, random_network
from rnnsearch.config import load_config
from rnnsearch.model import network as networks
from rnnsearch.model.decoder import Decoder
from rnnsearch.model.layers import linear_cache
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.model.readout import Readout
from rnnsearch.system.machine import hardware, set_up_cpu
from rnnsearch.translation import beam
from rnnsearch.translation.joint import search
from rnnsearch.translation.readers import begin_search

PARTS = {
    "encoder, keys, first state": (TranslationNetwork, "begin"),
    "alignment and context": (Decoder, "attend"),
    "cell": (Decoder, "advance"),
    "readout": (Readout, "forward"),
    "output layer and softmax": (networks, "log_probabilities"),
    "choice of the best words": (beam, "best_candidates"),
    "finished sentences": (beam.Found, "take"),
    "selection of states": (beam, "advance"),
}
KINDS = {
    "matrix products": PRODUCTS,
    "int8 matrix products": {"onednn::qlinear_pointwise"},
    "rounding to int8": {f"aten::{name}" for name in ("round_", "div", "abs", "amax", "addcmul")},
    "conversions and copies": {f"aten::{name}" for name in ("copy_", "cat", "stack", "clone", "index")},
    "σ, exp, softmax": {f"aten::{name}" for name in ("sigmoid", "sigmoid_", "_softmax", "_log_softmax")},
    "maxima and sorting": {f"aten::{name}" for name in ("maximum", "topk", "sort", "gather")},
}


def by_kind(work: Callable[[], object]) -> dict[str, float]:
    """Returns the share of each kind of operator, by torch's profiler."""
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        work()
    seconds = {event.key: event.self_cpu_time_total for event in profiled.key_averages()}
    whole = sum(seconds.values())
    found = {kind: sum(seconds.get(name, 0.0) for name in names) / whole for kind, names in KINDS.items()}
    return found | {"all else": 1.0 - sum(found.values())}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recipe", default="", help="the sizes of the network; without one the paper's")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.KEY=VALUE")
    parser.add_argument("--words", type=int, default=30_000, help="K of each side")
    parser.add_argument("--length", type=int, default=25, help="words of a sentence")
    parser.add_argument("--beam", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=64, help="sentences translated together")
    parser.add_argument("--precision", choices=["float32", "bfloat16", "int8"], default="int8")
    parser.add_argument("--searches", type=int, default=3, help="to time, after one as warm-up")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    limits = [f"search.{side}_length_ratio=1.0" for side in ("min", "max")]
    settings = load_config(
        arguments.recipe,
        [
            *arguments.set,
            *limits,
            f"search.beam={arguments.beam}",
            f"training.threads={arguments.threads}",
        ],
    )
    network = random_network(settings, arguments.words, torch.float32)
    set_up_cpu(arguments.threads)
    ids, lengths = random_ids(arguments.batch_size, arguments.length, arguments.words)
    cache = linear_cache(getattr(torch, arguments.precision))

    def translate() -> None:
        search(begin_search([network], [cache], ids, lengths), lengths, settings.search)

    seconds, parts = by_part(translate, arguments.searches, PARTS)
    kinds = by_kind(translate)
    print(f"{hardware('cpu')}, torch {torch.__version__}, {arguments.precision}, beam {arguments.beam}")
    rate = arguments.batch_size * (arguments.length + 1) / seconds
    print(
        f"{arguments.batch_size} sentences of {arguments.length} words: {seconds:.3f} s, {rate:,.0f} "
        "words/s\n"
    )
    for title, shares in (("part", parts), ("kind of operator", kinds)):
        print(f"| {title} | share of the time |\n|---|---|")
        print("\n".join(f"| {name} | {share:.1%} |" for name, share in shares.items()), end="\n\n")


if __name__ == "__main__":
    main()
