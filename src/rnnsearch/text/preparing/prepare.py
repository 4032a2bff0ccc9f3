"""Makes a prepared dataset from raw parallel texts: cleans, tokenises, encodes and shuffles the pairs, in
passes that need little memory.

Worker processes clean the lines, a few thousand pairs at a time. The kept pairs go to a temporary file in the
new folder. From this file, the vocabularies are learned; then each pair's ids go to a random bucket, and the
shuffled buckets become the shards of the dataset.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import repeat as repeated
from pathlib import Path
from typing import Literal

import numpy as np

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.files import whole_folder
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import SIDES, Codec, Side, side_tokeniser
from rnnsearch.text.formats.lines import Lines, is_file, name_of, read_given
from rnnsearch.text.formats.readers import Layout, ParallelText, parallel_texts
from rnnsearch.text.links import LinkWords
from rnnsearch.text.preparing.blocks import SideBlock
from rnnsearch.text.preparing.cleaning import CleanedCorpus, Cleaner, clean
from rnnsearch.text.preparing.encoding import encode, encode_dev, read_dev
from rnnsearch.text.preparing.preparation_report import PreparationReport, TextReport
from rnnsearch.text.store.corpus import is_store, write_contents
from rnnsearch.text.subwords import Subwords
from rnnsearch.text.vocabulary import Vocabulary, WordFilter


def prepare(
    source: Lines | Iterable[tuple[str, str]],
    target: Lines | None,
    out: str | Path,
    *,
    dev: tuple[Lines | Iterable[tuple[str, str]], Lines | None] | None = None,
    links: str | Path | None = None,
    settings: DataSettings,
    overwrite: bool = False,
    workers: int = 1,
    progress: Progress = lambda text, done, total: None,
) -> PreparationReport:
    """Makes the prepared dataset `out` from one parallel text, and another one for development, completely or
    not at all.

    source, target: each a file of lines, or an iterable of lines, which is read once. Or source is an
    iterable of pairs, and target is None. dev: (source, target) of the development text. links: a file of
    word links for the pairs. overwrite: replace `out` if it is a prepared dataset. workers: processes that
    clean; more than one need `if __name__ == "__main__":` in the script. Raises InputError as `prepare_texts`
    does, and for lines that are not text."""
    if dev is not None and (isinstance(dev, str) or len(dev) != 2):
        raise InputError(
            "dev is not the two sides of a text", remedy="give dev=(source, target), or dev=(pairs, None)"
        )
    return prepare_texts(
        [_text(source, target)],
        out,
        dev=[] if dev is None else [_text(*dev)],
        links=[] if links is None else [links],
        settings=settings,
        overwrite=overwrite,
        workers=workers,
        progress=progress,
    )


def prepare_texts(
    texts: Sequence[ParallelText],
    out: str | Path,
    *,
    dev: Sequence[ParallelText] = (),
    links: Sequence[str | Path] = (),
    links_reversed: bool = False,
    link_words: LinkWords | Literal["auto"] = "auto",
    repeat: Sequence[int] = (),
    vocabulary: dict[Side, Codec] | None = None,
    settings: DataSettings,
    overwrite: bool = False,
    workers: int = 1,
    progress: Progress = lambda text, done, total: None,
) -> PreparationReport:
    """Makes the prepared dataset `out` from parallel texts, completely or not at all.

    The same input and settings give the same bytes.

    dev: development texts; all their pairs are kept, in order. links: Pharaoh files, one for each text, with
    one line for each pair; links_reversed: they are written target-source; link_words: the words that they
    refer to, by default found from the first pairs of each text. repeat: how often the pairs of each text are
    used. vocabulary: codecs of a run, whose vocabularies and subwords are used instead of new ones.
    overwrite: replace `out` if it is a prepared dataset. workers: processes that clean. More than one are
    spawned, so a script that asks for them needs `if __name__ == "__main__":`.

    Raises InputError for texts and links that cannot be read or are not parallel, if `out` exists, if the
    disk is full, and if no pair is kept.
    """
    for given, what in ((links, "file(s) of links"), (repeat, "number(s) of repetitions")):
        if given and len(given) != len(texts):
            remedy = "give one for each corpus, in the same order"
            raise InputError(f"{len(given)} {what} given for {len(texts)} corpora", remedy=remedy)
    # Opened first, so that its faults are found before any work.
    cleaner = Cleaner(settings, links_reversed, link_words)
    with whole_folder(Path(out), lambda folder: overwrite and is_store(folder)) as folder:
        report = PreparationReport()
        development = read_dev(dev, report)
        times = repeat or [1] * len(texts)
        report.texts = [TextReport(text.name, repeat=each) for text, each in zip(texts, times, strict=True)]
        work = folder / "work"
        work.mkdir()
        cleaned = clean(texts, links, cleaner, work, workers, report, progress)
        codecs: dict[Side, Codec] = {}
        for side in SIDES:
            counts = count(side, cleaned, report, progress)
            known = vocabulary[side] if vocabulary else None
            codecs[side] = make_codec(side, counts, settings, progress, known)
            codecs[side].save(folder, side)
            (report.source if side == "source" else report.target).kind = codecs[side].tokeniser.unit
            del counts  # one table at a time
        report.unit = "words" if codecs["source"].subwords is None else "subwords"
        report.source_vocabulary = len(codecs["source"].vocabulary)
        report.target_vocabulary = len(codecs["target"].vocabulary)
        shards = encode(cleaned, codecs, settings, bool(links), folder, report, progress)
        shutil.rmtree(work)
        if development:
            sources, targets = zip(*development, strict=True)
            report.dev_source = encode_dev(sources, "source", codecs["source"], folder)
            report.dev_target = encode_dev(targets, "target", codecs["target"], folder)
        (folder / "report.json").write_text(report.json(), encoding="utf-8")
        (folder / "report.txt").write_text(report.text(), encoding="utf-8")
        write_contents(folder, settings, shards, bool(links))
    return report


def _text(source: Lines | Iterable[tuple[str, str]], target: Lines | None) -> ParallelText:
    if is_file(source) and is_file(target):
        [text] = parallel_texts((source, target), layout=Layout(format="lines"))  # type: ignore[arg-type]
        return text
    name = "pairs in memory" if target is None else f"{name_of(source)} | {name_of(target)}"
    return ParallelText(name, partial(read_given, source, target))


LIMIT = 2_000_000
"""Maximum number of words in a table of counts: some 300 MB."""


class WordCounts:
    """Frequencies of words. When there are too many words, the rarest are forgotten.

    counts: word → occurrences since it entered the table. missed: an upper bound of the occurrences of a word
    outside the table, and of the error of each count; 0 if nothing was forgotten. The result depends only on
    the words and their order.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.counts: dict[str, int] = {}
        self.missed = 0

    def add(self, words: Sequence[str], counts: Iterable[int]) -> None:
        """Adds the occurrences of different words. A word with count 0 does not enter the table."""
        table, get = self.counts, self.counts.get
        for word, count in zip(words, counts, strict=True):
            if count:
                table[word] = get(word, 0) + count
        if len(table) > self.limit:
            self._forget()

    def recount(self, blocks: Iterable[tuple[Sequence[str], Iterable[int]]]) -> None:
        """Makes every count exact in a second pass over everything that was added."""
        exact = dict.fromkeys(self.counts, 0)
        for words, counts in blocks:
            for word, count in zip(words, counts, strict=True):
                if word in exact:
                    exact[word] += count
        self.counts = exact

    def _forget(self) -> None:
        """Forgets the rarest words until the table has at most half its limit."""
        counts = np.fromiter(self.counts.values(), dtype=np.int64, count=len(self.counts))
        place = len(counts) - self.limit // 2 - 1
        rare = int(np.partition(counts, place)[place])
        self.counts = {word: count for word, count in self.counts.items() if count > rare}
        self.missed += rare


def count(side: Side, cleaned: CleanedCorpus, report: PreparationReport, progress: Progress) -> WordCounts:
    """Returns the frequencies of the words of one side, and fills its report."""
    side_report = report.source if side == "source" else report.target
    counts, lengths = WordCounts(), np.zeros(1, dtype=np.int64)

    def blocks() -> Iterator[SideBlock]:
        """Yields each block as often as its text is used."""
        for block in cleaned.blocks():
            one = block.source if side == "source" else block.target
            yield from repeated(one, report.texts[block.text].repeat)

    for block in blocks():
        counts.add(block.words, block.counts())
        here = np.bincount(block.sentences.lengths, minlength=len(lengths))
        here[: len(lengths)] += lengths
        lengths = here
        side_report.sentences += len(block.sentences.lengths)
        side_report.words += int(block.sentences.lengths.sum())
        side_report.distinct_words = max(side_report.distinct_words, len(counts.counts))
        progress(f"counting the {side} words", side_report.sentences, report.pairs_used)
    if counts.missed:
        counts.recount((block.words, block.counts()) for block in blocks())
    side_report.uncounted, side_report.longest = counts.missed, len(lengths) - 1
    side_report.lengths, side_report.coverage = lengths.tolist(), _coverage(counts, side_report.words)
    return counts


def _coverage(counts: WordCounts, words: int) -> list[tuple[int, float]]:
    """Returns the share of the running words that the 1, 2, 5, 10, 20, … most frequent words cover."""
    covered = np.cumsum(sorted(counts.counts.values(), reverse=True))
    sizes = [digit * 10**power for power in range(8) for digit in (1, 2, 5)]
    sizes = [*(size for size in sizes if size < len(covered)), len(covered)]
    return [(size, round(int(covered[size - 1]) / max(words, 1), 6)) for size in sizes]


def make_codec(
    side: Side, counts: WordCounts, settings: DataSettings, progress: Progress, known: Codec | None
) -> Codec:
    """Returns the side's codec. known: a codec whose vocabulary and subwords are used instead of new ones.

    Raises InputError if the text has too few words to learn from.
    """
    if known is not None:
        vocabulary, subwords = known.vocabulary, known.subwords
    elif settings.subwords == "none":
        subwords = None
        vocabulary = Vocabulary.from_counts(counts.counts, settings.vocabulary_size, settings.minimum_count)
        if len(vocabulary) == 2:
            what = f"no {side} word occurs at least {settings.minimum_count} times"
            raise InputError(what, remedy="lower data.minimum_count")
    else:
        progress(f"training {side} subwords", 0, None)
        marks_words = not side_tokeniser(side, settings).unspaced
        subwords = Subwords.train(counts.counts, settings.subwords, settings.vocabulary_size, marks_words)
        vocabulary = Vocabulary(subwords.vocabulary())
    met = None
    if side == "target":
        before = None if known is None else known.known
        met = WordFilter.of(counts.counts) if before is None else before.with_words(counts.counts)
    return Codec(side_tokeniser(side, settings), vocabulary, subwords, met)
