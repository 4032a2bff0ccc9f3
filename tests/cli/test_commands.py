"""What every command does with text, on runs that were trained for a moment: the shape of what comes out, and
what must agree with what."""

from __future__ import annotations

import gzip
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command, assert_refused, sets, sizes
from pairs import lines_of, write

FIELDS = {
    *[
        "text",
        "tokens",
        "source_tokens",
        "score",
        "log_probabilities",
        "finished",
        "alignment",
        "confidence",
    ],
    *["doubtful_numbers", "unknown_words"],
}
SENTENCES = 6


@pytest.fixture(scope="module")
def source(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """test.en, with test.fr beside it: the first short sentences of the corpus's test set."""
    folder = tmp_path_factory.mktemp("short")
    english = lines_of(tiny_corpus / "test.en")
    kept = [number for number, line in enumerate(english) if len(line.split()) < 11]
    for name in ("test.en", "test.fr"):
        lines = lines_of(tiny_corpus / name)
        write(folder / name, [lines[number] for number in kept[:SENTENCES]])
    return folder / "test.en"


@pytest.fixture
def target(source: Path) -> Path:
    return source.with_name("test.fr")


def parsed(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def assert_sound(result: dict[str, Any]) -> None:
    alignment = np.array(result["alignment"], dtype=float).reshape(
        len(result["tokens"]), len(result["source_tokens"])
    )
    assert result["source_tokens"][-1] == "</s>"
    assert ((alignment >= 0) & (alignment <= 1)).all()
    # five digits a weight are written
    np.testing.assert_allclose(alignment.sum(axis=1), 1, atol=1e-3)


def test_the_nth_line_out_belongs_to_the_nth_line_in(
    command: Command, tiny_run: Path, source: Path
) -> None:
    lines = lines_of(source)
    together = command(f"translate {tiny_run} {source}")
    assert (together.code, together.err) == (0, "")
    mixed = [line for text in lines for line in (text, "", "  \t")]
    apart = command(
        f"translate {tiny_run} - --search.batch_size 2", stdin="\n".join(mixed).encode()
    )  # the last line has no line feed
    assert apart.lines[0::3] == together.lines
    assert apart.lines[1::3] == apart.lines[2::3] == [""] * len(lines)
    assert len(set(together.lines)) > 1


def test_nothing_in_is_nothing_out(command: Command, tiny_run: Path) -> None:
    for option in ("", " --json", " --nbest 3"):
        done = command(f"translate {tiny_run}{option}")
        assert (done.code, done.out, done.err) == (0, "", "")


def test_an_empty_line_keeps_its_place_in_every_form(command: Command, tiny_run: Path) -> None:
    stdin = b"\nThe man sees.\n"
    [nothing, _] = parsed(command(f"translate {tiny_run} --json", stdin=stdin).lines)
    fields = ("text", "tokens", "source_tokens", "alignment")
    assert [nothing[field] for field in fields] == ["", [], ["</s>"], []]
    lines = command(f"translate {tiny_run} --nbest 2", stdin=stdin).lines
    assert [line.split(" ||| ")[0] for line in lines] == ["0", "1", "1"]


@pytest.mark.parametrize(
    ("long", "short"), [("json", "--json"), ("nbest --search.nbest 2", "--nbest 2"), ("text", "-q")]
)
def test_formats_have_short_forms(command: Command, tiny_run: Path, long: str, short: str) -> None:
    printed = [
        command(f"translate {tiny_run} {form}", stdin=b"The man sees.\n")
        for form in (f"--format {long}", short)
    ]
    assert (printed[0].code, printed[0].out) == (0, printed[1].out)


def test_json_and_plots(command: Command, tiny_run: Path, source: Path, tmp_path: Path) -> None:
    plots = tmp_path / "deep" / "plots"
    words = "--nbest 3 --search.min_length_ratio 0.5 --search.max_length_ratio 1"
    done = command(f"translate {tiny_run} {source} {words} --json --alignment-plots {plots}")
    results = parsed(done.lines)
    assert len(results) == SENTENCES
    for result in results:
        assert set(result) == FIELDS | {"alternatives"}
        scores = []
        for one in (result, *result["alternatives"]):
            assert set(one) - {"alternatives"} == FIELDS
            assert_sound(one)
            assert one["finished"] == (len(one["log_probabilities"]) == len(one["tokens"]) + 1)
            assert one["score"] == pytest.approx(sum(one["log_probabilities"]), abs=1e-3)
            scores.append(one["score"])
        assert scores == sorted(scores, reverse=True)
    assert {path.name for path in plots.iterdir()} == {
        f"{n:06d}.png" for n in range(1, SENTENCES + 1)
    }
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in plots.iterdir())


def test_an_empty_file_gives_a_line(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    (empty := tmp_path / "empty").touch()
    for line in (f"translate {tiny_run}", f"score {tiny_run} {empty}", f"align {tiny_run} {empty}"):
        done = command(line, empty)
        assert (done.code, done.out) == (0, "")
        assert f"{empty}: is empty, so there is nothing to do" in done.err


def test_an_empty_side_has_a_score_too(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    texts = f"{write(tmp_path / 's', ['', 'The man.', ''])} {write(tmp_path / 't', ['Un homme.', '', ''])}"
    scores = [
        float(line) for line in command(f"score {tiny_run} {texts} --search.batch_size 2").lines
    ]
    assert len(scores) == 3
    for score, found in zip(
        scores, parsed(command(f"score {tiny_run} {texts} --json").lines), strict=True
    ):
        assert math.isfinite(score)
        assert score < 0
        assert score == pytest.approx(found["score"], abs=1e-3)
        assert found["score"] == pytest.approx(sum(found["log_probabilities"]), abs=1e-3)
        assert_sound(found)
    assert command(f"align {tiny_run} {texts}").lines[1:] == ["", ""]


def test_an_nbest_list_is_reranked(
    command: Command, tiny_run: Path, source: Path, target: Path, tmp_path: Path
) -> None:
    references = lines_of(target)
    candidates = [
        "1 ||| a b ||| lm= -1 d= 0 0 ||| -3.5 ||| 0-0",
        f"1 ||| {references[1]} ||| lm= -2 ||| -4",
        "1 |||  ||| lm= -3",
        f"4 ||| {references[4]}",
    ]
    done = command(f"score {tiny_run} {source} {write(tmp_path / 'nbest', candidates)}")
    rows = [line.split(" ||| ") for line in done.lines]
    assert [row[0] for row in rows] == ["1", "1", "1", "4"]
    assert {row[1] for row in rows[:3]} == {"a b", references[1], ""}
    scores = [float(row[3]) for row in rows]
    assert scores[:3] == sorted(scores[:3], reverse=True)
    assert next(row[2] for row in rows if row[1] == "a b").startswith("lm= -1 d= 0 0 rnnsearch= -")
    assert all(row[2].endswith(f"rnnsearch= {row[3]}") for row in rows)
    plain = command(f"score {tiny_run} {source} {target}").lines
    by_text = {row[1]: score for row, score in zip(rows, scores, strict=True)}
    for place in (1, 4):
        assert by_text[references[place]] == pytest.approx(float(plain[place]), abs=1e-3)


def test_an_nbest_list_through_a_pipe_is_refused(
    command: Command, tiny_run: Path, tmp_path: Path
) -> None:
    line = f"score {tiny_run} {write(tmp_path / 'source', ['The man.'])} -"
    said = "-:1: an n-best list cannot come through a pipe (write it to a file first)"
    assert_refused(command(line, stdin=b"0 ||| a ||| f= 1 ||| -3\n"), said)


def test_from_two_files_to_a_score(command: Command, tiny_corpus: Path, here: Path) -> None:
    """The run is resumed, and needs the prepared dataset no more."""
    for name in ("train.en", "train.fr"):
        (here / f"{name}.gz").write_bytes(gzip.compress((tiny_corpus / name).read_bytes()))
    dev = f"{tiny_corpus}/dev.en {tiny_corpus}/dev.fr"
    prepared = command(f"prepare train.en.gz train.fr.gz --dev {dev} --out store --recipe demo")
    assert (prepared.code, prepared.err) == (0, "")
    assert prepared.lines[1] == "pairs    300 read, 300 kept (100.00 %)"

    settings = (
        "training.batch_size=10 training.threads=1 stopping.validate_every=3 stopping.max_epochs=0"
    )
    limits = sets(*sizes(8), *settings.split())
    train = f"train demo --data store --out run {limits} --set stopping.max_updates"
    trained = command(f"{train}=3")
    assert (trained.code, trained.lines) == (0, ["run"])
    assert "reached stopping.max_updates = 3" in trained.err
    resumed = command(f"{train}=6 --resume")
    assert resumed.code == 0
    assert "reached stopping.max_updates = 6: 6 updates" in resumed.err

    shutil.move("run", "moved")
    shutil.rmtree("store")
    translated = command(f"translate moved {tiny_corpus}/test.en")
    Path("translated").write_text(translated.out, "utf-8")
    measured = command(f"evaluate --hyp translated --ref {tiny_corpus}/test.fr")
    assert [line.split()[0] for line in measured.lines] == ["BLEU", "chrF2"]
