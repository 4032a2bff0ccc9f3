"""Ranks that would learn different things are refused before the first update, and each is told what differs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rank_threads import by_rank, together

from rnnsearch.config import load_config
from rnnsearch.errors import InputError
from rnnsearch.text.store.corpus import Corpus
from rnnsearch.text.store.store import CHECKSUMS
from rnnsearch.training import agreement
from rnnsearch.training.agreement import check_agreement
from rnnsearch.training.ranks import Ranks


def words_of(*checks: Callable[[Ranks], None]) -> list[str]:
    """What each rank says when it runs its check; nothing if it agrees."""

    def work(ranks: Ranks) -> str:
        try:
            checks[ranks.rank](ranks)
        except InputError as error:
            return str(error)
        return ""

    return together(len(checks), work)


def agreeing(store: Path, *overrides: str) -> Callable[[Ranks], None]:
    settings, corpus = load_config(overrides=overrides), Corpus.open(store)
    return lambda ranks: check_agreement(ranks, settings, corpus)


def test_the_same_is_agreed_and_threads_may_differ(tiny_store: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_store, tmp_path / "copy")
    checks = [agreeing(tiny_store, "training.threads=1", "training.processes=2"), agreeing(tmp_path / "copy", "training.threads=2")]
    assert words_of(*checks) == ["", ""]


@pytest.mark.parametrize("setting", ["training.seed=5", "model.hidden_size=9", "training.exchange_precision=bfloat16"])
def test_other_settings(tiny_store: Path, setting: str) -> None:
    key, _, value = setting.partition("=")
    for said in words_of(agreeing(tiny_store), agreeing(tiny_store, setting)):
        assert f"{key} is {value} in rank 1" in said
        assert "in rank 0" in said


def test_another_prepared_dataset(tiny_store: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_store, tmp_path / "other")
    checks = [agreeing(tiny_store), agreeing(tmp_path / "other")]
    with (tmp_path / "other" / CHECKSUMS).open("a", encoding="utf-8") as file:
        file.write("\n")
    for said in words_of(*checks):
        assert "the checksum of the prepared dataset is" in said


def test_another_version(tiny_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    say_rank = by_rank(monkeypatch, agreement, "package_version", ["1.0", "2.0"])
    check = agreeing(tiny_store)

    def checked(ranks: Ranks) -> None:
        say_rank(ranks.rank)
        check(ranks)

    for said in words_of(checked, checked):
        assert "the version of rnnsearch is 2.0 in rank 1" in said
        assert "1.0 in rank 0" in said
