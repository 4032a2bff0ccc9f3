"""What `rnnsearch aer` says of one link file and of several."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import Command, assert_refused

# Gold: sentence 1 has S 0-0 1-1 and P 1-2 besides; sentence 2 has S 0-0.
GOLD = "0-0 1-1 1?2\n0-0\n"
LINKS = {"a": "0-0 1-2\n0-0\n", "b": "0-0 1-1\n0-1\n"}
# By hand, over both sentences: a has |A| 3, |A∩S| 2, |A∩P| 3 of |S| 3; b has |A| 3, |A∩S| 2, |A∩P| 2.
AER = {"a": 1 - 5 / 6, "b": 1 - 4 / 6}
PRECISION = {"a": 1.0, "b": 2 / 3}
RECALL = {"a": 2 / 3, "b": 2 / 3}


@pytest.fixture
def folder(here: Path) -> Path:
    for name, text in {**LINKS, "gold": GOLD}.items():
        (here / name).write_text(text * 10)  # as many sentences as differences need
    return here


def test_json_of_several_systems(command: Command, folder: Path) -> None:
    done = command("aer", "--links", "a", "b", "--gold", "gold", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["gold"], found["sentences"]) == ("gold", 20)
    for system, name in zip(found["systems"], "ab", strict=True):
        assert system["name"] == name
        rates = (system["aer"], system["precision"], system["recall"])
        assert rates == pytest.approx((AER[name], PRECISION[name], RECALL[name]), abs=1e-6)
        assert system["f_measure"] == pytest.approx(2 / (1 / PRECISION[name] + 1 / RECALL[name]))
        assert (system["links"], system["sure"], system["possible"]) == (30, 30, 40)
        assert system["monotone"] == 1
    assert found["agreement"] == [
        [1, pytest.approx(2 / 6, abs=1e-6)],
        [pytest.approx(2 / 6, abs=1e-6), 1],
    ]
    (difference,) = found["differences"]
    assert (difference["system"], difference["other"], difference["difference"]) == (
        "a",
        "b",
        pytest.approx(AER["b"] - AER["a"], abs=1e-6),
    )
    assert 0 < difference["p"] <= 1


def test_table_of_several_systems(command: Command, folder: Path) -> None:
    lines = command("aer", "--links", "a", "b", "--gold", "gold").lines
    heading, a, b = (re.split("  +", line) for line in lines[:3])
    assert heading == [
        "System",
        "AER, %",
        "95 % interval",
        "Precision, %",
        "Recall, %",
        "F, %",
        "Links",
    ]
    assert a[:2] + a[3:] == ["a", "16.67", "100.00", "66.67", "80.00", "30"]
    assert b[:2] + b[3:] == ["b", "33.33", "66.67", "66.67", "66.67", "30"]
    low, high = map(float, a[2].split("–"))
    assert low < 16.67 < high
    assert "agreement 33.33: a, b" in lines
    (difference,) = (line for line in lines if line.startswith("b  ") and "(p " in line)
    assert re.fullmatch(r"b +\+16.67\*? \(p . 0.\d+\)  +–", difference)


def test_the_interval_of_a_single_system_and_a_latex_table(command: Command, folder: Path) -> None:
    first, second = command("aer --links a --gold gold").lines
    assert first.startswith("AER 16.67 (precision 100.00, recall 66.67, ")
    assert re.fullmatch(r"95 % bootstrap interval of AER: [\d.]+–[\d.]+", second)
    latex = command("aer --links a b --gold gold --latex").out
    assert r"a & \textbf{16.67} & " in latex
    assert r"\begin{tabular}{lrrrrrr}" in latex


def test_reversed_files(command: Command, folder: Path) -> None:
    expected = command("aer", "--links", "a", "--gold", "gold").out
    Path("a.turned").write_text("0-0 2-1\n0-0\n" * 10)
    assert (
        command("aer", "--links", "a.turned", "--gold", "gold", "--links-reversed").out == expected
    )
    assert command("aer", "--links", "a.turned", "--gold", "gold").out != expected


@pytest.mark.parametrize(
    ("others", "remedy"),
    [([], "target-source: --links-reversed or: perl"), (["a"], "target-source: perl")],
)
def test_links_that_fit_when_exchanged_are_asked_about(
    command: Command, folder: Path, others: list[str], remedy: str
) -> None:
    Path("a").write_text("0-0 1-2 2-3 3-1\n" * 20)
    Path("turned").write_text("0-0 2-1 3-2 1-3\n" * 20)
    done = command("aer", "--links", "turned", *others, "--gold", "a", "--gold-from", "0")
    warned = "warning: turned: AER is 0.00 with source and target exchanged, 75.00 without. "
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert warned in done.err
    assert remedy in done.err
    assert command("aer", "--links", "a", "--gold", "a").err == ""
    done = command("links", "--forward", "a", "--reverse", "turned", "--out", "both")
    assert (
        "have 25.0 % of their links in common, but 100.0 % with source and target exchanged in one"
        in done.err
    )


@pytest.mark.parametrize(
    ("first", "moved"), [((0, 1), "source"), ((1, 0), "target"), ((0, 0), "all")]
)
def test_naacl_gold_that_counts_from_zero_is_noticed(
    command: Command, here: Path, first: tuple[int, int], moved: str
) -> None:
    """Its links to word 0 were taken for the empty word, the others for their neighbours. The file
    cannot tell: it has no line `1 0 0`."""
    pairs = [(0, 1), (1, 0), (1, 1), (2, 3), (3, 2), (4, 5), (5, 4)]
    Path("links").write_text(10 * (" ".join(f"{i}-{j}" for i, j in pairs) + "\n"))
    gold = [f"{n} {i + first[0]} {j + first[1]}\n" for n in range(1, 11) for i, j in pairs]
    Path("gold.wa").write_text("".join(gold))
    done = command("aer --links links --gold gold.wa")
    assert f"warning: links: AER is 0.00 with {moved} positions one lower, " in done.err
    assert "NAACL links both from 1" in done.err
    assert (done.code, done.err.count("\n")) == (0, 1)


FROM_ONE = "1-1 2p2 3-3\n1-1 2-3 3p2\n1-1\n"
FROM_ZERO = "0-0 1-1 2-2\n0-0 1-2 2-1\n0-0\n"


def test_links_that_count_from_one_are_asked_about(command: Command, tmp_path: Path) -> None:
    """All links are possible gold links and all sure ones are found, so the error rate is 0."""
    (tmp_path / "gold").write_text(FROM_ONE)
    (tmp_path / "links").write_text(FROM_ZERO)
    line = f"aer --links {tmp_path}/links --gold {tmp_path}/gold"
    message = (
        "gold: its gold links seem to count words from 1: none has position 0 (add --gold-from 1"
    )
    assert_refused(command(line), message)
    assert command(f"{line} --gold-from 1").out.startswith("AER 0.00 ")
    assert not command(f"{line} --gold-from 0").out.startswith("AER 0.00 ")
    turned = command(f"aer --links {tmp_path}/gold --gold {tmp_path}/links")
    assert_refused(turned, f"{tmp_path}/gold: the links seem to count words from 1")
    refused = command(f"aer --links {tmp_path}/links --gold {tmp_path}/links --gold-from 1")
    assert_refused(refused, "links:1: the link 0-0 is of position 0, but the links count from 1")


def test_prepare_does_not_guess_at_links_from_one(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("the cat sleeps .\nwe see it\nyes\n")
    (tmp_path / "a.fr").write_text("le chat dort .\nnous le voyons\noui\n")
    (tmp_path / "links").write_text(FROM_ONE.replace("p", "-"))
    line = f"prepare {tmp_path}/a.en {tmp_path}/a.fr --links {tmp_path}/links --out {tmp_path}/out"
    assert_refused(command(line), "links: its links seem to count words from 1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            {"source_tokens": ["ein", "Buch"], "tokens": ["a"]},
            "needs 2 target words, but the sentence has 1",
        ),
        (
            {"source_tokens": ["Buch", "</s>"], "tokens": ["a", "book"], "alignment": []},
            "needs 2 source words",
        ),
    ],
)
def test_gold_links_of_another_tokenisation_are_refused(
    command: Command, tmp_path: Path, words: dict[str, object], said: str
) -> None:
    lines = [json.dumps({"links": [[0, 0]]}), json.dumps({"links": [[0, 0]]} | words)]
    (tmp_path / "links.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "gold").write_text("0-0 7-7\n0-0 1-1\n")
    done = command("aer", "--links", tmp_path / "links.jsonl", "--gold", tmp_path / "gold")
    assert_refused(done, "links.jsonl:2: the gold link 1-1", said, "--align.words given")


def test_a_few_sentences_are_not_compared(command: Command, tmp_path: Path) -> None:
    for name, text in {**LINKS, "gold": GOLD}.items():
        (tmp_path / name).write_text(text)
    done = command(f"aer --links {tmp_path}/a {tmp_path}/b --gold {tmp_path}/gold")
    assert "difference" not in done.out
    assert done.err == "fewer than 20 sentences: no differences and no p-values\n"


def test_words_that_are_no_lists_are_ignored(command: Command, tmp_path: Path) -> None:
    line = json.dumps({"links": [[0, 0]], "source_tokens": 3, "tokens": 4})
    (tmp_path / "links.jsonl").write_text(f"{line}\n")
    (tmp_path / "gold").write_text("0-0\n")
    assert (
        command("aer", "--links", tmp_path / "links.jsonl", "--gold", tmp_path / "gold").code == 0
    )


def test_links_of_other_words_than_the_gold_links_are_noticed(
    command: Command, folder: Path
) -> None:
    Path("characters").write_text("0-0 4-2\n2-0\n" * 10)
    done = command("aer --links characters --gold gold")
    assert (done.code, done.err.count("\n")) == (0, 1), done.err
    assert "characters: in 20 of 20 sentences, links are far behind the last gold link" in done.err
    assert command("aer --links a --gold gold").err == ""


def test_words_are_compared_in_a_stream_too(command: Command, folder: Path) -> None:
    line = json.dumps({"source_tokens": ["a"], "tokens": ["b"], "links": [[0, 0]]})
    lines = f"{line}\n" * 20
    Path("j.jsonl").write_text(lines)
    assert_refused(command("aer --links j.jsonl --gold gold"), "needs 2 source words")
    assert_refused(
        command("aer --links - --gold gold", stdin=lines.encode()), "needs 2 source words"
    )
