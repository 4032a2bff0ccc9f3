"""`translate` at a terminal: what it answers, and the real command in a real pseudo-terminal."""

from __future__ import annotations

import contextlib
import io
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command
from rich.cells import cell_len
from rich.console import Console

from rnnsearch import InputError, Translation, Translator
from rnnsearch.serve.terminal import Conversation, in_colours

pty = pytest.importorskip("pty", reason="there are no terminals on this system")
import fcntl  # noqa: E402
import struct  # noqa: E402
import termios  # noqa: E402

SENTENCE = "The old man sees the house."
SEARCH = {"search.beam": 2, "search.max_length_ratio": 1.0}
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")


# What is answered


@pytest.fixture
def talked(tiny_run: Path) -> Callable[..., str]:
    """What a conversation of these lines prints at 60 columns, without colours."""

    def talk(*lines: str, run: Path = tiny_run, reverse: Path | None = None) -> str:
        def load(names: Sequence[str]) -> Translator:
            if reverse is None:
                raise InputError("no such run", file=names[0])
            return Translator.load(reverse)

        screen = io.StringIO()
        console = Console(file=screen, width=60, highlight=False)
        conversation = Conversation(Translator.load(run), dict(SEARCH), load, console)
        for line in lines:
            conversation.answer(line)
        assert all(cell_len(line) <= 60 for line in screen.getvalue().split("\n"))
        return screen.getvalue()

    return talk


def test_commands_look_at_the_last_translation(talked: Any, tiny_run: Path) -> None:
    expected = Translator.load(tiny_run).translate([SENTENCE], nbest=2, settings=SEARCH)[0]
    begin = talked(SENTENCE)
    assert begin.startswith(f"{SENTENCE}\n{expected.text}\n")
    shown = talked(SENTENCE, ":matrix", ":nbest 2", f":why {expected.tokens[0]}")
    assert shown.startswith(begin)
    assert f"{expected.tokens[0]}│" in shown
    assert f"{expected.score:8.3f}  {expected.text}" in shown
    assert f"{expected.alternatives[0].score:8.3f}" in shown
    assert f"{expected.tokens[0]}  p = " in shown
    assert "search.nbest: Input should be greater" in talked(SENTENCE, ":nbest 0")
    assert ":nbest needs a number" in talked(SENTENCE, f":nbest {'9' * 5000}")


def test_words_are_kept_and_the_rest_follows(talked: Any, tiny_run: Path) -> None:
    translator = Translator.load(tiny_run)
    (first,) = translator.translate([SENTENCE], settings=SEARCH)
    beginning = f"{first.before(1)} vieil"
    (expected,) = translator.translate([SENTENCE], prefix=[beginning], settings=SEARCH)
    assert expected.text.startswith(beginning)
    shown = talked(SENTENCE, ":keep 1 vieil")
    assert shown.removeprefix(talked(SENTENCE)).startswith(f"{SENTENCE}\n{expected.text}\n")
    assert talked(SENTENCE, ":keep 99").count(first.text) == 2
    assert ":keep needs a number" in talked(SENTENCE, ":keep two")
    assert ":keep needs a number from 0" in talked(SENTENCE, ":keep -2")
    before = first.before(len(first.tokens) - 1)
    assert f"\n{before} et" in talked(SENTENCE, f":keep {len(first.tokens) - 1} et")


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_tab_goes_on_word_by_word(tiny_run: Path, kept: int) -> None:
    """From the number of words alone, with a space or not, or from letters of a word, to the end."""
    console = Console(file=io.StringIO(), width=60)
    conversation = Conversation(Translator.load(tiny_run), dict(SEARCH), lambda _: None, console)
    conversation.answer(SENTENCE)
    assert conversation.result
    before, text = conversation.result.before(kept), conversation.result.text
    for line in (
        f":keep {kept}",
        f":keep {kept} ",
        f":keep {kept} {text[len(before) :].lstrip()[0]}",
    ):
        while more := conversation.completion(line):
            line += more
        assert line == f":keep {kept} {text[len(before) :].lstrip()}"
    assert conversation.completion("The\told") == "\t"


def test_a_translation_of_ones_own_is_aligned_and_explained(talked: Any) -> None:
    shown = talked(SENTENCE, ":align Le vieil homme voit la maison .", ":why maison")
    assert "Le vieil homme voit la maison.\n" in shown
    assert "log p = -" in shown
    table = shown.split("  energy  weight\n")[1].strip().split("\n")
    weights = [float(line.split()[1]) for line in table]
    energies = [float(line.split()[0]) for line in table]
    assert weights == sorted(weights, reverse=True)
    assert energies == sorted(energies, reverse=True)
    assert sum(weights) == pytest.approx(1, abs=0.01)  # eight positions: all of them


def test_the_other_direction_and_back(talked: Any, tiny_reverse_run: Path) -> None:
    shown = talked(
        ":swap some-run",
        "Le vieil homme voit.",
        ":swap",
        ":matrix",
        SENTENCE,
        reverse=tiny_reverse_run,
    )
    assert shown.startswith("Le vieil homme voit.\n")
    assert "there is no translation yet (type a sentence first)" in shown
    assert shown.split(SENTENCE)[1].split("\n")[1] == talked(SENTENCE).split("\n")[1]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (":matrix", "there is no translation yet"),
        (":why maison", "there is no translation yet"),
        (":matirx", "there is no command :matirx (did you mean ':matrix'?)"),
        (":nbest 3", "there is no translation yet"),
        (":keep 3", "there is no translation yet"),
        (":swap nosuch", "nosuch: no such run"),
        (": help", "there is no command :"),
        ("   ", ""),
        ("", ""),
    ],
)
def test_bad_input_gives_one_line(talked: Any, typed: str, said: str) -> None:
    shown = talked(typed)
    assert shown.replace("\n", " ").startswith(said) or said in shown
    assert "Traceback" not in shown


def test_a_word_that_is_not_there(talked: Any) -> None:
    assert "the translation has no word 'zebra'" in talked(SENTENCE, ":why zebra")
    assert ":align needs a translation" in talked(SENTENCE, ":align")


def test_linked_words_have_one_colour_and_doubtful_words_are_dim() -> None:
    alpha = np.array([[0.1, 0.8, 0.1], [0.9, 0.1, 0.0], [0.0, 0.1, 0.9]], dtype=np.float32)
    result = Translation("l'été !", ["l'", "été", "!"], ["The", "Summer", "</s>"], 0.0, [], alpha)
    unsure = replace(result, confidence=[0.9, 0.2, 0.9])
    source, target = in_colours("the   summer", unsure)
    assert [(source.plain[s.start : s.end], s.style) for s in source.spans] == [
        ("the", "cyan"),
        ("summer", "magenta"),
    ]
    assert [(target.plain[s.start : s.end], s.style) for s in target.spans] == [
        ("l'", "magenta"),
        ("été", "dim cyan"),
    ]


# The command at a pseudo-terminal

AT_A_TERMINAL = (
    "import fcntl, signal, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "signal.signal(signal.SIGINT, signal.default_int_handler); import rnnsearch.cli; rnnsearch.cli.main()"
)


class Screen:
    """The other end of the terminal."""

    def __init__(self, end: int) -> None:
        self.end, self.raw, self.seen = end, "", ""

    def until(self, mark: str, seconds: float = 300) -> str:
        """What is shown next, up to its first `mark`, without escapes."""
        last = time.monotonic() + seconds
        while mark not in (plain := ESCAPES.sub("", self.raw)) and time.monotonic() < last:
            if select.select([self.end], [], [], 0.1)[0]:
                try:
                    data = os.read(self.end, 1 << 16)
                except OSError:  # the command has ended
                    break
                self.raw += data.decode()
        assert mark in plain, plain
        self.seen, self.raw = self.raw, ""
        return plain

    def type(self, keys: str) -> None:
        os.write(self.end, keys.encode())

    def interrupted(self, mark: str) -> str:
        """Presses Ctrl-C, and Enter if nothing happens: Python's readline does not see a signal between
        prompt and waiting before the next line. A command that ends ignores Enter."""
        self.type("\x03")
        with contextlib.suppress(AssertionError):
            return self.until(mark, 5)
        self.type("\n")
        return self.until(mark)

    def close(self) -> None:
        if self.end >= 0:
            os.close(self.end)
            self.end = -1


@contextmanager
def at_a_terminal(
    run: Path, **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], Screen]]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 60, 0, 0))
    changes = {"OMP_NUM_THREADS": "1", "TERM": "xterm", **environment}
    command = [
        sys.executable,
        "-c",
        AT_A_TERMINAL,
        "translate",
        str(run),
        "--beam",
        "2",
        "--threads",
        "1",
    ]
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    with subprocess.Popen(
        command, env=os.environ | changes, start_new_session=True, **streams
    ) as process:
        os.close(theirs)
        screen = Screen(ours)
        try:
            yield process, screen
        finally:
            process.kill()
            screen.close()


@pytest.mark.processes
def test_a_session_with_editing(command: Command, tiny_run: Path) -> None:
    text = f"{SENTENCE}\n".encode()
    (expected,) = command(f"translate {tiny_run} --beam 2", stdin=text).lines
    with at_a_terminal(tiny_run) as (process, screen):
        screen.until(f"Loading {tiny_run}"[:40])
        screen.until("en-fr> ")
        screen.type(f"{SENTENCE[1:]}\x01T\n")  # Ctrl-A: to the line's beginning
        shown = screen.until("en-fr> ")
        assert " ".join(expected.split()) in " ".join(shown.split())
        assert re.search(r"\x1b\[[0-9;]*3[1-6]m", screen.seen)
        screen.type("\x1b[A\n")  # the arrow brings back the line before it
        assert " ".join(expected.split()) in " ".join(screen.until("en-fr> ").split())
        screen.type(":matrix\n")
        assert "│" in screen.until("en-fr> ")
        word = expected.replace("'", " ").split()[0]
        screen.type(f":keep 0 {word[0]}\t")
        screen.until(f":keep 0 {word}")
        screen.type("\n")
        assert " ".join(expected.split()) in " ".join(screen.until("en-fr> ").split())
        screen.type("\x04")
        assert process.wait(300) == 0


@pytest.mark.processes
def test_without_colour_links_are_words_and_ctrl_c_ends(tiny_run: Path) -> None:
    with at_a_terminal(tiny_run, NO_COLOR="1") as (process, screen):
        screen.until("en-fr> ")
        screen.type(f"{SENTENCE}\n")
        assert "–" in screen.until("en-fr> ")
        assert not re.search(r"\x1b\[[0-9;]*3[1-6]m", screen.seen)
        assert "rnnsearch: interrupted" in screen.interrupted("interrupted")
        assert process.wait(300) == 130


@pytest.mark.processes
def test_a_terminal_that_is_closed_in_the_middle_is_one_end(tiny_run: Path) -> None:
    with at_a_terminal(tiny_run) as (process, screen):
        screen.until("en-fr> ")
        screen.type(f"{SENTENCE} {SENTENCE}\n")
        screen.close()
        assert process.wait(300) in (-signal.SIGHUP, 2)
