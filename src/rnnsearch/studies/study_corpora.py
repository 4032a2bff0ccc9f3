"""The corpus of a study: its files, or the part of them that it uses, written out, and the commands that
prepare it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch.builtin.corpus import generate, split, write_examples
from rnnsearch.config import DataSettings, Settings
from rnnsearch.errors import InputError
from rnnsearch.studies.runs import Command, changes
from rnnsearch.studies.study import LONG, Plan
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.system.files import write_text
from rnnsearch.system.folders import whole_folder
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import side_tokeniser
from rnnsearch.text.formats.readers import Layout, ParallelText, parallel_texts, read_link_lines
from rnnsearch.text.store.store import read_contents

BUILTIN_PAIRS = 12_000
Row = tuple[str, ...]
"""Source, target, and links if the corpus has any."""
_REPORTED = 1000


class Files(NamedTuple):
    """Arguments of `prepare`."""

    train: list[str]
    dev: list[str]
    links: list[str]
    links_reversed: bool


def corpus_files(folder: StudyFolder) -> Files:
    """Returns what the store is prepared from: the study's files, or those in OUT/corpus."""
    plan, corpus = folder.plan, folder.plan.study.corpus
    if not is_written(folder):
        train, dev, links = (
            [str(plan.path(name)) for name in names] for names in (corpus.train, corpus.dev, corpus.links)
        )
        return Files(train, dev, links, corpus.links_reversed)
    sides = ("en", "fr") if corpus.builtin else (plan.data.source_language, plan.data.target_language)
    train, dev = ([str(folder.corpus / f"{name}.{side}") for side in sides] for name in ("train", "dev"))
    links = [str(folder.aligned if corpus.align else folder.corpus / "train.links")]
    linked = corpus.builtin or corpus.links or corpus.align
    return Files(
        train, dev if corpus.builtin or corpus.dev else [], links if linked else [], corpus.links_reversed
    )


def is_written(folder: StudyFolder) -> bool:
    """Tells whether OUT/corpus holds the corpus as plain text: a part of the files, what an aligner must see
    as one, or bilingual files whose sides are needed in both directions."""
    corpus = folder.plan.study.corpus
    if corpus.builtin or corpus.pairs or corpus.max_words or corpus.dev_pairs or corpus.align:
        return True
    both = any(run.reverse for run in folder.runs)
    texts = [*_texts(folder.plan, corpus.train), *_texts(folder.plan, corpus.dev)] if both else []
    return both and 2 * len(texts) != len(corpus.train) + len(corpus.dev)


def prepare_commands(folder: StudyFolder) -> list[Command]:
    """Returns the commands that make the links, if the study wants it, and the store of each direction."""
    plan, corpus, files = folder.plan, folder.plan.study.corpus, corpus_files(folder)
    recipe, commands = plan.recipe(), []
    named = ["--recipe", recipe] if recipe else []
    if corpus.align:
        words = ["links", *files.train, "--out", str(folder.aligned), "--symmetrise", corpus.align, *named]
        words += changes(Settings(data=plan.data), recipe, "data")
        commands.append(Command("links", words, folder.aligned))
    for reverse in sorted({run.reverse for run in folder.runs}):
        train, dev = (_exchanged(names) if reverse else names for names in (files.train, files.dev))
        store, data = folder.store(reverse), swapped(plan.data) if reverse else plan.data
        words = ["prepare", *train, "--out", str(store), *(["--dev", *dev] if dev else [])]
        words += ["--links", *files.links] if files.links else []
        words += ["--links-reversed"] if files.links and files.links_reversed != reverse else []
        words += [*named, *changes(Settings(data=data), recipe, "data")]
        commands.append(Command(store.name, words, store))
    return commands


def write_corpus(folder: StudyFolder, progress: Progress) -> None:
    """Writes OUT/corpus, if it is needed and missing, and checks all that later stages read.

    Raises InputError for a store or corpus that differs from what the study says, with the setting, and for
    test sets that do not fit: before hours of work.
    """
    plan, corpus, note = folder.plan, folder.plan.study.corpus, folder / "corpus.json"
    _compare(note, _origin(plan), folder)
    check_store_settings(folder)
    if not note.exists():
        _check_adopted(folder)
    missing = not all(folder.store(run.reverse).exists() for run in folder.runs)
    if is_written(folder) and (missing or corpus.builtin) and not folder.corpus.exists():
        with whole_folder(folder.corpus, lambda path: False) as parts:
            _write_builtin(plan, parts) if corpus.builtin else write_subset(plan, parts, progress)
        note_origin(folder)
    folder.check_tests()


def note_origin(folder: StudyFolder) -> None:
    """Writes down what the corpus was made from, which later calls compare."""
    write_text(folder / "corpus.json", json.dumps(_origin(folder.plan), indent=2) + "\n")


def swapped(settings: DataSettings) -> DataSettings:
    """Returns the settings of the other direction."""
    languages = {"source_language": settings.target_language, "target_language": settings.source_language}
    return settings.model_copy(update=languages)


def _exchanged(names: Sequence[str]) -> list[str]:
    """Returns each target file before its source file."""
    return [name for pair in zip(names[1::2], names[::2], strict=True) for name in pair]


def _write_builtin(plan: Plan, folder: Path) -> None:
    corpus = plan.study.corpus
    train, dev, test = split(corpus.pairs or BUILTIN_PAIRS, corpus.held_out)
    for name, examples in (("train", train), ("dev", dev), ("test", test)):
        write_examples(folder, name, examples)
    if corpus.long_pairs:
        write_examples(folder, "long", generate(corpus.long_pairs, seed=2, min_words=LONG + 1))


def write_subset(plan: Plan, folder: Path, progress: Progress) -> None:
    """Writes the first `corpus.pairs` pairs of at most `corpus.max_words` words per side, and the first
    `corpus.dev_pairs` of dev.

    train.<language>, dev.<language> and train.links, as they stand in the files. Raises InputError if there
    are not so many pairs.
    """
    corpus, data = plan.study.corpus, plan.data
    sides = [data.source_language, data.target_language]
    names = [f"train.{kind}" for kind in (*sides, *(["links"] if corpus.links else []))]
    wanted = islice(_short_enough(_rows(plan), plan), corpus.pairs)
    written = _write(folder, names, wanted, lambda done: progress("writing the subset", done, corpus.pairs))
    if corpus.pairs and written < corpus.pairs:
        what = f"corpus.pairs = {corpus.pairs:,}, and only {written:,} pairs of the files fit"
        raise InputError(what, file=plan.name, remedy="ask for fewer, or for all by leaving `pairs` out")
    if corpus.dev:
        pairs = chain.from_iterable(text.pairs() for text in _texts(plan, corpus.dev))
        _write(folder, [f"dev.{side}" for side in sides], islice(pairs, corpus.dev_pairs), lambda done: None)


def _texts(plan: Plan, names: Sequence[str]) -> list[ParallelText]:
    layout = Layout(source_language=plan.data.source_language, target_language=plan.data.target_language)
    return parallel_texts([str(plan.path(name)) for name in names], layout=layout)


def _rows(plan: Plan) -> Iterator[Row]:
    """Yields all pairs with their links. Raises InputError if text and links have not equally many."""
    texts, links = _texts(plan, plan.study.corpus.train), plan.study.corpus.links
    if links and len(links) != len(texts):
        what, remedy = (
            f"{len(links)} files of links for {len(texts)} corpora",
            "give one for each corpus, in order",
        )
        raise InputError(what, remedy=remedy)
    if not links:
        yield from chain.from_iterable(text.pairs() for text in texts)
    for text, file in zip(texts, map(plan.path, links), strict=False):  # no links: nothing
        try:
            for pair, line in zip(text.pairs(), read_link_lines(file), strict=True):
                yield (*pair, line)
        except ValueError:
            what = f"has not as many lines as {text.name} has pairs"
            raise InputError(what, file=file, remedy="give one line for each pair") from None


def _short_enough(rows: Iterator[Row], plan: Plan) -> Iterator[Row]:
    """Yields the rows whose sides have 1 to `corpus.max_words` words."""
    limit = plan.study.corpus.max_words
    source, target = side_tokeniser("source", plan.data), side_tokeniser("target", plan.data)
    for row in rows:
        if not limit or all(
            0 < len(side.words(text)) <= limit for side, text in zip((source, target), row, strict=False)
        ):
            yield row


def _write(folder: Path, names: list[str], rows: Iterator[Row], report: Callable[[int], None]) -> int:
    """Writes a file for each column; returns the number of rows."""
    written = 0
    with ExitStack() as stack:
        files = [
            stack.enter_context((folder / name).open("w", encoding="utf-8", newline="\n")) for name in names
        ]
        for written, row in enumerate(rows, 1):
            for file, text in zip(files, row, strict=True):
                file.write(f"{text}\n")
            if written % _REPORTED == 0:
                report(written)
    return written


def _origin(plan: Plan) -> dict[str, Any]:
    """Returns what the corpus is made from, as far as the study says; sizes tell apart files of one name."""
    corpus = plan.study.corpus
    paths = {name: plan.path(name) for name in (*corpus.train, *corpus.dev, *corpus.links)}
    for path in paths.values():
        if not path.exists():
            remedy = "check the path; --data names the folder that paths begin in"
            raise InputError("no such file", file=path, remedy=remedy)
    sizes = {f"bytes of {name}": path.stat().st_size for name, path in paths.items()}
    return {f"corpus.{key}": value for key, value in corpus.model_dump().items()} | sizes


def _compare(note: Path, origin: dict[str, Any], folder: StudyFolder) -> None:
    """Raises InputError if an earlier call prepared from something else."""
    before = json.loads(note.read_text(encoding="utf-8")) if note.exists() else {}
    for key, value in origin.items():
        if before.get(key, value) != value:
            raise _other(folder.store(), key, before[key], value)


def _check_adopted(folder: StudyFolder) -> None:
    """Raises InputError if a store that somebody else prepared is, as far as one can see, not of this
    study."""
    report, wanted = folder.store() / "report.json", folder.plan.study.corpus.pairs
    pairs = json.loads(report.read_text(encoding="utf-8")).get("pairs_read") if report.exists() else None
    if wanted and pairs is not None and pairs != wanted:
        what = f"was prepared from {pairs:,} pairs, and corpus.pairs is {wanted:,}"
        raise InputError(what, file=folder.store(), remedy="name another folder")


def check_store_settings(folder: StudyFolder) -> None:
    """Raises InputError for a store that was prepared with other settings."""
    for store, data in ((folder.store(), folder.plan.data), (folder.store(True), swapped(folder.plan.data))):
        before = read_contents(store).data.model_dump() if (store / "data.toml").exists() else {}
        for key, value in data.model_dump().items():
            if before.get(key, value) != value:
                raise _other(store, f"data.{key}", before[key], value)


def _other(store: Path, key: str, before: object, now: object) -> InputError:
    what = f"was prepared with {key} = {before!r}, which is now {now!r}"
    return InputError(what, file=store, remedy="keep the study as it was, or begin again in another folder")
