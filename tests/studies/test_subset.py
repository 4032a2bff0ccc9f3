"""The part of a corpus that a study uses, against a plain loop over its lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from rnnsearch.errors import InputError
from rnnsearch.studies.study import Plan, read_plan
from rnnsearch.studies.subset import write_subset

LINES = [
    ("one", "un", "0-0"),
    ("one two three four", "un", "3-0"),
    ("a b", "x y z", "0-0 1-2"),
    ("", "x", ""),
    ("a b c", "x y z u", "1-1"),
    ("d", "y", "0-0"),
    ("e  f", "z", ""),
]


def quiet(text: str, done: int, total: int | None) -> None:
    pass


def study(folder: Path, corpus: str) -> Plan:
    for kind, column in (("en", 0), ("fr", 1), ("links", 2)):
        (folder / f"all.{kind}").write_text("".join(f"{line[column]}\n" for line in LINES), encoding="utf-8")
    text = f"""
    [corpus]
    train = ["all.en", "all.fr"]
    {corpus}
    [settings.data]
    tokeniser = "space"
    [variants.one]
    [tests.all]
    source = "all.en"
    reference = "all.fr"
    """
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return read_plan(str(folder / "study.toml"))


@pytest.mark.parametrize("pairs", [1, 3, None])
@pytest.mark.parametrize("max_words", [2, 3, None])
def test_it_is_what_a_plain_loop_keeps(tmp_path: Path, pairs: int | None, max_words: int | None) -> None:
    limits = [f"{key} = {value}" for key, value in (("pairs", pairs), ("max_words", max_words)) if value]
    plan = study(tmp_path, "\n".join(['links = ["all.links"]', 'dev = ["all.en", "all.fr"]', "dev_pairs = 2", *limits]))
    out = tmp_path / "cut"
    out.mkdir()
    write_subset(plan, out, quiet)
    expected = []
    for source, target, links in LINES:
        short = max_words is None or (1 <= len(source.split()) <= max_words and 1 <= len(target.split()) <= max_words)
        if short and (pairs is None or len(expected) < pairs):
            expected.append((source, target, links))
    columns = [(out / f"train.{kind}").read_text(encoding="utf-8").split("\n")[:-1] for kind in ("en", "fr", "links")]
    assert list(zip(*columns, strict=True)) == expected
    assert (out / "dev.fr").read_text(encoding="utf-8") == "un\nun\n"


def test_too_few_pairs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"corpus\.pairs = 6, and only 4 pairs of the files fit"):
        write_subset(study(tmp_path, "pairs = 6\nmax_words = 3"), tmp_path, quiet)


@pytest.mark.parametrize(("lines", "message"), [(3, "ends before pair 4 of"), (9, "has more lines than")])
def test_links_must_fit(tmp_path: Path, lines: int, message: str) -> None:
    plan = study(tmp_path, 'max_words = 9\nlinks = ["all.links"]')
    (tmp_path / "all.links").write_text("\n" * lines, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        write_subset(plan, tmp_path, quiet)
