"""What a study would do, and what it has done, in lines for a person; nothing is trained here."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rnnsearch.config import Settings, load_config
from rnnsearch.studies.run_states import time_left
from rnnsearch.studies.run_study import current_states
from rnnsearch.studies.study import Plan
from rnnsearch.studies.study_corpora import corpus_files
from rnnsearch.studies.study_folder import StudyFolder
from rnnsearch.studies.test_sets import SetFiles, set_files


def status_lines(plan: Plan, out: Path) -> Iterator[str]:
    """A line for each run, and what is left."""
    found = current_states(plan, StudyFolder(out))
    yield from (str(state) for state in found)
    done = sum(state.measured for state in found)
    left = time_left(found, 1)
    yield f"{done} of {len(found)} runs done{f'; {left}, one run after the other' if left and done < len(found) else ''}"


def dry_run(plan: Plan, out: Path, page: bool = False) -> Iterator[str]:
    """The commands that do the same by hand. page: with the report that ends a reproduction."""
    folder, study = StudyFolder(out), plan.study
    if study.corpus.builtin:
        yield f"# {folder.corpus}: the built-in corpus"
    elif study.corpus.is_subset:
        yield f"# {folder.corpus}: the subset of the files that the study uses"
    files = corpus_files(plan, folder)
    recipe = plan.recipe()
    if study.corpus.align:
        align: list[str | Path] = ["links", *files.train, "--out", folder.aligned, "--symmetrise", study.corpus.align]
        yield _command([*align, *(["--recipe", recipe] if recipe else [])], Settings(data=plan.data), recipe, ("data",))
    options = [*(["--dev", *files.dev] if files.dev else []), *(["--links", *files.links] if files.links else [])]
    options += ["--links-reversed"] * files.links_reversed + (["--recipe", recipe] if recipe else [])
    prepare: list[str | Path] = ["prepare", *files.train, "--out", folder.store(), *options]
    yield _command(prepare, Settings(data=plan.data), recipe, ("data",))
    sets = set_files(plan, folder)
    for run in folder.runs(plan):
        recipe = plan.recipe(run.variant)
        train: list[str | Path] = ["train", recipe, "--data", folder.store(run.reverse), "--out", run.path]
        yield _command(train, plan.of_seed(run.variant, run.seed), recipe, ("model", "training", "search"))
        for name, test in sets.items():
            if test.translate and not run.reverse:
                yield _joined(["translate", run.path, test.source, "--out", folder.outputs / run.name / f"{name}.txt"])
    if page:
        yield _report(folder, [f"{run.name}={run.path}" for run in folder.runs(plan) if not run.reverse], sets)


def _report(folder: StudyFolder, runs: Sequence[str], sets: dict[str, SetFiles]) -> str:
    translated = {name: test for name, test in sets.items() if test.translate}
    words: list[str | Path] = ["report", *runs, "--test"]
    for name, test in translated.items():
        words += [f"{name}={test.source}", test.reference]
    for system in dict.fromkeys(system for test in translated.values() for system in test.systems):
        first, *others = (str(test.systems.get(system, "-")) for test in translated.values())
        words += ["--system", f"{system}={first}", *others]
    return _joined([*words, "--out", folder.page])


def _command(words: Sequence[str | Path], settings: Settings, recipe: str, sections: Sequence[str]) -> str:
    """The words, and a --set for whatever differs from the recipe."""
    usual, wanted = load_config(recipe).model_dump(), settings.model_dump()
    changes = [
        f"{section}.{key}={_toml(value)}"
        for section in sections
        for key, value in wanted[section].items()
        if value != usual[section][key] and value is not None
    ]
    return _joined([*words, *(word for change in changes for word in ("--set", change))])


def _joined(words: Sequence[str | Path]) -> str:
    return shlex.join(["rnnsearch", *map(str, words)])


def _toml(value: Any) -> str:
    """As --set reads it."""
    return str(value) if isinstance(value, str) else json.dumps(value)
