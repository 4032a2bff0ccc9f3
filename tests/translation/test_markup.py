"""HTML: an element stays around the words whose translation it surrounded, and no tag is lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.errors import InputError
from rnnsearch.records import Translation
from rnnsearch.text.codec import JOINER
from rnnsearch.translation.markup import Markup
from rnnsearch.translation.source_lines import Paragraphs
from rnnsearch.translation.translator import Translator

Order = Callable[[Sequence[str]], list[int]]


def translated(
    html: str, order: Order = lambda words: list(range(len(words))), write: Callable[[str], str] = str
) -> str:
    """Translates by writing the source words in another order, word by word, aligned exactly."""
    markup, results = Markup(html), []
    for text in markup.texts:
        words, places = text.split(), order(text.split())
        weights = np.eye(len(words) + 1, dtype=np.float32)[places]
        tokens = [write(words[place]) for place in places]
        result = Translation(" ".join(tokens), tokens, [*words, "</s>"], 0.0, [], weights)
        before, sentence, after = text.partition(text.strip())
        results.append((Paragraphs([sentence], [before, after]), [result]))
    return markup.rendered(results)


def reversed_order(words: Sequence[str]) -> list[int]:
    return list(range(len(words)))[::-1]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>the <b>black cat</b> sleeps</p>", "<p>SLEEPS <b>CAT BLACK</b> THE</p>"),
        ("a <a href='x'>b <i>c</i> d</a> e", "E <a href='x'>D <i>C</i> B</a> A"),
        ("<b>a b</b>", "<b>B A</b>"),
        ("one<br>two <p>a <i>b</i>\n c</p>", "ONE<br>TWO <p>C <i>B</i> A</p>"),
        ("a <code>ls -l</code> b", "B <code>ls -l</code> A"),
        ("a <span translate=no>b c</span> d", "D <span translate=no>b c</span> A"),
        ("a <i class='x notranslate'>b</i> c", "C <i class='x notranslate'>b</i> A"),
        (
            "see <a href=u><span>http://</span>x.org/a</a> now",
            "NOW <a href=u><span>http://</span>x.org/a</a> SEE",
        ),
        ("by <a>@<span>user</span></a> and", "AND <a>@<span>user</span></a> BY"),
        ("x &amp; &lt;script&gt; y", "Y &lt;SCRIPT&gt; &amp; X"),
        (
            "<script>a < b && c</script><style>p{}</style>a b",
            "<script>a < b && c</script><style>p{}</style>B A",
        ),
        ("<div translate=no><p>a b</p>c &amp; d</div>e f", "<div translate=no><p>a b</p>c &amp; d</div>F E"),
        ("<!DOCTYPE html>\n<!-- a b --><td>1 2</td>", "<!DOCTYPE html>\n<!-- a b --><td>2 1</td>"),
        ("<ul>\n  <li>a b</li>\n</ul>\n", "<ul>\n  <li>B A</li>\n</ul>\n"),
        ("a <b>b</b> c <b>d</b>", "<b>D</b> C <b>B</b> A"),
    ],
)
def test_elements_follow_their_words(html: str, expected: str) -> None:
    """The right places are known: every word is aligned to the one that it is."""
    assert translated(html, reversed_order, str.upper) == expected


def test_a_weaker_alignment_decides_by_its_mass() -> None:
    """`chat noir` has most of its weight on `black cat`, and `Le` has some."""
    markup = Markup("The <b>black cat</b>")
    weights = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0.3, 0.5, 0.2, 0]], np.float32)
    result = Translation(
        "Le chat noir", ["Le", "chat", "noir"], ["The", "black", "cat", "</s>"], 0.0, [], weights
    )
    assert markup.rendered([(Paragraphs(["The black cat"], ["", ""]), [result])]) == "Le <b>chat noir</b>"


def test_a_number_with_spaces_is_one_word() -> None:
    markup, number = Markup("<b>10\u00a0000</b> men"), f"10{JOINER}000"
    words = [number, "hommes"]
    result = Translation(
        "10 000 hommes", words, [number, "men", "</s>"], 0.0, [], np.eye(3, dtype=np.float32)[:2]
    )
    assert markup.rendered([(Paragraphs(markup.texts, ["", ""]), [result])]) == "<b>10 000</b> hommes"


def test_an_element_over_two_sentences_is_opened_once() -> None:
    markup, eye = Markup("<i>a b. c</i> d."), np.eye(3, dtype=np.float32)
    results = [
        Translation(
            f"{one.upper()} {two.upper()}", [one.upper(), two.upper()], [one, two, "</s>"], 0.0, [], eye[:2]
        )
        for one, two in (("a", "b."), ("c", "d."))
    ]
    assert markup.rendered([(Paragraphs(["a b.", "c d."], ["", " ", ""]), results)]) == "<i>A B. C</i> D."


PARTS = [
    "<b>",
    "</b>",
    "<i class='x'>",
    "</i>",
    "<br>",
    "<p>",
    "</p>",
    "<img src=a>",
    "<code>",
    "</code>",
    "<!--c-->",
]


@given(st.lists(st.sampled_from([*PARTS, "a", "b ", " c", " ", "é", "&amp;", "."]), max_size=25))
def test_no_tag_is_lost_or_doubled(parts: list[str]) -> None:
    html = "".join(parts)
    made = translated(html, reversed_order)
    tags = re.compile(r"<[^>]*>")
    assert sorted(tags.findall(made)) == sorted(tags.findall(html))


@given(
    st.lists(
        st.sampled_from(
            [*"abc", " ", "<b>x</b>", "<p>y <i>z</i></p>", "<br>", "<img>", "<i></i>", "&lt;", "<td>"]
        ),
        max_size=25,
    )
)
def test_what_is_translated_into_itself_stays(parts: list[str]) -> None:
    html = " ".join(parts)
    assert translated(html).replace(" ", "") == html.replace(" ", "")


@given(st.text(st.sampled_from("<>/!?-[]ab &;=\"'\n"), max_size=60))
def test_any_text_is_read_or_refused(html: str) -> None:
    try:
        markup = Markup(html)
    except InputError:
        return
    assert all(text.strip() for text in markup.texts)


def test_deep_elements_are_kept() -> None:
    html = "<b>" * 3_000 + "a" + "</b>" * 3_000
    assert translated(html).count("<b>") == translated(html).count("</b>") == 3_000


def test_many_signs_of_addresses_in_deep_elements_are_no_address() -> None:
    """A search that tries every pair of signs, at every level, would take hours."""
    text = "a@" * 50_000
    assert Markup("<b>" * 100 + text + "</b>" * 100).texts == [text]


def test_the_command_translates_a_page(command: Callable[..., Any], tiny_run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<p>The <b>man</b> sees a dog .</p>\n<hr>\n")
    outcome = command("translate", tiny_run, page, "--format", "html")
    (expected,) = Translator.load(tiny_run).translate(["The man sees a dog ."])
    assert re.findall("<[^>]*>", outcome.out) == ["<p>", "<b>", "</b>", "</p>", "<hr>"]
    assert re.sub("<[^>]*>", "", outcome.out).strip() == expected.text
    for more, says in ((["--json"], "a page only"), (["--format", "markdown"], "--format")):
        assert says in command("translate", tiny_run, page, "--format", "html", *more).err
