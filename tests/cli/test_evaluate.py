"""`rnnsearch evaluate` with several systems, with n-best lists and with runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.error import URLError

import pytest
import sacrebleu
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
    assert re.split(" {2,}", heading) == ["System", "BLEU", "95 % interval", "chrF2", "Length ratio"]
    assert [row.split()[0] for row in rows] == ["short", "test", "gold"]
    assert rows[2].split() == ["gold", "100.00", "100.0–100.0", "100.00", "1.000"]
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


def test_every_table_is_in_json_and_in_tsv(command: Command, texts: Path, tmp_path: Path) -> None:
    for name in ("short.out", "test.fr", "test.en"):  # as many sentences as differences need
        (tmp_path / name).write_text(3 * (texts / name).read_text("utf-8"), "utf-8")
    files = "--hyp short.out --system gold=test.fr --ref test.fr --src test.en".replace("=", f"={tmp_path}/")
    files = re.sub(r" (?=short|test)", f" {tmp_path}/", files)
    wanted = "--by-length --window 5 --significance --resamples 20 --ter --multi-bleu fr"
    whole = json.loads(command(f"evaluate {files} {wanted} --json").out)
    assert [row["metric"] for row in whole["significance"]] == ["BLEU", "chrF2", "multi-BLEU", "TER"]
    assert all(row["low"] * row["high"] > 0 and row["p"] < 0.02 for row in whole["significance"])
    again = command(f"evaluate {files} {wanted} --tsv")
    tables = ("scores", "lengths", "windows", "significance")
    assert len(again.lines) == 1 + sum(len(whole[table]) for table in tables)


def test_several_references_are_sacrebleus(command: Command, texts: Path, tmp_path: Path) -> None:
    reference = read(texts / "test.fr")
    other = [" ".join(reversed(line.split())) for line in reference]
    (tmp_path / "other").write_text("".join(f"{line}\n" for line in other), "utf-8")
    mixed = [pair[place % 2] for place, pair in enumerate(zip(reference, other, strict=True))]
    (tmp_path / "mixed").write_text("".join(f"{line}\n" for line in mixed), "utf-8")
    files = f"--ref {texts}/test.fr --ref {tmp_path}/other"
    done = command(f"evaluate --hyp {tmp_path}/mixed {files}")
    assert done.lines[0].startswith("BLEU 100.00 (nrefs:2|")
    short = read(texts / "short.out")
    found = json.loads(command(f"evaluate --hyp {texts}/short.out {files} --ter --json").out)
    expected = {
        "BLEU": sacrebleu.corpus_bleu(short, [reference, other]),
        "chrF2": sacrebleu.corpus_chrf(short, [reference, other]),
        "TER": sacrebleu.corpus_ter(short, [reference, other]),
    }
    scores = {row["metric"]: row["value"] for row in found["scores"]}
    assert {name: scores[name] for name in expected} == pytest.approx(
        {name: score.score for name, score in expected.items()}
    )
    (tmp_path / "one").write_text("oui\n")
    assert_refused(
        command(f"evaluate --hyp {texts}/short.out {files} --ref {tmp_path}/one"), "has 1 sentences"
    )


def test_a_tokenisation_that_must_be_downloaded(
    command: Command, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object, **__: object) -> None:
        raise URLError("Name or service not known")

    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", offline)
    line = f"evaluate --hyp {texts}/short.out --ref {texts}/test.fr --tokenise flores200"
    assert_refused(command(line), "cannot download what the tokenisation 'flores200' needs")


@pytest.mark.parametrize(
    ("line", "said"),
    [("我们昨天去了北京。", "zh"), ("私は昨日、東京へ行きました。", "ja-mecab|char"), ("어제 서울에 갔습니다.", "ko-mecab|char"),
     ("เมื่อวานเราไปกรุงเทพ", "char"), ("Nous étions à Pékin (北京).", ""), ("2 + 2", "")],
)  # fmt: skip
def test_unspaced_text_says_its_tokenisation(command: Command, tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "ref").write_text(f"{line}\n", "utf-8")
    done = command(f"evaluate --hyp {tmp_path}/ref --ref {tmp_path}/ref")
    message = rf"13a does not split the words of these references: use --tokenise ({said})\n" if said else ""
    assert re.fullmatch(message, done.err)
    assert command(f"evaluate --hyp {tmp_path}/ref --ref {tmp_path}/ref --tokenise 13a").err == ""


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
