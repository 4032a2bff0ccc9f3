"""`rnnsearch links --aligner`: word links of networks, one for each direction, and of eflomal together.

The networks are those of a model, or learn from eflomal's links here. The folder keeps finished steps
(eflomal's links, datasets, runs). The same command continues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from rnnsearch.config import DataSettings, load_config
from rnnsearch.errors import InputError
from rnnsearch.first_try import choose_held_out, language_of, require_on_disk, with_languages, work_id
from rnnsearch.model.layers import fastest_precision
from rnnsearch.pretrained.card import opposite_model
from rnnsearch.run import Run
from rnnsearch.system.extras import need
from rnnsearch.system.files import write_text, written_whole
from rnnsearch.system.progress import Progress
from rnnsearch.text.codec import SIDES, side_tokeniser
from rnnsearch.text.corpus_links import (
    NONE,
    DirectionFile,
    first_links,
    link_files,
    link_texts,
    require_eflomal,
)
from rnnsearch.text.formats.lines import check_pairs, count_lines, read_pairs
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.links import LinkWords
from rnnsearch.text.preparing.prepare import prepare_texts
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.training.loop import train
from rnnsearch.word_links import format_links

RECIPE = "aligner"
AS_GIVEN: dict[str, Any] = {"entities": "keep", "french_elisions": False}
"""Settings of the text: `align` counts the words of the given lines, so nothing is repaired."""
UPDATES, PAIRS_PER_UPDATE = (1_500, 4_000), 25
"""Minimum and maximum number of updates; in between, a corpus gets one update for every 25 pairs that it
has."""


def learn_links(
    source: Path,
    target: Path,
    folder: Path,
    *,
    recipe: str,
    own: Sequence[str],
    words: LinkWords,
    say: Callable[[str], None],
    progress: Progress,
) -> tuple[Path, Path]:
    """Trains networks of both directions that can align these two files and similar ones; returns their runs.

    own: settings, `section.key=value`. words: those that eflomal's links refer to. say: receives messages for
    a person.
    Raises InputError for files that are not a parallel corpus or too small, and for a folder with other
    files; TrainingInterrupted after Ctrl-C during training.
    """
    need("train")
    own = with_languages(source, target, own) + [f"data.{name}={value}" for name, value in AS_GIVEN.items()]
    chosen, by_eflomal = load_config(recipe, own), bool(find_spec("eflomal"))
    key = chosen.model_dump_json(), words, str(by_eflomal)
    note = work_id(folder, "links.json", source, target, *key)
    data, teacher = chosen.data, folder / "teacher.links"
    if not teacher.exists():
        choose_held_out(source, target)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "links.json", note)
        if by_eflomal:
            directions = eflomal_links(source, target, folder, data, words, say, progress)
            forward, reverse = map(DirectionFile, directions)
            link_files(forward, reverse, teacher, method="intersection")
        else:
            first_links_of(source, target, teacher, data, say, progress)
    languages = {"source_language": data.target_language, "target_language": data.source_language}
    runs = folder / "forward", folder / "backward"
    for run, files, settings in (
        (runs[0], (source, target), data),
        (runs[1], (target, source), data.model_copy(update=languages)),
    ):
        say(f"{settings.source_language} → {settings.target_language}: a network learns from these links")
        store = run.with_name(f"{run.name}.data")
        if not store.exists():
            prepare_texts(
                parallel_texts(files),
                store,
                links=[teacher],
                links_reversed=run == runs[1],
                link_words=words if by_eflomal else "tokenised",
                settings=settings,
                progress=progress,
            )
        chosen = load_config(recipe, [*training_limits(source), *own])
        train(chosen, Corpus.open(store), run, resume=True)
    return runs


def borrow_links(
    model: str,
    source: Path,
    target: Path,
    folder: Path,
    *,
    words: LinkWords,
    say: Callable[[str], None],
    progress: Progress,
) -> tuple[Path, Path]:
    """Aligns the files by eflomal, for a model and the model of the opposite direction; returns these two.

    Raises InputError if eflomal or either model is not installed, and as `learn_links` does.
    """
    require_eflomal()
    run = Run.open(model)
    data = run.settings.data.model_copy(update=AS_GIVEN)
    require_on_disk(source, target)
    opposite = opposite_model(data)
    if not opposite:
        what = (
            f"--aligner {model}: no model from {data.target_language} to {data.source_language} is installed"
        )
        raise InputError(
            what, remedy="use two runs of your own by `align --reverse-run`, or --aligner rnnsearch"
        )
    given, wanted = (language_of(source), language_of(target)), (data.source_language, data.target_language)
    if given == wanted[::-1]:
        what = f"--aligner {model} needs the {data.source_language} file first"
        raise InputError(what, remedy=f"exchange the files, or use --aligner {opposite}")
    if any(len(code) == 2 and code not in wanted for code in given):
        what = f"--aligner {model} aligns {data.source_language} with {data.target_language}"
        raise InputError(what, remedy="use --aligner rnnsearch for other languages")
    check_pairs(source, target)
    if count_lines(source) == 0:
        raise InputError("is empty", file=source, remedy="give files with one sentence per line")
    note = work_id(folder, "links.json", source, target, run.checksum, Run.open(opposite).checksum, words)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "links.json", note)
    eflomal_links(source, target, folder, data, words, say, progress)
    return Path(model), Path(opposite)


def eflomal_links(
    source: Path,
    target: Path,
    folder: Path,
    settings: DataSettings,
    words: LinkWords,
    say: Callable[[str], None],
    progress: Progress,
) -> tuple[Path, Path]:
    """Writes eflomal's links of both directions into the folder, unless they are there; returns the files."""
    files = folder / "eflomal.forward", folder / "eflomal.reverse"
    if not all(file.exists() for file in files):
        say("eflomal aligns the words in both directions: minutes for 100,000 pairs")
        out, texts = folder / "eflomal", parallel_texts([source, target])
        link_texts(texts, [out], settings=settings, method=NONE, words=words, progress=progress)
    return files


def first_links_of(
    source: Path,
    target: Path,
    out: Path,
    settings: DataSettings,
    say: Callable[[str], None],
    progress: Progress,
) -> None:
    """Writes links of IBM Model 1 between the tokeniser's words of the given lines."""
    say(
        "eflomal is not installed: the networks learn from links of IBM Model 1, which are worse (pip "
        "install 'rnnsearch[align]')"
    )
    source_words, target_words = (side_tokeniser(side, settings).words for side in SIDES)
    pairs = [(source_words(one), target_words(other)) for one, other in read_pairs(source, target)]
    with written_whole(out) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{format_links(links)}\n" for links in first_links(pairs, progress))


def training_limits(source: Path) -> list[str]:
    """Returns the settings of training, `section.key=value`, that depend on the size of the corpus and on
    this machine."""
    fewest, most = UPDATES
    updates = min(most, max(fewest, (count_lines(source) or 0) // PAIRS_PER_UPDATE))
    float32 = [] if fastest_precision(torch.device("cpu")) == "bfloat16" else ["training.precision=float32"]
    return [f"training.max_updates={updates}", *float32]
