"""Files that are not what their names say, and names that are hardly names: one line, exit code 2, and
nothing lost."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from command_line import Command, assert_refused, sets, sizes
from folders import names

ODD = os.fsdecode(b"not\xffUTF-8\t\n\x1b[31m")
SHOWN = r"not\udcffUTF-8\t\n\x1b[31m"


def made(path: Path, content: bytes | None) -> Path:
    """A file, or a pipe that nobody writes into."""
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r", b"\x7fELF\x02\x01\x01\0\0", "r: is not TOML"),
        ("r.toml", b"training = [1]", "r.toml: training: Input should be"),
        ("r.toml", None, "r.toml: cannot be read: it is a pipe or a device, not a regular file"),
        ("r", None, "no recipe '"),
        (f"{ODD}.toml", b"[model\n", f"/{SHOWN}.toml: is not TOML"),
    ],
)
def test_recipes_and_studies(
    command: Command, tiny_store: Path, tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    path = made(tmp_path / name, content)
    done = command(f"train --data {tiny_store} --out {tmp_path}/run", path)
    assert_refused(done, said)
    study = command(f"experiment --out {tmp_path}/study", path)
    assert (study.code, study.err.count("\n")) == (2, 1)
    assert "Traceback" not in study.err
    assert names(tmp_path) == [name]


@pytest.mark.parametrize(
    "name", ["config.toml", "vocabulary.source.txt", "model.safetensors", "subwords.source.model"]
)
@pytest.mark.parametrize("other", ["pipe", "/dev/zero"])
def test_a_run_of_pipes_and_devices(
    command: Command, tiny_subword_run: Path, tmp_path: Path, name: str, other: str
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for path in tiny_subword_run.iterdir():
        if path.is_file() and path.name != name:
            (run / path.name).symlink_to(path)
    if other == "pipe":
        os.mkfifo(run / name)
    else:
        (run / name).symlink_to(other)
    done = command(f"translate {run} -", stdin=b"The man.\n")
    assert_refused(done, f"run/{name}: ", "it is a pipe or a device, not a regular file")


@pytest.fixture
def odd(tiny_corpus: Path, tmp_path: Path) -> dict[str, Path]:
    """Files of the tiny corpus under names that are none, for a terminal, a table or a page."""
    files = {
        f"{part}.{side}": tmp_path / f"{ODD}.{part}.{side}"
        for part in ("train", "dev")
        for side in ("en", "fr")
    }
    for name, path in files.items():
        path.symlink_to(tiny_corpus / name)
    return files


def test_odd_names_are_names(
    command: Command, odd: dict[str, Path], tiny_run: Path, tmp_path: Path
) -> None:
    store = tmp_path / f"{ODD} store"
    pairs = odd["train.en"], odd["train.fr"], "--dev", odd["dev.en"], odd["dev.fr"]
    done = command("prepare --workers 1 --set data.max_words=5 --out", store, *pairs)
    assert (done.code, done.err) == (0, "")
    assert SHOWN in done.out
    assert SHOWN in json.loads((store / "report.json").read_text())["texts"][0]["name"]
    run = tmp_path / f"{ODD} run"
    limits = ("max_updates=1", "validate_bleu=false", "select_by=nll")
    small = sets(*sizes(4), "training.threads=1", *(f"stopping.{limit}" for limit in limits))
    trained = command(f"train demo {small} --data", store, "--out", run)
    assert (trained.code, trained.out) == (0, f"{tmp_path}/not\\udcffUTF-8\t\n\x1b[31m run\n")
    translated = command(
        "translate", run, odd["dev.en"], "--alignment-plots", tmp_path / f"{ODD} plots"
    )
    assert (translated.code, len(translated.lines)) == (0, 20)
    evaluated = command("evaluate", "--hyp", odd["dev.fr"], "--ref", odd["dev.fr"])
    assert (evaluated.code, "100.0" in evaluated.out) == (0, True)
    assert "\x1b" not in evaluated.out
    missing = command("translate", run, tmp_path / f"{ODD} missing")
    assert (missing.code, missing.err) == (
        2,
        f"rnnsearch: {tmp_path}/{SHOWN} missing: no such file (check the path)\n",
    )


RAISING = {
    "at import": (
        "raise {error}\n",
        "model.cell = 'theirs:Part' cannot be imported: it raised {error}",
    ),
    "of syntax": (
        "class Part(:\n",
        "model.cell = 'theirs:Part' cannot be imported: it raised SyntaxError",
    ),
    "an exit": ("raise SystemExit(3)\n", "cannot be imported: it raised SystemExit: 3"),
    "when made": (
        "from rnnsearch.model.cells import Cell\nclass Part(Cell):\n    def __init__(self, *a): raise "
        "{error}\n",
        "code outside rnnsearch that its settings name raised {error}",
    ),
}


@pytest.mark.parametrize("what", RAISING)
def test_foreign_code_that_raises(
    command: Command, tiny_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    code, said = RAISING[what]
    (tmp_path / "theirs.py").write_text(code.replace("{error}", "ZeroDivisionError('two\\nlines')"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "theirs", raising=False)
    done = command(
        f"train demo --data {tiny_store} --out {tmp_path}/run --set model.cell=theirs:Part"
    )
    assert_refused(done, said.replace("{error}", "ZeroDivisionError: two lines"))
    assert not (tmp_path / "run").exists()
