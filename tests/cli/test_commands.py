"""What every command does with text, on runs that were trained for a moment: the shape of what comes out, and what must agree with what."""

from __future__ import annotations

import gzip
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Command = Callable[..., Any]
FIELDS = {"text", "tokens", "source_tokens", "score", "log_probabilities", "finished", "alignment"}


SENTENCES = 6


@pytest.fixture(scope="module")
def source(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """test.en, with test.fr and test.links beside it: the first short sentences of the corpus's test set."""
    folder = tmp_path_factory.mktemp("short")
    kept = [number for number, line in enumerate(read(tiny_corpus / "test.en")) if len(line.split()) < 11][:SENTENCES]
    assert len(kept) == SENTENCES
    for name in ("test.en", "test.fr", "test.links"):
        lines = read(tiny_corpus / name)
        (folder / name).write_text("".join(f"{lines[number]}\n" for number in kept), encoding="utf-8")
    return folder / "test.en"


@pytest.fixture
def target(source: Path) -> Path:
    return source.with_name("test.fr")


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def parsed(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


def assert_sound(result: dict[str, Any]) -> None:
    alignment = np.array(result["alignment"], dtype=float).reshape(len(result["tokens"]), len(result["source_tokens"]))
    assert result["source_tokens"][-1] == "</s>"
    assert ((alignment >= 0) & (alignment <= 1)).all()
    np.testing.assert_allclose(alignment.sum(axis=1), 1, atol=1e-3)  # five digits a weight are written


def test_the_nth_line_out_belongs_to_the_nth_line_in(command: Command, tiny_run: Path, source: Path) -> None:
    lines = read(source)
    together = command("translate", tiny_run, source)
    assert (together.code, together.err) == (0, "")
    mixed = [line for text in lines for line in (text, "", "  \t")]
    apart = command("translate", tiny_run, "-", "--batch-size", 2, stdin="\n".join(mixed).encode())  # the last line has no line feed
    assert apart.lines[0::3] == together.lines
    assert apart.lines[1::3] == apart.lines[2::3] == [""] * len(lines)
    assert len(set(together.lines)) > 1


def test_where_the_text_comes_from_does_not_matter(command: Command, tiny_run: Path, source: Path, tmp_path: Path) -> None:
    expected = command("translate", tiny_run, source).out
    content = source.read_bytes()
    (tmp_path / "packed.gz").write_bytes(gzip.compress(content))
    (tmp_path / "dos").write_bytes(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"))
    for words, stdin in (([], content), (["-"], content), ([tmp_path / "packed.gz"], b""), ([tmp_path / "dos"], b"")):
        assert command("translate", tiny_run, *words, stdin=stdin).out == expected


@pytest.mark.parametrize(
    "odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\t", "\0", "\r", "\ufeff", "\u00a0", "\u200b", "\u00ad"]
)
def test_only_a_line_feed_ends_a_line(command: Command, tiny_run: Path, odd: str) -> None:
    text = f"The man{odd}sees.\n{odd}\nThe {odd} man sees.{odd}\nThe last."
    done = command("translate", tiny_run, "--json", stdin=text.encode())
    first, second, third, last = parsed(done.lines)
    assert second["tokens"] == []
    assert last["source_tokens"] == ["The", "last", ".", "</s>"]
    assert third["source_tokens"] == ["The", "man", "sees", ".", "</s>"]
    assert first["source_tokens"] in (third["source_tokens"], ["The", "mansees", ".", "</s>"])


def test_nothing_in_is_nothing_out(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    for words in ([], ["--json"], ["--nbest", 3], ["--samples", 2], ["--links", tmp_path / "links"]):
        done = command("translate", tiny_run, *words, stdin=b"")
        assert (done.code, done.out, done.err) == (0, "", "")
    assert (tmp_path / "links").read_text() == ""


def test_an_empty_line_keeps_its_place_in_every_form(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    stdin = b"\nThe man sees.\n"
    [nothing, _] = parsed(command("translate", tiny_run, "--json", "--links", tmp_path / "links", stdin=stdin).lines)
    assert (nothing["text"], nothing["tokens"], nothing["source_tokens"], nothing["alignment"]) == ("", [], ["</s>"], [])
    assert len(read(tmp_path / "links")) == 2
    assert [line.split(" ||| ")[0] for line in command("translate", tiny_run, "--nbest", 2, stdin=stdin).lines] == ["0", "1", "1"]
    drawn = command("translate", tiny_run, "--samples", 2, "--temperature", 0.5, stdin=stdin)
    assert [line.split(" ||| ")[0] for line in drawn.lines] == ["0", "1", "1"]


def test_json_links_and_plots_show_the_same_alignment(command: Command, tiny_run: Path, source: Path, tmp_path: Path) -> None:
    links, plots = tmp_path / "links", tmp_path / "deep" / "plots"
    words = ("--nbest", 3, "--min-length-ratio", 0.5, "--max-length-ratio", 1)
    done = command("translate", tiny_run, source, "--json", "--links", links, "--alignment-plots", plots, *words)
    results = parsed(done.lines)
    assert len(results) == SENTENCES
    for result, line in zip(results, read(links), strict=True):
        assert set(result) == FIELDS | {"alternatives"}
        scores = []
        for one in (result, *result["alternatives"]):
            assert set(one) - {"alternatives"} == FIELDS
            assert_sound(one)
            assert one["finished"] == (len(one["log_probabilities"]) == len(one["tokens"]) + 1)
            assert one["score"] == pytest.approx(sum(one["log_probabilities"]), abs=1e-3)
            scores.append(one["score"])
        assert scores == sorted(scores, reverse=True)
        strongest = [int(np.argmax(row)) for row in result["alignment"]]
        last = len(result["source_tokens"]) - 1
        assert set(line.split()) == {f"{j}-{i}" for i, j in enumerate(strongest) if j < last}
    assert sorted(path.name for path in plots.iterdir()) == [f"{number:06d}.png" for number in range(1, SENTENCES + 1)]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in plots.iterdir())


def test_an_nbest_list_is_sorted_and_distinct(command: Command, tiny_run: Path, source: Path) -> None:
    done = command("translate", tiny_run, source, "--nbest", 4, "--normalise", "length")
    lists: dict[int, list[tuple[str, float, float]]] = {}
    for line in done.lines:
        number, text, feature, score = line.split(" ||| ")
        name, value = feature.split(" ")
        assert name == "rnnsearch="
        lists.setdefault(int(number), []).append((text, float(value), float(score)))
    assert list(lists) == list(range(SENTENCES))
    best = command("translate", tiny_run, source, "--normalise", "length").lines
    for number, candidates in lists.items():
        assert 1 <= len(candidates) <= 4
        assert candidates[0][0] == best[number]
        assert len({text for text, _, _ in candidates}) == len(candidates)
        assert [score for *_, score in candidates] == sorted((score for *_, score in candidates), reverse=True)
        assert all(value <= score for _, value, score in candidates)  # log p, and log p divided by the words


def test_search_options_reach_the_search(command: Command, tiny_unknown_run: Path, source: Path) -> None:
    plain = parsed(command("translate", tiny_unknown_run, source, "--json", "--min-length-ratio", 0.5).lines)
    assert any("<unk>" in result["tokens"] for result in plain)
    without = parsed(command("translate", tiny_unknown_run, source, "--json", "--min-length-ratio", 0.5, "--no-unk").lines)
    assert not any("<unk>" in result["tokens"] for result in without)
    longer = parsed(command("translate", tiny_unknown_run, source, "--json", "--min-length-ratio", 1).lines)
    for result in longer:
        assert len(result["tokens"]) >= len(result["source_tokens"]) - 1
    wider, narrow = (parsed(command("translate", tiny_unknown_run, source, "--json", "--beam", k).lines) for k in (12, 1))
    assert [result["score"] for result in wider] != [result["score"] for result in narrow]


def test_unknown_words_are_replaced_by_what_they_look_at(command: Command, tiny_unknown_run: Path, source: Path, tmp_path: Path) -> None:
    words = ("translate", tiny_unknown_run, source, "--json", "--min-length-ratio", 0.5)
    plain = parsed(command(*words).lines)
    replaced = parsed(command(*words, "--replace-unk").lines)
    looked_at = set()
    for before, after in zip(plain, replaced, strict=True):
        for old, new, row in zip(before["tokens"], after["tokens"], before["alignment"], strict=True):
            aligned = before["source_tokens"][int(np.argmax(row[:-1]))]
            assert new == (aligned if old == "<unk>" else old)
            looked_at |= {aligned} if old == "<unk>" else set()
        assert after["score"] == before["score"]
    assert len(looked_at) > 1
    one = min(looked_at)
    (tmp_path / "dictionary").write_text(f"{one}\tLÀ\n{one} LÀ-BAS\nabsent ici\n", encoding="utf-8")
    for option in (["--dictionary"], ["--replace-unk", "--dictionary"]):
        translated = parsed(command(*words, *option, tmp_path / "dictionary").lines)
        for old, before, after in zip(plain, replaced, translated, strict=True):
            expected = ["LÀ" if (was, word) == ("<unk>", one) else word for was, word in zip(old["tokens"], before["tokens"], strict=True)]
            assert after["tokens"] == expected
        assert any("LÀ" in result["text"] for result in translated)


def test_samples_are_drawn_from_their_seed(command: Command, tiny_run: Path, source: Path) -> None:
    first, again, other = (command("translate", tiny_run, source, "--samples", 3, "--seed", seed).out for seed in (5, 5, 6))
    assert first == again != other
    lines = [line.split(" ||| ") for line in first.split("\n")[:-1]]
    assert [int(number) for number, *_ in lines] == [number for number in range(SENTENCES) for _ in range(3)]
    assert len({text for _, text, *_ in lines}) > SENTENCES
    [one] = command("translate", tiny_run, "--samples", 1, stdin=b"The man sees.\n").lines
    assert "|||" not in one


@pytest.mark.parametrize("words", [(), ("--beam", 1), ("--normalise", "gnmt", "--coverage", 0.2)])
def test_the_batch_changes_nothing(command: Command, tiny_run: Path, source: Path, words: tuple[Any, ...]) -> None:
    limits = ("--json", "--min-length-ratio", 0.5)
    one, three, all_ = (parsed(command("translate", tiny_run, source, *words, *limits, "--batch-size", size).lines) for size in (1, 3, 64))
    for a, b, c in zip(one, three, all_, strict=True):
        assert a["tokens"] == b["tokens"] == c["tokens"]
        assert a["score"] == pytest.approx(b["score"], abs=1e-3) == pytest.approx(c["score"], abs=1e-3)
        np.testing.assert_allclose(a["alignment"], b["alignment"], atol=1e-4)
        np.testing.assert_allclose(a["alignment"], c["alignment"], atol=1e-4)


def test_an_ensemble(command: Command, tiny_run: Path, other_tiny_run: Path, source: Path, target: Path) -> None:
    words = (source, "--json", "--min-length-ratio", 0.5)
    [alone], [twice], [mixed] = (
        [parsed(command("translate", *runs, *words).lines)] for runs in ([tiny_run], [tiny_run] * 2, [tiny_run, other_tiny_run])
    )
    assert [result["tokens"] for result in alone] == [result["tokens"] for result in twice]
    assert [result["score"] for result in alone] == pytest.approx([result["score"] for result in twice], abs=1e-3)
    assert [result["tokens"] for result in alone] != [result["tokens"] for result in mixed]

    one, other, both = (
        parsed(command("score", *runs, source, target, "--json").lines)
        for runs in ([tiny_run], [other_tiny_run], [tiny_run, other_tiny_run])
    )
    for a, b, mean in zip(one, other, both, strict=True):
        expected = np.log((np.exp(a["log_probabilities"]) + np.exp(b["log_probabilities"])) / 2)
        np.testing.assert_allclose(mean["log_probabilities"], expected, atol=1e-4)
        np.testing.assert_allclose(mean["alignment"], (np.array(a["alignment"]) + np.array(b["alignment"])) / 2, atol=1e-4)


def test_scores_are_those_of_the_search(command: Command, tiny_run: Path, source: Path, tmp_path: Path) -> None:
    first = parsed(command("translate", tiny_run, source, "--json", "--nbest", 4).lines)
    found = [one for result in first for one in (result, *result["alternatives"])]
    lines = [line for line, result in zip(read(source), first, strict=True) for _ in (result, *result["alternatives"])]
    (tmp_path / "source").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "found").write_text("".join(f"{result['text']}\n" for result in found))
    scored = parsed(command("score", tiny_run, tmp_path / "source", tmp_path / "found", "--json").lines)
    plain = command("score", tiny_run, tmp_path / "source", tmp_path / "found", "--batch-size", 3).lines
    compared = 0
    for result, again, line in zip(found, scored, plain, strict=True):
        assert_sound(again)
        assert again["score"] == pytest.approx(sum(again["log_probabilities"]), abs=1e-3)
        assert float(line) == pytest.approx(again["score"], abs=1e-3)
        assert len(again["log_probabilities"]) == len(again["tokens"]) + 1
        if result["finished"] and again["tokens"] == result["tokens"]:  # joined words are not always cut in the same places
            assert again["score"] == pytest.approx(result["score"], abs=1e-3)
            np.testing.assert_allclose(again["alignment"], np.reshape(result["alignment"], np.shape(again["alignment"])), atol=1e-4)
            compared += 1
    assert compared


def test_an_empty_side_has_a_score_too(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("\nThe man.\n\n")
    (tmp_path / "target").write_text("L'homme.\n\n\n")
    scores = [float(line) for line in command("score", tiny_run, tmp_path / "source", tmp_path / "target").lines]
    assert len(scores) == 3
    assert all(math.isfinite(score) and score < 0 for score in scores)
    assert command("align", tiny_run, tmp_path / "source", tmp_path / "target").lines[1:] == ["", ""]


def test_an_nbest_list_is_reranked(
    command: Command, tiny_run: Path, other_tiny_run: Path, source: Path, target: Path, tmp_path: Path
) -> None:
    nbest = tmp_path / "nbest"
    references = read(target)
    candidates = ("1 ||| a b ||| lm= -1 d= 0 0 ||| -3.5 ||| 0-0", f"1 ||| {references[1]} ||| lm= -2 ||| -4", "1 |||  ||| lm= -3")
    nbest.write_text("".join(f"{line}\n" for line in (*candidates, f"4 ||| {references[4]}")), encoding="utf-8")
    done = command("score", other_tiny_run, source, nbest)
    rows = [line.split(" ||| ") for line in done.lines]
    assert [row[0] for row in rows] == ["1", "1", "1", "4"]
    assert {row[1] for row in rows[:3]} == {"a b", references[1], ""}
    assert [float(row[3]) for row in rows[:3]] == sorted((float(row[3]) for row in rows[:3]), reverse=True)
    features = {row[1]: row[2] for row in rows}
    assert features["a b"].startswith("lm= -1 d= 0 0 rnnsearch= -")
    for row in rows:
        assert row[2].endswith(f"rnnsearch= {row[3]}")
    plain = command("score", other_tiny_run, source, target).lines
    by_text = {row[1]: float(row[3]) for row in rows}
    assert by_text[references[1]] == pytest.approx(float(plain[1]), abs=1e-3)
    assert by_text[references[4]] == pytest.approx(float(plain[4]), abs=1e-3)

    nbest.write_text(command("translate", tiny_run, source, "--nbest", 3).out, encoding="utf-8")
    again = command("score", other_tiny_run, source, nbest)
    assert sorted(line.split(" ||| ")[:2] for line in again.lines) == sorted(line.split(" ||| ")[:2] for line in read(nbest))


def test_an_nbest_list_through_a_pipe_is_refused(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "source").write_text("The man.\n")
    done = command("score", tiny_run, tmp_path / "source", "-", stdin=b"0 ||| a ||| f= 1 ||| -3\n")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "-:1: an n-best list cannot come through a pipe (write it to a file first)" in done.err


def test_links_are_positions_of_words(command: Command, tiny_run: Path, source: Path, target: Path, tmp_path: Path) -> None:
    soft = parsed(command("align", tiny_run, source, target, "--json", "--alignment-plots", tmp_path / "plots").lines)
    hard = command("align", tiny_run, source, "-", "--batch-size", 3, stdin=target.read_bytes()).lines
    for result, line, sentence in zip(soft, hard, read(target), strict=True):
        assert_sound(result)
        assert "".join(result["tokens"]) == sentence.replace(" ", "")
        links = [tuple(map(int, link.split("-"))) for link in line.split()]
        assert links == sorted(links)
        assert all(j < len(result["source_tokens"]) - 1 and i < len(result["tokens"]) for j, i in links)
        assert len({i for _, i in links}) == len(links)
    assert len(list((tmp_path / "plots").iterdir())) == SENTENCES
    links_file = tmp_path / "links"
    links_file.write_text("".join(f"{line}\n" for line in hard))
    measured = command("aer", "--links", links_file, "--gold", source.with_name("test.links"))
    assert measured.code == 0
    assert measured.out.startswith("AER ")


@pytest.mark.parametrize(
    ("links", "gold", "said"),
    [
        ("0-0 1-1\n", "0-0 1-1\n", "AER 0.00 (precision 100.00, recall 100.00, F 100.00; |A| = 2, |S| = 2, |P| = 2)"),
        ("0-0 1-1\n", "0-0 1?1 2-2\n", "AER 25.00 (precision 100.00, recall 50.00, F 66.67; |A| = 2, |S| = 2, |P| = 3)"),
        ("0-1\n\n", "0-0\n0-0\n", "AER 100.00 (precision 0.00, recall 0.00, F 0.00; |A| = 1, |S| = 2, |P| = 2)"),
        ("0-0\n1-0\n", "1 1 1 S\n2 2 1 P\n2 1 1\n", "AER 25.00 (precision 100.00, recall 50.00, F 66.67; |A| = 2, |S| = 2, |P| = 3)"),
    ],
)
def test_alignment_error_rates_worked_out_by_hand(command: Command, tmp_path: Path, links: str, gold: str, said: str) -> None:
    (tmp_path / "links").write_text(links)
    (tmp_path / "gold").write_text(gold)
    assert command("aer", "--links", tmp_path / "links", "--gold", tmp_path / "gold").lines == [said]
    assert command("aer", "--links", "-", "--gold", tmp_path / "gold", stdin=links.encode()).lines == [said]


def test_a_text_has_a_perfect_score_against_itself(command: Command, source: Path, target: Path) -> None:
    bleu, chrf = command("evaluate", "--hyp", target, "--ref", target).lines
    assert bleu.startswith("BLEU 100.00 (nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert chrf.startswith("chrF2 100.00 (nrefs:1|")
    bleu, _ = command("evaluate", "--hyp", "-", "--ref", target, "--tokenise", "char", stdin=source.read_bytes()).lines
    assert "tok:char" in bleu
    assert 0 < float(bleu.split()[1]) < 50


def test_from_two_files_to_a_score(command: Command, tiny_corpus: Path, tmp_path: Path) -> None:
    dev = ("--dev", tiny_corpus / "dev.en", tiny_corpus / "dev.fr")
    for name in ("train.en", "train.fr"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tiny_corpus / name).read_bytes()))
    prepared = command("prepare", tmp_path / "train.en.gz", tmp_path / "train.fr.gz", *dev, "--out", tmp_path / "store", "--recipe", "demo")
    assert (prepared.code, prepared.err) == (0, "")
    assert prepared.lines[0] == "pairs    300 read, 300 kept (100.00 %)"

    sizes = [f"model.{name}_size=8" for name in ("embedding", "hidden", "alignment", "maxout")]
    settings = [*sizes, "training.threads=1", "training.validate_every=3", "training.batch_size=10", "training.max_epochs=0"]
    words = [word for setting in settings for word in ("--set", setting)]
    train = ("train", "demo", "--data", tmp_path / "store", "--out", tmp_path / "run", *words)
    trained = command(*train, "--set", "training.max_updates=3")
    assert (trained.code, trained.lines) == (0, [str(tmp_path / "run")])
    assert "reached training.max_updates = 3" in trained.err

    over = command(*train, "--set", "training.max_updates=6")
    assert over.code == 2
    assert "holds a run already" in over.err
    resumed = command(*train, "--set", "training.max_updates=6", "--resume")
    assert resumed.code == 0
    assert "reached training.max_updates = 6: 6 updates" in resumed.err

    shutil.move(tmp_path / "run", tmp_path / "moved")
    shutil.rmtree(tmp_path / "store")
    translated = command("translate", tmp_path / "moved", tiny_corpus / "test.en")
    (tmp_path / "translated").write_text(translated.out, encoding="utf-8")
    measured = command("evaluate", "--hyp", tmp_path / "translated", "--ref", tiny_corpus / "test.fr")
    assert [line.split()[0] for line in measured.lines] == ["BLEU", "chrF2"]


def test_a_corpus_without_development_text_trains(command: Command, tiny_corpus: Path, tmp_path: Path) -> None:
    command("prepare", tiny_corpus / "test.en", tiny_corpus / "test.fr", "--out", tmp_path / "store", "--set", "data.max_words=30")
    sizes = [word for name in ("embedding", "hidden", "alignment", "maxout") for word in ("--set", f"model.{name}_size=8")]
    done = command("train", "demo", "--data", tmp_path / "store", "--out", tmp_path / "run", *sizes, "--set", "training.max_updates=1")
    assert done.code == 0
    assert len(command("translate", tmp_path / "run", stdin=b"The man.\n").lines) == 1


def test_a_store_is_replaced_only_when_asked(command: Command, tiny_corpus: Path, tmp_path: Path) -> None:
    files = tiny_corpus / "dev.en", tiny_corpus / "dev.fr"
    assert command("prepare", *files, "--out", tmp_path / "store").code == 0
    assert command("prepare", *files, "--out", tmp_path / "store").code == 2
    assert command("prepare", *files, "--out", tmp_path / "store", "--overwrite").code == 0


def test_words_of_pieces(command: Command, tiny_subword_run: Path, source: Path, target: Path) -> None:
    forced = parsed(command("align", tiny_subword_run, source, target, "--json").lines)
    drawn = parsed(command("translate", tiny_subword_run, source, "--json", "--samples", 2, "--max-length-ratio", 1).lines)
    for result in (*forced, *drawn, *(other for first in drawn for other in first["alternatives"])):
        assert_sound(result)
        assert len(result["log_probabilities"]) >= len(result["tokens"])
        assert not any("▁" in token for token in result["tokens"])
    for result, words in zip(forced, read(target), strict=True):
        assert "".join(result["tokens"]) == words.replace(" ", "")
        assert len(result["log_probabilities"]) > len(result["tokens"]) + 1  # 80 pieces do not spell these sentences' words whole


def test_foreign_code_needs_consent(command: Command, tiny_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = "from pathlib import Path\nfrom rnnsearch.model.alignment import AdditiveAlignment\n\nPath('ran').touch()\n\n\n"
    Path("their_scorer.py").write_text(f"{module}class Scorer(AdditiveAlignment):\n    pass\n")
    sizes = [word for name in ("embedding", "hidden", "alignment", "maxout") for word in ("--set", f"model.{name}_size=8")]
    limits = ("--set", "training.max_updates=1", "--set", "training.validate_bleu=false", "--set", "training.samples=0")
    done = command("train", "demo", "--data", tiny_store, "--out", "run", *sizes, *limits, "--set", "model.alignment=their_scorer:Scorer")
    assert done.code == 0  # whoever trains has named the code himself
    Path("ran").unlink()
    for words in (
        ["translate", "run", "-"],
        ["score", "run", "their_scorer.py", "their_scorer.py"],
        ["align", "run", "run/config.toml", "run/config.toml"],
    ):
        refused = command(*words, stdin=b"The man.\n")
        assert (refused.code, refused.out) == (2, "")
        assert "model.alignment = 'their_scorer:Scorer' names code outside rnnsearch (add --trust-code" in refused.err
        assert not Path("ran").exists()
    assert len(command("translate", "run", "--trust-code", "--max-length-ratio", 1, stdin=b"The man.\n").lines) == 1
