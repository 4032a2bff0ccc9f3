"""`rnnsearch evaluate` with several systems, with n-best lists and with runs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rnnsearch.evaluation.bleu import bleu, bleu_statistics, chrf_statistics, multi_bleu_statistics
from rnnsearch.text.tokenise import Tokeniser

Command = Callable[..., Any]


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


@pytest.fixture(scope="module")
def texts(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of eight short pairs, `test.en` and `test.fr`, and of a system that forgets the last word, `short.out`."""
    folder = tmp_path_factory.mktemp("texts")
    chosen = [number for number, line in enumerate(read(tiny_corpus / "test.en")) if len(line.split()) < 12][:8]
    for side in ("en", "fr"):
        lines = read(tiny_corpus / f"test.{side}")
        (folder / f"test.{side}").write_text("".join(f"{lines[number]}\n" for number in chosen), encoding="utf-8")
    (folder / "short.out").write_text("".join(f"{' '.join(line.split()[:-1])}\n" for line in read(folder / "test.fr")), encoding="utf-8")
    return folder


def test_several_files_are_several_systems(command: Command, texts: Path) -> None:
    done = command(
        "evaluate", "--hyp", texts / "short.out", texts / "test.en", "--system", f"gold={texts / 'test.fr'}", "--ref", texts / "test.fr"
    )
    assert (done.code, done.err) == (0, "")
    heading, *rows = done.out.split("\n\n")[0].split("\n")
    assert heading.split() == ["BLEU", "chrF2", "length", "ratio"]
    assert [row.split()[0] for row in rows] == ["short", "test", "gold"]
    assert rows[2].split() == ["gold", "100.00", "100.00", "1.000"]
    assert rows[0].split()[1] == f"{bleu(read(texts / 'short.out'), read(texts / 'test.fr')).value:.2f}"


def test_json_holds_lengths_windows_and_significance(command: Command, texts: Path) -> None:
    words = ("--by-length", "--window", 5, "--significance", "--resamples", 20, "--ter", "--multi-bleu", "fr", "--json")
    inputs = ("--hyp", texts / "short.out", "--system", f"gold={texts / 'test.fr'}", "--ref", texts / "test.fr", "--src", texts / "test.en")
    done = command("evaluate", *inputs, *words)
    [line] = done.lines
    whole = json.loads(line)
    assert whole["resamples"] == 20
    assert [(row["shortest"], row["longest"]) for row in whole["lengths"] if (row["system"], row["metric"]) == ("gold", "BLEU")] == [
        *((1, 10), (11, 20), (21, 30), (31, 40), (41, 50), (51, 60), (61, None))
    ]
    assert whole["windows"] == []  # fewer than 20 sentences everywhere
    assert [row["metric"] for row in whole["significance"]] == ["BLEU", "chrF2", "multi-BLEU", "TER"]
    assert all(row["share_better"] == 1 and row["p_randomisation"] < 0.02 for row in whole["significance"])
    expected = multi_bleu_statistics(read(texts / "short.out"), read(texts / "test.fr"), Tokeniser("moses", "fr")).score()
    [row] = [row for row in whole["scores"] if (row["system"], row["metric"]) == ("short", "multi-BLEU")]
    assert row["value"] == expected.value
    assert whole["signatures"]["multi-BLEU"] == expected.signature
    again = command("evaluate", *inputs, *words[:-1], "--tsv")
    assert len(again.lines) == 1 + sum(len(whole[table]) for table in ("scores", "lengths", "windows", "significance"))


def test_an_nbest_list_is_its_first_candidates(command: Command, texts: Path, tmp_path: Path) -> None:
    lines = [f"{number} ||| {text} ||| m= 1 ||| 1" for number, line in enumerate(read(texts / "test.fr")) for text in (line, "rien")]
    (tmp_path / "list").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    assert command("evaluate", "--hyp", tmp_path / "list", "--ref", texts / "test.fr").lines[0].startswith("BLEU 100.00 ")


def test_a_run_adds_its_likelihood_and_its_translations_without_unk(
    command: Command, tiny_unknown_run: Path, texts: Path, tmp_path: Path
) -> None:
    source, reference = texts / "test.en", texts / "test.fr"
    (tmp_path / "translated").write_text(command("translate", tiny_unknown_run, source).out, encoding="utf-8")
    inputs = ("--ref", reference, "--src", source, "--resamples", 5, "--json")
    own = json.loads(command("evaluate", "--run", tiny_unknown_run, *inputs).out)
    given = json.loads(command("evaluate", "--hyp", tmp_path / "translated", "--run", tiny_unknown_run, *inputs).out)
    assert own == given
    scores = {(row["metric"], row["pairs"]): row["value"] for row in own["scores"]}
    forced = [json.loads(line) for line in command("score", tiny_unknown_run, source, reference, "--json").lines]
    nll, words = -sum(one["score"] for one in forced), sum(len(one["tokens"]) + 1 for one in forced)
    assert scores["NLL per sentence", "all"] == pytest.approx(nll / 8, abs=1e-4)
    assert scores["perplexity", "all"] == pytest.approx(math.exp(nll / words), rel=1e-4)
    assert own["systems"] == [{"name": tiny_unknown_run.name, "run": str(tiny_unknown_run), "candidates": None}]
    assert own["search"][tiny_unknown_run.name]["beam"] == 4
    vocabularies = {side: set(read(tiny_unknown_run / f"vocabulary.{side}.txt")) for side in ("source", "target")}
    known = [
        number
        for number, (ours, theirs) in enumerate(zip(read(source), read(reference), strict=True), 1)
        if set(Tokeniser("moses", "en").words(ours)) <= vocabularies["source"]
        and set(Tokeniser("moses", "fr").words(theirs)) <= vocabularies["target"]
    ]
    assert own["lines_without_unknown_words"] == known


def test_on_known_pairs_no_unk_is_written(command: Command, tiny_unknown_run: Path, tiny_run: Path, tmp_path: Path) -> None:
    """Pairs of words that both runs know; one of the runs knows so few that it writes UNK wherever it may."""
    words = {}
    for side, name in (("en", "source"), ("fr", "target")):
        few, many = (read(run / f"vocabulary.{name}.txt")[2:] for run in (tiny_unknown_run, tiny_run))
        words[side] = [word for word in few if word in many and word.isalpha()]
    for side in words:
        lines = [" ".join(words[side][start : start + 5]) for start in range(6)] + ["nobody knows these words"]
        (tmp_path / f"test.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "other.out").write_text("rien\n" * 6 + "autre chose\n", encoding="utf-8")
    inputs = ("--ref", tmp_path / "test.fr", "--src", tmp_path / "test.en", "--beam", 2, "--resamples", 5, "--json")
    runs = (tiny_unknown_run, tiny_run)
    whole = json.loads(command("evaluate", "--run", *runs, "--system", f"other={tmp_path / 'other.out'}", *inputs).out)
    assert whole["lines_without_unknown_words"] == [1, 2, 3, 4, 5, 6]
    rows = {(row["system"], row["metric"]): row for row in whole["scores"] if row["pairs"] == "without unknown words"}
    assert {system for system, _ in rows} == {*(run.name for run in runs), "other"}
    assert {row["sentences"] for row in rows.values()} == {6}
    source = "".join(f"{line}\n" for line in read(tmp_path / "test.en")[:6]).encode()
    may_write = command("translate", tiny_unknown_run, "--beam", 2, stdin=source).out
    assert "<unk>" in may_write
    expected = command("translate", tiny_unknown_run, "--no-unk", "--beam", 2, stdin=source).lines
    for name, metric in (("chrF2", chrf_statistics), ("BLEU", bleu_statistics)):
        assert rows[tiny_unknown_run.name, name]["value"] == metric(expected, read(tmp_path / "test.fr")[:6]).score().value
