"""HTML: an element stays around the words whose translation it surrounded, and no tag is lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Command
from hypothesis import given
from hypothesis import strategies as st

from rnnsearch.records import Translation
from rnnsearch.serve import placing
from rnnsearch.serve.html import Markup, Tagged
from rnnsearch.serve.markdown import Markdown
from rnnsearch.serve.paragraphs import Paragraphs
from rnnsearch.text.codec import JOINER
from rnnsearch.translation.translator import Translator

Order = Callable[[Sequence[str]], list[int]]


def translated(
    html: str | Tagged,
    order: Order = lambda words: list(range(len(words))),
    write: Callable[[str], str] = str,
) -> str:
    """Translates by writing the source words in another order, word by word, aligned exactly."""
    page, results = Markup(html) if isinstance(html, str) else html, []
    for text in page.texts:
        words, places = text.split(), order(text.split())
        weights = np.eye(len(words) + 1, dtype=np.float32)[places]
        tokens = [write(words[place]) for place in places]
        result = Translation(" ".join(tokens), tokens, [*words, "</s>"], 0.0, [], weights)
        before, sentence, after = text.partition(text.strip())
        results.append((Paragraphs([sentence], [before, after]), [result]))
    return page.rendered(results)


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
        ("a<code>b</code> c", "C <code>AB</code>"),
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
        (
            "<div translate=no><p>a b</p>c &amp; d</div>e f",
            "<div translate=no><p>a b</p>c &amp; d</div>F E",
        ),
        ("<!DOCTYPE html>\n<!-- a b --><td>1 2</td>", "<!DOCTYPE html>\n<!-- a b --><td>2 1</td>"),
        (
            "<![if !mso]><!x><![x[ a></ ><td>1 2</td><![endif]><xmp><b>a b</b></xmp>",
            "<![if !mso]><!x><![x[ a></ ><td>2 1</td><![endif]><xmp><b>a b</b></xmp>",
        ),
        ("<ul>\n  <li>a b</li>\n</ul>\n", "<ul>\n  <li>B A</li>\n</ul>\n"),
        ("a <b>b</b> c <b>d</b>", "<b>D</b> C <b>B</b> A"),
        (
            "a b<sup>1</sup> c<sup><a href=u>[2]</a></sup>.",
            "C.<sup><a href=u>[2]</a></sup> B<sup>1</sup> A",
        ),
        (
            "<sup>a</sup> a bb<sup>b</sup> cc<sup>[x y]</sup> d<sup>e</sup> ff<a href=u>1</a>.",
            "<sup>a</sup> FF.<a href=u>1</a> DE<sup></sup> CC<sup>[x y]</sup> BB<sup>b</sup> A",
        ),
        ("<p>\n\t<i></i> a b <img>\n</p>", "<p>\n\t<i></i> B A <img>\n</p>"),
        ("<a href=u><img> <b>a</b> b</a>", "<a href=u><img> B <b>A</b></a>"),
        ("<P>a <B>b</B\n> c</P>", "<P>C <B>B</B\n> A</P>"),
        ("a b <script>if (a<b) &amp;<p>", "B A <script>if (a<b) &amp;<p>"),
        ("a b <style>p > q {}", "B A <style>p > q {}"),
        ("a b <!-- c <i>d</i> > e", "B A <!-- c <i>d</i> > e"),
        ("a < b <i>c</i> d <a href='x", "D <i>C</i> B &lt; A <a href='x"),
        ("<pre>a\tb\n\tc</pre>a b", "<pre>a\tb\n\tc</pre>B A"),
        (
            "<ul><li class=notranslate>a b<li>a b</ul><p>a b",
            "<ul><li class=notranslate>a b<li>B A</ul><p>B A",
        ),
        (
            "<table><tr><td translate=no>a b<td>c d</table>e f",
            "<table><tr><td translate=no>a b<td>D C</table>F E",
        ),
        ("<p translate=NO>a b<p>a b", "<p translate=NO>a b<p>B A"),
        ("<p translate=no>a b</br>c d</p>e f", "<p translate=no>a b</br>c d</p>F E"),
        ("<li class=notranslate>a b</p>c d</li>", "<li class=notranslate>a b</p>c d</li>"),
        ("<p translate=no>a b<hr/>c d", "<p translate=no>a b<hr/>D C"),
        ("<pre>&copy; &quot;a < b</pre>a</>", "<pre>&copy; &quot;a < b</pre>A</>"),
        (
            "<p title=\"don't >\">a <i x='translate=no'>b</i> <u/>c",
            "<p title=\"don't >\">C <i x='translate=no'>B</i> A<u/>",
        ),
        ("<div><p translate=no>a b</div>a b", "<div><p translate=no>a b</div>B A"),
        (
            f"a &#{'1' * 4_301}; <i title='&#{'9' * 4_400};'>b</i>",
            "<i title='\ufffd'>B</i> \ufffd A",
        ),
    ],
)
def test_elements_follow_their_words(html: str, expected: str) -> None:
    """The right places are known: every word is aligned to the one that it is."""
    assert translated(html, reversed_order, str.upper) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## a **b** c\n\n> - *d e* f\n", "## C **B** A\n\n> - F *E D*\n"),
        ('1. [x] a [b c](u_v_w "t") d', '1. [x] D [C B](u_v_w "t") A'),
        ("a `ls -l` b ~~c~~ ![d](u.png)", "![D](u.png) ~~C~~ B `ls -l` A"),
        ("| a b | **c** |\n|---|:-:|\n", "| B A | **C** |\n|---|:-:|\n"),
        (
            "```sh\na b\n```\na b\n\n    a b\n    c d\n",
            "```sh\na b\n```\nB A\n\n    a b\n    c d\n",
        ),
        ("- ```sh\n  a b\n  ```\n\na b\n", "- ```sh\n  a b\n  ```\n\nB A\n"),
        ("```ls``` a b\n\nc d\n", "B A ```ls```\n\nD C\n"),
        ("```md\n```python\na b\n```\na b\n", "```md\n```python\na b\n```\nB A\n"),
        ("- a b\n\n    c d\n\n[u]: http://x_y_z\n", "- B A\n\n    D C\n\n[u]: http://x_y_z\n"),
        ("a_b 2 * 3 __c__", "__C__ 3 * 2 A_B"),
        ("a **b _c\n[d", "**C B A_\n[D"),
        ("1[`1`", "1`1`["),
        ("a `` b ` c `` d", "D `` b ` c `` A"),
        ("---\ntitle: a b\n---\na b\n", "---\ntitle: a b\n---\nB A\n"),
        ("---\n\na b\n---\n", "---\n\nB A\n---\n"),
        ("[^1]: a b", "[^1]: B A"),
        ("---\nc: a b\n\nc d\n\n---\n", "---\nB A C:\n\nD C\n\n---\n"),
    ],
)
def test_marks_of_markdown_follow_their_words(text: str, expected: str) -> None:
    assert translated(Markdown(text), reversed_order, str.upper) == expected


@given(st.text(st.sampled_from("*_~`[]()!|#> \\<>ab-1.\n"), max_size=60))
def test_no_mark_of_markdown_is_lost(text: str) -> None:
    assert sorted(translated(Markdown(text)).replace(" ", "")) == sorted(text.replace(" ", ""))


def test_a_weaker_alignment_decides_by_its_mass() -> None:
    """`chat noir` has most of its weight on `black cat`, and `Le` has some."""
    page = Markup("The <b>black cat</b>")
    weights = np.array([[0.6, 0.2, 0.1, 0.1], [0.1, 0.2, 0.6, 0.1], [0.3, 0.5, 0.2, 0]], np.float32)
    result = Translation(
        "Le chat noir", ["Le", "chat", "noir"], ["The", "black", "cat", "</s>"], 0.0, [], weights
    )
    assert (
        page.rendered([(Paragraphs(["The black cat"], ["", ""]), [result])])
        == "Le <b>chat noir</b>"
    )


@pytest.mark.parametrize(
    ("html", "first", "text"),
    [("10\u00a0000", f"10{JOINER}000", "10 000"), ("1.", f"1.{JOINER}", "1.")],
)
def test_a_number_with_spaces_and_a_mark_in_front_are_one_word(
    html: str, first: str, text: str
) -> None:
    page, weights = Markup(f"<b>{html}</b> men"), np.eye(3, dtype=np.float32)[:2]
    sides = [first, "hommes"], [first, "men", "</s>"]
    result = Translation(f"{text} hommes", *sides, 0.0, [], weights)
    made = page.rendered([(Paragraphs(page.texts, ["", ""]), [result])])
    assert made == f"<b>{text}</b> hommes"


def test_an_element_over_two_sentences_is_opened_once() -> None:
    page, eye = Markup("<i>a b. c</i> d."), np.eye(3, dtype=np.float32)
    results = [
        Translation(
            f"{one.upper()} {two.upper()}",
            [one.upper(), two.upper()],
            [one, two, "</s>"],
            0.0,
            [],
            eye[:2],
        )
        for one, two in (("a", "b."), ("c", "d."))
    ]
    assert (
        page.rendered([(Paragraphs(["a b.", "c d."], ["", " ", ""]), results)])
        == "<i>A B. C</i> D."
    )


def test_an_element_searches_the_sentences_in_which_it_lies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that the time does not grow with tags times the words of all sentences."""
    searched, mass = [], placing._mass

    def counted(*near: Any) -> Any:
        searched.append(len(near[0]))
        return mass(*near)

    monkeypatch.setattr(placing, "_mass", counted)
    page, eye = Markup("<u>a</u> <u>b.</u> " * 200 + "<u>" * 200), np.eye(3, dtype=np.float32)[:2]
    results = [Translation("A B.", ["A", "B."], ["a", "b.", "</s>"], 0.0, [], eye)] * 200
    paragraph = Paragraphs(["a b."] * 200, ["", *[" "] * 200])
    made = page.rendered([(paragraph, results)])
    assert made.split() == ["<u>A</u>", "<u>B.</u>"] * 200 + ["<u>" * 200]
    assert set(searched) == {1}
    with pytest.raises(StopIteration):
        page.rendered([(paragraph, results)], iter([1]).__next__)


PARTS = "<b>|</b>|<i class='x'>|</i>|<br>|<p>|</p>|<img src=a>|<code>|</code>|<!--c-->|a|b | c| |é|&amp;|."


@given(st.lists(st.sampled_from(PARTS.split("|")), max_size=25))
def test_no_tag_is_lost_or_doubled(parts: list[str]) -> None:
    html = "".join(parts)
    made = translated(html, reversed_order)
    tags = re.compile(r"<[^>]*>")
    assert sorted(tags.findall(made)) == sorted(tags.findall(html))


SOUND = (
    "a|b|c| |<b>x</b>|<p>y <i>z</i></p>|<br>|<img>|<i></i>|&lt;|<td>"
    "|C<sub>6</sub>H<sub>12</sub>O<sub>6</sub>|2<sup>nd</sup>|v<i>w</i>"
)


@given(st.lists(st.sampled_from(SOUND.split("|")), max_size=25))
def test_what_is_translated_into_itself_stays(parts: list[str]) -> None:
    html = " ".join(parts)
    assert translated(html).replace(" ", "") == html.replace(" ", "")


@given(st.text(st.sampled_from("<>/!?-[]ab &;=\"'\n"), max_size=60))
def test_any_text_is_read(html: str) -> None:
    assert all(text.strip() for text in Markup(html).texts)


def test_deep_elements_are_kept() -> None:
    html = "<b>" * 3_000 + "a" + "</b>" * 3_000
    assert translated(html).count("<b>") == translated(html).count("</b>") == 3_000


def test_many_signs_of_addresses_in_deep_elements_are_no_address() -> None:
    """A search that tries every pair of signs, at every level, would take hours."""
    text = "a@" * 50_000
    assert Markup("<b>" * 100 + text + "</b>" * 100).texts == [text]


def test_the_command_translates_a_page(command: Command, tiny_run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<html lang="en-GB"><p lang="en">The <b>man</b> sees a dog .</p>\n<hr>\n')
    outcome = command("translate", tiny_run, page, "--format", "html")
    (expected,) = Translator.load(tiny_run).translate(["The man sees a dog ."])
    assert re.findall("<[^>]*>", outcome.out) == [
        *('<html lang="fr">', '<p lang="en">', "<b>", "</b>", "</p>", "<hr>")
    ]
    assert re.sub("<[^>]*>", "", outcome.out).strip() == expected.text
    for more, says in ((["--json"], "different outputs"), (["--nbest", "2"], "a page only")):
        assert says in command("translate", tiny_run, page, "--format", "html", *more).err
