"""Lexical translation tables t(target word | source word), as ids and as files that a person can read, and
word dictionaries.

A file has a line for each entry, `target source probability`, as Moses and Marian write them (lex.s2t). The
source word `NULL` stands for no word. In ids it is the end of sentence, which every source sentence has and
which has no translation.
"""

from __future__ import annotations

import gzip
from array import array
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rnnsearch.errors import InputError
from rnnsearch.system.files import written_whole
from rnnsearch.system.progress import Progress
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.opening import COMPRESSIONS
from rnnsearch.text.store.blocks import Integers, offsets_of, ranges
from rnnsearch.text.store.corpus import Pairs
from rnnsearch.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary

NULL = "NULL"
"""Stands for no source word: its entries are target words that translate none. A real word with this spelling
has no entries."""

_ABOVE_ONE = 1e-4  # other tools' rounded probabilities may exceed 1 by this
_COUNTED_AT_ONCE = 1 << 22  # links


class Entries(NamedTuple):
    """t(target | source) of some pairs of words, in any order: ids and probabilities, (entries,) each."""

    sources: Integers
    targets: Integers
    probabilities: NDArray[np.floating[Any]]


class LexicalTable:
    """The translations of each source word, most probable first: those of source id s are targets[offsets[s]
    : offsets[s + 1]].

    offsets: (K_x + 1,). targets, probabilities: (entries,). The end of sentence and UNK are never
    translations.
    """

    def __init__(self, entries: Entries, source_words: int) -> None:
        """source_words: K_x."""
        order = np.lexsort((entries.targets, -entries.probabilities, entries.sources))
        order = order[entries.targets[order] > UNK]
        self.offsets = offsets_of(np.bincount(entries.sources[order], minlength=source_words))
        self.targets = entries.targets[order].astype(np.int32)
        self.probabilities = entries.probabilities[order].astype(np.float32)

    def __len__(self) -> int:
        return len(self.targets)

    def best(self, sources: NDArray[np.integer[Any]], count: int) -> NDArray[np.int64]:
        """Returns the ids of all target words that are among the `count` best translations of one of these
        source ids, an array of any shape; ascending, each once."""
        words = np.unique(sources)
        chosen = np.minimum(np.diff(self.offsets)[words], count)
        return np.unique(self.targets[ranges(self.offsets[words], chosen)]).astype(np.int64)

    def pruned(self, best: int, least: float) -> LexicalTable:
        """Returns the table with the `best` most probable translations of each word, of probability `least`
        or more."""
        lengths = np.diff(self.offsets)
        rank = np.arange(len(self)) - np.repeat(self.offsets[:-1], lengths)
        keep = (rank < best) & (self.probabilities >= least)
        sources = np.repeat(np.arange(len(lengths)), lengths)
        return LexicalTable(
            Entries(sources[keep], self.targets[keep], self.probabilities[keep]), len(lengths)
        )

    def write(self, path: str | Path, source: Vocabulary, target: Vocabulary) -> None:
        """Writes the table, completely or not at all. If the name ends in .gz, the file is compressed.

        Raises InputError for another compression, and for a file that cannot be written.
        """
        path = Path(path)
        if path.suffix in COMPRESSIONS and path.suffix != ".gz":
            remedy = "use a name that ends in .gz, or a plain name"
            raise InputError(f"a table cannot be written as {path.suffix}", file=path, remedy=remedy)
        try:
            with written_whole(path) as temporary, temporary.open("wb") as file:
                gzipped = path.suffix == ".gz"
                with gzip.GzipFile("", "wb", fileobj=file, mtime=0) if gzipped else nullcontext(file) as out:
                    out.writelines(self._lines(source, target))
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None

    def _lines(self, source: Vocabulary, target: Vocabulary) -> Iterable[bytes]:
        sources = np.repeat(np.arange(len(source)), np.diff(self.offsets))
        entries = zip(sources.tolist(), self.targets.tolist(), self.probabilities.tolist(), strict=True)
        for number, other, probability in entries:
            word = NULL if number == EOS else source.word(number)
            if number == EOS or word != NULL:
                yield f"{target.word(other)} {word} {probability:.7f}\n".encode()

    @classmethod
    def read(cls, path: str | Path, source: Vocabulary, target: Vocabulary) -> LexicalTable:
        """Reads a table that `write` or another tool made; words outside the vocabularies are skipped.

        Raises InputError, with the line, for one that is not two words and a probability, and for a table
        that shares no words with the vocabularies.
        """
        sources = _word_ids(source) | {SPECIALS[UNK]: UNK, NULL: EOS}
        targets = _word_ids(target)
        source_ids, target_ids, probabilities = array("i"), array("i"), array("f")
        for number, line in enumerate(read_lines(path), 1):
            try:
                target_word, source_word, text = line.rstrip(" ").split(" ")
                probability = float(text)
            except ValueError:
                probability = -1.0
            if not 0 <= probability <= 1 + _ABOVE_ONE:
                remedy = "every line must be `target source probability`, with single spaces"
                raise InputError("is not two words and a probability", file=path, line=number, remedy=remedy)
            source_id, target_id = sources.get(source_word), targets.get(target_word)
            if source_id is not None and target_id is not None and probability > 0:
                source_ids.append(source_id)
                target_ids.append(target_id)
                probabilities.append(probability)
        if not source_ids:
            remedy = (
                "make a table of the run's own corpus with `rnnsearch lexicon`, so that the words are split "
                "in the same way"
            )
            raise InputError("has no word pair that is in the run's vocabularies", file=path, remedy=remedy)
        entries = Entries(
            np.array(source_ids, np.int32),
            np.array(target_ids, np.int32),
            np.array(probabilities, np.float32),
        )
        return cls(entries, len(source))

    @classmethod
    def of_links(
        cls, pairs: Pairs, source_words: int, target_words: int, progress: Progress | None = None
    ) -> LexicalTable:
        """Makes the table of counts of linked words; a target word without a link counts as linked to NULL.
        source_words, target_words: K_x, K_y.

        Raises InputError without links.
        """
        keys = counts = np.zeros(0, np.int64)  # of pairs of words, and how often each occurs
        found: list[NDArray[np.int64]] = []
        waiting = 0
        for number in range(len(pairs)):
            source, target, links = (
                part.astype(np.int64)
                for part in (pairs.source(number), pairs.target(number), pairs.links(number))
            )
            unlinked = np.delete(target[:-1], np.unique(links[:, 1]))
            found += [source[links[:, 0]] * target_words + target[links[:, 1]], EOS * target_words + unlinked]
            waiting += len(links) + len(unlinked)
            if waiting > _COUNTED_AT_ONCE or number == len(pairs) - 1:
                keys, place = np.unique(np.concatenate([keys, *found]), return_inverse=True)
                once = np.ones(waiting, np.int64)
                counts = np.bincount(place, np.concatenate([counts, once])).astype(np.int64)
                found, waiting = [], 0
                if progress is not None:
                    progress("counting links", number + 1, len(pairs))
        sources, targets = np.divmod(keys, target_words)
        totals = np.bincount(sources, weights=counts, minlength=source_words)
        return cls(Entries(sources, targets, counts / totals[sources]), source_words)


def _word_ids(vocabulary: Vocabulary) -> dict[str, int]:
    """Returns the id of every word but the specials."""
    return {vocabulary.word(number): number for number in range(len(SPECIALS), len(vocabulary))}


def read_dictionary(path: str | Path) -> dict[str, str]:
    """Returns the first translation of every word. Raises InputError for a line that is not two words."""
    entries: dict[str, str] = {}
    for number, line in enumerate(read_lines(path), 1):
        fields = line.split()
        if len(fields) != 2:
            what, remedy = "is not a source word and a target word", "write two words per line"
            raise InputError(what, file=path, line=number, remedy=remedy)
        entries.setdefault(*fields)
    return entries
