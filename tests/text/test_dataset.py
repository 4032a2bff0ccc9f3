"""Files of the store: checksums, and what is left after a kill -9."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from folders import names
from refusals import refusal
from started_commands import nobody_left

from rnnsearch.settings import DataSettings
from rnnsearch.text import dataset
from rnnsearch.text.dataset import Corpus, map_array
from rnnsearch.text.preparation import PrepareOptions, prepare

SETTINGS = DataSettings.model_validate({"tokeniser": "space"})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for name, lines in {
        "train.s": "a b\nc\n",
        "train.t": "A B\nC D E\n",
        "dev.s": "b x\n\n",
        "dev.t": "B\nE\n",
    }.items():
        (tmp_path / name).write_text(lines)
    dev = (tmp_path / "dev.s", tmp_path / "dev.t")
    prepare(
        tmp_path / "train.s", tmp_path / "train.t", tmp_path / "store", dev=dev, settings=SETTINGS
    )
    return tmp_path / "store"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "shards = [",
            'shards = ["2", ',
            "is damaged: train.shards.0: Input should be a valid integer",
        ),
        (
            "shards = [",
            f"shards = [{10**30}, ",
            "is damaged: train.shards.0: Input should be less than",
        ),
        ("links = false", "links = 0", "is damaged: train.links: Input should be a valid boolean"),
        ("links = false", "more = 0", "is damaged: train.links: Field required"),
        (
            "format = 2",
            "format = 3",
            "of format 3, and this version reads format 2 (prepare it again",
        ),
        ("format = 2", "", "of format None"),
        ("seed = 1", "seed = 'one'", "is damaged: data.seed"),
        ("seed = 1", "seed = ", "is damaged"),
        ("seed = 1", "unheard_of = 1", "is damaged: data.unheard_of"),
    ],
)
def test_settings_that_no_prepare_wrote(store: Path, old: str, new: str, said: str) -> None:
    text = (store / "data.toml").read_text()
    (store / "data.toml").write_text(text.replace(old, new, 1))
    with refusal(re.escape(said)):
        Corpus.open(store)


def test_pipes_and_other_arrays_are_no_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store / "train.source.lengths.npy"
    for made in (np.zeros((2, 2)), np.array(["a", "b"]), np.array([1.5, 2.5])):
        np.save(path, made)
        with refusal(r"lengths\.npy: is damaged: it holds"):
            map_array(path)
    path.unlink()
    os.mkfifo(path)
    with refusal(r"lengths\.npy: cannot be read: it is a pipe or a device"):
        Corpus.open(store)


def test_a_missing_or_damaged_file_is_refused(store: Path) -> None:
    assert len([*store.glob("*.npy")]) == 10
    for path in sorted(store.iterdir()):
        content = path.read_bytes()
        places = {0, len(content) // 2, len(content) - 1}
        one_bit = [content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :] for at in places]
        for damaged in (None, b"", content[:-1], *one_bit):
            path.unlink(missing_ok=True)
            if damaged is not None:
                path.write_bytes(damaged)
            named = path.suffix != ".toml" and damaged not in one_bit
            with refusal(re.escape(path.name) if named else None):
                Corpus.open(store)
        path.write_bytes(content)
    assert len(Corpus.open(store).train) == 2


def test_ids_that_do_not_fit_their_offsets_are_refused(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "CHECKED_BYTES", 0)
    offsets = np.load(file := store / "train.source.0000.offsets.npy")
    np.save(file, [*offsets[:-1], 6])
    with refusal("does not fit its offsets"):
        Corpus.open(store)


def test_opening_reads_nothing_of_the_sentences(store: Path) -> None:
    """Ids, offsets and lengths are views of mapped files."""
    train = Corpus.open(store).train
    assert train.source[0].dtype == np.uint16
    for array in (train.source.lengths, train.target.lengths, train.source[0], train.target[1]):
        assert not array.flags.owndata
        assert not array.flags.writeable
    assert train.source[-1].tolist() == train.source[len(train.source) - 1].tolist()
    with pytest.raises(IndexError):
        train.source[len(train.source)]


LINES = 1_600
SLOW = """
import sys
from pathlib import Path
from rnnsearch.settings import DataSettings
from rnnsearch.text import cleaning
from rnnsearch.text.preparation import PrepareOptions, prepare

cleaning.PAIRS = 500  # so few lines are enough for workers

def wait(text, done, total):
    if text == sys.argv[4]:
        print("there", flush=True)
        sys.stdin.read()

if __name__ == "__main__":
    settings = DataSettings.model_validate({"tokeniser": "space"})
    options = PrepareOptions(overwrite=True, workers=2, progress=wait)
    prepare(sys.argv[1], sys.argv[2], sys.argv[3], settings=settings, options=options)
"""


@pytest.mark.processes
@pytest.mark.parametrize(("stage", "existing"), [("tokenising", True), ("shuffling", False)])
def test_a_kill_leaves_no_store_no_process_and_no_rest(
    tmp_path: Path, stage: str, existing: bool
) -> None:
    source, target, store = tmp_path / "s", tmp_path / "t", tmp_path / "out" / "store"
    source.write_text("".join(f"a{i}\n" for i in range(LINES)))
    target.write_text("".join(f"b{i}\n" for i in range(LINES)))
    if existing:
        prepare(source, target, store, settings=SETTINGS)
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    command = [sys.executable, str(script), str(source), str(target), str(store), stage]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        children = [
            int(child)
            for task in Path(f"/proc/{process.pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
        assert stage != "tokenising" or len(children) >= 2
        left = [path for path in store.parent.iterdir() if path != store]
        assert len(left) == 1
        with refusal("is not a prepared dataset"):
            Corpus.open(left[0])
        # Another one at work beside it leaves it alone.
        prepare(source, target, store.with_name("other"), settings=SETTINGS)
        with refusal("another command is writing it"):
            prepare(
                source, target, store, settings=SETTINGS, options=PrepareOptions(overwrite=True)
            )
        assert left[0].exists()
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not existing or len(Corpus.open(store).train) == LINES
    nobody_left(children)  # the workers notice by themselves
    prepare(source, target, store, settings=SETTINGS, options=PrepareOptions(overwrite=True))
    assert names(store.parent) == ["other", "store"]
