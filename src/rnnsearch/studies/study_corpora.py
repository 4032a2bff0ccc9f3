"""The corpus of a study: the subset of the files that it uses, and the commands that prepare it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rnnsearch.builtin.corpus import generate, split, write_examples
from rnnsearch.config import DataSettings, Settings
from rnnsearch.errors import InputError
from rnnsearch.studies.runs import Command, changes
from rnnsearch.studies.study import LONG, StudyFolder
from rnnsearch.system.files import write_text
from rnnsearch.system.folders import whole_folder
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import SIDES, side_tokeniser
from rnnsearch.text.formats.readers import Layout, ParallelText, parallel_texts, read_link_lines
from rnnsearch.text.store.corpus import read_contents

BUILTIN_PAIRS = 12_000
Row = tuple[str, ...]
"""Source, target, and links if the corpus has any."""
_REPORTED = 1000


def is_written(folder: StudyFolder) -> bool:
    """Tells whether the corpus is written to OUT/corpus as plain text: if it is built in, a subset or to be
    aligned, or if bilingual files are needed in both directions."""
    corpus = folder.study.corpus
    if corpus.builtin or corpus.pairs or corpus.max_words or corpus.dev_pairs or corpus.align:
        return True
    both = any(run.reverse for run in folder.runs)
    texts = [*_texts(folder, corpus.train), *_texts(folder, corpus.dev)] if both else []
    return both and 2 * len(texts) != len(corpus.train) + len(corpus.dev)


def _files(folder: StudyFolder) -> tuple[list[str], list[str], list[str]]:
    """Returns (training files, development files, link files) for `prepare`: the study's own, or those in
    OUT/corpus."""
    corpus, data = folder.study.corpus, folder.data
    if not is_written(folder):
        train, dev, links = (
            [str(folder.path_of(name)) for name in names]
            for names in (corpus.train, corpus.dev, corpus.links)
        )
        return train, dev, links
    sides = ("en", "fr") if corpus.builtin else (data.source_language, data.target_language)
    train, dev = ([str(folder.corpus / f"{name}.{side}") for side in sides] for name in ("train", "dev"))
    links = [str(folder / "train.links" if corpus.align else folder.corpus / "train.links")]
    linked = corpus.builtin or corpus.links or corpus.align
    return train, dev if corpus.builtin or corpus.dev else [], links if linked else []


def prepare_commands(folder: StudyFolder) -> list[Command]:
    """Returns the commands that make the links, if the study asks for them, and that prepare the dataset of
    each direction."""
    corpus, recipe, commands = folder.study.corpus, folder.recipe(), []
    train, dev, links = _files(folder)

    def settings(data: DataSettings) -> list[str]:
        named = ["--recipe", recipe] if recipe else []
        return named + changes(Settings(data=data), recipe, "data")

    if corpus.align:
        made = folder / "train.links"
        words = ["links", *train, "--out", str(made), "--symmetrise", corpus.align, *settings(folder.data)]
        commands.append(Command("links", words, made))
    for reverse in sorted({run.reverse for run in folder.runs}):
        store, data = folder.store(reverse), folder.data
        if reverse:  # each target file before its source file
            train, dev = ([names[place ^ 1] for place in range(len(names))] for names in (train, dev))
            data = _swapped(data)
        words = ["prepare", *train, "--out", str(store), *(["--dev", *dev] if dev else [])]
        words += ["--links", *links] if links else []
        words += ["--links-reversed"] if links and corpus.links_reversed != reverse else []
        commands.append(Command(store.name, [*words, *settings(data)], store))
    return commands


def prepare_corpus(
    folder: StudyFolder, run_all: Callable[[Sequence[Command]], None], progress: Progress
) -> None:
    """Makes OUT/corpus, the links and the prepared datasets that are missing, and reads all test sets first.

    run_all: runs commands. Raises InputError for a dataset that was prepared with other settings, for test
    sets that cannot be used, and if a command fails.
    """
    origin, note = _origin(folder), folder / "corpus.json"
    _check_store(folder, origin)
    commands = [command for command in prepare_commands(folder) if not command.made.exists()]
    missing = any(command.name != "links" for command in commands)
    builtin = folder.study.corpus.builtin
    if is_written(folder) and (missing or builtin) and not folder.corpus.exists():
        with whole_folder(folder.corpus, lambda path: False) as parts:
            _write_builtin(folder, parts) if builtin else write_subset(folder, parts, progress)
        write_text(note, origin)
    folder.test_sets  # noqa: B018  # reads them
    if missing:
        run_all(commands)
    write_text(note, origin)  # later calls compare it


def _swapped(settings: DataSettings) -> DataSettings:
    """Returns the settings with the two languages exchanged."""
    languages = {"source_language": settings.target_language, "target_language": settings.source_language}
    return settings.model_copy(update=languages)


def _write_builtin(folder: StudyFolder, out: Path) -> None:
    corpus = folder.study.corpus
    parts = split(corpus.pairs or BUILTIN_PAIRS, corpus.held_out)
    for name, examples in zip(("train", "dev", "test"), parts, strict=True):
        write_examples(out, name, examples)
    if corpus.long_pairs:
        write_examples(out, "long", generate(corpus.long_pairs, seed=2, min_words=LONG + 1))


def write_subset(folder: StudyFolder, out: Path, progress: Progress) -> None:
    """Writes the first `corpus.pairs` pairs of at most `corpus.max_words` words per side, and the first
    `corpus.dev_pairs` of dev.

    The files are train.<language>, dev.<language> and train.links; lines are copied unchanged. Raises
    InputError if there are fewer pairs.
    """
    corpus, data = folder.study.corpus, folder.data
    sides = [data.source_language, data.target_language]
    names = [f"train.{kind}" for kind in (*sides, *(["links"] if corpus.links else []))]
    wanted = islice(_short_enough(_rows(folder), folder), corpus.pairs)
    written = _write(out, names, wanted, lambda done: progress("writing the subset", done, corpus.pairs))
    if corpus.pairs and written < corpus.pairs:
        what = f"corpus.pairs = {corpus.pairs:,}, but only {written:,} pairs of the files can be used"
        raise InputError(what, file=folder.name, remedy="ask for fewer, or for all by leaving `pairs` out")
    if corpus.dev:
        pairs = chain.from_iterable(text.pairs() for text in _texts(folder, corpus.dev))
        _write(out, [f"dev.{side}" for side in sides], islice(pairs, corpus.dev_pairs), lambda done: None)


def _texts(folder: StudyFolder, names: Sequence[str]) -> list[ParallelText]:
    data = folder.data
    layout = Layout(source_language=data.source_language, target_language=data.target_language)
    return parallel_texts([str(folder.path_of(name)) for name in names], layout=layout)


def _rows(folder: StudyFolder) -> Iterator[Row]:
    """Yields all pairs with their links. Raises InputError if the numbers of pairs and of link lines
    differ."""
    texts, links = _texts(folder, folder.study.corpus.train), folder.study.corpus.links
    if not links:
        yield from chain.from_iterable(text.pairs() for text in texts)
        return
    if len(links) != len(texts):
        what = f"{len(links)} files of links for {len(texts)} corpora"
        raise InputError(what, remedy="give one for each corpus, in order")
    for text, file in zip(texts, map(folder.path_of, links), strict=True):
        try:
            for pair, line in zip(text.pairs(), read_link_lines(file), strict=True):
                yield (*pair, line)
        except ValueError:
            what = f"has more or fewer lines than {text.name} has pairs"
            raise InputError(what, file=file, remedy="give one line for each pair") from None


def _short_enough(rows: Iterator[Row], folder: StudyFolder) -> Iterator[Row]:
    """Yields the rows whose sides have 1 to `corpus.max_words` words."""
    limit = folder.study.corpus.max_words
    sides = [side_tokeniser(side, folder.data) for side in SIDES]
    for row in rows:
        if not limit or all(
            0 < len(side.words(text)) <= limit for side, text in zip(sides, row, strict=False)
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


def _origin(folder: StudyFolder) -> str:
    """Returns what the corpus is made from, as JSON: the study's settings, and the sizes of its files."""
    corpus = folder.study.corpus
    origin = {f"corpus.{key}": value for key, value in corpus.model_dump().items()}
    for name in (*corpus.train, *corpus.dev, *corpus.links):
        path = folder.path_of(name)
        if not path.exists():
            remedy = "check the path; paths are relative to the folder of --data"
            raise InputError("no such file", file=path, remedy=remedy)
        origin[f"bytes of {name}"] = path.stat().st_size
    return json.dumps(origin, indent=2) + "\n"


def _check_store(folder: StudyFolder, origin: str) -> None:
    """Raises InputError for a dataset that was prepared from other files, with other settings, or from
    another number of pairs."""
    note, report, wanted = folder / "corpus.json", folder.store() / "report.json", folder.study.corpus.pairs
    _compare(folder.store(), _read_json(note), json.loads(origin))
    for store, data in ((folder.store(), folder.data), (folder.store(True), _swapped(folder.data))):
        before = read_contents(store).data.model_dump() if (store / "data.toml").exists() else {}
        _compare(store, before, data.model_dump(), "data.")
    pairs = _read_json(report).get("pairs_read")
    if wanted and pairs not in (None, wanted) and not note.exists():
        what = f"was prepared from {pairs:,} pairs, but corpus.pairs is {wanted:,}"
        raise InputError(what, file=folder.store(), remedy="name another folder")


def _read_json(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def _compare(store: Path, before: dict[str, Any], now: dict[str, Any], section: str = "") -> None:
    """Raises InputError if the dataset was prepared with a different value."""
    for key, value in now.items():
        if before.get(key, value) != value:
            what = f"was prepared with {section}{key} = {before[key]!r}, which is now {value!r}"
            remedy = "keep the study as it was, or begin again in another folder"
            raise InputError(what, file=store, remedy=remedy)
