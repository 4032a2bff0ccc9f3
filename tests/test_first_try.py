"""`rnnsearch try`: two files become a translator and a page; it goes on; bad input is one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from command_line import Command, sets, sizes

from rnnsearch import Translator, first_try
from rnnsearch.text.formats.lines import read_lines

LIMITS = (
    *("model.encoder_size=4", "data.vocabulary_size=90", "search.max_length_ratio=1.0"),
    *("training.max_updates=4", "training.validate_every=2", "training.save_every=2"),
    *("training.precision=float32", "search.precision=float32"),
)
SETTINGS = sets(*sizes(4), *LIMITS)


@pytest.fixture(autouse=True)
def _little(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(first_try, "FEWEST", 100)
    monkeypatch.setattr(first_try, "HELD_OUT", 6)
    monkeypatch.setattr(first_try, "REFRESH", 0)
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
    assert all(f">{name}<" in after for name in ("BLEU", "chrF2", "TER"))
    assert ">multi-BLEU<" not in after
    assert finished.out.startswith("scores   BLEU ")
    assert "translate try/run\n" in finished.out
    assert Translator.load("try/run").translate(["The dog sleeps ."])
    assert command(line).code == 0  # nothing is left to do
    other = command(f"{line} --set training.seed=7")
    assert other.code == 2
    assert "name another folder with --out" in other.err
    assert Path("try/run/model.safetensors").exists()


def test_no_held_out_source_line_is_in_training(tiny_corpus: Path, tmp_path: Path) -> None:
    files = tiny_corpus / "train.en", tiny_corpus / "train.fr"
    held_out = first_try.choose_held_out(*files)
    count = first_try.write_parts(*files, held_out, tmp_path / "corpus")
    parts = {
        part: list(read_lines(tmp_path / "corpus" / f"{part}.source")) for part in ("train", "dev", "test")
    }
    assert (len(parts["train"]), len(parts["dev"]), len(parts["test"])) == (count, 6, 6)
    assert not set(parts["train"]) & {*parts["dev"], *parts["test"]}
    pairs = list(zip(*map(read_lines, files), strict=True))
    for part in ("dev", "test"):
        mine = zip(parts[part], read_lines(tmp_path / "corpus" / f"{part}.target"), strict=True)
        assert set(mine) <= set(pairs)


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (("a.en", 10), ("b.fr", 10), "10 sentence pairs are too few to learn from (give at least 100"),
        (("a.en", 200), ("a.fr", 199), "so they are not parallel"),
        (("same.en", 200), ("same.fr", 200), "200 of 200 lines are the same in both files"),
        (("a.en", 200), ("b.en", 200), "both files are in one language"),
        (("a.en", 200), ("missing.fr", 0), "is no file on disk"),
        (("a.en", 0), ("b.fr", 0), "0 sentence pairs are too few"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    command: Command, source: tuple[str, int], target: tuple[str, int], said: str
) -> None:
    for name, lines in (source, target):
        if not name.startswith("missing"):
            word = "sentence" if name.startswith("same") else name
            Path(name).write_text("".join(f"the {word} number {number}\n" for number in range(lines)))
    before = sorted(Path().iterdir())
    done = command(f"try {source[0]} {target[0]} --no-open")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert sorted(Path().iterdir()) == before


def test_a_persons_folder_is_left_alone(command: Command, tiny_corpus: Path) -> None:
    Path("try").mkdir()
    Path("try/thesis").touch()
    done = command(f"try {tiny_corpus}/train.en {tiny_corpus}/train.fr")
    assert (done.code, [path.name for path in Path("try").iterdir()]) == (2, ["thesis"])


@pytest.mark.parametrize(
    ("name", "code"),
    [
        *[("a.en", "en"), ("a.deu.gz", "deu"), ("a.EN", "en")],
        *[(name, "") for name in ("corpus.txt", "corpus.src", "corpus", "a.jsonl")],
    ],
)
def test_a_name_ends_in_the_language(name: str, code: str) -> None:
    assert first_try.language_of(Path(name)) == code


def test_a_damaged_note_of_the_folder_is_one_line(command: Command, tiny_corpus: Path) -> None:
    Path("try").mkdir()
    Path("try/try.json").write_text("{")
    outcome = command(f"try {tiny_corpus}/train.en {tiny_corpus}/train.fr --no-open {SETTINGS}")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("rnnsearch: try/try.json: is damaged: ")
    assert outcome.err.count("\n") == 1
    assert Path("try/try.json").read_text() == "{"


def test_the_page_is_served_to_this_machine_only(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("so far")
    addresses: list[str] = []
    with first_try.served(tmp_path, addresses.append):
        assert addresses[0].startswith("http://127.0.0.1:")
        with urlopen(addresses[0], timeout=10) as answer:
            assert answer.read() == b"so far"
        with pytest.raises(HTTPError, match="400"):
            urlopen(Request(addresses[0], headers={"Host": "elsewhere.example"}), timeout=10)
