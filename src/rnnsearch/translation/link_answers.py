"""`align --out`: the links of a corpus of any length, in a file that the same command goes on with (translation/answers.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.run import Run
from rnnsearch.system.checksums import checksum
from rnnsearch.translation.answers import AnswerFile, check_files
from rnnsearch.translation.outputs import run_checksum
from rnnsearch.translation.outputs_file import FORMAT, OutputLine, completed
from rnnsearch.translation.translator import END
from rnnsearch.translation.word_aligner import Aligned, WordAligner

NO_WEIGHTS = np.zeros((0, 2), dtype=np.float32)


class NumberedPair(NamedTuple):
    """number: from 0."""

    number: int
    source: str
    target: str


def links_key(runs: Sequence[Path], reverse: Sequence[Path], aligner: WordAligner, form: str, files: Sequence[Path]) -> str:
    """A checksum of all that the links follow from, but for the text. form: of the answers. files: others that they follow from.

    Raises InputError as `check_files` does.
    """
    check_files(files)
    options = (aligner.threshold, aligner.method, aligner.words, aligner.batch_size, aligner.posterior, aligner.exact, aligner.scored)
    checksums = [[run_checksum(Run.open(run)) for run in some] for some in (runs, reverse)]
    return checksum(str(FORMAT), "links", form, repr(options), repr(checksums), *files)


def aligned_into(
    answers: AnswerFile,
    aligner: WordAligner,
    pairs: Iterable[tuple[str, str]],
    answer: Callable[[int, Aligned], str],
    done: Callable[[int], None],
) -> Iterator[int]:
    """Aligns the pairs into the file; gives the number of each, from 0, once it is safe.

    answer: what the file gets for a pair of this number.
    done: told after each batch how many are aligned.

    The journal keeps a pair's two lines and its answer. What it has of other lines is used up to the first block that differs.
    """
    count = 0

    def work(batch: Sequence[NumberedPair]) -> list[OutputLine]:
        nonlocal count
        try:
            found = list(aligner.align((pair.source, pair.target) for pair in batch))
        except InputError:
            for pair in batch:  # a batch is not in the order of the text: which pair was it?
                list(aligner.align([(pair.source, pair.target)], first=pair.number + 1))
            raise
        count += len(batch)
        done(count)
        return [OutputLine(pair.number, _lines_of(pair), answer=answer(pair.number, one)) for pair, one in zip(batch, found, strict=True)]

    def fits(pair: NumberedPair, output: OutputLine) -> bool:
        kept = output.translation
        return (kept.source_tokens, kept.text) == ([pair.source, END], pair.target)

    def length(pair: NumberedPair) -> int:
        return max(len(pair.source), len(pair.target))

    numbered = (NumberedPair(number, *pair) for number, pair in enumerate(pairs))
    header = answers.header({"kind": "links"})
    for output in completed(answers.journal, header, numbered, aligner.batch_size, length, work, fits, answers.finish):
        count = max(count, output.number + 1)
        yield output.number


def _lines_of(pair: NumberedPair) -> Translation:
    """A pair as the journal keeps it: whole lines in the place of words, and no weights."""
    return Translation(pair.target, [], [pair.source, END], 0.0, [], NO_WEIGHTS)
