"""The languages of a text: those that are set, by the files' names, by the text, or assumed."""

from __future__ import annotations

from pathlib import Path

import pytest
from refusals import refusal

from rnnsearch.text.languages import with_languages

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
        ("a.tsv b.tmx", "xx xx", "", "en → fr (assumed: name others by"),
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


def test_one_language_is_refused(tmp_path: Path) -> None:
    with refusal("both sides are in one language, de"):
        with_languages([tmp_path / "a.de", tmp_path / "b.de"], "demo", [])
