"""`align --out`: links of a long corpus, whole or absent, and the same command goes on with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

from rnnsearch import Corpus
from rnnsearch.translation import outputs_file
from rnnsearch.translation.outputs_file import count_outputs
from rnnsearch.translation.word_aligner import WordAligner

OPTIONS = "--posterior --batch-size 2"


@pytest.fixture(autouse=True)
def _blocks_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs_file, "READ_AHEAD", 2)


@pytest.fixture
def text(tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eleven pairs: an empty one, one with an empty side, one of a single word, one of a hundred words."""
    pairs = [
        list(pair)
        for pair in zip(
            *((tiny_corpus / f"test.{side}").read_text("utf-8").split("\n")[:11] for side in ("en", "fr")),
            strict=True,
        )
    ]
    pairs[2], pairs[3], pairs[4] = ["", ""], ["The man sees.", ""], ["Man", "homme"]
    pairs[7] = [" ".join(["man"] * 100), " ".join(["homme"] * 100)]
    for side, name in enumerate(("en", "fr")):
        (tmp_path / name).write_text("".join(f"{pair[side]}\n" for pair in pairs), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ended(command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """The command, ended by Ctrl-C at its so many-th batch; and how many pairs it was given to align."""

    def call(batch: int, line: str) -> Any:
        align, calls = WordAligner.align, []

        def at_last(self: WordAligner, pairs: Any, *more: Any) -> Any:
            calls.append(list(pairs))
            if len(calls) == batch:
                raise KeyboardInterrupt
            return align(self, calls[-1], *more)

        with monkeypatch.context() as patch:
            patch.setattr(WordAligner, "align", at_last)
            done = command(line)
        return done, sum(map(len, calls))

    return call


@pytest.mark.parametrize("form", ["", " --json", " --threshold 0.2"])
def test_the_file_is_what_would_be_printed(command: Command, tiny_run: Path, text: Path, form: str) -> None:
    line = f"align {tiny_run} en fr {OPTIONS}{form}"
    printed = command(line)
    assert (printed.code, len(printed.lines)) == (0, 11)
    done = command(f"{line} --out new/out")
    assert (done.code, done.out, done.err) == (0, "", "")
    if "--json" in form:  # batches are of other pairs, and rounding of float32 with them
        assert Path("new/out").read_text("utf-8").count("\n") == 11
    else:
        assert Path("new/out").read_text("utf-8") == printed.out
    assert [path.name for path in Path("new").iterdir()] == ["out"]


@pytest.mark.parametrize("form", ["jsonl", "tmx"])
def test_text_and_links_come_back_from_one_file(
    command: Command, ended: Command, tiny_run: Path, text: Path, form: str
) -> None:
    """Printed, and written in two goes: `aer`, `links` and `prepare` read what Pharaoh lines say."""
    line = f"align {tiny_run} en fr {OPTIONS}"
    Path("pharaoh").write_text(command(line).out)
    Path(f"printed.{form}").write_text(command(f"{line} --links-format {form}").out, "utf-8")
    assert ended(4, f"{line} --links-format {form} --out out.{form}")[0].code == 130
    assert ended(0, f"{line} --links-format {form} --out out.{form}")[1] == 7
    for file in (f"printed.{form}", f"out.{form}"):
        done = command(f"aer --links {file} --gold pharaoh --json")
        assert (done.code, json.loads(done.out)["systems"][0]["aer"]) == (0, 0.0)
        done = command(f"links --forward {file} --reverse {file} --symmetrise forward --out back --overwrite")
        assert (done.code, Path("back").read_bytes()) == (0, Path("pharaoh").read_bytes())
        stores = {
            "store": f"en fr --links {file}",
            file: f"{file} --links {file}",
            "pairs": "en fr --links pharaoh",
        }
        for store, names in stores.items():
            done = command(f"prepare {names} --out {store}.store --overwrite")
            assert (done.code, done.err) == (0, "")
        train = [Corpus.open(f"{store}.store").train for store in stores]
        for one in train[:2]:
            assert len(one) == len(train[2]) > 5
            for place in range(len(one)):
                for side in ("source", "target", "links"):
                    ours, theirs = (getattr(each, side)(place).tolist() for each in (one, train[2]))
                    assert ours == theirs


def test_after_ctrl_c_the_same_command_goes_on(
    command: Command, ended: Command, tiny_run: Path, text: Path
) -> None:
    line = f"align {tiny_run} en fr {OPTIONS}"
    assert command(f"{line} --out whole").code == 0
    broken, _ = ended(4, f"{line} --out out")
    assert (broken.code, broken.err) == (
        130,
        "rnnsearch: interrupted; the same command goes on after line 4\n",
    )
    assert not Path("out").exists()
    assert count_outputs(Path(".out.journal")) == 4
    done, pairs = ended(0, f"{line} --out out")
    assert (done.code, done.err, pairs) == (0, "", 7)
    assert Path("out").read_bytes() == Path("whole").read_bytes()
    assert not Path(".out.journal").exists()


def test_other_options_or_another_text_begin_anew(
    command: Command, ended: Command, tiny_run: Path, text: Path
) -> None:
    line = f"align {tiny_run} en fr {OPTIONS}"
    ended(4, f"{line} --out out")
    done, pairs = ended(0, f"{line} --out out --exact")
    assert (done.code, pairs) == (0, 11)
    assert done.err == "out: was begun with another run or other settings; aligned anew\n"
    refused = command(f"{line} --out out")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "out: already exists" in refused.err
    assert command(f"{line} --out out --overwrite").code == 0
    ended(4, f"{line} --out out --overwrite")
    Path("fr").write_text(
        Path("fr").read_text("utf-8").replace("homme\n", "homme.\n"), encoding="utf-8"
    )  # pair 5, of the second block
    done, pairs = ended(0, f"{line} --out out")
    assert (done.code, pairs) == (0, 7)
    assert Path("out").read_text() == command(line).out


@pytest.mark.parametrize("option", ["--picture", "--measures m", "--page p", "--alignment-plots d"])
def test_what_needs_all_alignments_is_refused(
    command: Command, tiny_run: Path, text: Path, option: str
) -> None:
    refused = command(f"align {tiny_run} en fr --out out {option}")
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "cannot be made with --out" in refused.err
    assert not Path("out").exists()


def test_a_pair_that_cannot_be_aligned_is_named(
    command: Command, tiny_run: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches are sorted by length; the message has the number of the line all the same, and what was done
    stays."""
    from rnnsearch.translation import sentence_search

    monkeypatch.setattr(sentence_search, "LARGEST_ALIGNMENT", 5_000)
    refused = command(f"align {tiny_run} en fr {OPTIONS} --out out")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "pair 8 has 101 × 101 words" in refused.err
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
def test_killed_it_loses_no_block(command: Command, ended: Command, tiny_run: Path, text: Path) -> None:
    line = f"align {tiny_run} en fr {OPTIONS}"
    killed = subprocess.run(
        [sys.executable, "-c", PROGRAM, *line.split(), "--out", "out"],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        timeout=120,
    )
    assert killed.returncode == -signal.SIGKILL
    assert count_outputs(Path(".out.journal")) == 8
    done, pairs = ended(0, f"{line} --out out")
    assert (done.code, pairs) == (0, 3)
    assert Path("out").read_text() == command(line).out
