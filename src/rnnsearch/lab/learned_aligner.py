"""`rnnsearch links --aligner`: word links of networks, one for each direction, and of eflomal
together.

The networks are those of a model, or learn from eflomal's links here. A work folder keeps finished
steps (eflomal's links, datasets, runs). The same command continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rnnsearch.config import load_config
from rnnsearch.errors import InputError
from rnnsearch.installed import need
from rnnsearch.lab.eflomal_links import (
    BARE,
    RUN_LETTERS,
    align_texts,
    bare,
    require_eflomal,
    run_files,
)
from rnnsearch.lab.held_out import choose_held_out
from rnnsearch.lab.link_files import (
    LEARNERS_VOTE,
    LOWEST,
    MODELS_VOTE,
    VOTE,
    Directions,
    NetworksVote,
    link_files,
)
from rnnsearch.pretrained.card import opposite_model
from rnnsearch.run import Run
from rnnsearch.settings import DataSettings
from rnnsearch.system.files import content_key
from rnnsearch.system.progress import note, progress_bar
from rnnsearch.system.work_folder import MakeOnce, work_folder
from rnnsearch.text.dataset import Corpus
from rnnsearch.text.formats.lines import check_pairs, count_lines, read_lines
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.language_codes import base
from rnnsearch.text.languages import language_of, with_languages
from rnnsearch.text.links import LinkWords
from rnnsearch.text.preparation import PrepareOptions, prepare_texts
from rnnsearch.training.loop import train

LINKS_RECIPE = "aligner"
AS_GIVEN: dict[str, Any] = {"french_elisions": False}
"""Settings of the text: `align` counts the words of the given lines, so nothing is repaired."""
TEACHER = 0.6
"""Share of the directions of eflomal's runs that have a link from which networks learn."""
MADE_BY = f"{RUN_LETTERS} {TEACHER} {LOWEST}"
"""What determines the files of a work folder, besides texts and settings."""
UPDATES = 1_500, 4_000
"""Minimum and maximum number. In between, a corpus gets one update for every 25 pairs."""


class Aligners(NamedTuple):
    """Networks and eflomal that align a corpus together. lines: of the corpus, as networks read
    them. networks: of both directions. eflomal: link files of its runs. rule: how they vote.
    step: makes further steps in their work folder."""

    lines: Sequence[Path]
    networks: tuple[str, str]
    eflomal: Sequence[Directions]
    rule: NetworksVote
    step: MakeOnce


@contextmanager
def learn_links(
    files: Sequence[Path], folder: Path, words: LinkWords, recipe: str, own: Sequence[str]
) -> Iterator[Aligners]:
    """Aligns two files of lines by eflomal, and trains networks of both directions on its links;
    they can also align similar files.

    words: those that links refer to. own: settings, `section.key=value`. Raises InputError without
    eflomal, for files that are not a parallel corpus or too small, for a folder with other files,
    and if another process works in it; TrainingInterrupted after Ctrl-C during training.
    """
    need("train")
    require_eflomal()
    own, said = with_languages(files, recipe, own)
    own += [f"data.{name}={value}" for name, value in AS_GIVEN.items()]
    settings = load_config(recipe, own)
    key = content_key(files, settings.model_dump_json(), words, MADE_BY)
    with work_folder(folder, "links", key) as step, progress_bar() as progress:
        eflomal = eflomal_links(step, files, settings.data, words, learn_from=said)
        teacher = step(
            "teacher.links", lambda out: link_files(eflomal, [out], method=VOTE, least=TEACHER)
        )
        languages = settings.data.source_language, settings.data.target_language
        files = [as_read(step, *side) for side in zip(files, languages, strict=True)]
        least, most = UPDATES
        updates = min(most, max(least, (count_lines(files[0]) or 0) // 25))
        trained = load_config(recipe, [f"stopping.max_updates={updates}", *own])
        for way, order in (("forward", 1), ("backward", -1)):
            source, target = languages[::order]
            note(f"{source} → {target}: a network learns from these links")
            data = settings.data.model_copy(
                update={"source_language": source, "target_language": target}
            )
            options = PrepareOptions(links=[teacher], links_reversed=order < 0, progress=progress)
            texts = parallel_texts(files[::order])
            make = partial(prepare_texts, texts, settings=data, options=options)
            train(trained, Corpus.open(step(f"{way}.data", make)), folder / way, resume=True)
        networks = str(folder / "forward"), str(folder / "backward")
        yield Aligners(files, networks, eflomal, LEARNERS_VOTE, step)


@contextmanager
def align_with_models(
    model: str, files: Sequence[Path], folder: Path, words: LinkWords
) -> Iterator[Aligners]:
    """Aligns two files of lines by eflomal, for a model and the model of the opposite direction.

    Raises InputError if eflomal or either model is not installed, for files of other languages, and
    as `learn_links` does.
    """
    require_eflomal()
    run = Run.open(model)
    data = run.settings.data.model_copy(update=AS_GIVEN)
    opposite = opposite_model(data)
    if not opposite:
        raise InputError(
            f"--aligner {model}: no model from {data.target_language} to {data.source_language} is"
            " installed",
            "use two runs of your own by `align --reverse-run`, or --aligner rnnsearch",
        )
    named = [language_of(file) for file in files]
    wanted = [data.source_language, data.target_language]
    if any(len(one) == 2 and one != other for one, other in zip(named, wanted, strict=True)):
        raise InputError(
            f"--aligner {model} needs a file in {wanted[0]}, then one in {wanted[1]}",
            f"exchange the files, or use --aligner {opposite}; --aligner rnnsearch for other"
            " languages",
        )
    key = content_key(files, run.checksum, Run.open(opposite).checksum, words, MADE_BY)
    check_pairs(*files)
    if count_lines(files[0]) == 0:
        raise InputError("is empty", "give files with one sentence per line", file=files[0])
    with work_folder(folder, "links", key) as step:
        eflomal = eflomal_links(step, files, data, words)
        yield Aligners(files, (model, opposite), eflomal, MODELS_VOTE, step)


def as_read(step: MakeOnce, file: Path, language: str) -> Path:
    """Returns the file, or a copy of its lines without diacritics, as eflomal reads them."""
    if base(language) not in BARE:
        return file
    return step(f"{file.name}.bare", partial(_write_bare, file, language))


def _write_bare(file: Path, language: str, out: Path) -> None:
    with out.open("w", encoding="utf-8") as copy:
        copy.writelines(f"{bare(line, language)}\n" for line in read_lines(file))


def eflomal_links(
    step: MakeOnce,
    files: Sequence[Path],
    settings: DataSettings,
    words: LinkWords,
    learn_from: str = "",
) -> Sequence[Directions]:
    """Returns the link files of eflomal's runs. learn_from: the languages of the texts if a
    network is to learn from them; texts that are too small for that are refused."""

    def make(out: Path) -> None:
        texts = parallel_texts(files)
        if learn_from:
            choose_held_out(texts)
            note(f"languages {learn_from}")
        note("eflomal aligns the words in both directions: minutes for 100,000 pairs")
        out.mkdir()
        with progress_bar() as progress:
            align_texts(texts, out, settings=settings, words=words, progress=progress)

    return run_files(step("eflomal", make))
