"""`translate --out`, `align --out`: the file is what would be printed, whole or absent, and the same command
goes on with it."""

from __future__ import annotations

import fcntl
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
from folders import names

from rnnsearch import Corpus
from rnnsearch import run as run_module
from rnnsearch.errors import InputWarning
from rnnsearch.system import line_file
from rnnsearch.text.codec import load_codecs
from rnnsearch.translation.aligner import Aligner
from rnnsearch.translation.translator import Translator

TRANSLATE = "translate {run} en --search.batch_size 2 --beam 2"
ALIGN = "align {run} en fr --align.posterior true --search.batch_size 2"
SCORE = "score {run} en fr --search.batch_size 2"
PARTIAL, STATE = Path(".out.partial"), Path(".out.state")
METHODS: dict[str, tuple[type, str]] = {
    "translate": (Translator, "stream"),
    "align": (Aligner, "stream"),
    "score": (Translator, "force"),
}
"""Command → the method that works on a block."""
Ended = Callable[[int, str], tuple[Any, int]]


@pytest.fixture(autouse=True)
def _blocks_of_two_and_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """2, 4, 4 and 1 of the eleven lines."""
    monkeypatch.setattr(line_file, "LINES_AHEAD", 2)


PAIRS = [
    *(
        ("The man sees.", "L'homme voit."),
        ("She sleeps.", "Elle dort."),
        ("", ""),
        ("The man sees.", ""),
    ),
    *(("man", "homme"), ("He sees the horse.", "Il voit le cheval."), ("The woman.", "La femme.")),
    *(("man " * 30, "homme " * 30), ("A man sings.", "Un homme chante.")),
    *(("She sees the story.", "Elle voit l'histoire."), ("The woman sees.", "La femme voit.")),
]


@pytest.fixture(autouse=True)
def text(here: Path) -> None:
    """The eleven pairs, in `en` and `fr`."""
    write(PAIRS)


def write(pairs: list[tuple[str, str]]) -> None:
    for name, lines in zip(("en", "fr"), zip(*pairs, strict=True), strict=True):
        Path(name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.fixture
def ended(command: Command, monkeypatch: pytest.MonkeyPatch) -> Ended:
    """The command, ended by Ctrl-C at its so many-th block; and how many lines it was given to work on."""

    def call(block: int, line: str) -> Any:
        calls: list[list[Any]] = []

        def at_last(work: Any) -> Any:
            def call(self: Any, items: Any, *more: Any, **options: Any) -> Any:
                calls.append(list(items))
                if len(calls) == block:
                    raise KeyboardInterrupt
                return work(self, calls[-1], *more, **options)

            return call

        with monkeypatch.context() as patch:
            kind, method = METHODS[line.split()[0]]
            patch.setattr(kind, method, at_last(getattr(kind, method)))
            done = command(line)
        return done, sum(map(len, calls))

    return call


def alike(one: str, other: str) -> bool:
    """But for a number's last digit: in which batch a sentence stands decides how its products are
    rounded."""
    numbers = re.compile(r"-?\d+\.\d+")
    found, expected = ([float(each) for each in numbers.findall(text)] for text in (one, other))
    return numbers.sub("#", one) == numbers.sub("#", other) and found == pytest.approx(
        expected, abs=1.1e-4
    )


@pytest.mark.parametrize("form", ["", " --json", " --nbest 2", " --nbest 2 --json"])
def test_the_file_is_what_would_be_printed(command: Command, tiny_run: Path, form: str) -> None:
    line = TRANSLATE.format(run=tiny_run) + form
    printed = command(line)
    done = command(f"{line} --out new/out")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert alike(Path("new/out").read_text("utf-8"), printed.out)
    assert names(Path("new")) == ["out"]
    assert (
        command(f"{line} --out piped".replace(" en ", " "), stdin=Path("en").read_bytes()).code == 0
    )
    assert alike(Path("piped").read_text("utf-8"), printed.out)


def test_beginnings_from_a_file(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    from rnnsearch import Translator

    lines = ["The man sees the horse.", "She sleeps.", "The man sings.", "She sings."]
    begun = ["La", "", "Un ch", "Жук"]
    source, prefix, out = (tmp_path / name for name in ("source", "prefix", "out"))
    for path, text in ((source, lines), (prefix, begun)):
        path.write_text("".join(f"{line}\n" for line in text))
    with pytest.warns(InputWarning, match="Жук"):
        found = Translator.load(tiny_run).translate(lines, prefix=begun)
    expected = [result.text for result in found]
    assert expected[2].startswith("Un ch")
    words = ["translate", tiny_run, source, "--prefix", prefix]
    done = command(" ".join(map(str, words)))
    assert done.lines == expected
    said = f"warning: {source}: line 4: the model does not know these words of the beginning: Жук ("
    assert done.err.startswith(said)
    assert command(" ".join(map(str, [*words, "--out", out]))).err == done.err
    assert out.read_text().splitlines() == expected


def test_text_and_links_come_back_from_one_file(
    command: Command, ended: Ended, tiny_run: Path
) -> None:
    """Printed, and written in two goes: `aer`, `links` and `prepare` read what Pharaoh lines say."""
    line = ALIGN.format(run=tiny_run)
    Path("pharaoh").write_text(command(line).out)
    Path("printed.jsonl").write_text(command(f"{line} --format jsonl").out, "utf-8")
    assert ended(3, f"{line} --format jsonl --out out.jsonl")[0].code == 130
    assert ended(0, f"{line} --format jsonl --out out.jsonl")[1] == 5
    assert command("prepare en fr --links pharaoh --out pairs.store").code == 0
    expected = Corpus.open("pairs.store").train
    assert len(expected) > 5
    for file in ("printed.jsonl", "out.jsonl"):
        done = command(f"aer --links {file} --gold pharaoh --json")
        assert (done.code, json.loads(done.out)["systems"][0]["aer"]) == (0, 0.0)
        done = command(
            f"links --forward {file} --reverse {file} --symmetrise forward --out back --overwrite"
        )
        assert (done.code, Path("back").read_bytes()) == (0, Path("pharaoh").read_bytes())
        for texts in ("en fr", file):
            done = command(f"prepare {texts} --links {file} --out store --overwrite")
            assert (done.code, done.err) == (0, "")
            train = Corpus.open("store").train
            assert len(train) == len(expected)
            for place in range(len(train)):
                for side in ("source", "target", "links"):
                    assert (
                        getattr(train, side)[place].tolist()
                        == getattr(expected, side)[place].tolist()
                    )


@pytest.mark.parametrize(
    "line", [TRANSLATE, f"{TRANSLATE} --json", f"{TRANSLATE} --nbest 2", ALIGN, SCORE]
)
def test_after_ctrl_c_the_same_command_goes_on(
    command: Command, ended: Ended, tiny_run: Path, line: str
) -> None:
    line = line.format(run=tiny_run)
    printed = command(line).out
    broken, _ = ended(3, f"{line} --out out")
    said = "rnnsearch: interrupted; the same command goes on after line 6\n"
    assert (broken.code, broken.err) == (130, said)
    assert not Path("out").exists()
    with PARTIAL.open("a") as end:  # what a kill in the middle of writing leaves
        end.write("half a li")
    again, _ = ended(1, f"{line} --out out")
    assert (again.code, again.err) == (130, said)
    done, lines = ended(0, f"{line} --out out")
    assert (done.code, done.err, lines) == (0, "", 5)
    assert alike(Path("out").read_text("utf-8"), printed)
    assert not {PARTIAL, STATE} & set(Path().iterdir())


@pytest.mark.parametrize(
    ("line", "other"),
    [
        (TRANSLATE, "translate {run} en --search.batch_size 2 --beam 1"),
        (TRANSLATE, TRANSLATE.replace("{run}", "{other_run}")),
        (ALIGN, f"{ALIGN} --align.exact true"),
        (ALIGN, f"{ALIGN} --json"),
        (SCORE, f"{SCORE} --json"),
    ],
)
def test_other_settings_or_another_run_are_refused(
    command: Command, ended: Ended, tiny_run: Path, other_tiny_run: Path, line: str, other: str
) -> None:
    line, other = (each.format(run=tiny_run, other_run=other_tiny_run) for each in (line, other))
    ended(3, f"{line} --out out")
    before = PARTIAL.read_bytes()
    said = "out: was begun with another run, version or settings (add --overwrite to begin anew)"
    assert_refused(command(f"{other} --out out"), said)
    assert PARTIAL.read_bytes() == before
    done, lines = ended(0, f"{other} --out out --overwrite")
    assert (done.code, done.err, lines) == (0, "", 11)
    assert alike(Path("out").read_text("utf-8"), command(other).out) or "--json" in other


def test_an_edited_equation_and_another_kind_of_file_are_other_settings(
    command: Command, ended: Ended, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = TRANSLATE.format(run=tiny_run)
    Path("terms").write_text("house\tchose\n")
    ended(3, f"{line} --out out --glossary terms --set translation.replace_unk=true")
    said = "out: was begun with another run, version or settings"
    assert_refused(command(f"{line} --out out --dictionary terms"), said)
    monkeypatch.setattr("rnnsearch.kernels.edited_functions", lambda: {"attend"})
    resumed = f"{line} --out out --glossary terms --set translation.replace_unk=true"
    assert_refused(command(resumed), said)


ANOTHER_LINE = [*PAIRS[:5], ("He sees the horse.", "Il voit le cheval blanc."), *PAIRS[6:]]


@pytest.mark.parametrize("pairs", [PAIRS[:4], ANOTHER_LINE], ids=["missing", "another"])
def test_another_text_is_refused(
    command: Command, ended: Ended, tiny_run: Path, pairs: list[tuple[str, str]]
) -> None:
    """A line is another, or missing."""
    line = ALIGN.format(run=tiny_run)
    ended(3, f"{line} --out out")
    write(pairs)
    said = "out: was begun with another text (remove .out.state to begin anew)"
    assert_refused(command(f"{line} --out out"), said)
    STATE.unlink()
    assert ended(0, f"{line} --out out")[0].code == 0
    assert Path("out").read_text() == command(line).out


def test_a_file_that_is_there_is_not_replaced_unasked(
    command: Command, ended: Ended, tiny_run: Path, tmp_path: Path
) -> None:
    out, line = tmp_path / "out", TRANSLATE.format(run=tiny_run)
    out.write_text("mine\n", "utf-8")
    refused = command(f"{line} --out out")
    said = "rnnsearch: out: already exists (choose another file, or add --overwrite)\n"
    assert (refused.code, refused.err) == (2, said)
    ended(3, f"{line} --out out --overwrite")
    assert out.read_text("utf-8") == "mine\n"  # until the new one is whole
    assert command(f"{line} --out out").code == 2
    done, lines = ended(0, f"{line} --out out --overwrite")
    assert (done.code, lines) == (0, 5)
    assert alike(out.read_text("utf-8"), command(line).out)
    assert names(tmp_path) == ["en", "fr", "out"]


@pytest.mark.parametrize(
    ("line", "out"),
    [
        (TRANSLATE, "en"),
        (f"{TRANSLATE} --prefix fr", "fr"),
        (f"{TRANSLATE} --glossary fr", "fr"),
        (f"{TRANSLATE} --dictionary fr", "fr"),
        (ALIGN, "fr"),
        (SCORE, "./link"),
    ],
)
def test_an_input_is_never_replaced(command: Command, tiny_run: Path, line: str, out: str) -> None:
    Path("link").symlink_to("en")
    before = Path("en").read_text(), Path("fr").read_text()
    refused = command(f"{line.format(run=tiny_run)} --out {out} --overwrite")
    assert_refused(refused, f"{Path(out)}: is an input (name another file to write)")
    assert (Path("en").read_text(), Path("fr").read_text()) == before


def test_a_link_and_a_stream_are_written_as_a_shell_does(command: Command, tiny_run: Path) -> None:
    line = TRANSLATE.format(run=tiny_run)
    Path("target").write_text("old\n")
    Path("link").symlink_to("target")
    assert_refused(command(f"{line} --out link"), "target: already exists")
    end, other = os.pipe()
    for out in ("link --overwrite", f"/dev/fd/{other}"):
        assert command(f"{line} --out {out}").code == 0
    os.close(other)
    with open(end, "rb") as stream:
        assert Path("target").read_bytes() == stream.read() != b"old\n"
    assert Path("link").is_symlink()


def test_what_another_command_writes_is_left_alone(
    command: Command, ended: Ended, tiny_run: Path
) -> None:
    """The one with the same settings and the one with others."""
    line = TRANSLATE.format(run=tiny_run)
    ended(3, f"{line} --out out")
    before = PARTIAL.read_bytes()
    with PARTIAL.open("rb+") as writing:
        fcntl.flock(writing.fileno(), fcntl.LOCK_EX)
        for more in ("", " --search.no_unk true --overwrite"):
            assert_refused(command(f"{line} --out out{more}"), "another command is writing it")
    assert PARTIAL.read_bytes() == before
    assert command(f"{line} --out out").code == 0


def test_a_dictionary_from_a_pipe_is_refused(command: Command, tiny_run: Path) -> None:
    """It has been read when it would have to be told from another."""
    end, other = os.pipe()
    os.write(other, b"man\thomme\n")
    os.close(other)
    done = command(f"{TRANSLATE.format(run=tiny_run)} --out out --dictionary /dev/fd/{end}")
    os.close(end)
    assert done.code == 2
    assert "is no file on disk (check the path; write a pipe to a file)" in done.err


def test_text_that_cannot_be_read_is_found_first(
    command: Command, tiny_run: Path, tmp_path: Path
) -> None:
    with Path("en").open("ab") as file:
        file.write(b"caf\xe9\n")
    done = command(f"{TRANSLATE.format(run=tiny_run)} --out out")
    assert_refused(done, "en:12: byte 4 of the line is not UTF-8")
    assert names(tmp_path) == ["en", "fr"]


def test_a_pair_that_cannot_be_aligned_is_named(
    command: Command, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches are sorted by length; the message has the number of the line all the same, and what was done
    stays."""
    monkeypatch.setattr("rnnsearch.translation.scorer.LARGEST_PAIR", 800)
    refused = command(f"{ALIGN.format(run=tiny_run)} --out out")
    assert_refused(refused, "pair 8 has 31 × 31 words")
    assert PARTIAL.read_text().count("\n") == 6


PROGRAM = """
import os, signal
from rnnsearch.cli import main
from rnnsearch.system import line_file
line_file.LINES_AHEAD = 2
write, states = line_file.write_text, []
def killed(*arguments):
    write(*arguments)
    states.append(arguments)
    if len(states) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
line_file.write_text = killed
main()
"""


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_killed_it_loses_no_block(command: Command, ended: Ended, tiny_run: Path) -> None:
    line = ALIGN.format(run=tiny_run)
    words, alone = [*line.split(), "--out", "out"], os.environ | {"OMP_NUM_THREADS": "1"}
    killed = subprocess.run([sys.executable, "-c", PROGRAM, *words], env=alone, timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert PARTIAL.read_text().count("\n") == 6
    done, pairs = ended(0, f"{line} --out out")
    assert (done.code, pairs) == (0, 5)
    assert Path("out").read_text() == command(line).out
    assert names(Path()) == ["en", "fr", "out"]


def test_a_run_is_opened_once(
    command: Command, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[Path]()

    def counted(folder: Path, *more: Any) -> Any:
        opened.append(folder)
        return load_codecs(folder, *more)

    monkeypatch.setattr(run_module, "load_codecs", counted)
    assert command(f"{TRANSLATE.format(run=tiny_run)} --out out").code == 0
    assert opened == [tiny_run]
