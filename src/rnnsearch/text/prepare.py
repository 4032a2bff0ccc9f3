"""Raw parallel files → cleaned, tokenised, numbered, shuffled and stored pairs, in a few passes that hold little in memory.

Lines are tokenised once, into a temporary file beside the store in the making; from it come the vocabularies, then the ids in the order
of the files, and at last the shuffled store.
"""

from __future__ import annotations

import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.codec import Codec, Side, side_tokeniser
from rnnsearch.text.corpus import Ids, Sentences, is_store, offsets_of, write_lines, write_sentences, write_settings
from rnnsearch.text.filters import Candidate, Dropped, active_filters, reason
from rnnsearch.text.folder import whole_folder
from rnnsearch.text.parallel import ordered_map
from rnnsearch.text.reading import read_pairs
from rnnsearch.text.report import PreparationReport, TextReport
from rnnsearch.text.subwords import Subwords
from rnnsearch.text.tokenise import Tokeniser
from rnnsearch.text.vocabulary import UNK, Vocabulary

Progress = Callable[[str, int, int | None], None]
"""(what is being done, how many are done, of how many or None if that is not known yet)"""

_CHUNK = 2_000  # pairs sent to a worker at a time
_SMALL = 5 * _CHUNK  # fewer pairs are done before the workers have started
_GATHERED = 1 << 16  # sentences shuffled at a time

LinePair = tuple[str, str]


def prepare(
    source: str | Path,
    target: str | Path,
    out: str | Path,
    *,
    dev: tuple[str | Path, str | Path] | None = None,
    settings: DataSettings,
    overwrite: bool = False,
    workers: int = 1,
    progress: Progress = lambda text, done, total: None,
) -> PreparationReport:
    """Makes the store `out` from parallel files, whole or not at all; the same input and settings give the same bytes.

    dev: development files; all their pairs are kept, in order. overwrite: replace `out` if it is a store.
    workers: processes that tokenise. More than one are spawned, so a script that asks for them needs `if __name__ == "__main__":`.
    Raises InputError for files that cannot be read or are not parallel, an `out` that is in the way, a full disk, and nothing kept.
    """
    with whole_folder(Path(out), lambda folder: overwrite and is_store(folder)) as folder:
        development = None if dev is None else _read_dev(*dev)  # first: its faults should not come to light after minutes of work
        training = _tokenise(source, target, folder, settings, workers, progress)
        codecs = {side: _make_codec(folder, side, training.counts[side], settings, progress) for side in training.counts}
        order = np.random.default_rng(settings.seed % 2**32).permutation(training.report["source"].sentences)
        for side, codec in codecs.items():
            _encode_training(folder, side, codec, training.report[side], order, progress)
        if development is not None:
            _encode_dev(development, folder, codecs)
        report = PreparationReport(
            pairs_read=training.pairs_read,
            pairs_kept=len(order),
            dropped=training.dropped,
            unit="words" if settings.subwords == "none" else "pieces",
            source_vocabulary=len(codecs["source"].vocabulary),
            target_vocabulary=len(codecs["target"].vocabulary),
            source=training.report["source"],
            target=training.report["target"],
            dev_source=development.report["source"] if development else None,
            dev_target=development.report["target"] if development else None,
        )
        (folder / "report.json").write_text(report.json(), encoding="utf-8")
        (folder / "report.txt").write_text(report.text(), encoding="utf-8")
        write_settings(folder, settings)
    return report


@dataclass(frozen=True, slots=True)
class _Training:
    """The training pairs after the first pass: their words lie in the tokens files, their counts here."""

    pairs_read: int
    dropped: list[Dropped]
    counts: dict[Side, Counter[str]]
    report: dict[Side, TextReport]


@dataclass(frozen=True, slots=True)
class _Development:
    """The development pairs: all of them fit into memory."""

    lines: dict[Side, list[str]]
    report: dict[Side, TextReport]


def _tokenise(source: str | Path, target: str | Path, folder: Path, settings: DataSettings, workers: int, progress: Progress) -> _Training:
    """Writes the words of the pairs that stay, one sentence a line, and counts what was met on the way."""
    report: dict[Side, TextReport] = {"source": TextReport(str(source)), "target": TextReport(str(target))}
    counts: dict[Side, Counter[str]] = {"source": Counter(), "target": Counter()}
    filters = active_filters(settings)
    dropped = [Dropped(reason(drops)) for drops in filters]
    pairs = read_pairs(source, target, report["source"].oddities, report["target"].oddities)
    number = 0
    with _tokens(folder, "source").open("wb") as sources, _tokens(folder, "target").open("wb") as targets:
        for number, (lines, words) in enumerate(_tokenised(pairs, settings, workers, progress), 1):
            for drops, tally in zip(filters, dropped, strict=True):
                if drops(Candidate(*lines, *words), settings):
                    tally.note(number, *lines)
                    break
            else:
                for side, sentence, file in zip(counts, words, (sources, targets), strict=True):
                    counts[side].update(sentence)
                    report[side].read(len(sentence))
                    file.write(" ".join(sentence).encode("utf-8") + b"\n")
    _check_not_empty(source, target, number, report["source"].sentences, dropped)
    for side, side_counts in counts.items():
        report[side].distinct_words = len(side_counts)
    return _Training(number, dropped, counts, report)


def _tokenised(
    pairs: Iterator[LinePair], settings: DataSettings, workers: int, progress: Progress
) -> Iterator[tuple[LinePair, tuple[list[str], list[str]]]]:
    """((source line, target line), (source words, target words)) in the order of the files."""
    words = partial(_words_of, side_tokeniser("source", settings), side_tokeniser("target", settings))
    beginning = list(islice(pairs, _SMALL))
    chunks = _chunks(chain(beginning, pairs))
    done = 0
    for lines, sentences in ordered_map(words, chunks, workers if len(beginning) == _SMALL else 1):
        yield from zip(lines, sentences, strict=True)
        done += len(lines)
        progress("tokenising", done, None)


def _chunks(pairs: Iterator[LinePair]) -> Iterator[list[LinePair]]:
    while chunk := list(islice(pairs, _CHUNK)):
        yield chunk


def _words_of(source: Tokeniser, target: Tokeniser, lines: list[LinePair]) -> list[tuple[list[str], list[str]]]:
    return [(source.words(left), target.words(right)) for left, right in lines]


def _check_not_empty(source: str | Path, target: str | Path, read: int, kept: int, dropped: list[Dropped]) -> None:
    if not read:
        raise InputError(f"{source} and {target} hold no lines", remedy="give files with one sentence a line")
    if not kept:
        reasons = ", ".join(f"{tally.reason}: {tally.pairs:,}" for tally in dropped if tally.pairs)
        raise InputError(f"no pair of {source} and {target} is left ({reasons})", remedy="look at the files, and at data.max_words")


def _make_codec(folder: Path, side: Side, counts: Counter[str], settings: DataSettings, progress: Progress) -> Codec:
    subwords = None
    if settings.subwords == "none":
        vocabulary = Vocabulary.from_counts(counts, settings.shortlist, settings.minimum_count)
        if len(vocabulary) == 2:
            raise InputError(f"no {side} word occurs {settings.minimum_count} times", remedy="lower data.minimum_count")
    else:
        progress(f"training {side} subwords", 0, None)
        sentences = _read_tokens(folder, side)
        subwords = Subwords.train(sentences, settings.subwords, settings.shortlist, folder / f"subwords.{side}.model")
        vocabulary = Vocabulary(subwords.vocabulary())
    codec = Codec(side_tokeniser(side, settings), vocabulary, subwords)
    codec.save(folder, side)
    return codec


def _encode_training(folder: Path, side: Side, codec: Codec, report: TextReport, order: NDArray[np.int64], progress: Progress) -> None:
    """The ids of one side, first in the order of the files, then as `order` shuffles them."""
    in_order = folder / f"in-order.{side}.ids"
    dtype = _dtype(codec)
    lengths = array.array("i")
    buffer = array.array(dtype.char)
    with in_order.open("wb") as file:
        for number, words in enumerate(_read_tokens(folder, side), 1):
            lengths.append(_encode(words, codec, report, buffer))
            if len(buffer) > 1 << 20 or number == len(order):
                buffer.tofile(file)
                del buffer[:]
                progress(f"numbering the {side} side", number, len(order))
    offsets = offsets_of(np.array(lengths))
    sentences = Sentences(np.memmap(in_order, dtype, mode="r"), offsets)
    write_sentences(folder, "train", side, np.diff(offsets)[order], _gathered(sentences, order), dtype)
    in_order.unlink()
    _tokens(folder, side).unlink()


def _read_dev(source: str | Path, target: str | Path) -> _Development:
    report: dict[Side, TextReport] = {"source": TextReport(str(source)), "target": TextReport(str(target))}
    pairs = list(read_pairs(source, target, report["source"].oddities, report["target"].oddities))
    if not pairs:
        raise InputError(f"{source} and {target} hold no lines", remedy="give development files with one sentence a line, or none")
    return _Development({"source": [left for left, _ in pairs], "target": [right for _, right in pairs]}, report)


def _encode_dev(dev: _Development, folder: Path, codecs: dict[Side, Codec]) -> None:
    for side, codec in codecs.items():
        report, buffer = dev.report[side], array.array(_dtype(codec).char)
        sentences = [codec.tokeniser.words(line) for line in dev.lines[side]]
        for words in sentences:
            report.read(len(words))
        report.distinct_words = len(set(chain.from_iterable(sentences)))
        lengths = np.array([_encode(words, codec, report, buffer) for words in sentences])
        write_sentences(folder, "dev", side, lengths, [np.array(buffer)], _dtype(codec))
        write_lines(folder, side, dev.lines[side])


def _encode(words: list[str], codec: Codec, report: TextReport, buffer: array.array[int]) -> int:
    """Appends the ids of a sentence to the buffer; returns how many they are."""
    ids = codec.encode_words(words).ids
    report.encoded(len(ids) - 1, ids.count(UNK))
    buffer.extend(ids)
    return len(ids)


def _gathered(sentences: Sentences, order: NDArray[np.int64]) -> Iterable[Ids]:
    """The sentences in another order, some ten thousands at a time."""
    lengths = np.diff(sentences.offsets)
    for start in range(0, len(order), _GATHERED):
        chosen = order[start : start + _GATHERED]
        chosen_lengths = lengths[chosen]
        shift = sentences.offsets[chosen] - offsets_of(chosen_lengths)[:-1]  # from a position in the result to that in the ids
        yield sentences.ids[np.repeat(shift, chosen_lengths) + np.arange(int(chosen_lengths.sum()))]


def _dtype(codec: Codec) -> np.dtype[Any]:
    """The smallest type that holds every id."""
    return np.dtype(np.uint16 if len(codec.vocabulary) <= 1 << 16 else np.uint32)


def _tokens(folder: Path, side: Side) -> Path:
    return folder / f"tokens.{side}.txt"


def _read_tokens(folder: Path, side: Side) -> Iterator[list[str]]:
    with _tokens(folder, side).open("rb") as file:
        for line in file:
            yield line.decode("utf-8").split()
