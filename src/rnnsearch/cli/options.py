"""What commands share: types and help of options, settings among them, checks, and messages."""

from __future__ import annotations

import inspect
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand

from rnnsearch.errors import InputError, did_you_mean
from rnnsearch.installed import installed_models, is_name, need, package_version
from rnnsearch.system.progress import QUIET, note

Command = Callable[..., None]
OPTION = inspect.Parameter.KEYWORD_ONLY
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


def _flag(*names: str, help: str, **more: Any) -> Any:
    """Returns an option without a value, which the function of the command does not get."""
    return typer.Option(*names, help=help, is_eager=True, expose_value=False, **more)


Quiet = Annotated[
    bool,
    _flag(
        "--quiet", "-q", help="Show only results and errors.", callback=lambda on: _set(QUIET, on)
    ),
]
Debug = Annotated[
    bool,
    _flag("--debug", help="Show the traceback of an error.", callback=lambda on: _set(DEBUG, on)),
]
Version = Annotated[
    bool, _flag("--version", help="Show the version and exit.", callback=_show_version)
]
Strings = list[str] | None
"""Values of an option that may be repeated, or arguments that may be left out."""
Cores = Annotated[int, typer.Option(min=0, max=1_024)]
"""A number of threads or processes; 0: one per core."""
PositiveOption = Annotated[int, typer.Option(min=1, max=10**9)]

COMMON = """
set_ SECTION.KEY=VALUE: Any setting; or: --SECTION.KEY VALUE.
trust_code: Allow a run to import its author's Python code.
device: Device: cpu, cuda or cuda:N.
threads: CPU threads; 0 = one per core.
columns SRC TGT: Columns, keys or languages of both sides in bilingual files.
format_: Format of the files: lines, tsv, tmx or jsonl; default: by name.
json: JSON lines: tokens, score, alignment matrix.
out FILE: Write here; the same command resumes.
overwrite: Replace what is at --out.
recipe: Use the data settings of this recipe: a built-in name or TOML.
links_reversed: The link files list target-source, not source-target.
gold_from: Position of the first word in the gold links; default: 1 in NAACL files, 0 in others.
"""
"""The help of options that several commands share, unless a command describes one itself."""


def describe(text: str, extra: str = "") -> Callable[[Command], Command]:
    """Gives a command's arguments and options their help. text: lines `name METAVAR: help`, as in
    COMMON. Keyword-only parameters are options, the others are arguments. Of a parameter that is a
    dataclass, each field is an option. extra: what the command always needs."""

    def described(command: Command) -> Command:
        command.extra = extra  # type: ignore[attr-defined]
        return _with_help(_with_fields(command), COMMON + inspect.cleandoc(text))

    return described


def _with_fields(command: Command) -> Command:
    """Returns the command with the fields of each dataclass among its parameters in place of it."""
    hints, signature = get_type_hints(command, include_extras=True), inspect.signature(command)
    records = {name: hints.pop(name) for name in signature.parameters if is_dataclass(hints[name])}
    parameters = []
    for name, each in signature.parameters.items():
        if record := records.get(name):
            parameters += [
                one.replace(kind=OPTION) for one in inspect.signature(record).parameters.values()
            ]
            hints |= get_type_hints(record, include_extras=True)
        else:
            parameters.append(each)

    @wraps(command)
    def flat(*arguments: Any, **options: Any) -> None:
        for name, record in records.items():
            own = {each.name for each in fields(record)} & options.keys()
            options[name] = record(**{each: options.pop(each) for each in own})
        command(*arguments, **options)

    flat.__annotations__ = hints
    flat.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return flat


def _with_help(command: Command, text: str) -> Command:
    hints, signature = get_type_hints(command, include_extras=True), inspect.signature(command)
    kinds = {each.name: each.kind for each in signature.parameters.values()}
    names = {*kinds, *re.findall(r"(?m)^\w+", COMMON)}
    _, *lines = re.split(rf"(?m)^({'|'.join(names)})(?: (.+?))?: ", text)
    for name, metavar, about in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        if name not in kinds:
            continue
        is_option = kinds[name] is OPTION
        kind, info = hints[name], typer.Option() if is_option else typer.Argument()
        if hasattr(kind, "__metadata__"):
            kind, info = get_args(kind)
        info = copy(info)
        info.help, info.metavar = " ".join(about.split()), metavar
        if is_option:
            info.param_decls = (f"--{name.strip('_').replace('_', '-')}",)
        hints[name] = Annotated[kind, info]
    shown = [each.replace(annotation=hints[each.name]) for each in signature.parameters.values()]
    command.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    return command


class CliCommand(TyperCommand):
    """A command that takes the options of all commands after its name, too: `rnnsearch -q prepare`
    is `rnnsearch prepare -q`. An option for several values takes all up to the next option:
    `--dev A B`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads `--SECTION.KEY VALUE` as `--set SECTION.KEY=VALUE`, and refuses an option with one
        value that is repeated."""
        if any("--set" in option.opts for option in self.params):
            args = list(_with_set(args))
        several = {
            name for option in self.params if "..." in str(option.metavar) for name in option.opts
        }
        args = list(_spread(args, several))
        _, _, found = self.make_parser(ctx).parse_args(list(args))
        for option, times in Counter(found).items():
            if (
                times > 1
                and option.nargs > 0
                and not (option.multiple or getattr(option, "is_flag", False))
            ):
                raise InputError(f"{option.opts[0]} is given {times} times", "give it once")
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        common = ctx.find_root().command.params
        return [
            *super().get_params(ctx),
            *(each for each in common if each.name in ("quiet", "debug")),
        ]

    def invoke(self, ctx: Any) -> Any:
        if extra := getattr(inspect.unwrap(self.callback), "extra", ""):  # type: ignore[arg-type]
            need(extra)
        return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Writes plain text on a narrow terminal, where the columns of a table would cut names of
        options."""
        if shutil.get_terminal_size().columns < WIDE:
            self.rich_markup_mode = None
        super().format_help(ctx, formatter)


def _with_set(args: Sequence[str]) -> Iterator[str]:
    """Yields the arguments with `--SECTION.KEY VALUE` and `--SECTION.KEY=VALUE` as `--set
    SECTION.KEY=VALUE`."""
    rest, seen = iter(args), set[str]()
    for word in rest:
        setting = re.fullmatch(r"(?s)--([a-z]\w*\.[\w.]+)(?:=(.*))?", word)
        if setting is None:
            yield word
            if word == "--":
                yield from rest
            continue
        key, value = setting.groups()
        if value is None and (value := next(rest, "--")).startswith("--"):
            raise InputError(f"--{key} needs a value", f"for example --{key} 12")
        if key in seen:
            raise InputError(f"--{key} is given twice", "give it once")
        seen.add(key)
        yield from ("--set", f"{key}={value}")


def _spread(args: Iterable[str], several: set[str]) -> Iterator[str]:
    """Yields `--dev A --dev B` for `--dev A B`. several: the options that may be spread."""
    option, before = "", ""
    for word in args:
        if word.startswith("-") and word != "-":
            name = word.partition("=")[0]
            option = name if name in several else ""
        elif option and before != option:
            yield option
        yield word
        before = word


def search_changes(settings: Sequence[str] | None, **short: Any) -> dict[str, Any]:
    """Returns the settings of search and translation that the command line changes: `section.key` →
    value.

    settings: those of `--set`. short: those that have an option of their own, by their names; None
    for one that is not given. Raises InputError as `overrides_of` does, and for a setting that is
    given twice.
    """
    from rnnsearch.config import TRANSLATING, overrides_of, with_short

    tables = overrides_of(settings or (), TRANSLATING)
    changed = {
        f"{table}.{key}": value for table, keys in tables.items() for key, value in keys.items()
    }
    return with_short(changed, {name: value for name, value in short.items() if value is not None})


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
        remedy = f"{did_you_mean(word, allowed)} use one of: {', '.join(allowed)}".strip()
        raise InputError(f"{option} does not know '{word}'", remedy)
    return word


def output_format(format_: str, allowed: Sequence[str], short: str = "", default: str = "") -> str:
    """Returns the value of --format, or of its short form; else the default, or the first one.
    Raises InputError if both are given and differ, and for one that is not allowed."""
    if format_ and short and format_ != short:
        what = f"--format {format_} and the short form of --format {short} are different outputs"
        raise InputError(what, "give one")
    return one_of(format_ or short or default or allowed[0], "--format", allowed)


def refuse(options: Mapping[str, object], why: str, remedy: str = "remove one of them") -> None:
    """Raises InputError for the first option that is given. options: name → whether it is given."""
    for name in filter(options.get, options):
        raise InputError(f"{name} {why}", remedy)


def is_run(word: str) -> bool:
    """Tells whether a word of the command line is a run, or the name of an installed model."""
    return (Path(word) / "config.toml").is_file() or (is_name(word) and word in installed_models())


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
