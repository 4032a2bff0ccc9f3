"""Files of the store: checksums, and what is left after a kill -9."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.text.store.store import CHECKSUMS, check_store

SETTINGS = DataSettings.model_validate({"tokeniser": "space"})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "train.s").write_text("a b\nc\n")
    (tmp_path / "train.t").write_text("A B\nC D E\n")
    prepare(tmp_path / "train.s", tmp_path / "train.t", tmp_path / "store", settings=SETTINGS)
    return tmp_path / "store"


def test_every_file_has_a_checksum(store: Path) -> None:
    lines = [line.split("  ") for line in (store / CHECKSUMS).read_text().split("\n")[:-1]]
    assert {name for _, name in lines} == {path.name for path in store.iterdir()} - {CHECKSUMS, "data.toml"}
    assert all(hashlib.sha256((store / name).read_bytes()).hexdigest() == checksum for checksum, name in lines)
    assert check_store(store) == len(lines)


def test_a_single_bit_is_noticed_when_asked(store: Path) -> None:
    for path in sorted(store.iterdir()):
        if path.name == "data.toml":
            continue
        content = path.read_bytes()
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
        with pytest.raises(InputError):
            check_store(store)
        with pytest.raises(InputError):
            Corpus.open(store, check=True)
        path.write_bytes(content)
    assert len(Corpus.open(store, check=True).train) == 2


def test_a_file_of_another_size_is_noticed_at_once(store: Path) -> None:
    path = store / "train.target.lengths.npy"
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(InputError, match=r"lengths.npy: is damaged: it has 137 bytes, and 136 were written"):
        Corpus.open(store)


def test_opening_reads_nothing_of_the_sentences(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids, offsets and lengths are views of mapped files."""
    train = Corpus.open(store).train
    for array in (train.source_lengths, train.target_lengths, train.source(0), train.target(1)):
        assert not array.flags.owndata
        assert not array.flags.writeable


SLOW = """
import sys, time
from pathlib import Path
from rnnsearch.config import DataSettings
from rnnsearch.text.preparing.prepare import prepare

def wait(text, done, total):
    if text == sys.argv[4]:
        print("there", flush=True)
        time.sleep(60)

if __name__ == "__main__":
    settings = DataSettings.model_validate({"tokeniser": "space"})
    prepare(sys.argv[1], sys.argv[2], sys.argv[3], settings=settings, overwrite=True, workers=2, progress=wait)
"""


@pytest.mark.parametrize("stage", ["tokenising", "shuffling"])
@pytest.mark.parametrize("existing", [False, True])
def test_a_kill_leaves_no_store_no_process_and_no_rest(tmp_path: Path, stage: str, existing: bool) -> None:
    source, target, store = tmp_path / "s", tmp_path / "t", tmp_path / "out" / "store"
    source.write_text("".join(f"a{i}\n" for i in range(31_000)))  # enough for workers
    target.write_text("".join(f"b{i}\n" for i in range(31_000)))
    if existing:
        prepare(source, target, store, settings=SETTINGS)
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    command = [sys.executable, str(script), str(source), str(target), str(store), stage]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        children = [child for task in Path(f"/proc/{process.pid}/task").iterdir() for child in (task / "children").read_text().split()]
        left = [path for path in store.parent.iterdir() if path != store]
        assert len(left) == 1
        with pytest.raises(InputError, match="is not a prepared corpus"):
            Corpus.open(left[0])
        # Another one at work beside it leaves it alone.
        prepare(source, target, store.with_name("other"), settings=SETTINGS)
        prepare(source, target, store, settings=SETTINGS, overwrite=True)
        assert left[0].exists()
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    if existing:
        assert len(Corpus.open(store, check=True).train) == 31_000
    for _ in range(100):  # the workers notice by themselves
        if not any(alive(int(child)) for child in children):
            break
        time.sleep(0.1)
    else:
        raise AssertionError("a worker outlived its parent")
    prepare(source, target, store, settings=SETTINGS, overwrite=True)
    assert sorted(path.name for path in store.parent.iterdir()) == ["other", "store"]


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
