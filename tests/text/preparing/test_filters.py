from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rnnsearch.config import DataSettings
from rnnsearch.text.formats.entities import resolve_entities
from rnnsearch.text.preparing.filters import FILTERS, Filter, TokenisedPair, active_filters, governing_setting, reason
from rnnsearch.text.preparing.prepare import prepare
from rnnsearch.text.store.corpus import Corpus

EVERYTHING = DataSettings.model_validate(
    {"drop_identical": True, "drop_control_characters": True, "entities": "drop", "language_certainty": 0.9}
)


def pair(source: str, target: str) -> TokenisedPair:
    return TokenisedPair(source, target, source.split(), target.split())


def named(name: str) -> Filter:
    return next(drops for drops in FILTERS if reason(drops) == name)


def words(count: int) -> str:
    return " ".join(["w"] * count)


@pytest.mark.parametrize(
    ("name", "source", "target", "settings", "drops"),
    [
        ("empty side", "", "b", {}, True),
        ("empty side", "a", " ", {}, True),
        ("empty side", "", "", {}, True),
        ("empty side", "a", "b", {}, False),
        ("too long", words(201), "b", {}, True),
        ("too long", "a", words(201), {}, True),
        ("too long", words(200), words(200), {}, False),
        ("too long", "a b c", "b", {"max_words": 2}, True),
        ("length ratio", "a", words(10), {}, True),
        ("length ratio", words(10), "b", {}, True),
        ("length ratio", "a", words(9), {}, False),  # as in Moses: more than nine times
        ("length ratio", words(2), words(19), {}, True),
        ("length ratio", words(2), words(3), {"max_ratio": 1.4}, True),
        ("length ratio", words(2), words(3), {"max_ratio": 1.5}, False),
        ("length ratio", words(3), words(3), {"max_ratio": 1.0}, False),
        ("identical sides", "a b", "a  b", {}, True),
        ("identical sides", "a b", "a B", {}, False),
        ("identical sides", "a b", "a b c", {}, False),
        *(("control characters", f"a{control}b", "c", {}, True) for control in "\x00\x07\x0b\x0c\x1b\x1f\x7f\x85\x9f\u2028\u2029"),
        ("control characters", "a", "c\x92d", {}, True),
        *(("control characters", f"a{blank}b", "c", {}, False) for blank in " \t\r\u00a0\u200b\u3000\ufeff"),
        *(
            ("html entities", f"a {entity} b", "c", {}, True)
            for entity in ("&amp;", "&lt;", "&#39;", "&#x2019;", "&nbsp;", "&unheard-of;&eacute;")
        ),
        ("html entities", "c", "l&rsquo;homme", {}, True),
        *(("html entities", text, "c", {}, False) for text in ("AT&T; no", "R&D", "a & b;", "&;", "&#;", "&é;", "& amp;")),
    ],
)
def test_a_filter_drops(name: str, source: str, target: str, settings: dict[str, object], drops: bool) -> None:
    assert named(name)(pair(source, target), DataSettings.model_validate(settings)) is drops


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, ["empty side", "too long", "length ratio"]),
        ({"max_ratio": 0}, ["empty side", "too long"]),
        ({"drop_identical": True}, ["empty side", "too long", "length ratio", "identical sides"]),
        ({"drop_control_characters": True}, ["empty side", "too long", "length ratio", "control characters"]),
        ({"entities": "drop"}, ["empty side", "too long", "length ratio", "html entities"]),
        ({"entities": "resolve"}, ["empty side", "too long", "length ratio"]),
        ({"drop_duplicates": True}, ["empty side", "too long", "length ratio"]),  # needs a memory of all pairs, so it is no filter
    ],
)
def test_settings_turn_filters_on(settings: dict[str, object], names: list[str]) -> None:
    assert [reason(drops) for drops in active_filters(DataSettings.model_validate(settings))] == names


def test_every_filter_can_be_turned_on_and_says_by_what() -> None:
    pytest.importorskip("py3langid")
    assert active_filters(EVERYTHING) == list(FILTERS)
    settings = [governing_setting(drops) for drops in FILTERS]
    assert settings[:3] == ["", "data.max_words", "data.max_ratio"]
    assert all(setting.removeprefix("data.") in DataSettings.model_fields for setting in settings[1:])


def test_filters_can_be_sent_to_another_process() -> None:
    filters = list(FILTERS)
    assert pickle.loads(pickle.dumps(filters)) == filters


def test_every_filter_says_what_it_catches() -> None:
    assert all(drops.__doc__ for drops in FILTERS)
    assert len({reason(drops) for drops in FILTERS}) == len(FILTERS)


@pytest.mark.parametrize("ratio", [-1, 0.5, "x"])
def test_a_ratio_that_would_leave_nothing_is_refused(ratio: object) -> None:
    with pytest.raises(ValidationError):
        DataSettings.model_validate({"max_ratio": ratio})


@pytest.mark.parametrize(
    ("line", "resolved"),
    [
        ("stone &amp; tile", "stone & tile"),
        ("&lt;b&gt; &quot;x&quot;", '<b> "x"'),
        ("l&#39;homme, l&rsquo;&#xE9;t&eacute;", "l'homme, l’été"),
        ("&amp;lt;", "&lt;"),  # once: what was escaped twice was perhaps meant so
        ("AT&T; R&D; &unknown; &amp", "AT&T; R&D; &unknown; &amp"),
        ("a&nbsp;b", "a\u00a0b"),
        ("a&#10;b&NewLine;c&#13;d&#9;e&#x85;f&#8232;g", "a b c d e…f g"),  # U+0085 is what HTML takes for an ellipsis in Windows's letters
        ("&#0; &#xD800; &#9999999; &#1;.", "\ufffd \ufffd \ufffd  ."),
        ("&copyright; &notit; &AMP; &fjlig;", "&copyright; &notit; & fj"),
        ("nothing", "nothing"),
        ("", ""),
    ],
)
def test_entities_are_resolved(line: str, resolved: str) -> None:
    assert resolve_entities(line) == resolved


@given(
    st.lists(st.sampled_from(["&", "#", "x", ";", "amp", "lt", "10", "13", "8232", "D800", "0", "85", "NewLine", "a", " ", "\u2028"])).map(
        "".join
    )
)
def test_a_resolved_line_is_one_line_that_can_be_written(line: str) -> None:
    resolved = resolve_entities(line.replace("\u2028", ""))
    assert len(resolved.splitlines()) <= 1
    resolved.encode("utf-8")


LINES = {"good": "bon", "a\x07b\tc": "x", "d": "y\u2028z", "e\tf": "g", "&lt;h&gt;": "&amp;", "same": "same"}


@pytest.mark.parametrize(
    ("settings", "dropped", "warnings"),
    [
        ({}, {}, {"control character": 1, "tab": 2, "HTML entity": 1}),
        ({"drop_control_characters": True}, {"control characters": 2}, {"control character": 1, "tab": 2, "HTML entity": 1}),
        ({"entities": "drop", "drop_identical": True}, {"html entities": 1, "identical sides": 1}, None),
    ],
)
def test_prepare_drops_by_these_filters(
    tmp_path: Path, settings: dict[str, object], dropped: dict[str, int], warnings: dict[str, int] | None
) -> None:
    source, target, store = tmp_path / "s", tmp_path / "t", tmp_path / "store"
    source.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    target.write_text("".join(f"{line}\n" for line in LINES.values()), encoding="utf-8")
    report = prepare(source, target, store, settings=DataSettings.model_validate({"tokeniser": "space"} | settings))
    assert {tally.reason: tally.pairs for tally in report.dropped if tally.pairs} == dropped
    assert report.texts[0].pairs_kept == len(LINES) - sum(dropped.values())
    assert warnings in (None, report.texts[0].source_warnings.lines)
    assert not set("\x07\u2028") & set((store / "report.txt").read_text(encoding="utf-8"))


def test_prepare_resolves_entities(tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "t"
    source.write_text("a &amp; b\n", encoding="utf-8")
    target.write_text("l&rsquo;x\n", encoding="utf-8")
    prepare(source, target, tmp_path / "store", settings=DataSettings(tokeniser="space", entities="resolve"))
    corpus = Corpus.open(tmp_path / "store")
    assert corpus.source.decode(corpus.train.source(0).tolist()).words == ["a", "&", "b"]
    assert corpus.target.decode(corpus.train.target(0).tolist()).words == ["l’x"]
