"""`rnnsearch evaluate` with several systems, with n-best lists and with runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Command, assert_refused

from rnnsearch.evaluation.bleu import bleu


def read(path: Path) -> list[str]:
    return path.read_text("utf-8").split("\n")[:-1]


@pytest.fixture(scope="module")
def texts(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of eight short pairs, `test.en` and `test.fr`, and of a system that forgets the last word,
    `short.out`."""
    folder = tmp_path_factory.mktemp("texts")
    chosen = [number for number, line in enumerate(read(tiny_corpus / "test.en")) if len(line.split()) < 12][
        :8
    ]
    for side in ("en", "fr"):
        lines = read(tiny_corpus / f"test.{side}")
        (folder / f"test.{side}").write_text(
            "".join(f"{lines[number]}\n" for number in chosen), encoding="utf-8"
        )
    (folder / "short.out").write_text(
        "".join(f"{' '.join(line.split()[:-1])}\n" for line in read(folder / "test.fr")), encoding="utf-8"
    )
    return folder


def test_several_files_are_several_systems(command: Command, texts: Path) -> None:
    systems = f"--hyp {texts}/short.out {texts}/test.en --system gold={texts}/test.fr"
    done = command(f"evaluate {systems} --ref {texts}/test.fr")
    assert (done.code, done.err) == (0, "")
    heading, *rows = done.out.split("\n\n")[0].split("\n")
    assert heading.split() == ["BLEU", "chrF2", "length", "ratio"]
    assert [row.split()[0] for row in rows] == ["short", "test", "gold"]
    assert rows[2].split() == ["gold", "100.00", "100.00", "1.000"]
    assert rows[0].split()[1] == f"{bleu(read(texts / 'short.out'), read(texts / 'test.fr')).value:.2f}"


def test_ter_stands_beside_bleu_and_chrf_and_comet_is_named_where_it_is(
    command: Command, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, reference, hypothesis = (texts / name for name in ("test.en", "test.fr", "short.out"))
    line = f"evaluate --hyp {hypothesis} --ref {reference} --ter"
    (tmp_path / "comet.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    done = command(line)
    assert (done.code, done.err) == (0, "")
    assert [line.split()[0] for line in done.lines][:3] == ["BLEU", "chrF2", "TER"]
    named = f"COMET is installed: comet-score -s {source} -r {reference} -t {hypothesis}\n"
    assert command(f"{line} --src {source}").err == named


def test_every_table_is_in_json_and_in_tsv(command: Command, texts: Path) -> None:
    files = (
        f"--hyp {texts}/short.out --system gold={texts}/test.fr --ref {texts}/test.fr --src {texts}/test.en"
    )
    wanted = "--by-length --window 5 --significance --resamples 20 --ter --multi-bleu fr"
    whole = json.loads(command(f"evaluate {files} {wanted} --json").out)
    assert [row["metric"] for row in whole["significance"]] == ["BLEU", "chrF2", "multi-BLEU", "TER"]
    assert all(row["share_better"] == 1 and row["p_randomisation"] < 0.02 for row in whole["significance"])
    assert whole["windows"] == []  # fewer than 20 sentences everywhere
    again = command(f"evaluate {files} {wanted} --tsv")
    tables = ("scores", "lengths", "windows", "significance")
    assert len(again.lines) == 1 + sum(len(whole[table]) for table in tables)


def test_sacrebleus_test_sets(command: Command, texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"get_source_file": str(texts / "test.en"), "get_reference_files": [str(texts / "test.fr")]}
    for name, found in files.items():
        monkeypatch.setattr(f"sacrebleu.utils.{name}", lambda *_, found=found: found)
    line = f"evaluate --hyp {texts}/short.out --by-length"
    expected = command(f"{line} --src {texts}/test.en --ref {texts}/test.fr")
    assert command(f"{line} --test-set wmt14/full -l en-fr").out == expected.out != ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--test-set wmt14/ful -l en-fr",
            "sacreBLEU has no test set 'wmt14/ful' (did you mean 'wmt14/full'?",
        ),
        (
            "--test-set wmt14/full -l en-xx",
            "the test set wmt14/full has no language pair 'en-xx' (give -l one of",
        ),
        (
            "--test-set wmt14/full -l en-fr",
            "sacreBLEU cannot get wmt14/full: no connection (it must be downloaded",
        ),
        (
            "--test-set wmt14/full -l en-fr --ref x",
            "the references are missing, or named twice (give --ref FILE, or --test-set",
        ),
        ("", "the references are missing, or named twice"),
    ],
)
def test_test_sets_that_there_are_not(
    command: Command, words: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object) -> None:
        raise OSError("no\nconnection")

    monkeypatch.setattr("sacrebleu.utils.get_source_file", offline)
    refused = command(f"evaluate --hyp x {words}".strip())
    assert_refused(refused, message)


def test_an_nbest_list_is_its_first_candidates(command: Command, texts: Path, tmp_path: Path) -> None:
    lines = [
        f"{number} ||| {text} ||| m= 1 ||| 1"
        for number, line in enumerate(read(texts / "test.fr"))
        for text in (line, "rien")
    ]
    (tmp_path / "list").write_text("".join(f"{line}\n" for line in lines), "utf-8")
    assert (
        command(f"evaluate --hyp {tmp_path}/list --ref {texts}/test.fr").lines[0].startswith("BLEU 100.00 ")
    )


def test_a_run_translates_unless_its_file_is_given(
    command: Command, tiny_unknown_run: Path, texts: Path, tmp_path: Path
) -> None:
    written = tmp_path / "translated"
    written.write_text(command(f"translate {tiny_unknown_run} {texts}/test.en").out, "utf-8")
    inputs = f"--run {tiny_unknown_run} --ref {texts}/test.fr --src {texts}/test.en --resamples 5 --json"
    own = json.loads(command(f"evaluate {inputs}").out)
    assert own == json.loads(command(f"evaluate --hyp {written} {inputs}").out)
    assert {"NLL per sentence", "perplexity"} <= {row["metric"] for row in own["scores"]}
    assert own["search"][tiny_unknown_run.name]["beam"] == 4
