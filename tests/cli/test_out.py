"""`translate --out`, `align --out`: the file is what would be printed, whole or absent, and the same command
goes on with it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Command, assert_refused

from rnnsearch import Corpus
from rnnsearch.system.files import lock
from rnnsearch.translation import outputs_file, sentence_search
from rnnsearch.translation.answers import AnswerFile
from rnnsearch.translation.outputs_file import count_outputs
from rnnsearch.translation.translator import Translator
from rnnsearch.translation.word_aligner import WordAligner

TRANSLATE, ALIGN = (
    "translate {run} en --search.batch_size 2 --beam 2",
    "align {run} en fr --posterior --search.batch_size 2",
)
Ended = Callable[[int, str], tuple[Any, int]]


@pytest.fixture(autouse=True)
def _blocks_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs_file, "READ_AHEAD", 2)


PAIRS = [
    *(("The man sees.", "L'homme voit."), ("She sleeps.", "Elle dort."), ("", ""), ("The man sees.", "")),
    *(("man", "homme"), ("He sees the horse.", "Il voit le cheval."), ("The woman.", "La femme.")),
    *(("man " * 30, "homme " * 30), ("A man sings.", "Un homme chante.")),
    *(("She sees the story.", "Elle voit l'histoire."), ("The woman sees.", "La femme voit.")),
]


@pytest.fixture(autouse=True)
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The eleven pairs, in `en` and `fr`."""
    for name, lines in zip(("en", "fr"), zip(*PAIRS, strict=True), strict=True):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ended(command: Command, monkeypatch: pytest.MonkeyPatch) -> Ended:
    """The command, ended by Ctrl-C at its so many-th batch; and how many lines it was given to work on."""

    def call(batch: int, line: str) -> Any:
        calls: list[list[Any]] = []

        def at_last(work: Any) -> Any:
            def call(self: Any, items: Any, *more: Any, **options: Any) -> Any:
                calls.append(list(items))
                if len(calls) == batch:
                    raise KeyboardInterrupt
                return work(self, calls[-1], *more, **options)

            return call

        with monkeypatch.context() as patch:
            patch.setattr(Translator, "translate", at_last(Translator.translate))
            patch.setattr(WordAligner, "align", at_last(WordAligner.align))
            done = command(line)
        return done, sum(map(len, calls))

    return call


def alike(one: str, other: str) -> bool:
    """But for a number's last digit: in which batch a sentence stands decides how its products are
    rounded."""
    numbers = re.compile(r"-?\d+\.\d+")
    found, expected = ([float(each) for each in numbers.findall(text)] for text in (one, other))
    return numbers.sub("#", one) == numbers.sub("#", other) and found == pytest.approx(expected, abs=1.5e-5)


@pytest.mark.parametrize("form", ["", " --json", " --nbest 2", " --nbest 2 --json"])
def test_the_file_is_what_would_be_printed(command: Command, tiny_run: Path, form: str) -> None:
    line = TRANSLATE.format(run=tiny_run) + form
    printed = command(f"{line} --links links")
    done = command(f"{line} --out new/out --links links.out")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert alike(Path("new/out").read_text("utf-8"), printed.out)
    assert Path("links.out").read_bytes() == Path("links").read_bytes()
    assert [path.name for path in Path("new").iterdir()] == ["out"]
    assert command(f"{line} --out piped".replace(" en ", " "), stdin=Path("en").read_bytes()).code == 0
    assert alike(Path("piped").read_text("utf-8"), printed.out)


@pytest.mark.parametrize("form", ["", " --json", " --threshold 0.2"])
def test_links_are_what_would_be_printed(command: Command, tiny_run: Path, form: str) -> None:
    line = ALIGN.format(run=tiny_run) + form
    printed, done = command(line), command(f"{line} --out out")
    assert (done.code, done.out, done.err, len(printed.lines)) == (0, "", "", 11)
    found = Path("out").read_text("utf-8")
    # In JSON, numbers show that batches are of other pairs.
    assert found == printed.out or ("--json" in form and found.count("\n") == 11)


@pytest.mark.parametrize("form", ["jsonl", "tmx"])
def test_text_and_links_come_back_from_one_file(
    command: Command, ended: Ended, tiny_run: Path, form: str
) -> None:
    """Printed, and written in two goes: `aer`, `links` and `prepare` read what Pharaoh lines say."""
    line = ALIGN.format(run=tiny_run)
    Path("pharaoh").write_text(command(line).out)
    Path(f"printed.{form}").write_text(command(f"{line} --links-format {form}").out, "utf-8")
    assert ended(4, f"{line} --links-format {form} --out out.{form}")[0].code == 130
    assert ended(0, f"{line} --links-format {form} --out out.{form}")[1] == 7
    assert command("prepare en fr --links pharaoh --out pairs.store").code == 0
    expected = Corpus.open("pairs.store").train
    assert len(expected) > 5
    for file in (f"printed.{form}", f"out.{form}"):
        done = command(f"aer --links {file} --gold pharaoh --json")
        assert (done.code, json.loads(done.out)["systems"][0]["aer"]) == (0, 0.0)
        done = command(f"links --forward {file} --reverse {file} --symmetrise forward --out back --overwrite")
        assert (done.code, Path("back").read_bytes()) == (0, Path("pharaoh").read_bytes())
        for texts in ("en fr", file):
            done = command(f"prepare {texts} --links {file} --out store --overwrite")
            assert (done.code, done.err) == (0, "")
            train = Corpus.open("store").train
            assert len(train) == len(expected)
            for place in range(len(train)):
                for side in ("source", "target", "links"):
                    assert getattr(train, side)(place).tolist() == getattr(expected, side)(place).tolist()


@pytest.mark.parametrize("line", [TRANSLATE, f"{TRANSLATE} --json", f"{TRANSLATE} --links links", ALIGN])
def test_after_ctrl_c_the_same_command_goes_on(
    command: Command, ended: Ended, tiny_run: Path, line: str
) -> None:
    line = line.format(run=tiny_run)
    printed = command(line).out
    broken, _ = ended(4, f"{line} --out out")
    said = "rnnsearch: interrupted; the same command goes on after line 4\n"
    assert (broken.code, broken.err) == (130, said)
    assert not Path("out").exists()
    assert count_outputs(Path(".out.journal")) == 4
    Path("links").unlink(missing_ok=True)
    done, lines = ended(0, f"{line} --out out")
    assert (done.code, done.err, lines) == (0, "", 7)
    assert alike(Path("out").read_text("utf-8"), printed)
    assert not Path(".out.journal").exists()
    assert "--links" not in line or Path("links").read_text("utf-8").count("\n") == 11


@pytest.mark.parametrize(
    ("line", "other", "work"),
    [
        (TRANSLATE, "translate {run} en --search.batch_size 2 --beam 1", "translated"),
        (TRANSLATE, TRANSLATE.replace("{run}", "{other_run}"), "translated"),
        (ALIGN, f"{ALIGN} --exact", "aligned"),
        (ALIGN, f"{ALIGN} --json", "aligned"),
    ],
)
def test_other_settings_or_another_run_begin_anew(
    command: Command, ended: Ended, tiny_run: Path, other_tiny_run: Path, line: str, other: str, work: str
) -> None:
    line, other = (each.format(run=tiny_run, other_run=other_tiny_run) for each in (line, other))
    ended(4, f"{line} --out out")
    done, lines = ended(0, f"{other} --out out")
    said = f"out: was begun with another run or other settings; {work} anew\n"
    assert (done.code, done.err, lines) == (0, said, 11)
    assert alike(Path("out").read_text("utf-8"), command(other).out) or "--json" in other


def test_of_another_text_the_first_blocks_are_kept(command: Command, ended: Ended, tiny_run: Path) -> None:
    line = ALIGN.format(run=tiny_run)
    ended(4, f"{line} --out out")
    lines = Path("fr").read_text("utf-8").replace("homme\n", "homme.\n")  # pair 5, of the second block
    Path("fr").write_text(lines, "utf-8")
    done, pairs = ended(0, f"{line} --out out")
    assert (done.code, pairs) == (0, 7)
    assert Path("out").read_text() == command(line).out


def test_a_file_that_is_there_is_not_replaced_unasked(
    command: Command, ended: Ended, tiny_run: Path, tmp_path: Path
) -> None:
    out, line = tmp_path / "out", TRANSLATE.format(run=tiny_run)
    out.write_text("mine\n", "utf-8")
    refused = command(f"{line} --out out")
    said = "rnnsearch: out: already exists (choose another file, or add --overwrite)\n"
    assert (refused.code, refused.err) == (2, said)
    ended(4, f"{line} --out out --overwrite")
    assert out.read_text("utf-8") == "mine\n"  # until the new one is whole
    assert (
        command(f"{line} --search.no_unk true --out out").code == 2
    )  # another journal is no leave to replace it
    assert command(f"{line} --out out").code == 0  # this one is: --overwrite was given when it began
    assert alike(out.read_text("utf-8"), command(line).out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["en", "fr", "out"]


def test_what_another_command_writes_is_left_alone(
    command: Command, ended: Ended, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one with the same settings and the one with others; until the file is there, too."""
    journal, line = Path(".out.journal"), TRANSLATE.format(run=tiny_run)
    ended(5, f"{line} --out out")
    before = journal.read_bytes()
    with journal.open("rb+") as writing:
        assert lock(writing.fileno())
        for more in ("", " --search.no_unk true"):
            done = command(f"{line} --out out{more}")
            assert done.code == 2
            assert "another command is writing it" in done.err
    assert journal.read_bytes() == before

    finish, free = AnswerFile.finish, []

    def seen(self: AnswerFile) -> None:
        with journal.open("rb+") as other:
            free.append(lock(other.fileno()))
        finish(self)

    monkeypatch.setattr(AnswerFile, "finish", seen)
    assert command(f"{line} --out out").code == 0
    assert (free, journal.exists()) == ([False], False)


def test_a_dictionary_from_a_pipe_is_refused(command: Command, tiny_run: Path) -> None:
    """It has been read when it would have to be told from another."""
    end, other = os.pipe()
    os.write(other, b"man\thomme\n")
    os.close(other)
    done = command(f"{TRANSLATE.format(run=tiny_run)} --out out --dictionary /dev/fd/{end}")
    os.close(end)
    assert done.code == 2
    assert "a pipe cannot be read again to go on with --out (write it to a file first)" in done.err


def test_a_damaged_journal_is_one_line(command: Command, ended: Ended, tiny_run: Path) -> None:
    line, journal = f"{TRANSLATE.format(run=tiny_run)} --out out", Path(".out.journal")
    ended(4, line)
    journal.write_text(journal.read_text("utf-8").replace('"tokens"', '"takens"', 1), "utf-8")
    done = command(line)
    assert_refused(done, f"{journal}:2: is damaged: 'tokens' (remove it")


def test_text_that_cannot_be_read_is_found_first(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    with Path("en").open("ab") as file:
        file.write(b"caf\xe9\n")
    done = command(f"{TRANSLATE.format(run=tiny_run)} --out out")
    assert_refused(done, "en:12: byte 4 of the line is not UTF-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["en", "fr"]


def test_a_pair_that_cannot_be_aligned_is_named(
    command: Command, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches are sorted by length; the message has the number of the line all the same, and what was done
    stays."""
    monkeypatch.setattr(sentence_search, "LARGEST_ALIGNMENT", 800)
    refused = command(f"{ALIGN.format(run=tiny_run)} --out out")
    assert_refused(refused, "pair 8 has 31 × 31 words")
    assert count_outputs(Path(".out.journal")) == 4


PROGRAM = """
import os, signal, sys
from rnnsearch.translation import outputs_file
from rnnsearch.cli import main
outputs_file.READ_AHEAD = 2
write, blocks = outputs_file._write, []
def killed(*arguments):
    write(*arguments)
    blocks.append(arguments)
    if len(blocks) == 3:  # the header, and two blocks of four
        os.kill(os.getpid(), signal.SIGKILL)
outputs_file._write = killed
main()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_killed_it_loses_no_block(command: Command, ended: Ended, tiny_run: Path) -> None:
    line = ALIGN.format(run=tiny_run)
    words, alone = [*line.split(), "--out", "out"], os.environ | {"OMP_NUM_THREADS": "1"}
    killed = subprocess.run([sys.executable, "-c", PROGRAM, *words], env=alone, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert count_outputs(Path(".out.journal")) == 8
    done, pairs = ended(0, f"{line} --out out")
    assert (done.code, pairs) == (0, 3)
    assert Path("out").read_text() == command(line).out
