"""Candidate words: a batch is searched over the few target words that its source words may become (Jean et al. 2015, Sec. 3.3).

The search counts candidates from 0, and knows nothing else; words become candidates, and candidates words, here at its border. The end
of sentence and UNK are always candidates, the first two, so that they keep their ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Int, Int64
from numpy.typing import NDArray
from torch import Tensor

from rnnsearch.config import SearchSettings
from rnnsearch.records import Hypothesis
from rnnsearch.text.lexicon.table import Lexicon
from rnnsearch.text.vocabulary import SPECIALS
from rnnsearch.translation.beam import SearchState, StepFunction, StepResult
from rnnsearch.translation.joint import Reader


def candidate_words(
    source: Int64[NDArray[np.int64], "*shape"], lexicon: Lexicon, target_words: int, settings: SearchSettings
) -> Int64[NDArray[np.int64], " candidates"]:
    """The ids of a batch's candidates, ascending: the specials, the first words of the vocabulary, the best translations of each source id.

    source: all ids of the batch; the end of sentence among them brings the best translations of no word.
    """
    first = np.arange(min(len(SPECIALS) + settings.frequent_candidates, target_words))
    return np.union1d(first, lexicon.best(source, settings.candidates_per_word))


def candidate_readers(readers: Sequence[Reader], words: Int[Tensor, " candidates"]) -> list[Reader]:
    """Readers for the search over candidates, from some that take ids of words and give log p of the candidates `words`."""
    return [reader._replace(step=_over_candidates(reader.step, words)) for reader in readers]


def _over_candidates(step: StepFunction, words: Int[Tensor, " candidates"]) -> StepFunction:

    def candidate_step(previous: Tensor | None, state: SearchState) -> StepResult:
        return step(None if previous is None else words[previous], state)

    return candidate_step


def hypotheses_in_words(found: list[list[Hypothesis]], words: Int64[NDArray[np.int64], " candidates"]) -> list[list[Hypothesis]]:
    """What a search over the candidates `words` found, in ids of words."""
    return [[replace(one, ids=tuple(words[list(one.ids)].tolist())) for one in hypotheses] for hypotheses in found]
