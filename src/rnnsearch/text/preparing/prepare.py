"""Raw parallel texts to a store of cleaned, tokenised, encoded and shuffled pairs, in passes that hold little
in memory.

Worker processes clean the lines, a few thousand pairs at a time. The pairs that stay lie in temporary files
beside the store in the making. From them come the vocabularies, then the ids, each pair's in a random bucket,
and at last the shuffled store.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from rnnsearch.config import DataSettings, TrainingSettings
from rnnsearch.errors import InputError
from rnnsearch.system.folders import whole_folder
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import SIDES, Codec, Side
from rnnsearch.text.formats.lines import Lines, is_file, name_of, read_given
from rnnsearch.text.formats.readers import Layout, ParallelText, parallel_texts
from rnnsearch.text.links.words import LinkWords
from rnnsearch.text.preparing.cleaning import CleanedCorpus, clean
from rnnsearch.text.preparing.counting_pass import count, make_codec
from rnnsearch.text.preparing.encoding import Development, EncodedCorpus, encode, encode_dev, read_dev
from rnnsearch.text.preparing.preparation_report import Padding, PreparationReport, SideReport
from rnnsearch.text.store.order import BatchOrder
from rnnsearch.text.store.store import StoreContents, is_store, map_array, write_contents

_MEASURED = 1 << 18
_BATCHES: dict[str, dict[str, object]] = {
    "batches of 80 from sorted pools of 1,600 (the paper's)": {},
    "batches of 4,080 positions from sorted pools of 1,600": {"batch_tokens": 4080},
    "batches of 80 in stored order": {"pool_batches": 1},
}
"""Batches that are measured for the report, with the settings of [training] that differ from the paper's."""


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
    """Calls `prepare_texts` for one parallel text, and another one for development.

    source, target: each a file of lines, or the lines themselves, from a list or any iterator, which is read
    once. Or source gives pairs of lines, and target is None. dev: the same two. Raises InputError as
    `prepare_texts` does, and for lines that are not text.
    """
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
    """Makes the store `out` from parallel texts, whole or not at all.

    The same input and settings give the same bytes.

    dev: development texts; all their pairs are kept, in order. links: Pharaoh files, one for each text, with
    one line for each pair; links_reversed: they are written target-source; link_words: the words that they
    refer to, by default found from the first pairs of each text. repeat: how often the pairs of each text are
    used. vocabulary: codecs of a run, whose vocabularies and subwords are used instead of new ones.
    overwrite: replace `out` if it is a store. workers: processes that clean. More than one are spawned, so a
    script that asks for them needs `if __name__ == "__main__":`.

    Raises InputError for texts and links that cannot be read or are not parallel, an `out` that is in the
    way, a full disk, and nothing kept.
    """
    for given, what in ((links, "file(s) of links"), (repeat, "number(s) of repetitions")):
        if given and len(given) != len(texts):
            remedy = "give one for each corpus, in the same order"
            raise InputError(f"{len(given)} {what} given for {len(texts)} corpora", remedy=remedy)
    with whole_folder(Path(out), lambda folder: overwrite and is_store(folder)) as folder:
        # First: its faults should not come to light after minutes of work.
        development = read_dev(dev) if dev else None
        work = folder / "work"
        work.mkdir()
        times = repeat or [1] * len(texts)
        links_are = links_reversed, link_words
        cleaned = clean(texts, links, links_are, times, settings, work, workers, progress)
        codecs: dict[Side, Codec] = {}
        sides: dict[Side, SideReport] = {}
        for side in SIDES:
            counts, sides[side] = count(side, cleaned, progress)
            known = vocabulary[side] if vocabulary else None
            codecs[side] = make_codec(side, counts, settings, progress, known)
            codecs[side].save(folder, side)
            del counts  # one table at a time
        encoded = encode(cleaned, codecs, sides, bool(links), settings, folder, progress)
        shutil.rmtree(work)
        report = _report(cleaned, encoded, codecs, sides, folder, development)
        (folder / "report.json").write_text(report.json(), encoding="utf-8")
        (folder / "report.txt").write_text(report.text(), encoding="utf-8")
        write_contents(folder, StoreContents(settings, encoded.shards, bool(links)))
    return report


def _report(
    cleaned: CleanedCorpus,
    encoded: EncodedCorpus,
    codecs: dict[Side, Codec],
    sides: dict[Side, SideReport],
    folder: Path,
    development: Development | None,
) -> PreparationReport:
    """Writes the development pairs, and returns the report of everything."""
    dev = encode_dev(development, folder, codecs) if development else {}
    return PreparationReport(
        pairs_read=sum(text.pairs_read for text in cleaned.texts),
        pairs_kept=sum(text.pairs_kept for text in cleaned.texts),
        pairs_used=cleaned.pairs,
        dropped=cleaned.dropped,
        unit="words" if codecs["source"].subwords is None else "subwords",
        source_vocabulary=len(codecs["source"].vocabulary),
        target_vocabulary=len(codecs["target"].vocabulary),
        texts=cleaned.texts,
        source=sides["source"],
        target=sides["target"],
        ratios=encoded.ratios,
        padding=padding(folder),
        samples=encoded.samples,
        links=encoded.links,
        dev=development.texts if development else [],
        dev_source=dev.get("source"),
        dev_target=dev.get("target"),
    )


def _text(source: Lines | Iterable[tuple[str, str]], target: Lines | None) -> ParallelText:
    if is_file(source) and is_file(target):
        [text] = parallel_texts((source, target), layout=Layout(format="lines"))  # type: ignore[arg-type]
        return text
    name = "pairs in memory" if target is None else f"{name_of(source)} | {name_of(target)}"
    return ParallelText(name, partial(read_given, source, target))


def padding(folder: Path) -> list[Padding]:
    """Measures the padding of the paper's batches, and of others, on the first pairs of the store, a random
    part."""
    lengths = [map_array(folder / f"train.{side}.lengths.npy")[:_MEASURED] for side in SIDES]
    found = []
    for name, values in _BATCHES.items():
        try:
            order = BatchOrder(lengths[0], lengths[1], TrainingSettings.model_validate(values))
        except InputError:  # every pair is too long for the paper
            return []
        found.append(Padding(name, round(order.padding_share(), 6), order.pairs))
    return found
