"""`rnnsearch evaluate` with several systems and with runs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.error import URLError

import pytest
import sacrebleu
from command_line import Command, assert_refused
from pairs import lines_of, write

from rnnsearch.evaluation.bleu import bleu


@pytest.fixture(scope="module")
def texts(tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of eight short pairs, `test.en` and `test.fr`, and of a system that forgets the last word,
    `short.out`."""
    folder = tmp_path_factory.mktemp("texts")
    english = lines_of(tiny_corpus / "test.en")
    chosen = [number for number, line in enumerate(english) if len(line.split()) < 12][:8]
    for name in ("test.en", "test.fr"):
        lines = lines_of(tiny_corpus / name)
        write(folder / name, [lines[number] for number in chosen])
    french = lines_of(folder / "test.fr")
    write(folder / "short.out", [" ".join(line.split()[:-1]) for line in french])
    return folder


def test_several_files_are_several_systems(command: Command, texts: Path) -> None:
    systems = f"--hyp {texts}/short.out {texts}/test.en --system gold={texts}/test.fr"
    done = command(f"evaluate {systems} --ref {texts}/test.fr")
    assert (done.code, done.err) == (0, "")
    heading, *rows = done.out.split("\n\n")[0].split("\n")
    assert re.split(" {2,}", heading) == [
        "System",
        "BLEU",
        "95 % interval",
        "chrF2",
        "Length ratio",
    ]
    assert [row.split()[0] for row in rows] == ["short", "test", "gold"]
    assert rows[2].split() == ["gold", "100.00", "100.0–100.0", "100.00", "1.000"]
    short = bleu(lines_of(texts / "short.out"), lines_of(texts / "test.fr"))
    assert rows[0].split()[1] == f"{short.value:.2f}"


def test_every_table_is_in_json(command: Command, texts: Path, tmp_path: Path) -> None:
    for name in ("short.out", "test.fr", "test.en"):  # as many sentences as differences need
        (tmp_path / name).write_text(3 * (texts / name).read_text("utf-8"), "utf-8")
    files = "--hyp short.out --system gold=test.fr --ref test.fr --src test.en".replace(
        "=", f"={tmp_path}/"
    )
    files = re.sub(r" (?=short|test)", f" {tmp_path}/", files)
    wanted = "--by-length --significance --resamples 20 --multi-bleu fr"
    whole = json.loads(command(f"evaluate {files} {wanted} --json").out)
    assert [row["metric"] for row in whole["significance"]] == ["BLEU", "chrF2", "multi-BLEU"]
    assert all(row["low"] * row["high"] > 0 and row["p"] < 0.02 for row in whole["significance"])
    assert whole["lengths"]


def test_several_references_are_sacrebleus(command: Command, texts: Path, tmp_path: Path) -> None:
    reference, short = lines_of(texts / "test.fr"), lines_of(texts / "short.out")
    other = [" ".join(reversed(line.split())) for line in reference]
    write(tmp_path / "other", other)
    write(tmp_path / "one", ["oui"])
    line = f"evaluate --hyp {texts}/short.out --ref {tmp_path}/other --ref {texts}/test.fr"
    found = json.loads(command(f"{line} --json").out)
    scores = {row["metric"]: row["value"] for row in found["scores"]}
    expected = (
        sacrebleu.corpus_bleu(short, [reference, other]),
        sacrebleu.corpus_chrf(short, [reference, other]),
    )
    assert (scores["BLEU"], scores["chrF2"]) == pytest.approx([score.score for score in expected])
    assert_refused(command(f"{line} --ref {tmp_path}/one"), "has 1 sentences")


def test_decomposed_lines_are_normalised_and_it_is_said(command: Command, tmp_path: Path) -> None:
    write(tmp_path / "ref", ["Un café efficace est fermé là-bas."])
    write(tmp_path / "hyp", ["Un cafe\u0301 e\ufb03cace est ferme\u0301 là-bas."])
    for one, other in (("hyp", "ref"), ("ref", "hyp")):
        done = command(f"evaluate --hyp {tmp_path}/{one} --ref {tmp_path}/{other}")
        assert done.out.split("\n")[0].startswith("BLEU 100.00")
        assert (
            f"{tmp_path}/hyp: lines with decomposed characters (NFD) or ligatures: 1 (" in done.err
        )


@pytest.mark.parametrize(
    ("line", "said"),
    [("我们昨天去了北京。", "zh"), ("私は昨日、東京へ行きました。", "ja-mecab|char"), ("어제 서울에 갔습니다.", "ko-mecab|char"),
     ("เมื่อวานเราไปกรุงเทพ", "char"), ("Nous étions à Pékin (北京).", ""), ("2 + 2", "")],
)  # fmt: skip
def test_unspaced_text_says_its_tokenisation(
    command: Command, tmp_path: Path, line: str, said: str
) -> None:
    (tmp_path / "ref").write_text(f"{line}\n", "utf-8")
    done = command(f"evaluate --hyp {tmp_path}/ref --ref {tmp_path}/ref")
    message = rf"13a does not split the words of these references: BLEU has --tokenise ({said})\n"
    found = re.fullmatch(message if said else "()", done.err)
    assert found
    assert f"|tok:{found[1] or '13a'}" in done.out


def test_a_tokenisation_that_must_be_downloaded(
    command: Command, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(*_: object, **__: object) -> None:
        raise URLError("Name or service not known")

    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR", str(tmp_path))
    monkeypatch.setattr("urllib.request.urlopen", offline)
    line = f"evaluate --hyp {texts}/short.out --ref {texts}/test.fr --tokenise flores200"
    assert_refused(command(line), "cannot download what the tokenisation 'flores200' needs")


def test_a_run_translates_unless_its_file_is_given(
    command: Command, tiny_unknown_run: Path, texts: Path, tmp_path: Path
) -> None:
    written = tmp_path / "translated"
    written.write_text(command(f"translate {tiny_unknown_run} {texts}/test.en").out, "utf-8")
    inputs = (
        f"--run {tiny_unknown_run} --ref {texts}/test.fr --src {texts}/test.en --resamples 5 --json"
    )
    own = json.loads(command(f"evaluate {inputs}").out)
    assert own == json.loads(command(f"evaluate --hyp {written} {inputs}").out)
    assert {"NLL per sentence", "perplexity"} <= {row["metric"] for row in own["scores"]}
    assert own["search"][tiny_unknown_run.name]["beam"] == 4


def test_mistakes_are_found_before_anything_is_translated(
    command: Command, tiny_run: Path, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rnnsearch.lab.outputs.Outputs._make", None)
    inputs = f"--run {tiny_run} --ref {texts}/test.fr --src {texts}/test.en"
    for more, said in (
        (f"--system moses={texts}/typo.fr", "typo.fr: no such file"),
        (f"--system {tiny_run.name}={texts}/test.fr", "two systems are called"),
        ("--tokenise 14a", "14a"),
        ("--system moses=-", "--system moses=- names no file"),
    ):
        assert_refused(command(f"evaluate {inputs} {more}"), said)
