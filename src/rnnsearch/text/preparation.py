"""Makes a prepared dataset from raw parallel texts: cleans, tokenises, encodes and shuffles the
pairs, in passes that need little memory.

Worker processes clean the lines, a few thousand pairs at a time, and their words are counted. The
kept pairs go to a temporary file in the new folder. Then each pair's ids go to a random bucket, and
every bucket is shuffled separately and becomes a shard of the dataset: every order is equally
likely.
"""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.arguments import require, require_choice, require_number
from rnnsearch.errors import InputError
from rnnsearch.settings import DataSettings
from rnnsearch.system.files import whole_folder
from rnnsearch.system.progress import Progress, silent
from rnnsearch.text.cleaning import (
    BLOCKS,
    DIGESTS_FILE,
    DROPPED,
    CleanBlock,
    Cleaner,
    SideBlock,
    append_arrays,
    clean,
    count_words,
    read_chunks,
    stored_arrays,
)
from rnnsearch.text.codec import SIDES, Codec, Side, side_tokeniser
from rnnsearch.text.dataset import (
    Integers,
    Ragged,
    is_store,
    offsets_of,
    shard_name,
    write_array,
    write_contents,
    write_rows,
)
from rnnsearch.text.formats.layout import LinePair
from rnnsearch.text.formats.lines import Lines, name_of, plain_pairs, read_pairs
from rnnsearch.text.formats.readers import ParallelText
from rnnsearch.text.links import Range, project
from rnnsearch.text.preparation_report import PreparationReport, SideReport, TextReport
from rnnsearch.text.subword_training import train_subwords
from rnnsearch.text.tokens import normalise
from rnnsearch.text.vocabulary import EOS, UNK, Vocabulary, WordFilter

SHARD_BYTES = 1 << 27
"""Approximate bytes of the ids in a shard, both sides together. A shard is in memory while it is
shuffled."""

_MOST_SHARDS = 200


@dataclass(frozen=True, slots=True)
class PrepareOptions:
    """Options of `prepare` besides the settings, which the dataset keeps.

    links: Pharaoh files, one for each text, with one line for each pair; links_reversed: they are
    written target-source. The words that they refer to are recognised from the first pairs of each
    text. repeat: how often the pairs of each text are used. vocabulary: codecs of a run, whose
    vocabularies and subwords are used instead of new ones. overwrite: replace a prepared dataset.
    workers: processes that clean. More than one are spawned, so a script that asks for them needs
    `if __name__ == "__main__":`.
    """

    links: Sequence[str | Path] = ()
    links_reversed: bool = False
    repeat: Sequence[int] = ()
    vocabulary: Mapping[Side, Codec] = field(default_factory=dict)
    overwrite: bool = False
    workers: int = 1
    progress: Progress = silent


def prepare(
    source: Lines | Iterable[LinePair],
    target: Lines | None,
    out: str | Path,
    *,
    dev: tuple[Lines | Iterable[LinePair], Lines | None] | None = None,
    settings: DataSettings,
    options: PrepareOptions = PrepareOptions(),
) -> PreparationReport:
    """Makes the prepared dataset `out` from one parallel text, and another one for development,
    completely or not at all.

    source, target: each a file of lines, or an iterable of lines, which is read once. Or source is
    an iterable of pairs, and target is None. dev: (source, target) of the development text. Raises
    InputError as `prepare_texts` does, and for lines that are not text."""
    if dev is not None and (not isinstance(dev, list | tuple) or len(dev) != 2):
        raise InputError(
            "dev is not the two sides of a text", "give dev=(source, target), or dev=(pairs, None)"
        )
    development = [] if dev is None else [_parallel_text(*dev)]
    return prepare_texts(
        [_parallel_text(source, target)], out, dev=development, settings=settings, options=options
    )


def prepare_texts(
    texts: Sequence[ParallelText],
    out: str | Path,
    *,
    dev: Sequence[ParallelText] = (),
    settings: DataSettings,
    options: PrepareOptions = PrepareOptions(),
) -> PreparationReport:
    """Makes the prepared dataset `out` from parallel texts, completely or not at all. The same
    input and settings give the same bytes. dev: development texts; all their pairs are kept, in
    order.

    Raises InputError for texts and links that cannot be read or are not parallel, if `out` exists,
    if the disk is full, and if no pair is kept.
    """
    require("out", out, str, Path)
    _check_options(len(texts), settings, options)
    with whole_folder(Path(out), lambda folder: options.overwrite and is_store(folder)) as folder:
        report = PreparationReport("words" if settings.subwords == "none" else "subwords")
        cleaner = Cleaner(settings, options.links_reversed)
        development, asked = read_dev(dev, cleaner, report)
        times = options.repeat or [1] * len(texts)
        report.texts = [
            TextReport(text.name, repeat=each) for text, each in zip(texts, times, strict=True)
        ]
        report.links = 0 if options.links else None
        work = folder / "work"
        work.mkdir()
        chunks = read_chunks(zip(texts, report.texts, strict=True), options.links, cleaner)
        counts = clean(chunks, cleaner, work, options.workers, report, options.progress)
        count_repeated(work / DIGESTS_FILE, asked, report)
        codecs = {side: make_codec(side, counts.pop(side), settings, options) for side in SIDES}
        shards = encode(work, codecs, settings, report, options.progress)
        (work / DROPPED).rename(folder / DROPPED)
        shutil.rmtree(work)
        for side, lines in zip(SIDES, zip(*development, strict=True), strict=False):
            setattr(report, f"dev_{side}", encode_dev(lines, side, codecs[side], folder))
        for side, codec in codecs.items():
            codec.save(folder, side)
        (folder / "report.json").write_text(report.json(), encoding="utf-8")
        (folder / "report.txt").write_text(report.text(), encoding="utf-8")
        write_contents(folder, settings, shards, report.links is not None)
    return report


def _check_options(texts: int, settings: DataSettings, options: PrepareOptions) -> None:
    """Raises InputError for faults that can be found before reading."""
    require("settings", settings, DataSettings)
    require("options", options, PrepareOptions)
    require("options.links", options.links, list, tuple)
    require("options.repeat", options.repeat, list, tuple)
    require("options.vocabulary", options.vocabulary, Mapping)
    for side, codec in options.vocabulary.items():
        require_choice("a side of options.vocabulary", side, SIDES)
        require(f"options.vocabulary[{side!r}]", codec, Codec)
        if (codec.subwords is None) != (settings.subwords == "none"):
            has = "words" if codec.subwords is None else "subwords"
            what = f"the {side} vocabulary has {has}, but data.subwords = {settings.subwords}"
            raise InputError(what, "give the data settings of its run")
    require_number("options.workers", options.workers, 1)
    for times in options.repeat:
        require_number("a number of options.repeat", times, 1)
    for given, what in (
        (options.links, "file(s) of links"),
        (options.repeat, "number(s) of repetitions"),
    ):
        if given and len(given) != texts:
            remedy = "give one for each corpus, in the same order"
            raise InputError(f"{len(given)} {what} given for {texts} corpora", remedy)
    unspaced = any(side_tokeniser(side, settings).unspaced for side in SIDES)
    if options.links and unspaced and settings.subwords != "none":
        what = "word links of text without spaces count characters, but subwords are not characters"
        raise InputError(what, "add --set data.subwords=none")


def _parallel_text(source: Any, target: Lines | None) -> ParallelText:
    """Returns the text of two sides or, without a target, of pairs."""
    if target is None:
        return ParallelText("pairs in memory", partial(plain_pairs, source))
    if source is target and isinstance(source, Iterator):
        raise InputError("source and target are the same iterator", "give two, or pairs and None")
    return ParallelText(
        f"{name_of(source)} | {name_of(target)}", partial(read_pairs, source, target)
    )


def make_codec(
    side: Side, counts: Mapping[str, int], settings: DataSettings, options: PrepareOptions
) -> Codec:
    """Returns the side's codec, with the vocabulary of the options or one of words with these
    frequencies.

    Raises InputError if the text has too few words to learn from.
    """
    tokeniser, known, subwords = side_tokeniser(side, settings), options.vocabulary.get(side), None
    if known is not None:
        vocabulary, subwords = known.vocabulary, known.subwords
    elif settings.subwords == "none":
        vocabulary = Vocabulary.from_counts(
            counts, settings.vocabulary_size, settings.minimum_count
        )
        if len(vocabulary) == 2:
            what = f"no {side} word occurs at least {settings.minimum_count} times"
            raise InputError(what, "lower data.minimum_count")
    else:
        options.progress(f"training {side} subwords", 0, None)
        kind, size = settings.subwords, settings.vocabulary_size
        subwords = train_subwords(counts, kind, size, marks_words=not tokeniser.unspaced)
        vocabulary = Vocabulary(subwords.vocabulary())
    if known and not known.known and side == "source":
        # Without the words of the older text, these would count as unknown.
        return Codec(tokeniser, vocabulary, subwords)
    met = known.known.with_words(counts) if known and known.known else WordFilter.of(counts)
    return Codec(tokeniser, vocabulary, subwords, met)


def encode(
    work: Path,
    codecs: dict[Side, Codec],
    settings: DataSettings,
    report: PreparationReport,
    progress: Progress,
) -> list[int]:
    """Writes the shuffled shards of the blocks in the folder `work` to the folder above, and
    completes the report. Returns the number of pairs of each shard."""
    sides = [(codec, getattr(report, side)) for side, codec in codecs.items()]
    size = sum(of_side.words * id_dtype(codec).itemsize for codec, of_side in sides)
    buckets = Buckets(work, size if settings.subwords == "none" else 2 * size, settings.seed)
    done = 0
    for block in map(CleanBlock.of_arrays, stored_arrays(work / BLOCKS)):
        times = report.texts[block.text_index].repeat
        source = EncodedSide(block.source, codecs["source"])
        target = EncodedSide(block.target, codecs["target"])
        source.count(report.source, times)
        target.count(report.target, times)
        rows = [source.sentences, target.sentences]
        if report.links is not None:
            rows.append(subword_links(block.links, source, target))
            report.links += times * len(rows[2].values) // 2
        for _ in range(times):
            buckets.add(*rows)
            done += len(source.tokens)
            progress("encoding", done, report.pairs_used)
    shards: list[int] = []
    for pairs in buckets.write_shards(work.parent, report.links is not None):
        shards.append(pairs)
        progress("shuffling", sum(shards), report.pairs_used)
    for codec, of_side in sides:
        of_side.kind, of_side.vocabulary = codec.tokeniser.unit, len(codec.vocabulary)
    return shards


class EncodedSide:
    """One side of a block as ids. sentences: rows of ids, each with its end of sentence. tokens:
    for each sentence, the number of ids without it; unknown: how many of them are UNK."""

    def __init__(self, block: SideBlock, codec: Codec) -> None:
        """Encodes each distinct word of the block once."""
        words = Ragged(*(np.array(part, dtype=np.int64) for part in codec.word_ids(block.words)))
        ids, tokens_per_word = words.take(block.sentences.values)
        # where the words of each sentence begin
        self.word_starts = offsets_of(block.sentences.lengths)
        self.offsets = offsets_of(tokens_per_word)  # where the tokens of each running word begin
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


def subword_links(links: Ragged, source: EncodedSide, target: EncodedSide) -> Ragged:
    """Converts links between words to links between all their tokens; ends of sentence have
    none."""
    pairs, ends = links.values.reshape(-1, 2).tolist(), (offsets_of(links.lengths) // 2).tolist()
    projected = (
        project(pairs[begin:end], source.ranges(number), target.ranges(number))
        for number, (begin, end) in enumerate(pairwise(ends))
    )
    return Ragged.of([list(chain.from_iterable(row)) for row in projected])


def read_dev(
    texts: Sequence[ParallelText], cleaner: Cleaner, report: PreparationReport
) -> tuple[list[LinePair], NDArray[np.uint64]]:
    """Reads the development pairs into memory; all are kept, in their order. Returns them and their
    digests, and notes in the report which are longer than training pairs may be. Raises InputError
    as the texts do, and if one is empty."""
    pairs: list[LinePair] = []
    digests = []
    for text in texts:
        report.dev.append(about := TextReport(text.name))
        here = list(text.pairs(about.warnings))
        if not here:
            what = f"{text.name}: the development files are empty"
            raise InputError(what, "give files with one sentence per line, or no --dev")
        about.pairs_read = about.pairs_kept = len(here)
        pairs += here
        for number, pair in enumerate(here, 1):
            repaired, words = cleaner.tokenised(pair)
            digests.append(cleaner.digest(repaired))
            for length, warnings in zip(cleaner.lengths(words), about.warnings, strict=True):
                if length > cleaner.settings.max_words:
                    warnings.note("longer than data.max_words, so it needs much memory", number)
    return pairs, np.array(digests, np.uint64)


def count_repeated(digests: Path, asked: NDArray[np.uint64], report: PreparationReport) -> None:
    """Counts in the report the kept pairs that repeat an earlier one, and the development pairs
    that are among the kept pairs.

    digests: file of those of the kept pairs, which is sorted in its place. asked: those of the
    development pairs.
    """
    kept = np.memmap(digests, np.uint64, "r+")
    kept.sort()
    report.repeated = int(np.count_nonzero(kept[1:] == kept[:-1]))
    report.dev_in_train = int(np.count_nonzero(kept[np.searchsorted(kept[:-1], asked)] == asked))


def encode_dev(lines: Sequence[str], side: Side, codec: Codec, folder: Path) -> SideReport:
    """Writes ids and text of one side of the development pairs. The target's is spelt as training
    text is, for the network writes it so."""
    tokeniser = codec.tokeniser
    if side == "target" and tokeniser.normalised:
        lines = [normalise(line, tokeniser.language) for line in lines]
    block = SideBlock.of(list(map(tokeniser.words, lines)))
    report = SideReport(tokeniser.unit)
    count_words(report, block, 1, Counter())
    encoded = EncodedSide(block, codec)
    encoded.count(report)
    write_rows(folder, f"dev.{side}", encoded.sentences, np.arange(len(lines)))
    (folder / f"dev.{side}.txt").write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
    return report


class Buckets:
    """Takes the encoded pairs in the order of the text and writes the shards of the dataset.

    expected_bytes: approximate size of the ids of all pairs. The order of the pairs in the dataset
    depends only on the seed and on their order in the text.
    """

    def __init__(self, folder: Path, expected_bytes: int, seed: int) -> None:
        number = min(max(1, -(-expected_bytes // SHARD_BYTES)), _MOST_SHARDS)
        self.paths = [folder / f"bucket.{bucket:04d}" for bucket in range(number)]
        self._seed = seed % 2**32
        self._random = np.random.default_rng([self._seed, 0, 1])

    def add(self, *rows: Ragged) -> None:
        """Adds source ids, target ids and, if there are any, links of the same pairs."""
        # One random number per pair, so the bucket does not depend on the size of the blocks.
        bucket = (self._random.random(len(rows[0].lengths)) * len(self.paths)).astype(np.int64)
        for number, path in enumerate(self.paths):
            chosen = np.flatnonzero(bucket == number)
            if len(chosen):
                with path.open("ab") as file:
                    append_arrays(file, [part for each in rows for part in each.take(chosen)])

    def write_shards(self, store: Path, linked: bool) -> Iterator[int]:
        """Writes every bucket's pairs in random order, and their lengths; yields the number of
        pairs of each shard."""
        lengths = defaultdict[str, list[Integers]](list)
        filled = [(number, path) for number, path in enumerate(self.paths) if path.exists()]
        for shard, (number, path) in enumerate(filled):
            for place, kind in enumerate((*SIDES, "links") if linked else SIDES):
                rows = _read_bucket(path, place)
                # The first bucket's numbers are those of the seed alone.
                order = np.random.default_rng([self._seed, number]).permutation(len(rows.lengths))
                lengths[kind].append(rows.lengths[order])
                write_rows(store, shard_name(kind, shard), rows, order)
            yield len(order)
            path.unlink()
        for side in SIDES:
            total = sum(map(len, lengths[side]))
            write_array(
                store / f"train.{side}.lengths.npy", np.dtype(np.int32), total, lengths[side]
            )


def _read_bucket(path: Path, place: int) -> Ragged:
    """Returns one kind of rows of a bucket."""
    rows = (arrays[2 * place : 2 * place + 2] for arrays in stored_arrays(path))
    return Ragged(*map(np.concatenate, zip(*rows, strict=True)))
