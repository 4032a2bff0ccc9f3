"""Benchmarks do what they say: the work that they name, and what is printed follows from what was measured. Never a time."""

from __future__ import annotations

import gzip
import json
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from rnnsearch.config import load_config
from rnnsearch.model.alignment import ALIGNMENTS
from rnnsearch.model.cells import CELLS
from rnnsearch.model.linear import Linear, LinearCache, sequence
from rnnsearch.model.network import TranslationNetwork
from rnnsearch.system.machine import PRECISIONS
from rnnsearch.text.store.batches import Batch
from rnnsearch.training.trainer import Trainer
from rnnsearch.translation import bounded_posterior, forced, forced_pairs

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
ABLATIONS = BENCHMARKS / "ablations.py"
OWN = """
from rnnsearch.model.alignment import GeneralAlignment

class Mine(GeneralAlignment): pass
"""


@pytest.mark.parametrize(("precision", "rounding"), [("float32", 1e-4), ("bfloat16", 0.03)])
def test_every_form_of_an_update_computes_the_same(precision: str, rounding: float) -> None:
    """The gradient of each is that of the network as it is, but for rounding, and its optimiser moves the parameters alike."""
    script = runpy.run_path(str(ABLATIONS))
    sizes = [f"model.{name}_size={size}" for name, size in {"embedding": 6, "hidden": 8, "alignment": 5, "maxout": 4}.items()]
    settings = load_config(overrides=[*sizes, "model.initialisation=glorot", f"training.precision={precision}", "training.clip_norm=0"])
    ids, lengths = torch.randint(2, 12, (2, 5, 4)), torch.full((5,), 4)
    results = {}
    for form, without in script["FORMS"].items():
        torch.manual_seed(1)
        trainer = Trainer(TranslationNetwork(settings.model, 12, 12, product_dtype=PRECISIONS[precision]), settings.training, 0)
        before = torch.cat([parameter.detach().flatten() for parameter in trainer.parameters])
        with without(trainer):
            update = trainer.update([Batch(ids[0], lengths, ids[1], lengths)], 1)
        moved = torch.cat([parameter.detach().flatten() for parameter in trainer.parameters]) - before
        results[form] = (update.nll, update.gradient_norm, moved)
    nll, norm, moved = results.pop("as it is")
    assert len(results) == 7
    for form, found in results.items():
        assert found[:2] == pytest.approx((nll, norm), rel=rounding), form
        assert float((found[2] - moved).norm() / moved.norm()) < (0.3 if precision == "bfloat16" else 1e-2), form


@pytest.mark.parametrize(("form", "node"), [("as it is", "_UseBackward"), ("plain-gradients", "ToCopy"), ("float32-sums", "_Float32Use")])
def test_a_product_is_of_the_form_that_is_said(form: str, node: str) -> None:
    module, x = Linear(3, 3), torch.randn(5, 3)
    script = runpy.run_path(str(ABLATIONS))
    with script["FORMS"][form](None), sequence(LinearCache(torch.bfloat16)):
        assert node in str(module(x).grad_fn)


@pytest.mark.parametrize(("precision", "parts"), [("float32", "alignment"), ("bfloat16", "cell")])
def test_a_row_for_every_part(
    precision: str, parts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "scorer_to_time.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    small = ["--hidden", "4", "--alignment", "3", "--words", "9", "--length", "2", "--batch", "2", "--updates", "1", "--threads", "1"]
    own = ["--own", "scorer_to_time:Mine", "--json", "--without", "plain-gradients", "float32-sums"]
    monkeypatch.setattr(sys, "argv", ["ablations.py", *small, "--precision", precision, "--parts", parts, *own])
    runpy.run_path(str(ABLATIONS), run_name="__main__")
    result = json.loads(capsys.readouterr().out)
    names = {"alignment": ALIGNMENTS, "cell": CELLS}[parts]
    assert [(row["part"], row["name"]) for row in result["rows"]] == [
        *((parts, name) for name in names),
        ("alignment", "scorer_to_time:Mine"),
    ]
    for row in result["rows"]:
        for form in ("as it is", "plain-gradients", "float32-sums"):
            assert row["ratios"][form] == pytest.approx([row["seconds"][form] / row["seconds"]["as it is"]] * 3)


def growth(folder: Path, *more: str) -> list[str]:
    axes = ["--batch", "2", "4", "--length", "2", "--words", "9", "--hidden", "4", "8"]
    middle = ["--middle-batch", "2", "--middle-length", "2", "--middle-words", "9", "--middle-hidden", "4"]
    return ["growth.py", *axes, *middle, "--updates", "1", "--precision", "float32", "--out", str(folder), *more]


def test_growth_measures_every_point_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", growth(tmp_path))
    runpy.run_path(str(BENCHMARKS / "growth.py"), run_name="__main__")
    first, text = json.loads((tmp_path / "growth.json").read_text()), capsys.readouterr().out
    points = [(row["batch"], row["length"], row["words"], row["hidden"]) for row in first["rows"]]
    assert points == [(2, 2, 9, 4), (4, 2, 9, 4), (2, 2, 9, 8)]
    assert text == (tmp_path / "growth.md").read_text()
    assert "| length | nan |" in text  # one point has no slope
    assert (tmp_path / "growth.png").stat().st_size > 1000

    monkeypatch.setattr(sys, "argv", growth(tmp_path, "--hidden", "4", "8", "12"))
    runpy.run_path(str(BENCHMARKS / "growth.py"), run_name="__main__")
    assert json.loads((tmp_path / "growth.json").read_text())["rows"][:3] == first["rows"]  # not measured again
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_exponent_is_the_slope() -> None:
    exponent = runpy.run_path(str(BENCHMARKS / "growth.py"))["exponent"]
    rows = [{"operations": 10.0**n, "seconds": 0.3 * 10 ** (1.5 * n)} for n in range(1, 5)]
    assert exponent(rows) == pytest.approx(1.5)


def test_the_profile_of_an_update(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Every part of an update is met, shares are of one whole, and the ceiling's share is that of the figures beside it."""
    sizes = [f"--set=model.{name}_size=8" for name in ("embedding", "hidden", "alignment", "maxout")]
    small = ["--words", "9", "--length", "3", "--updates", "1", "--squares", "16", "--precision", "float32"]
    monkeypatch.setattr(sys, "argv", ["update_profile.py", *sizes, "--set=training.batch_size=2", *small, "--json"])
    script = runpy.run_path(str(BENCHMARKS / "update_profile.py"), run_name="__main__")
    found = json.loads(capsys.readouterr().out)
    assert list(found["parts"]) == [*script["PARTS"], "the rest"]
    assert all(share > 0 for share in found["parts"].values())
    for shares in (found["parts"], found["kinds"]):
        assert sum(shares.values()) == pytest.approx(1.0)
    assert found["kinds"]["matrix products"] > 0
    assert found["kinds"]["tanh, σ, exp"] > 0
    assert found["operations_per_second"] == pytest.approx(found["operations"] / found["seconds"])
    assert found["share_of_ceiling"] == pytest.approx(found["operations_per_second"] / found["ceiling"])


@pytest.mark.parametrize(("bleu", "looks"), [("0", 1), ("101", 3)])
def test_time_to_quality_ends_at_the_bleu_or_with_the_recipe(
    bleu: str, looks: int, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It looks at the end of each epoch and at the end of training; the clock of training stands still while it translates."""
    for old, new in (("train", "train"), ("test", "test2016")):
        for language in ("en", "fr"):
            (tmp_path / f"{new}.{language}.gz").write_bytes(gzip.compress((tiny_corpus / f"{old}.{language}").read_bytes()))
    small = [f"--set=model.{name}_size=8" for name in ("embedding", "hidden", "encoder", "alignment", "maxout")]
    small += ["--set=training.max_epochs=2.5", "--set=training.batch_size=50", "--set=search.max_length_ratio=1.2"]
    monkeypatch.setattr(sys, "argv", ["time_to_quality.py", str(tmp_path), *small, "--from-epoch", "1", "--bleu", bleu, "--json"])
    with pytest.raises(SystemExit) as leaving:
        runpy.run_path(str(BENCHMARKS / "time_to_quality.py"), run_name="__main__")
    found = json.loads(capsys.readouterr().out)
    assert found["reached"] == (bleu == "0") == (leaving.value.code == 0)
    assert [look["epochs"] for look in found["looks"]] == [1, 2, 2.5][:looks]
    assert [look["updates"] for look in found["looks"]] == [6, 12, 15][:looks]
    spent = [seconds for look in found["looks"] for seconds in (look["training"]["wall"], look["in_all"]["wall"])]
    assert all(training < whole for training, whole in zip(spent[::2], spent[1::2], strict=True))
    assert spent[::2] == sorted(spent[::2])
    assert all("tok:13a" in look["signature"] and "case:mixed" in look["signature"] for look in found["looks"])


def test_rounds_of_the_posterior(
    tiny_run: Path,
    tiny_reverse_run: Path,
    tiny_corpus: Path,
    command: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its rows are what `align` and `aer` say: exactly, by α, and quickly."""
    for module, name in ((forced, "ROUNDS"), (bounded_posterior, "LOSS"), (forced_pairs, "fastest_precision")):
        monkeypatch.setattr(module, name, getattr(module, name))  # which the script changes
    files = [str(tiny_corpus / f"test.{suffix}") for suffix in ("en", "fr", "links")]
    expected = []
    for options in (("--posterior", "--exact"), (), ("--posterior",)):
        links = tmp_path / f"links{len(options)}"
        both = ("--reverse-run", tiny_reverse_run, "--symmetrise", "product")
        links.write_text(command("align", tiny_run, *files[:2], *both, *options).out, encoding="utf-8")
        score = json.loads(command("aer", "--links", links, "--gold", files[2], "--json").out)["systems"][0]
        expected.append(f"{100 * score['aer']:.2f}")
    monkeypatch.setattr(sys, "argv", ["posterior_rounds.py", str(tiny_run), str(tiny_reverse_run), *files, "--rounds", "1", "3"])
    runpy.run_path(str(BENCHMARKS / "posterior_rounds.py"), run_name="__main__")
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[0].split(",")[0] for row in rows] == ["exact posterior"] * 2 + ["α"] + ["quick posterior"] * 2
    assert [rows[0][3], rows[2][3], rows[4][3]] == expected
    assert rows[0][4] == "100.00"


@pytest.mark.slow
def test_beside_peers_rnnsearch_trains_and_translates_sentences_of_one_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A toolkit that is not there has no figures, and the others go on."""
    monkeypatch.chdir(tmp_path)  # it goes elsewhere
    peers = runpy.run_path(str(BENCHMARKS / "peers.py"))
    peers["SIZES"]["tiny"] = peers["Size"](8, 10, 8, 4, 60, 5, 2, 2, 128)
    monkeypatch.setattr(sys, "argv", ["peers.py", "--peers", sys.executable, "--size", "tiny", "--toolkits", "Marian", "rnnsearch"])
    peers["main"]()
    printed = capsys.readouterr()
    marian, ours = ([cell.strip() for cell in line.strip("|").split("|")] for line in printed.out.splitlines()[2:])
    assert marian == ["Marian", "–", "– (0.0 words per sentence)"]
    assert "No module named 'pymarian'" in printed.err
    assert ours[0] == "rnnsearch"
    assert all(float(figure.replace(",", "")) for figure in ours[1:])


def test_a_form_of_the_set_up_is_measured() -> None:
    script = runpy.run_path(str(BENCHMARKS / "cpu_setup.py"))
    small = {"recipe": "multi30k", "set": ["model.hidden_size=8"], "words": 30, "longest": 9, "precision": "bfloat16", "updates": 2}
    for form in (script["AS_IT_IS"], script["GIVEN_BACK"]):
        row = script["measured"](SimpleNamespace(**small), form)
        assert row["seconds"] > row["system_seconds"] >= 0
        assert row["peak_memory"] > 1 << 26


def test_a_vocabulary_is_measured_by_whole_updates() -> None:
    """Of a network with the words, and a softmax over as many of them, that the size says."""
    work = runpy.run_path(str(BENCHMARKS / "large_vocabulary.py"))["work"]

    class Pipe:
        def __init__(self) -> None:
            self.asked, self.said = iter([1, 1, 1, 0]), list[Any]()

        def recv(self) -> int:
            return next(self.asked)

        def send(self, value: Any) -> None:
            self.said.append(value)

    sizes = [f"model.{name}_size=4" for name in ("embedding", "hidden", "alignment", "maxout")]
    found = []
    for words, sampled in ((40, 0), (300, 30)):
        pipe = Pipe()
        changes = [*sizes, "training.batch_size=3", "training.threads=1", f"training.sampled_softmax={sampled}"]
        work(pipe, load_config(overrides=changes), words, 12, 3)
        *seconds, rest = pipe.said
        assert len(seconds) == 3
        assert all(one > 0 for one in seconds)
        found.append(rest)
    assert [one["softmax_words"] for one in found] == [40, 30]
    assert found[1]["parameters"] - found[0]["parameters"] == 260 * (3 * 4 + 1)
    assert found[0]["batches_of_partition"] == 1 <= found[1]["batches_of_partition"] <= 4


@pytest.mark.slow
def test_vocabularies_are_compared_and_nothing_is_done_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RNNSEARCH_QUIET", "1")
    small = [f"--set=model.{name}_size=8" for name in ("embedding", "hidden", "encoder", "alignment", "maxout")]
    small += ["--set=training.max_updates=3", "--set=training.validate_every=3", "--set=search.max_length_ratio=1", "--rare=20"]
    monkeypatch.setattr(sys, "argv", ["vocabularies.py", "builtin", "--out", str(tmp_path / "study"), *small])
    printed = []
    for _ in range(2):
        runpy.run_path(str(BENCHMARKS / "vocabularies.py"), run_name="__main__")
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]  # times too: they were kept
    rows = json.loads((tmp_path / "study" / "results.json").read_text())["rows"]
    assert [row["target_words"] for row in rows[:2]] == [102, 202]
    assert rows[2]["target_words"] > 202 > 0 == rows[2]["unknown_in_test"] < rows[1]["unknown_in_test"] < rows[0]["unknown_in_test"]
    assert rows[2]["plain"]["unk"] >= rows[2]["replaced"]["unk"] == 0
