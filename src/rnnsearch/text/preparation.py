"""Makes a prepared dataset from raw parallel texts: cleans, tokenises, encodes and shuffles the pairs, in
passes that need little memory.

Worker processes clean the lines, a few thousand pairs at a time, and their words are counted. The kept pairs
go to a temporary file in the new folder. Then each pair's ids go to a random bucket, and every bucket is
shuffled separately and becomes a shard of the dataset: every order is equally likely.
"""

from __future__ import annotations

import pickle
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.files import whole_folder
from rnnsearch.system.progress import Progress
from rnnsearch.text.cleaning import (
    DROPPED,
    Block,
    Cleaner,
    Mask,
    Ragged,
    SideBlock,
    chunks,
    clean,
    count_words,
    unpickled,
)
from rnnsearch.text.codec import SIDES, Codec, Side, side_tokeniser
from rnnsearch.text.dataset import (
    Integers,
    is_store,
    offsets_of,
    shard_name,
    write_array,
    write_contents,
    write_rows,
)
from rnnsearch.text.formats.lines import Lines, name_of, read_given
from rnnsearch.text.formats.readers import LinePair, ParallelText
from rnnsearch.text.links import Range, project
from rnnsearch.text.preparation_report import PreparationReport, SideReport, TextReport
from rnnsearch.text.subwords import Subwords
from rnnsearch.text.vocabulary import EOS, UNK, Vocabulary, WordFilter

SHARD_BYTES = 1 << 27
"""Approximate bytes of the ids in a shard, both sides together. A shard is in memory while it is shuffled."""

_MOST_SHARDS = 200
_GATHERED = 1 << 16  # sentences rearranged at a time


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
    one line for each pair; links_reversed: they are written target-source. The words that they refer to
    are recognised from the first pairs of each text. repeat: how often the pairs of each text are
    used. vocabulary: codecs of a run, whose vocabularies and subwords are used instead of new ones.
    overwrite: replace `out` if it is a prepared dataset. workers: processes that clean. More than one are
    spawned, so a script that asks for them needs `if __name__ == "__main__":`.

    Raises InputError for texts and links that cannot be read or are not parallel, if `out` exists, if the
    disk is full, and if no pair is kept.
    """
    _check(len(texts), links, repeat, settings)
    cleaner = Cleaner(settings, links_reversed)
    with whole_folder(Path(out), lambda folder: overwrite and is_store(folder)) as folder:
        report = PreparationReport("words" if settings.subwords == "none" else "subwords")
        development = read_dev(dev, report)
        times = repeat or [1] * len(texts)
        report.texts = [TextReport(text.name, repeat=each) for text, each in zip(texts, times, strict=True)]
        work = folder / "work"
        work.mkdir()
        counts = clean(chunks(texts, links, cleaner), cleaner, work, workers, report, progress)
        for text, read in zip(report.texts, texts, strict=True):
            text.source_warnings, text.target_warnings = read.warnings
        known: Mapping[Side, Codec] = vocabulary or {}
        codecs = {
            side: make_codec(side, counts.pop(side), settings, progress, known.get(side)) for side in SIDES
        }
        shards = encode(work, codecs, settings, bool(links), report, progress)
        (work / DROPPED).rename(folder / DROPPED)
        shutil.rmtree(work)
        for side, lines in zip(SIDES, zip(*development, strict=True), strict=False):
            setattr(report, f"dev_{side}", encode_dev(lines, side, codecs[side], folder))
        for side, codec in codecs.items():
            codec.save(folder, side)
        (folder / "report.json").write_text(report.json(), encoding="utf-8")
        (folder / "report.txt").write_text(report.text(), encoding="utf-8")
        write_contents(folder, settings, shards, bool(links))
    return report


def _check(texts: int, links: Sequence[str | Path], repeat: Sequence[int], settings: DataSettings) -> None:
    """Raises InputError for faults that can be found before reading."""
    for given, what in ((links, "file(s) of links"), (repeat, "number(s) of repetitions")):
        if given and len(given) != texts:
            remedy = "give one for each corpus, in the same order"
            raise InputError(f"{len(given)} {what} given for {texts} corpora", remedy=remedy)
    unspaced = any(side_tokeniser(side, settings).unspaced for side in SIDES)
    if links and unspaced and settings.subwords != "none":
        what = "word links of text without spaces count characters, and its subwords are others"
        raise InputError(what, remedy="add --set data.subwords=none")


def _text(source: Lines | Iterable[tuple[str, str]], target: Lines | None) -> ParallelText:
    name = "pairs in memory" if target is None else f"{name_of(source)} | {name_of(target)}"
    return ParallelText(name, partial(read_given, source, target))


def make_codec(
    side: Side, counts: Mapping[str, int], settings: DataSettings, progress: Progress, known: Codec | None
) -> Codec:
    """Returns the side's codec. known: a codec whose vocabulary and subwords are used instead of new ones.

    Raises InputError if the text has too few words to learn from.
    """
    if known is not None:
        vocabulary, subwords = known.vocabulary, known.subwords
    elif settings.subwords == "none":
        subwords = None
        vocabulary = Vocabulary.from_counts(counts, settings.vocabulary_size, settings.minimum_count)
        if len(vocabulary) == 2:
            what = f"no {side} word occurs at least {settings.minimum_count} times"
            raise InputError(what, remedy="lower data.minimum_count")
    else:
        progress(f"training {side} subwords", 0, None)
        marks_words = not side_tokeniser(side, settings).unspaced
        subwords = Subwords.train(counts, settings.subwords, settings.vocabulary_size, marks_words)
        vocabulary = Vocabulary(subwords.vocabulary())
    met = None
    if side == "target":
        before = None if known is None else known.known
        met = WordFilter.of(counts) if before is None else before.with_words(counts)
    return Codec(side_tokeniser(side, settings), vocabulary, subwords, met)


def encode(
    work: Path,
    codecs: dict[Side, Codec],
    settings: DataSettings,
    linked: bool,
    report: PreparationReport,
    progress: Progress,
) -> list[int]:
    """Writes the shuffled shards of the blocks in the folder `work` to the folder above. Returns the number
    of pairs of each shard."""
    dtypes = id_dtype(codecs["source"]), id_dtype(codecs["target"])
    size = report.source.words * dtypes[0].itemsize + report.target.words * dtypes[1].itemsize
    expected = size * (1 if settings.subwords == "none" else 2)
    buckets = Buckets(work, expected, settings.seed, dtypes)
    links = done = 0
    block: Block
    for block in unpickled(work / "blocks"):
        times = report.texts[block.text].repeat
        source = EncodedBlock(block.source, codecs["source"])
        target = EncodedBlock(block.target, codecs["target"])
        source.count(report.source, times)
        target.count(report.target, times)
        rows = [source.sentences, target.sentences]
        if block.links is not None:
            rows.append(subword_links(block.links, source, target))
            links += times * len(rows[2].values) // 2
        for _ in range(times):
            buckets.add(*rows)
            done += len(source.tokens)
            progress("encoding", done, report.pairs_used)
    shards: list[int] = []
    for pairs in buckets.write_shards(work.parent, linked):
        shards.append(pairs)
        progress("shuffling", sum(shards), report.pairs_used)
    report.links = links if linked else None
    for side, codec in codecs.items():
        of_side: SideReport = getattr(report, side)
        of_side.kind, of_side.vocabulary = codec.tokeniser.unit, len(codec.vocabulary)
    return shards


def ranges(starts: Integers, lengths: Integers) -> NDArray[np.int64]:
    """Returns the concatenation of the ranges starts[i] … starts[i] + lengths[i] − 1, of size Σ lengths."""
    offsets = offsets_of(lengths)
    places: NDArray[np.int64] = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
    return places


class EncodedBlock:
    """A block as ids. sentences: rows of ids, each with its end of sentence. tokens: for each sentence,
    the number of ids without it; unknown: how many of them are UNK."""

    def __init__(self, block: SideBlock, codec: Codec) -> None:
        """Encodes each distinct word of the block once."""
        ids, tokens_per_word = (np.array(part, dtype=np.int64) for part in codec.word_ids(block.words))
        running, word_lengths = block.sentences
        self.word_starts = offsets_of(word_lengths)  # where the words of each sentence begin
        self.offsets = offsets_of(tokens_per_word[running])  # where the tokens of each running word begin
        ids = ids[ranges(offsets_of(tokens_per_word)[running], tokens_per_word[running])]
        ends = self.offsets[self.word_starts]
        self.tokens = np.diff(ends)
        self.unknown = np.diff(offsets_of((ids == UNK).astype(np.int64))[ends])
        with_ends = np.insert(ids, ends[1:], EOS).astype(id_dtype(codec))
        self.sentences = Ragged(with_ends, (self.tokens + 1).astype(np.int32))

    def ranges(self, number: int) -> list[Range]:
        """Returns the range of the tokens of each word of a sentence."""
        first, end = self.word_starts[number : number + 2]
        return list(pairwise((self.offsets[first : end + 1] - self.offsets[first]).tolist()))

    def count(self, report: SideReport, times: int = 1) -> None:
        """Adds the tokens of the block to the report, as often as the block is used."""
        report.tokens += times * int(self.tokens.sum())
        report.known_tokens += times * int(self.tokens.sum() - self.unknown.sum())
        report.known_sentences += times * int((self.unknown == 0).sum())


def id_dtype(codec: Codec) -> np.dtype[Any]:
    """Returns the smallest type that holds every id of the vocabulary."""
    return np.dtype(np.uint16 if len(codec.vocabulary) <= 1 << 16 else np.uint32)


def subword_links(links: Ragged, source: EncodedBlock, target: EncodedBlock) -> Ragged:
    """Converts links between words to links between all their tokens; ends of sentence have none."""
    pairs, ends = links.values.reshape(-1, 2).tolist(), (offsets_of(links.lengths) // 2).tolist()
    projected = (
        project(pairs[begin:end], source.ranges(number), target.ranges(number))
        for number, (begin, end) in enumerate(pairwise(ends))
    )
    return Ragged.of([list(chain.from_iterable(row)) for row in projected])


def read_dev(texts: Sequence[ParallelText], report: PreparationReport) -> list[LinePair]:
    """Reads the development pairs into memory; all are kept, in their order. Raises InputError as the texts
    do, and if one is empty."""
    pairs = []
    for text in texts:
        here = list(text.pairs())
        if not here:
            what = f"{text.name}: the development files are empty"
            raise InputError(what, remedy="give files with one sentence per line, or no --dev")
        report.dev.append(TextReport(text.name, len(here), len(here), *text.warnings))
        pairs += here
    return pairs


def encode_dev(lines: Sequence[str], side: Side, codec: Codec, folder: Path) -> SideReport:
    """Writes ids and text of one side of the development pairs."""
    block = SideBlock.of([codec.tokeniser.words(line) for line in lines])
    report = SideReport(codec.tokeniser.unit)
    count_words(report, block, 1, Counter())
    encoded = EncodedBlock(block, codec)
    encoded.count(report)
    ids, sizes = encoded.sentences
    write_rows(folder, f"dev.{side}", sizes, [ids], ids.dtype)
    (folder / f"dev.{side}.txt").write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
    return report


class Buckets:
    """Takes the encoded pairs in the order of the text and writes the shards of the dataset.

    expected_bytes: approximate size of the ids of all pairs. dtypes: types of source and target ids. The
    order of the pairs in the dataset depends only on the seed and on their order in the text.
    """

    def __init__(
        self, folder: Path, expected_bytes: int, seed: int, dtypes: tuple[np.dtype[Any], np.dtype[Any]]
    ) -> None:
        number = min(max(1, -(-expected_bytes // SHARD_BYTES)), _MOST_SHARDS)
        self.paths = [folder / f"bucket.{bucket:04d}" for bucket in range(number)]
        self.dtypes, self._seed = dtypes, seed % 2**32
        self._random = np.random.default_rng([self._seed, 0, 1])

    def add(self, *rows: Ragged) -> None:
        """Adds source ids, target ids and, if there are any, links of the same pairs."""
        # One random number per pair, so the bucket does not depend on the size of the blocks.
        bucket = (self._random.random(len(rows[0].lengths)) * len(self.paths)).astype(np.int64)
        for number, path in enumerate(self.paths):
            chosen: Mask = bucket == number
            if chosen.any():
                with path.open("ab") as file:
                    pickle.dump([row.select(chosen) for row in rows], file)

    def write_shards(self, store: Path, linked: bool) -> Iterator[int]:
        """Writes every bucket's pairs in random order, and their lengths; yields the number of pairs of
        each shard."""
        lengths: dict[str, list[Integers]] = {"source": [], "target": []}
        filled = [(number, path) for number, path in enumerate(self.paths) if path.exists()]
        for shard, (number, path) in enumerate(filled):
            for place, kind in enumerate(["source", "target", "links"][: 2 + linked]):
                rows = _read(path, place)
                # The first bucket's numbers are those of the seed alone.
                order = np.random.default_rng([self._seed, number]).permutation(len(rows.lengths))
                ordered = rows.lengths[order]
                dtype = self.dtypes[place] if kind in lengths else rows.values.dtype
                write_rows(store, shard_name(kind, shard), ordered, gathered(rows, order), dtype)
                if kind in lengths:
                    lengths[kind].append(ordered.astype(np.int32))
            yield len(order)
            path.unlink()
        for side, parts in lengths.items():
            write_array(store / f"train.{side}.lengths.npy", np.dtype(np.int32), sum(map(len, parts)), parts)


def gathered(rows: Ragged, order: NDArray[np.int64]) -> Iterator[Integers]:
    """Yields the rows in another order, concatenated, some ten thousands at a time."""
    offsets = offsets_of(rows.lengths)
    for start in range(0, len(order), _GATHERED):
        chosen = order[start : start + _GATHERED]
        yield rows.values[ranges(offsets[chosen], rows.lengths[chosen])]


def _read(path: Path, place: int) -> Ragged:
    """Returns one kind of rows of a bucket."""
    arrays = zip(*(parts[place] for parts in unpickled(path)), strict=True)
    return Ragged(*map(np.concatenate, arrays))
