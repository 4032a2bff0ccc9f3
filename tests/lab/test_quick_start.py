"""`rnnsearch try`: a corpus becomes a translator and a page; it goes on; bad input is one line."""

from __future__ import annotations

import re
import unicodedata
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import pytest
from command_line import Command, assert_refused, sets, sizes
from folders import names
from pairs import lines_of, write
from tables import rows

from rnnsearch import Translator
from rnnsearch.builtin.corpus import CORPUS_PARTS
from rnnsearch.lab import held_out, quick_start
from rnnsearch.settings import Settings
from rnnsearch.system.work_folder import work_folder
from rnnsearch.text.codec import SIDES
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers import parallel_texts
from rnnsearch.text.tokens import normalise
from rnnsearch.training.display import Display

LIMITS = (
    *("model.encoder_size=4", "data.vocabulary_size=90", "search.max_length_ratio=1.0"),
    *("stopping.max_updates=4", "stopping.validate_every=2", "stopping.save_every=2"),
    *("training.precision=float32", "search.precision=float32"),
)
SETTINGS = sets(*sizes(4), *LIMITS)


@pytest.fixture(autouse=True)
def _little(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(held_out, "FEWEST_PAIRS", 100)
    monkeypatch.setattr(held_out, "HELD_OUT", 6)
    monkeypatch.setattr(quick_start, "REFRESH", 1)
    monkeypatch.chdir(tmp_path)


def test_it_goes_on_after_ctrl_c_and_ends_with_scores_and_a_page(
    command: Command, tiny_corpus: Path, interrupted: Any
) -> None:
    made = interrupted(3)
    line = f"try {tiny_corpus}/train.en {tiny_corpus}/train.fr --no-open {SETTINGS}"
    stopped = command(line)
    assert (stopped.code, stopped.out) == (130, "")
    assert "measured just now" in stopped.err
    assert stopped.err.endswith("\nthe same command goes on\n")
    during = Path("try/page/index.html").read_text()
    assert 'http-equiv="refresh"' in during
    assert "BLEU (development)" in during
    finished = command(line)
    assert finished.code == 0, finished.err
    assert made == [1, 2, 3, 4]
    assert "measuring" not in finished.err
    after = Path("try/page/index.html").read_text()
    assert 'http-equiv="refresh"' not in after
    assert 'href="report/index.html"' in after
    assert Path("try/page/report/index.html").exists()
    assert all(f">{name}<" in after for name in ("BLEU", "chrF2"))
    assert ">multi-BLEU<" not in after
    assert finished.out.startswith("scores   BLEU ")
    assert "translate try/run\n" in finished.out
    assert Translator.load("try/run").translate(["The dog sleeps ."])
    assert command(line).code == 0  # nothing is left to do
    for other in ("--set training.seed=7", "--minutes 7"):
        assert_refused(command(f"{line} {other}"), "name another folder with --out")
    assert Path("try/run/model.safetensors").exists()


def test_a_slower_machine_does_fewer_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A minute an update: 10 minutes have 10 of the 100 that were planned. Again, nothing is left."""
    asked: list[tuple[int, float]] = []
    rows: list[dict[str, float]] = []

    def trained(settings: Settings, *_: object, **__: object) -> None:
        stopping = settings.stopping
        asked.append((stopping.max_updates, stopping.max_minutes))
        done = min(stopping.max_updates, round(stopping.max_minutes))
        rows.append({"update": done, "seconds": 60.0 * done})

    monkeypatch.setattr(quick_start, "train", trained)
    monkeypatch.setattr(quick_start, "read_statistics", lambda run: {"validations": rows})
    monkeypatch.setattr(quick_start, "LEGS", (0.4, 1.0))
    changes = ["stopping.max_updates=100", "stopping.max_minutes=10", "stopping.max_epochs=0"]
    for _ in range(2):
        with work_folder(tmp_path / "work", "try", "key") as step:
            quick_start.train_in_time(step, changes, cast(Any, None), tmp_path, Display(quiet=True))
        assert asked == [(100, 4.0), (10, 10.0)]


@pytest.mark.parametrize(
    ("limit", "why", "times"), [(0, "", 1), (100, "no better development score", 0)]
)
def test_a_training_is_not_begun_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, why: str, times: int
) -> None:
    """Without a limit of updates it is begun; one that has ended is not."""
    asked: list[object] = []
    monkeypatch.setattr(quick_start, "train", lambda *given, **_: asked.append(given))
    monkeypatch.setattr(quick_start, "read_statistics", lambda run: {"ended_because": why})
    monkeypatch.setattr(quick_start, "LEGS", (1.0,))
    changes = [f"stopping.max_updates={limit}", "stopping.max_minutes=10", "stopping.max_epochs=1"]
    with work_folder(tmp_path / "work", "try", "key") as step:
        quick_start.train_in_time(step, changes, cast(Any, None), tmp_path, Display(quiet=True))
    assert len(asked) == times


def test_neighbours_are_held_out_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "HELD_OUT", 100)
    for side in "ab":
        (tmp_path / side).write_text("".join(f"sentence {side} number {n}\n" for n in range(2_000)))
    texts = parallel_texts([tmp_path / "a", tmp_path / "b"])
    held_out.write_corpus(texts, tmp_path, most=50)  # of a sorted text, not its head alone
    taken = [int(line.rsplit(" ", 1)[1]) for line in read_lines(tmp_path / "train.source")]
    assert len(taken) == 50
    assert max(taken) > 1_900
    held_out.write_corpus(texts, tmp_path, most=1_500)  # most of it
    assert len(taken := [*read_lines(tmp_path / "train.source")]) == 1_500
    assert taken[-1] > "sentence a number 1990"
    found = held_out.choose_held_out(texts)
    for part in ("dev", "test"):
        numbers = [number for number, one in found.items() if one == part]
        assert len(numbers) == 100
        assert sum(number + 1 in numbers for number in numbers) >= 80  # all but the last of five


def test_no_held_out_source_line_is_in_training(tiny_corpus: Path, tmp_path: Path) -> None:
    files = tiny_corpus / "train.en", tiny_corpus / "train.fr"
    held_out.write_corpus(parallel_texts(files), tmp_path / "corpus")
    parts = {
        part: list(
            zip(*(read_lines(tmp_path / f"corpus/{part}.{side}") for side in SIDES), strict=True)
        )
        for part in ("train", "dev", "test")
    }
    pairs = list(zip(*map(read_lines, files), strict=True))
    assert len(parts["dev"]) == len(parts["test"]) == 6
    kept_back = {*parts["dev"], *parts["test"]}
    assert kept_back <= set(pairs)
    sources = {source for source, _ in kept_back}
    assert len(sources) == 12  # a small corpus has each source line held out once
    assert parts["train"] == [pair for pair in pairs if pair[0] not in sources]


def test_lines_are_compared_as_they_are_prepared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_out, "COMPARED", 150)
    lines = [f"café number {n % 400}" for n in range(800)]
    write(tmp_path / "a", [*lines, *(unicodedata.normalize("NFD", f" {one}") for one in lines)])
    write(tmp_path / "b", [f"the {one}" for one in [*lines, *lines]])
    held_out.write_corpus(parallel_texts([tmp_path / "a", tmp_path / "b"]), tmp_path)
    parts = [
        {normalise(line).strip() for line in read_lines(tmp_path / f"{part}.source")}
        for part in CORPUS_PARTS
    ]
    assert all(parts)
    assert not any(one & other for one, other in combinations(parts, 2))


def test_a_bilingual_file_is_tried_and_a_changed_one_is_another_corpus(
    command: Command, tiny_corpus: Path
) -> None:
    """Of the same name and size: its lines in another order."""
    sides = [lines_of(tiny_corpus / f"train.{code}") for code in ("en", "fr")]
    lines = [f"7\t{one}\t{other}" for one, other in zip(*sides, strict=True)]
    file = write(Path("corpus.en-fr.tsv"), lines)
    line = f"try corpus.en-fr.tsv --columns 2 3 --no-open {SETTINGS}"
    done = command(line)
    assert done.code == 0, done.err
    assert "en → fr (by the file's name)" in done.err
    assert re.search(r"^training took \d+\.\d min$", done.err, re.MULTILINE)
    assert " align " not in done.out  # which takes two files
    write(file, lines[::-1])
    assert_refused(command(line), "try: belongs to other files or settings")


def test_japanese_is_scored_by_its_own_tokenisation_and_written_without_spaces(
    command: Command, tiny_corpus: Path
) -> None:
    english = (tiny_corpus / "train.en").read_text(encoding="utf-8")
    kana = {ord("a") + place: 0x3042 + 2 * place for place in range(26)} | {ord("."): "。"}
    Path("a.en").write_text(english, encoding="utf-8")
    japanese = "\n".join(
        line.lower().translate(kana).replace(" ", "") for line in english.split("\n")
    )
    Path("a.ja").write_text(japanese, encoding="utf-8")
    done = command(f"try a.en a.ja --no-open {SETTINGS}")
    assert done.code == 0, done.err
    (signature,) = re.findall(r"^BLEU: .*tok:(?:char|ja-mecab-\S*)\|.*$", done.err, re.MULTILINE)
    assert signature in Path("try/page/index.html").read_text()
    (result,) = Translator.load("try/run").translate(["The dog sleeps ."])
    assert " " not in result.text


BAD = """
a.en b.fr 10 → 10 different sentence pairs, of 10, are too few to learn from (give
one.en one.fr 500 → 1 different sentence pairs, of 500, are too few to learn from
same.en same.fr 200 → 200 of 200 lines are the same in both files
a.en b.en 200 → both sides are in one language
a.en missing.fr 200 → is no file on disk
a.tsv missing.fr 200 → is no file on disk
"""
"""Files, how many lines each has, and what is said of them."""


@pytest.mark.parametrize(("files", "said"), rows(BAD))
def test_bad_input_is_one_line_and_leaves_nothing(command: Command, files: str, said: str) -> None:
    *names, lines = files.split()
    for name in names:
        if not name.startswith("missing"):
            word = "sentence" if name.startswith("same") else name
            numbers = [0 if name.startswith("one") else number for number in range(int(lines))]
            write(Path(name), [f"the {word} number {number}" for number in numbers])
    before = sorted(Path().iterdir())
    assert_refused(command(f"try {' '.join(names)} --no-open"), said)
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_a_killed_step_left_is_replaced(tmp_path: Path, kind: str) -> None:
    left = tmp_path / "work" / ".made.partial"
    left.parent.mkdir()
    left.touch() if kind == "file" else left.mkdir()
    with work_folder(tmp_path / "work", "try", "key") as step:
        assert step("made", Path.touch).is_file()
    assert names(tmp_path / "work") == ["made", "try.json"]
