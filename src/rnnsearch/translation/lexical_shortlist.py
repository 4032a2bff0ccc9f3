"""Lexical shortlist (vocabulary selection): a batch is searched over the few target words that its source words may become.

Jean et al. 2015, Sec. 3.3. The search knows only positions in the shortlist; this module converts them from and to ids of the vocabulary.
The end of sentence and UNK are the first two of every shortlist, so that they keep their ids.
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
from rnnsearch.text.lexicon.table import LexicalTable
from rnnsearch.text.vocabulary import SPECIALS
from rnnsearch.translation.beam import SearchState, StepFunction, StepResult
from rnnsearch.translation.joint import Reader


def shortlist_of(
    source: Int64[NDArray[np.int64], "*shape"], table: LexicalTable, target_words: int, settings: SearchSettings
) -> Int64[NDArray[np.int64], " shortlist"]:
    """The target ids of a batch's shortlist, ascending: the specials, the most frequent words, the best translations of each source id.

    source: all ids of the batch; the end of sentence among them adds the best translations of NULL.
    """
    first = np.arange(min(len(SPECIALS) + settings.lexical_shortlist_frequent, target_words))
    return np.union1d(first, table.best(source, settings.lexical_shortlist_per_word))


def shortlist_readers(readers: Sequence[Reader], shortlist: Int[Tensor, " shortlist"]) -> list[Reader]:
    """Readers that take positions in the shortlist, from readers that take vocabulary ids; both give log p over the shortlist."""
    return [reader._replace(step=_over_shortlist(reader.step, shortlist)) for reader in readers]


def _over_shortlist(step: StepFunction, shortlist: Int[Tensor, " shortlist"]) -> StepFunction:
    def shortlist_step(previous: Tensor | None, state: SearchState) -> StepResult:
        return step(None if previous is None else shortlist[previous], state)

    return shortlist_step


def in_vocabulary_ids(found: list[list[Hypothesis]], shortlist: Int64[NDArray[np.int64], " shortlist"]) -> list[list[Hypothesis]]:
    """The hypotheses of a search over the shortlist, as vocabulary ids."""
    return [[replace(one, ids=tuple(shortlist[list(one.ids)].tolist())) for one in hypotheses] for hypotheses in found]
