"""Search with a bidirectional decoder (the proposal, part 3).

Each direction searches, and the pooled hypotheses are ranked by forced decoding, in which both take
part. A translation is scored by the mean of the two directions' log p(y | x), that is by the
geometric mean of two probabilities. Over all translations these sum to 1 at most (Cauchy–Schwarz),
so that the score is comparable with log p(y | x) of one direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from rnnsearch.batch import Batch, pad
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.search.beam import Beams, Hypothesis, final_score
from rnnsearch.search.step import BeamSearch, NetworkState, ensemble, in_order, network_step
from rnnsearch.settings import SearchSettings

Forced = Callable[
    [Batch], tuple[Float[Tensor, "batch target"], Float[Tensor, "batch target source"]]
]
"""Forced decoding: a batch → log p(y_i | y_<i, x) and α, means over all directions."""
RANKED_TOGETHER, LARGEST_ALIGNMENT = 256, 1 << 24
"""Hypotheses of one batch in forced decoding; elements of their alignments."""


@torch.no_grad()
def search_both(
    networks: Sequence[TranslationNetwork],
    source: Int64[Tensor, "batch source"],
    lengths: Int64[Tensor, " batch"],
    settings: SearchSettings,
    find: BeamSearch,
    forced: Forced,
) -> Beams:
    """Searches as `search` does, in both directions of the networks. forced: forced decoding by
    these networks."""
    starts = [network.begin(source, lengths) for network in networks]
    of_each, found = settings.model_copy(update={"nbest": settings.beam}), []
    for number, direction in enumerate(networks[0].directions):
        steps = [network_step(network, number) for network in networks]
        step, state = ensemble(steps, [NetworkState(*start[number]) for start in starts])
        beams = find(step, state, lengths, of_each)
        found.append(in_order(beams) if direction.backward else beams)
    return ranked_by_all(found, forced, source, lengths, settings)


def ranked_by_all(
    found: Sequence[Beams],
    forced: Forced,
    source: Int64[Tensor, "batch source"],
    lengths: Int64[Tensor, " batch"],
    settings: SearchSettings,
) -> Beams:
    """Pools the finished hypotheses of all directions' beams, and returns the best `settings.nbest`
    of each sentence, best first.

    log p of each word and the alignment are those of forced decoding; `final_score` normalises as
    in beam search. If no direction finished a sentence, the first direction's result is returned.
    found: the beams of each direction. source, lengths: as in `search`.
    """
    pools = [
        list(dict.fromkeys(one.ids for one in chain.from_iterable(beams) if one.finished))
        for beams in zip(*found, strict=True)
    ]
    every = [(sentence, ids) for sentence, pool in enumerate(pools) for ids in pool]
    every.sort(key=lambda one: -len(one[1]))
    scored: dict[tuple[int, tuple[int, ...]], Hypothesis] = {}
    while left := every[len(scored) :]:
        elements = source.shape[1] * len(left[0][1])
        some = left[: max(1, min(RANKED_TOGETHER, LARGEST_ALIGNMENT // elements))]
        sentences, targets = map(list, zip(*some, strict=True))
        batch = Batch(source[sentences], lengths[sentences], *pad(targets)).to(source.device)
        log_p, alpha = (part.cpu().numpy() for part in forced(batch))
        rows = zip(some, batch.source_lengths.tolist(), log_p, alpha, strict=True)
        for (sentence, ids), length, values, weights in rows:
            own, alignment = values[: len(ids)], weights[: len(ids), :length].copy()
            score = final_score(float(own.sum(dtype=np.float64)), alignment, settings)
            one = Hypothesis(ids, score, tuple(own.tolist()), alignment, finished=True)
            scored[sentence, ids] = one
    pooled = ([scored[sentence, ids] for ids in pool] for sentence, pool in enumerate(pools))
    return [
        sorted(own or first, key=lambda one: -one.score)[: settings.nbest]
        for own, first in zip(pooled, found[0], strict=True)
    ]
