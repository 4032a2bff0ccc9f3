"""The command `rnnsearch`: each command parses, calls one function and prints. Heavy imports wait
until a command needs them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import entry_points
from typing import Any, TextIO

import typer

from rnnsearch.cli.align import align, score
from rnnsearch.cli.demo import demo
from rnnsearch.cli.models import models
from rnnsearch.cli.options import DEBUG, CliCommand, Debug, Quiet, Version, say
from rnnsearch.cli.prepare import prepare
from rnnsearch.cli.settings import settings
from rnnsearch.cli.train import train
from rnnsearch.cli.translate import translate
from rnnsearch.errors import InputError, InputWarning, one_line
from rnnsearch.installed import extra_of, missing_message

PROGRAM = "rnnsearch"
COMPLETION = f"_{PROGRAM.upper()}_COMPLETE"
"""The environment variable by which a shell asks for completions."""

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Recurrent translation models that align and translate jointly (RNNsearch, Bahdanau, Cho &"
        " Bengio 2015)."
    ),
    epilog="Start with: rnnsearch demo",
)

EXAMPLES: dict[Callable[..., None], str] = {
    demo: "rnnsearch demo --out demo",
    prepare: (
        "rnnsearch prepare train.en.gz train.fr.gz --dev dev.en dev.fr --out store --recipe"
        " multi30k"
    ),
    train: "rnnsearch train multi30k --data store --out run --set model.hidden_size=512",
    translate: "rnnsearch translate run news.en --beam 12 > news.fr",
    score: "rnnsearch score run news.en news.fr",
    align: "rnnsearch align run news.en news.fr > news.links",
    models: "rnnsearch models",
    settings: "rnnsearch settings training",
}
"""The commands of the core, in the order of the help, each with the example that its help shows."""
COMMANDS_GROUP = "rnnsearch.commands"
"""Group of the entry points that name further commands, in the same form."""


def installed_commands() -> dict[Callable[..., None], str]:
    """Returns the commands of the core and of the packages around it that are there."""
    found = dict(EXAMPLES)
    for entry in sorted(entry_points(group=COMMANDS_GROUP)):
        with contextlib.suppress(ModuleNotFoundError):  # the package is not there
            found |= entry.load()
    return found


for command, example in installed_commands().items():
    # in one piece: the help wraps it
    first = " ".join((command.__doc__ or "").partition("\n\n")[0].split())
    name, shown = command.__name__.strip("_"), f"Example: {example}"
    app.command(name, short_help=first, epilog=shown, cls=CliCommand)(command)


@app.callback()
def common(quiet: Quiet = False, debug: Debug = False, version: Version = False) -> None:
    """Declares the options of all commands; their callbacks act on them."""


def run_program() -> None:
    """Runs the command line and exits.

    Exit codes: 0; 2 for bad usage, bad input or a machine that is too small; 130 after Ctrl-C; 1
    for an error inside rnnsearch. Each error is one line.
    """
    open_missing_streams()
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        errors = "surrogateescape" if stream is sys.stdin else "backslashreplace"
        how = {"encoding": "utf-8", "errors": errors, "newline": "\n"}
        stream.reconfigure(**how)  # type: ignore[union-attr]
    try:
        code = run_command()
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort) as error:
        code = 130
        complain(f"{PROGRAM}: interrupted; {error}" if str(error) else f"{PROGRAM}: interrupted")
    except BrokenPipeError:  # the reader of the output has closed it
        code = 0
    except Exception as error:
        code = failed(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        # else the interpreter would flush again, and print its own error
        except (OSError, ValueError):
            discard_output(stream)
    sys.exit(code)


def run_command() -> int:
    """Runs the command that was typed, and returns its exit code. `app()` would handle Ctrl-C and a
    closed output in its own way."""
    if COMPLETION in os.environ:
        app(prog_name=PROGRAM)  # answers the shell, and exits
    try:
        with (
            warnings.catch_warnings(),
            typer.main.get_command(app).make_context(PROGRAM, sys.argv[1:]) as context,
        ):
            warnings.simplefilter("default", InputWarning)
            warnings.showwarning = partial(show_warning, warnings.showwarning)
            context.command.invoke(context)
    except typer.Exit as leaving:  # --help has been shown
        return leaving.exit_code
    return 0


def show_warning(
    otherwise: Callable[..., None], message: Warning | str, *about: Any, **more: Any
) -> None:
    """Prints an InputWarning in one line; `otherwise` shows other warnings with their source
    line."""
    if isinstance(message, InputWarning):
        say(f"warning: {message}")
    else:
        otherwise(message, *about, **more)


def open_missing_streams() -> None:
    """Opens streams in place of standard streams that were closed when the command started: an
    empty one for input, one that fails for results, and one that takes messages."""
    flags = {"stdin": os.O_RDONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
    for name, flag in flags.items():
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.open(os.devnull, flag), mode))  # noqa: SIM115


def failed(error: Exception) -> int:
    """Prints the error and returns its exit code."""
    if os.environ.get(DEBUG):
        complain("".join(traceback.format_exception(error)).rstrip("\n"))
    if hasattr(error, "format_message"):  # a usage error
        context, message = getattr(error, "ctx", None), error.format_message()
        command = context.command_path if context else PROGRAM
        remedy = f"see {command} --help"
        if setting := re.search(r"extra argument.*\((\w+\.\w+=[^\s)]*)", message):
            remedy = f"a setting is --set {setting[1]}"
        elif (
            context
            and re.search(r"option: --(run|model)\b", message)
            and "RUN" in context.get_usage()
        ):
            remedy = f"a run or model is named without an option, as in {command} RUN"
        if message:  # without a command there is none: the help has been shown
            complain(one_line(f"{PROGRAM}: {message} ({remedy})"))
        return BAD_INPUT
    code, line = exit_message(error)
    complain(f"{PROGRAM}: {line}")
    return code


def complain(text: str) -> None:
    """Prints an error, also with --quiet. Does nothing if standard error cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def discard_output(stream: TextIO) -> None:
    """Discards the stream's buffer and everything written later, because its reader has gone or its
    disk is full."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


BAD_INPUT, INTERNAL = 2, 1
"""Exit codes for faults of the input or the machine, and for errors inside rnnsearch."""

_MEMORY = (
    "out of memory|not enough memory|can't allocate memory|unable to"
    " allocate|bad_alloc|alloc_failed"
)
_SIZES = (
    "overflow|is too large|invalid shape dimension|negative dimension|exceeds the limit|too big"
)
"""What messages of torch and numpy say, in lowercase, if memory or a number type is too small."""
_FORBIDDEN = {errno.EROFS, errno.EACCES, errno.EPERM}
_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EBADF}


def exit_message(error: Exception) -> tuple[int, str]:
    """Returns the exit code of an error, and its message with the remedy. An error that is no fault
    of the input, the settings or the machine is one inside rnnsearch."""
    if isinstance(error, InputError):
        return BAD_INPUT, str(error)
    if isinstance(error, ModuleNotFoundError) and (
        extra := extra_of(package := (error.name or "").split(".")[0])
    ):
        return BAD_INPUT, missing_message(package, extra)
    text = one_line(str(error)) or type(error).__name__
    words = text.lower()
    if isinstance(error, OSError) and error.errno != errno.ENOMEM:
        place = error.filename or ("the output cannot be written" if error.errno in _DISK else "")
        remedy = " (check path and permissions)" if error.errno in _FORBIDDEN else ""
        what = f"{place}: {error.strerror or error}{remedy}" if place else text
        return BAD_INPUT, one_line(what)
    if isinstance(error, MemoryError | OSError) or (
        isinstance(error, RuntimeError) and re.search(_MEMORY, words)
    ):
        remedy = "smaller batches, a smaller beam, shorter sentences or a smaller network need less"
        return BAD_INPUT, f"there is not enough memory: {text} ({remedy})"
    if isinstance(error, RecursionError):
        return BAD_INPUT, "the input is nested too deeply"
    if isinstance(error, OverflowError) or (
        isinstance(error, RuntimeError | ValueError) and re.search(_SIZES, words)
    ):
        return BAD_INPUT, f"a number or a size is too large: {text}"
    return INTERNAL, (
        f"internal error: {type(error).__name__}: {text} (run `rnnsearch --debug …` for the"
        " traceback, and report it)"
    )
