"""Data selection: a pool's pairs that resemble a domain most, by bilingual cross-entropy difference (Axelrod,
He & Gao 2011)."""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.system.files import free, written_whole
from rnnsearch.system.progress import Progress
from rnnsearch.system.workers import ordered_map
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.formats.opening import STDIN
from rnnsearch.text.formats.readers import Layout, LinePair, ParallelText, parallel_texts
from rnnsearch.text.selecting.domain import (
    Contrast,
    PairScorer,
    TokenisedLines,
    Tokenisers,
    random_sample,
    tokenised,
)
from rnnsearch.text.selecting.scores import (
    Scores,
    ScoresHeader,
    SelectionThreshold,
    Unit,
    best,
    open_scores,
    selected,
    total_words,
    written_scores,
)

Names = Sequence[str | Path]

_CHUNK = 2_000  # pairs sent to a worker at a time
_SMALL = 5 * _CHUNK  # fewer pairs are done before the workers have started


class Amount(NamedTuple):
    """How much of a pool is kept: at most this many target words or pairs, or this share (0–1) of the pool's
    target words."""

    value: float
    unit: Unit | str  # "words", "pairs", "share"


@dataclass(slots=True)
class TextSelection:
    """Numbers of what was selected of one parallel text of the pool. words: of the target side."""

    name: str
    pairs: int = 0
    words: int = 0
    kept_pairs: int = 0
    kept_words: int = 0


@dataclass(slots=True)
class SelectionReport:
    """The report of `select`. threshold: the score of the worst pair that may be kept, infinite if the whole
    pool is."""

    about: ScoresHeader
    threshold: SelectionThreshold
    files: list[Path]
    parts: list[TextSelection] = field(default_factory=list)

    def text(self) -> str:
        """Returns the report for a person to read."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        about = self.about
        words = (
            f"{_both(about.in_domain_words)} words; {_both(about.vocabularies)} of them in the vocabularies "
            "(they occur twice)"
        )
        yield f"in-domain: {about.in_domain_pairs:,} pairs, {words}"
        yield (
            f"sample of the pool (seed {about.seed}): {about.sample_pairs:,} pairs, "
            f"{_both(about.sample_words)} words"
        )
        for part in self.parts if len(self.parts) > 1 else []:
            yield _line(part)
        yield _line(self.total)
        yield (
            f"scores: up to {self.threshold.score:.4f} bits per word"
            if self.threshold.score < float("inf")
            else "scores: all; the whole pool is selected"
        )
        yield f"written: {', '.join(map(str, self.files))}"

    @property
    def total(self) -> TextSelection:
        """Returns all parts together."""
        return TextSelection(
            "pool",
            *(
                sum(getattr(part, name) for part in self.parts)
                for name in ("pairs", "words", "kept_pairs", "kept_words")
            ),
        )


def score_pool(
    in_domain: Names,
    pool: Names,
    scores: str | Path,
    *,
    settings: DataSettings,
    layout: Layout | None = None,
    order: int = 4,
    seed: int = 1,
    workers: int = 1,
    progress: Progress = lambda text, done, total: None,
) -> ScoresHeader:
    """Writes the score of every pair of the pool: [H_I(s) − H_O(s)] + [H_I(t) − H_O(t)], in bits per word;
    the lower, the more in-domain.

    I are models of the in-domain texts, O of a random sample of the pool with as many words; of the same
    order and vocabulary: the words that occur at least twice in-domain. The pool is read twice and never
    held. in_domain, pool, layout: files as `parallel_texts` takes them. settings: of the tokenisers. seed: of
    the sample. workers: processes that score. More than one are spawned, so a script that asks for them needs
    `if __name__ == "__main__":`. Raises InputError for files that cannot be read or are not parallel, and
    texts without words.
    """
    layout = layout or Layout(
        source_language=settings.source_language, target_language=settings.target_language
    )
    tokenisers = Tokenisers(side_tokeniser("source", settings), side_tokeniser("target", settings))
    domain_texts, texts = parallel_texts(in_domain, layout=layout), _pool_texts(pool, layout)
    domain = tokenised(_pairs(domain_texts), tokenisers)
    if not domain.source:
        raise InputError("the in-domain text has no pair with words on both sides", file=domain_texts[0].name)
    sample = random_sample(
        _counted(_pairs(texts), "sampling the pool", progress), tokenisers, sum(domain.words), seed
    )
    if not sample.source:
        raise InputError("the pool has no pair with words on both sides", file=texts[0].name)
    with tempfile.TemporaryDirectory(prefix="rnnsearch-") as folder:
        progress("estimating the models", 0, None)
        vocabularies = _learn(Path(folder), domain, sample, order)
        about = ScoresHeader(
            pool=[str(name) for name in pool],
            in_domain=[str(name) for name in in_domain],
            layout=layout,
            tokeniser=f"{settings.tokeniser}, lowercase" if settings.lowercase else settings.tokeniser,
            order=order,
            seed=seed,
            in_domain_pairs=len(domain.source),
            in_domain_words=domain.words,
            sample_pairs=len(sample.source),
            sample_words=sample.words,
            vocabularies=vocabularies,
        )
        _score(texts, Path(scores), about, PairScorer(Path(folder), tokenisers), workers, progress)
    return open_scores(Path(scores)).about


def select(
    scores: str | Path,
    out: str | Path,
    amount: Amount,
    *,
    pool: Names = (),
    overwrite: bool = False,
    progress: Progress = lambda text, done, total: None,
) -> SelectionReport:
    """Writes the best pairs of a scored pool, in the pool's order, line by line to `out`.LANGUAGE of either
    side.

    Pairs are taken from the best one on, equally good ones in the order of the pool, until the next one would
    exceed the limit. Pairs with an empty side are never kept. pool: the files, if they lie elsewhere now than
    when they were scored. Raises InputError if the pool is not the one that was scored, if nothing is kept,
    and for files that are in the way.
    """
    scored = open_scores(Path(scores))
    about = scored.about
    files = output_files(out, about.layout, overwrite)
    texts = _pool_texts(pool or about.pool, about.layout)
    limit, unit = _limit(scored, amount)
    threshold = best(scored.records, limit, unit)
    report = SelectionReport(about, threshold, files)
    with written_whole(files[0]) as source_path, written_whole(files[1]) as target_path:
        with source_path.open("wb") as source, target_path.open("wb") as target:
            _write_kept(texts, scored, threshold, (source, target), report, progress)
        for file in files:  # a crash between the two renames must not leave a new side beside an old one
            file.unlink(missing_ok=True)
    return report


def output_files(out: str | Path, layout: Layout, overwrite: bool) -> list[Path]:
    """Returns the two files that `select` writes. Raises InputError if one is there already and may not be
    replaced."""
    endings = (layout.source_language, layout.target_language)
    if endings[0] == endings[1]:
        endings = ("source", "target")
    files = [Path(f"{out}.{ending}") for ending in endings]
    for file in files:
        free(file, overwrite)
    return files


def _pool_texts(names: Names, layout: Layout) -> list[ParallelText]:
    for name in names:
        if str(name) == STDIN or Path(name).is_fifo():
            raise InputError(
                "the pool is read twice, so it cannot come from a pipe", file=name, remedy="give a file"
            )
    return parallel_texts(names, layout=layout)


def _pairs(texts: Iterable[ParallelText]) -> Iterator[LinePair]:
    return chain.from_iterable(text.pairs() for text in texts)


def _counted(pairs: Iterable[LinePair], what: str, progress: Progress) -> Iterator[LinePair]:
    for number, pair in enumerate(pairs, 1):
        yield pair
        if number % _CHUNK == 0:
            progress(what, number, None)


def _learn(folder: Path, domain: TokenisedLines, sample: TokenisedLines, order: int) -> list[int]:
    """Saves the models of both sides; returns how many words each knows."""
    source = Contrast.learn(domain.source, sample.source, order, "source")
    source.save(folder / "source")
    target = Contrast.learn(domain.target, sample.target, order, "target")
    target.save(folder / "target")
    return [len(contrast.vocabulary) - 2 for contrast in (source, target)]  # without the two specials


def _score(
    texts: list[ParallelText],
    scores: Path,
    about: ScoresHeader,
    scorer: PairScorer,
    workers: int,
    progress: Progress,
) -> None:
    pairs = _pairs(texts)
    beginning = list(islice(pairs, _SMALL))
    chunks = _chunks(chain(beginning, pairs))
    done = checksum = 0
    with written_scores(scores, about) as write:
        for lines, records in ordered_map(scorer, chunks, workers if len(beginning) == _SMALL else 1):
            checksum = _checksum(lines, checksum)
            write(records, checksum)
            done += len(lines)
            progress("scoring", done, None)


def _chunks(pairs: Iterator[LinePair]) -> Iterator[list[LinePair]]:
    while chunk := list(islice(pairs, _CHUNK)):
        yield chunk


def _checksum(lines: list[LinePair], before: int) -> int:
    return zlib.crc32("".join(f"{source}\n{target}\n" for source, target in lines).encode("utf-8"), before)


def _limit(scored: Scores, amount: Amount) -> tuple[int, Unit]:
    if amount.unit == "share":
        return int(amount.value * total_words(scored.records)), "words"
    return int(amount.value), "pairs" if amount.unit == "pairs" else "words"


def _write_kept(
    texts: list[ParallelText],
    scored: Scores,
    threshold: SelectionThreshold,
    files: tuple[BinaryIO, BinaryIO],
    report: SelectionReport,
    progress: Progress,
) -> None:
    """Fills the files and the report's parts. Raises InputError unless this is the text that was scored."""
    about, checksum, position = scored.about, 0, 0
    choices = selected(scored.records, threshold)
    for text in texts:
        part = TextSelection(text.name)
        report.parts.append(part)
        for lines in _chunks(text.pairs()):
            if position + len(lines) > about.pairs:
                raise _other_pool(about)
            chosen = list(islice(choices, len(lines)))
            words = scored.records["words"][position : position + len(lines)].tolist()
            checksum = _checksum(lines, checksum)
            position += len(lines)
            part.pairs += len(lines)
            part.words += sum(words)
            part.kept_pairs += sum(chosen)
            part.kept_words += sum(number for number, keep in zip(words, chosen, strict=True) if keep)
            for side, file in enumerate(files):
                file.write(
                    "".join(
                        f"{pair[side]}\n" for pair, keep in zip(lines, chosen, strict=True) if keep
                    ).encode("utf-8")
                )
            progress("writing", position, about.pairs)
    if position != about.pairs or checksum != about.checksum:
        raise _other_pool(about)
    if not report.total.kept_pairs:
        raise InputError(
            "the amount is too small to select any pair", remedy="raise --words, --share or --pairs"
        )


def _other_pool(about: ScoresHeader) -> InputError:
    what = f"the pool is not the text that was scored ({', '.join(about.pool)}: {about.pairs:,} pairs)"
    return InputError(
        what, remedy="give the files that were scored with --pool, in the same order, or score again"
    )


def _both(numbers: list[int]) -> str:
    return " | ".join(f"{number:,}" for number in numbers)


def _line(part: TextSelection) -> str:
    share = f" ({100 * part.kept_words / part.words:.2f} % of the words)" if part.words else ""
    return (
        f"{part.name}: selected {part.kept_pairs:,} of {part.pairs:,} pairs, {part.kept_words:,} of "
        f"{part.words:,} target words{share}"
    )
