"""Arguments, options and messages that several commands share."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from rnnsearch.errors import InputError, did_you_mean
from rnnsearch.installed import installed_models, is_name, need, package_version
from rnnsearch.system.progress import QUIET, ProgressBar, note

if TYPE_CHECKING:  # it would load torch
    from rnnsearch.translation.translator import Translator

_SETTING = re.compile(r"--([a-z]\w*\.[\w.]+)(?:=(.*))?", re.DOTALL)
"""Pattern of a setting that is written as an option."""
DEBUG = "RNNSEARCH_DEBUG"
"""The environment variable that `--debug` sets."""
WIDE = 120
"""Minimum terminal width for help in tables."""


def _set(variable: str, value: bool) -> None:
    if value:
        os.environ[variable] = "1"


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"rnnsearch {package_version()}")
        raise typer.Exit


def _settings_like(beginning: str) -> Iterator[str]:
    """Yields settings for the shell's completion of --set."""
    from rnnsearch.config import Settings

    for section in Settings.model_fields:
        for key in type(getattr(Settings(), section)).model_fields:
            if f"{section}.{key}=".startswith(beginning):
                yield f"{section}.{key}="


def recipes_like(beginning: str) -> list[str]:
    """Returns recipes for the shell's completion of their names."""
    from rnnsearch.config import recipe_names

    return [name for name in recipe_names() if name.startswith(beginning)]


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=lambda value: _set(QUIET, value),
        is_eager=True,
        expose_value=False,
        help="Show only results and errors.",
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        callback=lambda value: _set(DEBUG, value),
        expose_value=False,
        help="Show the traceback of an error.",
    ),
]
Version = Annotated[
    bool,
    typer.Option(
        "--version",
        callback=_show_version,
        is_eager=True,
        expose_value=False,
        help="Show the version and exit.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        autocompletion=_settings_like,
        help="Any setting; or: --SECTION.KEY VALUE.",
    ),
]
TrustCode = Annotated[
    bool,
    typer.Option(
        "--trust-code",
        help="Allow a run to import its author's Python code.",
    ),
]
Device = Annotated[str, typer.Option(help="Device: cpu, cuda or cuda:N.")]
Threads = Annotated[int, typer.Option(min=0, max=1_024, help="CPU threads; 0 = one per core.")]
Columns = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="SRC TGT",
        help="Columns, keys or languages of source and target in bilingual files, if they are not the "
        "usual ones.",
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        help="Format of the files, if their names do not show it: lines, tsv, tmx or jsonl.",
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="JSON lines: tokens, score, alignment matrix."),
]
Precision = Annotated[
    str | None,
    typer.Option(
        help="Number format of the matrix products: float32, bfloat16 (faster on some CPUs) or int8 (the "
        "fastest)."
    ),
]
Out = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Write here; the same command resumes.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is at --out.")]
LinksReversed = Annotated[
    bool, typer.Option("--links-reversed", help="The link files list target-source, not source-target.")
]
GoldFrom = Annotated[
    int | None,
    typer.Option(min=0, max=1, help="Position of the first word in the gold links, if they are not NAACL."),
]
WorkerProcesses = Annotated[
    int, typer.Option("--workers", min=0, max=1_024, help="Worker processes; 0 = one per core.")
]

EXTRA = {
    "train": "train",
    **dict.fromkeys(("evaluate", "report"), "report"),
    **dict.fromkeys(("demo", "try", "reproduce", "experiment"), "all"),
}
"""Command → the extra that it always needs."""


class CliCommand(TyperCommand):
    """A command that takes the options of all commands after its name, too: `rnnsearch -q prepare` is
    `rnnsearch prepare -q`."""

    EVERYWHERE = ("quiet", "debug")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads `--SECTION.KEY VALUE` as `--set SECTION.KEY=VALUE`, and refuses an option with one value that
        is repeated."""
        if any("--set" in option.opts for option in self.params):
            args = _with_set(args)
        _, _, found = self.make_parser(ctx).parse_args(list(args))
        for option, times in Counter(found).items():
            if times > 1 and option.nargs > 0 and not (option.multiple or getattr(option, "is_flag", False)):
                raise InputError(f"{option.opts[0]} is given {times} times", remedy="give it once")
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        return [
            *super().get_params(ctx),
            *(option for option in ctx.find_root().command.params if option.name in self.EVERYWHERE),
        ]

    def invoke(self, ctx: Any) -> Any:
        if ctx.info_name in EXTRA:
            need(EXTRA[ctx.info_name])
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes plain text on a narrow terminal, where the columns of a table would cut names of options."""
        if shutil.get_terminal_size().columns < WIDE:
            self.rich_markup_mode = None
        super().format_help(ctx, formatter)


def _with_set(args: Sequence[str]) -> list[str]:
    """Returns the arguments with `--SECTION.KEY VALUE` and `--SECTION.KEY=VALUE` as `--set
    SECTION.KEY=VALUE`."""
    words, rest, seen = list[str](), iter(args), set[str]()
    for word in rest:
        setting = _SETTING.fullmatch(word)
        if word == "--":
            return [*words, word, *rest]
        if setting is None:
            words.append(word)
            continue
        key, value = setting.groups()
        if value is None and (value := next(rest, "--")).startswith("--"):
            raise InputError(f"--{key} needs a value", remedy=f"for example --{key} 12")
        if key in seen:
            raise InputError(f"--{key} is given twice", remedy="give it once")
        seen.add(key)
        words += ["--set", f"{key}={value}"]
    return words


def changes(
    section: str, settings: Sequence[str] | None, *, only: Sequence[str] | None = None, **short: Any
) -> dict[str, Any]:
    """Returns the settings of one section that the command line changes: name → value.

    settings: those of `--set`. short: those that have an option of their own, by their names; None for one
    that is not given. only: the settings that have an effect; None for all of the section. Raises InputError
    as `overridden` does, and for a setting that is given twice.
    """
    from rnnsearch.config import overridden

    changed = overridden(section, settings or (), only)
    for name, value in short.items():
        if value is not None and name in changed:
            raise InputError(f"--{name} and --{section}.{name} are the same", remedy="give one of them")
    return changed | {name: value for name, value in short.items() if value is not None}


class SeveralValues(CliCommand):
    """A command with options that take all values up to the next option: `--dev A B` is `--dev A --dev B`."""

    SPREAD = ("--dev", "--links", "--in-domain", "--pool", "--test", "--hyp", "--run", "--system", "--gold")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        option = ""
        for word in args:
            if word.startswith("-") and word != "-":
                name = word.partition("=")[0]
                option = name if name in self.SPREAD else ""
            elif option and spread[-1:] != [option]:
                spread.append(option)
            spread.append(word)
        return super().parse_args(ctx, spread)


progress_bar = ProgressBar
"""A context whose value is called with (the current task, items done, items in all)."""
say = note
"""Prints a warning or a note, which is neither a result nor an error."""


def say_if_empty(*files: str) -> None:
    """Prints a note for each empty file on disk."""
    from rnnsearch.text.formats.opening import is_on_disk

    for file in files:
        if is_on_disk(file) and not Path(file).stat().st_size:
            say(f"{file}: is empty, so there is nothing to do")


def one_of(word: str, option: str, allowed: Iterable[str]) -> str:
    """Returns the word if it is one of the allowed ones. Raises InputError else."""
    allowed = tuple(allowed)
    if word not in allowed:
        raise InputError(
            f"{option} does not know '{word}'",
            remedy=f"{did_you_mean(word, allowed)} use one of: {', '.join(allowed)}".strip(),
        )
    return word


def load(
    runs: Sequence[str | Path],
    device: str,
    threads: int,
    trust_code: bool,
    dictionary: Path | None = None,
    glossary: Path | None = None,
) -> Translator:
    """Returns the translator of one run, or of an ensemble. Prints a note before it waits for a file from a
    pipe."""
    from rnnsearch.system.machine import set_up_cpu
    from rnnsearch.text.formats.opening import is_on_disk
    from rnnsearch.translation.faithful import read_dictionary, read_glossary
    from rnnsearch.translation.translator import Translator

    for file in (dictionary, glossary):
        if file and not is_on_disk(file) and file.exists():
            say(f"reading {file} to its end")
    set_up_cpu(threads)
    words = read_dictionary(dictionary) if dictionary else None
    terms = read_glossary(glossary) if glossary else None
    return Translator.load(*runs, device=device, trust_code=trust_code, dictionary=words, glossary=terms)


def runs_and_texts(words: list[str]) -> tuple[list[Path], str, str]:
    """Returns the runs and the two texts of RUN... SRC TGT."""
    if len(words) < 3:
        raise InputError("a run, a source text and a target text are needed", remedy="give RUN SRC TGT")
    *runs, source, target = words
    return [Path(run) for run in runs], source, target


def is_run(word: Path) -> bool:
    """Tells whether a word of the command line is a run: a folder, or the name of an installed model."""
    return word.is_dir() or (is_name(word) and str(word) in installed_models())


@contextmanager
def resumable(hint: str = "the same command goes on") -> Iterator[None]:
    """Tells the user after Ctrl-C how to continue; exits with the code 128 + signal."""
    from rnnsearch.training.loop import TrainingInterrupted

    try:
        yield
    except TrainingInterrupted as ended:  # training has printed it
        say(hint)
        raise typer.Exit(128 + ended.signal) from None
    except KeyboardInterrupt:
        raise KeyboardInterrupt(hint) from None
