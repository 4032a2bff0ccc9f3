"""The first stage of a study: its corpus, or the subset it names, prepared, and checked against what an earlier call prepared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch.builtin.generate import generate, split, write_examples
from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.studies.study import LONG, Plan
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.studies.subset import write_subset
from rnnsearch.studies.test_sets import check_set, set_files
from rnnsearch.system.files import write_text
from rnnsearch.system.folders import whole_folder
from rnnsearch.system.progress import Progress
from rnnsearch.text.formats.lines import InputWarnings
from rnnsearch.text.formats.readers import Layout, ParallelText, parallel_texts
from rnnsearch.text.links.corpora import link_texts
from rnnsearch.text.preparing.prepare import prepare_texts
from rnnsearch.text.store.store import read_contents

BUILTIN_PAIRS = 12_000


class Files(NamedTuple):
    """Arguments of `prepare`."""

    train: list[str]
    dev: list[str]
    links: list[str]
    links_reversed: bool


def corpus_files(plan: Plan, folder: StudyFolder) -> Files:
    """What the store is prepared from: the study's files, or those in OUT/corpus."""
    corpus = plan.study.corpus
    if corpus.builtin:
        train, dev = ([str(folder.corpus / f"{name}.{side}") for side in ("en", "fr")] for name in ("train", "dev"))
        return Files(train, dev, [str(folder.corpus / "train.links")], False)
    if corpus.is_subset:
        sides = (plan.data.source_language, plan.data.target_language)
        train, dev = ([str(folder.corpus / f"{name}.{side}") for side in sides] for name in ("train", "dev"))
        links = [str(folder.aligned if corpus.align else folder.corpus / "train.links")] if corpus.links or corpus.align else []
        return Files(train, dev if corpus.dev else [], links, corpus.links_reversed)
    train, dev, links = ([str(plan.path(name)) for name in names] for names in (corpus.train, corpus.dev, corpus.links))
    return Files(train, dev, links, corpus.links_reversed)


def prepare_corpora(plan: Plan, folder: StudyFolder, reverse: bool, workers: int, progress: Progress) -> None:
    """Makes what is missing of OUT/corpus and the stores. reverse: the store from target to source is needed too.

    A store that is there is kept, whoever prepared it. Raises InputError if it differs from what the study says, with the setting.
    """
    note, origin = folder / "corpus.json", _origin(plan)
    _compare(note, origin, folder)
    corpus = plan.study.corpus
    check_store_settings(plan, folder)
    if not note.exists():
        _check_adopted(plan, folder)
    missing = [side for side in (False, True) if (reverse or not side) and not (folder.store(side) / "data.toml").exists()]
    if (corpus.builtin or corpus.is_subset) and not folder.corpus.exists() and (missing or corpus.builtin):
        with whole_folder(folder.corpus, lambda path: False) as parts:
            _write_builtin(plan, parts) if corpus.builtin else write_subset(plan, parts, progress)
        write_text(note, json.dumps(origin, indent=2) + "\n")
    for test in set_files(plan, folder).values():  # before hours of work, not after
        check_set(test, plan.data)
    if missing and corpus.align and not folder.aligned.exists():
        texts = parallel_texts(corpus_files(plan, folder).train)
        link_texts(texts, [folder.aligned], settings=plan.data, method=corpus.align, progress=progress)
    for side in missing:
        _prepare(plan, folder, side, workers, progress)
    write_text(note, json.dumps(origin, indent=2) + "\n")


def swapped(settings: DataSettings) -> DataSettings:
    """Those of the other direction."""
    languages = {"source_language": settings.target_language, "target_language": settings.source_language}
    return settings.model_copy(update=languages)


def _prepare(plan: Plan, folder: StudyFolder, reverse: bool, workers: int, progress: Progress) -> None:
    files = corpus_files(plan, folder)
    layout = Layout(source_language=plan.data.source_language, target_language=plan.data.target_language)
    train, dev = (parallel_texts(names, layout=layout) if names else [] for names in (files.train, files.dev))
    prepare_texts(
        [_turned(text) for text in train] if reverse else train,
        folder.store(reverse),
        dev=[_turned(text) for text in dev] if reverse else dev,
        links=files.links,
        links_reversed=files.links_reversed != reverse,
        settings=swapped(plan.data) if reverse else plan.data,
        workers=workers,
        progress=progress,
    )


def _turned(text: ParallelText) -> ParallelText:
    """Target and source."""

    def read(source_warnings: InputWarnings, target_warnings: InputWarnings) -> Iterator[tuple[str, str]]:
        return ((target, source) for source, target in text.reader(target_warnings, source_warnings))

    return ParallelText(text.name, read)


def _write_builtin(plan: Plan, folder: Path) -> None:
    corpus = plan.study.corpus
    train, dev, test = split(corpus.pairs or BUILTIN_PAIRS, corpus.held_out)
    for name, examples in (("train", train), ("dev", dev), ("test", test)):
        write_examples(folder, name, examples)
    if corpus.long_pairs:
        seen = {example.source_text for example in (*train, *dev, *test)}
        stream = (example for seed in range(2, 100) for example in generate(corpus.long_pairs, seed=seed, min_words=LONG + 1))
        unseen = (example for example in stream if example.source_text not in seen)
        write_examples(folder, "long", list(islice(unseen, corpus.long_pairs)))


def _origin(plan: Plan) -> dict[str, Any]:
    """What the corpus is made from, as far as the study says; sizes tell apart files of one name."""
    corpus = plan.study.corpus
    names = [*corpus.train, *corpus.dev, *corpus.links]
    missing = next((plan.path(name) for name in names if not plan.path(name).exists()), None)
    if missing is not None:
        raise InputError("no such file", file=missing, remedy="check the path; --data names the folder that paths begin in")
    sizes = {f"bytes of {name}": plan.path(name).stat().st_size for name in names}
    return {f"corpus.{key}": value for key, value in corpus.model_dump().items()} | sizes


def _compare(note: Path, origin: dict[str, Any], folder: StudyFolder) -> None:
    """Against what an earlier call prepared from."""
    if not note.exists():
        return
    before = json.loads(note.read_text(encoding="utf-8"))
    for key, value in origin.items():
        if before.get(key, value) != value:
            what = f"was prepared with {key} = {before[key]!r}, which is now {value!r}"
            raise InputError(what, file=folder.store(), remedy="keep the study as it was, or begin again in another folder")


def _check_adopted(plan: Plan, folder: StudyFolder) -> None:
    """A store that somebody else prepared: as far as one can see, it must be of this study."""
    store = folder.store()
    if not (store / "report.json").exists():
        return
    pairs = json.loads((store / "report.json").read_text(encoding="utf-8")).get("pairs_read")
    wanted = plan.study.corpus.pairs
    if wanted and pairs is not None and pairs != wanted:
        raise InputError(f"was prepared from {pairs:,} pairs, and corpus.pairs is {wanted:,}", file=store, remedy="name another folder")


def check_store_settings(plan: Plan, folder: StudyFolder) -> None:
    """Raises InputError for a store that was prepared with other settings."""
    for reverse in (False, True):
        store = folder.store(reverse)
        if not (store / "data.toml").exists():
            continue
        before = read_contents(store).settings.model_dump()
        for key, value in (swapped(plan.data) if reverse else plan.data).model_dump().items():
            if before[key] != value:
                what = f"was prepared with data.{key} = {before[key]!r}, which is now {value!r}"
                raise InputError(what, file=store, remedy="keep the study as it was, or name another folder")
