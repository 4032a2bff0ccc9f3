from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from rnnsearch.config import DataSettings
from rnnsearch.errors import InputError
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store import corpus
from rnnsearch.text.store.corpus import Corpus, Pairs, SentenceIds

SETTINGS = DataSettings.model_validate({"tokeniser": "space"})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for name, lines in {"train.s": "a b\nc\n", "train.t": "A B\nC D E\n", "dev.s": "b x\n\n", "dev.t": "B\nE\n"}.items():
        (tmp_path / name).write_text(lines)
    dev = (tmp_path / "dev.s", tmp_path / "dev.t")
    prepare(tmp_path / "train.s", tmp_path / "train.t", tmp_path / "store", dev=dev, settings=SETTINGS)
    return tmp_path / "store"


def test_pairs_of_sentences() -> None:
    pairs = Pairs(SentenceIds.of([[5, 0], [0]]), SentenceIds.of([[7, 8, 0], [9, 0]]))
    assert len(pairs) == 2
    assert (pairs.source_lengths.tolist(), pairs.target_lengths.tolist()) == ([2, 1], [3, 2])
    assert (pairs.source(1).tolist(), pairs.target(0).tolist()) == ([0], [7, 8, 0])
    with pytest.raises(ValueError, match="1 source sentences, 2 target"):
        Pairs(SentenceIds.of([[0]]), SentenceIds.of([[0], [0]]))


def test_a_store_opens_with_all_its_parts(store: Path) -> None:
    corpus = Corpus.open(str(store))
    assert corpus.settings == SETTINGS
    assert len(corpus.train) == 2
    assert corpus.dev is not None
    assert corpus.dev_source_lines == ["b x", ""]
    assert corpus.dev_target_lines == ["B", "E"]
    assert corpus.source.decode(corpus.dev.source(0).tolist()).words == ["b", "<unk>"]
    assert corpus.dev.source(1).tolist() == [0]
    assert corpus.dev.target_lengths.tolist() == [2, 2]


def test_ids_are_views_of_the_mapped_file(store: Path) -> None:
    train = Corpus.open(store).train
    assert train.source(0).dtype == np.uint16
    assert not train.source(0).flags.owndata
    assert not train.source(0).flags.writeable


def test_a_store_can_be_moved(store: Path, tmp_path: Path) -> None:
    store.rename(tmp_path / "elsewhere")
    assert len(Corpus.open(tmp_path / "elsewhere").train) == 2


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for name, message in {"none": "does not exist", "empty": "is not a prepared dataset", "file": "is not a folder"}.items():
        with pytest.raises(InputError, match=rf"{name}: {message}.* \(make it with"):
            Corpus.open(tmp_path / name)


def test_another_format_is_refused(store: Path) -> None:
    settings = (store / "data.toml").read_text()
    (store / "data.toml").write_text(settings.replace("format = 2", "format = 3"))
    with pytest.raises(InputError, match=r"of format 3, and this version reads format 2 \(prepare it again"):
        Corpus.open(store)


def test_a_missing_or_damaged_file_is_refused(store: Path) -> None:
    needed = [path for path in sorted(store.iterdir()) if path.name not in ("data.toml", "report.html")]
    assert len([path for path in needed if path.suffix == ".npy"]) == 10
    for path in needed:
        content = path.read_bytes()
        for damaged in (None, b"", content[:-1]):
            path.unlink(missing_ok=True)
            if damaged is not None:
                path.write_bytes(damaged)
            with pytest.raises(InputError, match=re.escape(path.name)):
                Corpus.open(store)
        path.write_bytes(content)
    assert len(Corpus.open(store).train) == 2


@pytest.mark.parametrize(
    "text", ["", "format = ", "format = 2\n", "format = 2\n[data]\nseed = 'one'", "format = 2\n[data]\nunheard_of = 1"]
)
def test_damaged_settings_are_refused(store: Path, text: str) -> None:
    (store / "data.toml").write_text(text)
    with pytest.raises(InputError, match=r"is damaged|of format None"):
        Corpus.open(store)


def test_ids_that_do_not_fit_their_offsets_are_refused(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "QUICKLY", 0)
    offsets = store / "train.source.0000.offsets.npy"
    mapped = np.load(offsets)
    mapped[-1] += 1
    np.save(offsets, mapped)
    with pytest.raises(InputError, match="does not fit its offsets"):
        Corpus.open(store)
