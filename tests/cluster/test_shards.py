"""Which files are shards, and which two belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from rnnsearch.cluster.shards import pair_shards, text_shards
from rnnsearch.errors import InputError


def made(folder: Path, *names: str) -> str:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return str(folder)


def test_formats_by_name(tmp_path: Path) -> None:
    corpus = made(tmp_path, "a.txt", "b.jsonl.gz", "c.parquet", "d", "e.ndjson")
    assert {shard.name: shard.format for shard in text_shards(corpus, None)} == {
        "a.txt": "lines",
        "b.jsonl.gz": "jsonl",
        "c.parquet": "parquet",
        "d": "lines",
        "e.ndjson": "jsonl",
    }
    assert {shard.format for shard in text_shards(corpus, "lines")} == {"lines"}


def test_two_folders(tmp_path: Path) -> None:
    source, target = made(tmp_path / "en", "x/1.en", "2.en.gz"), made(tmp_path / "fr", "2.fr", "x/1.fr")
    shards = pair_shards([source, target], None)
    assert [shard.name for shard in shards] == ["2.en.gz", "x/1.en"]
    assert [[Path(place.path).name for place in shard.files] for shard in shards] == [
        ["2.en.gz", "2.fr"],
        ["1.en", "1.fr"],
    ]


def test_two_patterns_of_one_folder(tmp_path: Path) -> None:
    corpus = made(tmp_path, "1.en", "1.fr", "2.en", "2.fr")
    assert [shard.name for shard in pair_shards([f"{corpus}/*.en", f"{corpus}/*.fr"], None)] == [
        "1.en",
        "2.en",
    ]


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (["1.en", "2.en"], ["1.fr"], "2.en: has no other side in .*fr"),
        (["1.en"], ["1.fr", "3.fr"], "3.fr: has no other side in .*en"),
        (["1.en", "1.de"], ["1.fr"], "two shards are called 1"),
        (["1.jsonl"], ["1.fr"], "1.jsonl: is jsonl, which holds both sides"),
        (["1.txt"], None, "the shard 1.txt has one text only"),
    ],
)
def test_what_does_not_go_together(
    source: list[str], target: list[str] | None, message: str, tmp_path: Path
) -> None:
    corpora = [made(tmp_path / "en", *source), *([made(tmp_path / "fr", *target)] if target else [])]
    with pytest.raises(InputError, match=message):
        pair_shards(corpora, None)


def test_a_shard_that_changes_is_another(tmp_path: Path) -> None:
    corpus = made(tmp_path, "1.en")
    before = text_shards(corpus, None)
    assert text_shards(corpus, None) == before
    (tmp_path / "1.en").write_text("longer than before")
    assert text_shards(corpus, None) != before
