"""Files at paths and URLs: found, fetched, and written whole."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from rnnsearch.cluster.shards import Place
from rnnsearch.errors import InputError


@pytest.fixture(params=["folder", "memory"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A folder of this machine, and one at a URL."""
    yield Place.at(str(tmp_path) if request.param == "folder" else "memory://home")
    fsspec.filesystem("memory").store.clear()
    fsspec.filesystem("memory").pseudo_dirs[:] = [""]


def test_what_is_written_is_read(home: Place) -> None:
    place = home / "inner/file"
    assert place.read() is None
    assert not place.system.exists(place.path)
    for text in ("one\n", "tüü\n"):
        place.write(text)
        assert place.read() == text.encode()
    assert list(home.files()) == ["inner/file"]  # no partial files
    place.remove()
    place.remove()
    assert place.read() is None


def test_files_of_folders_patterns_and_files(home: Place) -> None:
    for name in (
        "b.txt",
        "a.txt",
        "inner/c.txt",
        "d.jsonl",
        "_SUCCESS",
        ".hidden",
        "inner/.d",
        "_logs/e.txt",
    ):
        (home / name).write(name)
    assert list(home.files()) == ["a.txt", "b.txt", "d.jsonl", "inner/c.txt"]
    assert list((home / "*.txt").files()) == ["a.txt", "b.txt"]
    assert list((home / "inner/c.txt").files()) == ["c.txt"]
    assert (home.files()["inner/c.txt"][0].read()) == b"inner/c.txt"
    for nothing in ("missing", "*.gz", "_logs/*.gz"):
        with pytest.raises(InputError, match=r"no such file|no files"):
            (home / nothing).files()


def test_a_changed_file_has_another_fingerprint(home: Place) -> None:
    (home / "a").write("one")
    before = home.files()["a"][1]
    assert home.files()["a"][1] == before
    (home / "a").write("other")
    assert home.files()["a"][1] != before


def test_a_file_at_a_url_is_copied_here(home: Place) -> None:
    (home / "a.gz").write("one")
    with pickle.loads(pickle.dumps(home / "a.gz")).fetched() as path:
        assert (path.name, path.read_text()) == ("a.gz", "one")
    assert path.exists() == (home.local is not None)
    if home.local is None:  # else whoever reads the file says so
        with (
            pytest.raises(InputError, match=r"memory://.*missing: no such file"),
            (home / "missing").fetched(),
        ):
            pass


def test_empty(home: Place) -> None:
    assert home.is_empty()
    (home / ".lock").write("")
    assert home.is_empty()
    (home / "a").write("")
    assert not home.is_empty()
    assert not (home / "a").is_empty()


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    assert Place.at(f"file://{tmp_path}/a b").local == tmp_path / "a b"


def test_unknown_urls() -> None:
    with pytest.raises(InputError, match="nowhere://a: cannot be used"):
        Place.at("nowhere://a")
