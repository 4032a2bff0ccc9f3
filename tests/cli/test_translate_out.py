"""`translate --out`: the file is what standard output would be, whole or absent, and the same command goes on
with it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

from rnnsearch.system.files import lock
from rnnsearch.translation import outputs_file
from rnnsearch.translation.answers import AnswerFile
from rnnsearch.translation.outputs_file import count_outputs
from rnnsearch.translation.translator import Translator

OPTIONS = "--batch-size 2 --beam 2"


@pytest.fixture(autouse=True)
def _blocks_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs_file, "READ_AHEAD", 2)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Eleven short lines, an empty one among them."""
    lines = [
        "The man sees.",
        "She sleeps.",
        "",
        "He sees the horse.",
        "The woman.",
        "A man sings.",
        "She sees the story.",
    ]
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in [*lines, *lines[3:]]), "utf-8")
    return tmp_path / "text"


@pytest.fixture
def ended(command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command, ended by Ctrl-C at its so many-th batch."""

    def call(batch: int, line: str) -> Any:
        translate, calls = Translator.translate, []

        def at_last(*arguments: Any, **named: Any) -> Any:
            calls.append(arguments)
            if len(calls) == batch:
                raise KeyboardInterrupt
            return translate(*arguments, **named)

        with monkeypatch.context() as patch:
            patch.setattr(Translator, "translate", at_last)
            done = command(line)
        done_lines = sum(len(arguments[1]) for arguments in calls)
        return done, done_lines

    return call


def alike(one: str, other: str) -> bool:
    """But for a number's last digit: in which batch a sentence stands decides how its products are
    rounded."""
    numbers = re.compile(r"-?\d+\.\d+")
    same = numbers.sub("#", one) == numbers.sub("#", other)
    return same and [float(each) for each in numbers.findall(one)] == pytest.approx(
        [float(each) for each in numbers.findall(other)], abs=1.5e-5
    )


@pytest.mark.parametrize("form", ["", " --json", " --nbest 2", " --nbest 2 --json"])
def test_the_file_is_what_would_be_printed(
    command: Command, tiny_run: Path, text: Path, tmp_path: Path, form: str
) -> None:
    line = f"translate {tiny_run} {text} {OPTIONS}{form}"
    printed = command(f"{line} --links {tmp_path}/links")
    done = command(f"{line} --out {tmp_path}/new/out --links {tmp_path}/links.out")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert alike((tmp_path / "new" / "out").read_text("utf-8"), printed.out)
    assert (tmp_path / "links.out").read_bytes() == (tmp_path / "links").read_bytes()
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]
    line = f"translate {tiny_run} {OPTIONS}{form} --out {tmp_path}/piped"
    piped = command(line, stdin=text.read_bytes())
    assert piped.code == 0
    assert alike((tmp_path / "piped").read_text("utf-8"), printed.out)


@pytest.mark.parametrize("more", ["", " --json", " --links links"])
def test_after_ctrl_c_the_same_command_goes_on(
    command: Command,
    ended: Command,
    tiny_run: Path,
    text: Path,
    more: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(text.parent)
    line = f"translate {tiny_run} {text} {OPTIONS}{more}"
    printed = command(line).out
    line += " --out out"
    broken, _ = ended(4, line)
    assert (broken.code, broken.err) == (
        130,
        "rnnsearch: interrupted; the same command goes on after line 4\n",
    )
    assert not Path("out").exists()
    assert count_outputs(Path(".out.journal")) == 4
    Path("links").unlink(missing_ok=True)
    done, lines = ended(0, line)
    assert (done.code, done.err, lines) == (0, "", 7)
    assert alike(Path("out").read_text("utf-8"), printed)
    assert not Path(".out.journal").exists()
    if "--links" in more:
        assert Path("links").read_text("utf-8").count("\n") == 11


def test_other_settings_or_another_run_begin_anew(
    command: Command, ended: Command, tiny_run: Path, other_tiny_run: Path, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    line = f"{out}: was begun with another run or other settings; translated anew\n"
    for other in (
        f"translate {tiny_run} {text} --batch-size 2 --beam 1",
        f"translate {other_tiny_run} {text} {OPTIONS}",
    ):
        ended(4, f"translate {tiny_run} {text} {OPTIONS} --out {out}")
        assert count_outputs(tmp_path / ".out.journal") == 4
        done, lines = ended(0, f"{other} --out {out} --overwrite")
        assert (done.code, done.err, lines) == (0, line, 11)
        assert out.read_text("utf-8") == command(other).out
        out.unlink()


def test_a_file_that_is_there_is_not_replaced_unasked(
    command: Command, ended: Command, tiny_run: Path, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.write_text("mine\n", "utf-8")
    line = f"translate {tiny_run} {text} {OPTIONS}"
    into = f"{line} --out {out}"
    refused = command(into)
    assert (refused.code, refused.err) == (
        2,
        f"rnnsearch: {out}: already exists (choose another file, or add --overwrite)\n",
    )
    ended(4, f"{into} --overwrite")
    assert out.read_text("utf-8") == "mine\n"  # until the new one is whole
    assert (
        command(f"translate {tiny_run} {text} --beam 1 --out {out}").code == 2
    )  # another journal is no leave to replace it
    assert command(into).code == 0  # this one is: --overwrite was given when it began
    assert out.read_text("utf-8") == command(line).out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "text"]


def test_what_another_command_writes_is_left_alone(
    command: Command,
    ended: Command,
    tiny_run: Path,
    text: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one with the same settings and the one with others; until the file is there, too."""
    out, journal = tmp_path / "out", tmp_path / ".out.journal"
    ended(5, f"translate {tiny_run} {text} --out {out} {OPTIONS}")
    before = journal.read_bytes()
    with journal.open("rb+") as writing:
        assert lock(writing.fileno())
        for beam in (2, 3):
            done = command(f"translate {tiny_run} {text} --out {out} --batch-size 2 --beam {beam}")
            assert done.code == 2
            assert "another command is writing it" in done.err
    assert journal.read_bytes() == before

    finish, free = AnswerFile.finish, []

    def seen(self: AnswerFile) -> None:
        with journal.open("rb+") as other:
            free.append(lock(other.fileno()))
        finish(self)

    monkeypatch.setattr(AnswerFile, "finish", seen)
    assert command(f"translate {tiny_run} {text} --out {out} {OPTIONS}").code == 0
    assert free == [False]
    assert not journal.exists()


def test_a_dictionary_from_a_pipe_is_refused(
    command: Command, tiny_run: Path, text: Path, tmp_path: Path
) -> None:
    """It has been read when it would have to be told from another."""
    end, other = os.pipe()
    os.write(other, b"man\thomme\n")
    os.close(other)
    done = command(f"translate {tiny_run} {text} --out {tmp_path}/out --dictionary /dev/fd/{end} {OPTIONS}")
    os.close(end)
    assert done.code == 2
    assert "a pipe cannot be read again to go on with --out (write it to a file first)" in done.err


def test_a_damaged_journal_is_one_line(
    command: Command, ended: Command, tiny_run: Path, text: Path, tmp_path: Path
) -> None:
    line = f"translate {tiny_run} {text} {OPTIONS} --out {tmp_path}/out"
    ended(4, line)
    journal = tmp_path / ".out.journal"
    journal.write_text(journal.read_text("utf-8").replace('"tokens"', '"takens"', 1), "utf-8")
    done = command(line)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"{journal}:2: is damaged: 'tokens' (remove it" in done.err


def test_text_that_cannot_be_read_is_found_first(
    command: Command, tiny_run: Path, text: Path, tmp_path: Path
) -> None:
    with text.open("ab") as file:
        file.write(b"caf\xe9\n")
    done = command(f"translate {tiny_run} {text} --out {tmp_path}/out")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "text:12: byte 4 of the line is not UTF-8" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text"]
