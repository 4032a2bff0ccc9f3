"""The languages of a text: those that are set, by the files' names, by the text, or assumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import refusal

from rnnsearch.text.formats.layout import Layout
from rnnsearch.text.language_codes import LANGUAGES, base
from rnnsearch.text.languages import language_doubts, named_languages, with_languages

TEXT = {
    "de": "Der Mann liest heute Abend ein Buch, und das Kind schläft schon.\n",
    "en": "The man is reading a book tonight, and the child is asleep already.\n",
    "ja": "昨日、私は図書館で新しい本を三冊借りました。とても面白いです。\n",
    "xx": "12 34\n",
}


@pytest.mark.parametrize(
    ("files", "texts", "own", "said"),
    [
        ("corpus.de corpus.en", "de en", "", "de → en (by the file's name)"),
        ("corpus.ja-en.tsv", "ja", "", "ja → en (by the file's name)"),
        ("a.txt b.txt", "ja en", "", "ja → en (by the text)"),
        ("a.en b", "en de", "", "en → de (by the file's name, by the text)"),
        ("a b", "xx xx", "", "en → fr (assumed: name others by"),
        ("a b", "de xx", "", "en → fr (assumed: name others by"),
        (
            "a b",
            "de en",
            "source_language=nl target_language=en",
            "nl → en (as set)\n  warning    the source",
        ),
        (
            "a.fr a.en",
            "de en",
            "",
            "the source text looks like de, not fr (check the order of the files",
        ),
        ("a.en a.de", "de en", "", "looks like de, not en"),
        ("a.jsonl b.de b.en", "xx de en", "", "de → en (by the file's name)"),
        ("corpus.en-de.de corpus.en-de.en", "de en", "", "de → en (by the file's name)"),
        ("corpus.en-de.de b.txt", "de en", "", "en → de (by the file's name)\n  warning    the"),
        ("a.tsv b.tmx", "xx xx", "", "en → fr (assumed: name others by"),
        ("train.ja.tok train.en.tok", "ja en", "", "ja → en (by the text)"),
        ("my-own.tsv", "xx", "", "en → fr (assumed: name others by"),
        ("dev-set.tsv", "xx", "", "en → fr (assumed: name others by"),
    ],
)
def test_languages(files: str, texts: str, own: str, said: str, here: Path) -> None:
    for name, code in zip(files.split(), texts.split(), strict=True):
        Path(name).write_text(80 * TEXT[code], encoding="utf-8")
    _, shown = with_languages(files.split(), "demo", [f"data.{one}" for one in own.split()])
    assert said in shown
    assert ("warning" in shown) == ("looks like" in shown)


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        (
            "ru",
            "Ya ne znayu, chto delat.",
            "source text is in Latin letters, but ru is written in Cyrillic ones",
        ),
        (
            "ja",
            "Kyoto wa utsukushii machi desu.",
            "is in Latin letters, but ja is written in CJK ones",
        ),
        ("de", "Я не знаю, что делать.", "is in Cyrillic letters, but de is written in Latin ones"),
        ("zh", "Я не знаю, что делать.", "is in Cyrillic letters, but zh is written in CJK ones"),
        ("ru", "Я не знаю, что делать.", ""),
        ("ja", "ラーメンはおいしいですが、Tokyoでは高いです。", ""),
        ("sr", "Ja ne znam šta da radim.", ""),  # written in both
        ("ru", "OK", ""),
    ],
)
def test_letters_of_another_script(code: str, line: str, said: str, tmp_path: Path) -> None:
    files = [tmp_path / f"a.{code}", tmp_path / "a.en"]
    for file, text in zip(files, (line, "I do not know what to do."), strict=True):
        file.write_text(f"{text}\n", encoding="utf-8")
    found = with_languages(files, "demo", [])[1]
    assert said in found
    assert ("warning" in found) == bool(said)


@pytest.mark.parametrize(
    ("name", "codes", "own"),
    [
        ("memory.ja-en.tmx", "ja en", ""),
        ("memory.tmx", "ja en", "ja en"),
        ("memory.jpn-eng.tmx", "jpn eng", ""),
    ],
)
def test_the_sides_of_a_translation_memory_are_those_of_its_languages(
    name: str, codes: str, own: str, here: Path
) -> None:
    """They were looked for in English and French, and the English taken for the source."""
    source, target = codes.split()
    unit = (
        f'<tu><tuv xml:lang="{source}"><seg>{TEXT["ja"]}</seg></tuv>'
        f'<tuv xml:lang="{target}"><seg>{TEXT["en"]}</seg></tuv></tu>'
    )
    body = f'<tmx version="1.4"><header/><body>{500 * unit}</body></tmx>'
    Path(name).write_text(body, encoding="utf-8")
    keys = ("data.source_language", "data.target_language")
    overrides = [f"{key}={code}" for key, code in zip(keys, own.split(), strict=False)]
    said = with_languages([name], "demo", overrides)[1]
    why = "as set" if own else "by the file's name"
    assert said == f"{source} → {target} ({why})"


def test_one_language_is_refused(here: Path) -> None:
    for name in ("a.de", "b.de"):
        Path(name).write_text(TEXT["de"], encoding="utf-8")
    with refusal("both sides are in one language, de"):
        with_languages(["a.de", "b.de"], "demo", [])
    Path("a.fr").touch()
    with refusal("both sides are in one language, fr"):
        with_languages(["a.fr", "-"], "demo", [])


def test_a_missing_or_empty_text_is_in_no_language(here: Path) -> None:
    """The command that needs the text says that it is empty."""
    Path("empty.de").touch()
    assert with_languages(["empty.de", "empty.de"], "demo", [])[1].startswith("de → de")
    with refusal("c.de: no such file"):
        with_languages(["empty.de", "c.de"], "demo", [])
    Path("b.de").write_text(TEXT["de"], encoding="utf-8")
    with refusal("empty.de has 0 lines and b.de has 1"):
        with_languages(["empty.de", "b.de"], "demo", [])


def test_further_texts_in_another_order_are_noticed(here: Path) -> None:
    for name in ("a.de", "a.en", "b.de", "b.en", "dev.de", "dev.en", "empty.de"):
        text = "" if "empty" in name else 80 * TEXT[name[-2:]]
        Path(name).write_text(text, encoding="utf-8")
    layout = Layout("", "", "", "de", "en")
    texts = ["a.de", "a.en", "b.en", "b.de"]
    shown = language_doubts(texts, layout, 1) + language_doubts(["dev.en", "dev.de"], layout)
    said = shown.split("\n  warning    ")
    assert [line.partition(" (")[0] for line in said] == [
        "",
        "b.en | b.de: the source text looks like en, not de",
        "b.en | b.de: the target text looks like de, not en",
        "dev.en | dev.de: the source text looks like en, not de",
        "dev.en | dev.de: the target text looks like de, not en",
    ]
    for files in (["dev.de", "dev.en"], ["dev.en", "-"], ["empty.de", "missing.de"], []):
        assert not language_doubts(files, layout)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.tsv", "English\tCzech\tscore\nyes\tano\t1\n", "en → cs (by the file)"),
        ("a.tsv", "id\tcs\ten\n1\tano\tyes\n", "en → fr (assumed"),
        ("a.tsv", "\tCzech\tEnglish\n1\tano\tyes\n", "cs → en (by the file)"),
        (
            "a.tmx",
            '<tmx><header/><body><tu><tuv xml:lang="ja-JP"><seg>はい</seg></tuv>'
            '<tuv xml:lang="EN-US"><seg>yes</seg></tuv></tu></body></tmx>',
            "ja → en (by the file)",
        ),
    ],
)
def test_a_file_may_name_its_languages(name: str, text: str, said: str, here: Path) -> None:
    Path(name).write_text(text, encoding="utf-8")
    assert with_languages([name], "demo", [])[1].startswith(said)


@pytest.mark.parametrize("columns", [("3", "2"), ("english sentence", "french sentence")])
def test_the_columns_that_are_read_name_the_languages(columns: tuple[str, str], here: Path) -> None:
    Path("a.tsv").write_text("notes\tFrench sentence\tEnglish sentence\nx\toui\tyes\n", "utf-8")
    said = with_languages(["a.tsv"], "demo", [], Layout("tsv", *columns))[1]
    assert said.startswith("en → fr (by the file)")


SENTENCES = [
    f"The man reads {'the book and ' * (number * 7 % 11)}letters." for number in range(120)
]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines, ""),
        (lambda lines: [*[lines[0]] * (len(lines) - 1), lines[1]], ""),
        (
            lambda lines: [*lines[1:], "x"],
            "lines of the source seem to belong to the lines of the target 1 earlier",
        ),
        (
            lambda lines: ["x", "y", *lines[:-2]],
            "lines of the target seem to belong to the lines of the source 2 earlier",
        ),
        (lambda lines: [*SENTENCES[:40], *lines[40:]], "40 of 120 lines are the same"),
    ],
)
def test_sides_that_are_not_parallel(
    change: Callable[[list[str]], list[str]], said: str, here: Path
) -> None:
    """The lengths of one side may be all the same but for the last line."""
    target = [
        line.replace("The man reads", "Der Mann liest").replace("the book and", "das Buch und")
        for line in SENTENCES
    ]
    Path("a.en").write_text("\n".join([*SENTENCES, ""]))
    Path("a.de").write_text("\n".join([*change(target), ""]), encoding="utf-8")
    found = with_languages(["a.en", "a.de"], "demo", [])[1]
    assert said in found
    assert ("warning" in found) == bool(said)


def test_text_that_is_split_already(here: Path) -> None:
    for code in ("ja", "en"):
        Path(f"a.{code}").write_text(80 * TEXT[code], encoding="utf-8")
    assert "warning" not in with_languages(["a.ja", "a.en"], "demo", [])[1]
    split = " ".join(TEXT["ja"].strip()) + "\n"
    Path("a.ja").write_text(80 * split, encoding="utf-8")
    found = with_languages(["a.ja", "a.en"], "demo", [])[1]
    assert "the ja text is split into words" in found
    assert "--words given" in found


def test_an_archive_of_both_sides_names_no_language() -> None:
    assert named_languages(["opus.zip", "a.en", "a.fr"]) == ["en", "fr"]
    assert named_languages(["a.en.zip", "a.fr.zip"]) == ["en", "fr"]


@pytest.mark.parametrize("name", ["corpus.en-uz.tsv", "Tatoeba.kab-en.tsv", "no-en.tmx"])
def test_a_name_may_have_a_language_that_is_not_listed(name: str) -> None:
    assert "-".join(named_languages([name])) in name


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_language_has_its_english_name_too(code: str) -> None:
    name = LANGUAGES[code][0]
    assert " " in name or base(name) == code
