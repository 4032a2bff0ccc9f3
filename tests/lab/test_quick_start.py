"""`rnnsearch try`: a corpus becomes a translator and a page; it goes on; bad input is one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import Command, sets, sizes

from rnnsearch import Translator
from rnnsearch.lab import held_out, quick_start
from rnnsearch.text.codec import SIDES
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.formats.readers import parallel_texts

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
    other = command(f"{line} --set training.seed=7")
    assert other.code == 2
    assert "name another folder with --out" in other.err
    assert Path("try/run/model.safetensors").exists()


def test_neighbours_are_held_out_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "HELD_OUT", 100)
    for side in "ab":
        (tmp_path / side).write_text("".join(f"sentence {side} number {n}\n" for n in range(2_000)))
    texts = parallel_texts([tmp_path / "a", tmp_path / "b"])
    held_out.write_corpus(texts, tmp_path, most=50)  # of a sorted text, not its head alone
    taken = [int(line.rsplit(" ", 1)[1]) for line in read_lines(tmp_path / "train.source")]
    assert 40 < len(taken) <= 50
    assert max(taken) > 1_900
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


def test_a_bilingual_file_is_tried_and_a_changed_one_is_another_corpus(
    command: Command, tiny_corpus: Path
) -> None:
    """Of the same name and size: its lines in another order."""
    sides = [
        (tiny_corpus / f"train.{code}").read_text(encoding="utf-8").split("\n")[:-1]
        for code in ("en", "fr")
    ]
    rows = [f"{one}\t{other}\n" for one, other in zip(*sides, strict=True)]
    Path("corpus.en-fr.tsv").write_text("".join(rows), encoding="utf-8")
    line = f"try corpus.en-fr.tsv --no-open {SETTINGS}"
    done = command(line)
    assert done.code == 0, done.err
    assert "en → fr (by the file's name)" in done.err
    assert re.search(r"^training took \d+\.\d min$", done.err, re.MULTILINE)
    assert " align " not in done.out  # which takes two files
    Path("corpus.en-fr.tsv").write_text("".join(reversed(rows)), encoding="utf-8")
    refused = command(line)
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "try: belongs to other files or settings" in refused.err


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


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (
            ("a.en", 10),
            ("b.fr", 10),
            "10 different sentence pairs, of 10, are too few to learn from (give",
        ),
        (
            ("one.en", 500),
            ("one.fr", 500),
            "1 different sentence pairs, of 500, are too few to learn from",
        ),
        (("a.en", 200), ("a.fr", 199), "so they are not parallel"),
        (("same.en", 200), ("same.fr", 200), "200 of 200 lines are the same in both files"),
        (("a.en", 200), ("b.en", 200), "both sides are in one language"),
        (("a.en", 200), ("missing.fr", 0), "is no file on disk"),
        (("a.en", 0), ("b.fr", 0), "0 different sentence pairs, of 0, are too few"),
        (("a.tsv", 200), ("missing.fr", 0), "is no file on disk"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    command: Command, source: tuple[str, int], target: tuple[str, int], said: str
) -> None:
    for name, lines in (source, target):
        if not name.startswith("missing"):
            word = "sentence" if name.startswith("same") else name
            numbers = [0 if name.startswith("one") else number for number in range(lines)]
            Path(name).write_text("".join(f"the {word} number {number}\n" for number in numbers))
    before = sorted(Path().iterdir())
    done = command(f"try {source[0]} {target[0]} --no-open")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert sorted(Path().iterdir()) == before
