"""The languages of a parallel text, as its files' names or its lines tell them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import dropwhile, islice
from pathlib import Path
from statistics import correlation
from typing import Any

from rnnsearch.config import load_config
from rnnsearch.errors import InputError
from rnnsearch.text.codec import SIDES
from rnnsearch.text.formats.layout import NAMED_LAYOUT, Layout
from rnnsearch.text.formats.opening import FilePath, is_on_disk, text_suffix
from rnnsearch.text.formats.readers import BILINGUAL, languages_in, parallel_texts
from rnnsearch.text.language_codes import LANGUAGES, base
from rnnsearch.text.tokens import UNSPACED

SideLines = Sequence[str]
"""The first lines of one side of a text."""
WORDS_TOO = "am be he is it my no or so to"
"""Codes of languages that are English words, too."""
SAMPLED, BLOCK = 400, 20
"""Pairs from which languages are identified, in blocks of so many lines."""
LEAST = 60
"""Letters that a block needs to count."""
LONGEST_SAMPLE = 2_000
"""Characters of a text that are used to identify its language: more would not make it more
certain."""
CLEAR = 0.8
"""Share of the blocks that must be in one language to identify it."""
_SCRIPTS = {
    "LATIN": (
        "en fr de es it pt ro nl cs pl sv da no nb nn fi et lv lt sk sl hr hu tr vi id ms ca eu "
        "gl ga cy is mt af sq sw eo la"
    ),
    "CYRILLIC": "ru uk bg be mk",
    "GREEK": "el",
    "ARABIC": "ar fa ur ps",
    "HEBREW": "he yi",
    "DEVANAGARI": "hi mr ne",
    "CJK": "zh yue wuu ja",
    "HANGUL": "ko",
    "THAI": "th",
    "GEORGIAN": "ka",
    "ARMENIAN": "hy",
}
"""Script of letters, as Unicode's names of them begin → languages that are written in it alone."""
_KANA = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC")
"""Scripts that are counted as CJK."""
SCRIPT_LETTERS = 10
"""Letters without which nothing is said about their script."""
FARTHEST = 3
"""Lines by which a side may be shifted."""


@cache
def _identifier() -> Any:
    """Returns the model that identifies languages."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def ranked_languages(text: str) -> list[tuple[str, float]]:
    """Returns all languages with their probabilities, most probable first; nothing for an empty
    text."""
    ranked = _identifier().rank(text[:LONGEST_SAMPLE]) if text.strip() else []
    return [(str(code), float(probability)) for code, probability in ranked]


def language_of(file: FilePath) -> str:
    """Returns the language code that a file's name ends in, or the empty string."""
    code = text_suffix(Path(file))[1:]
    others = "txt", "src", "tgt", "trg", *BILINGUAL
    return code if re.fullmatch("[a-z]{2,3}", code) and code not in others else ""


def named_languages(files: Sequence[FilePath]) -> list[str]:
    """Returns the language codes in the names of the first text's files, corpus.en corpus.fr or
    corpus.en-fr.tsv; empty strings without. A bilingual file whose name has none is passed over. In
    corpus.fr-en.en corpus.fr-en.fr, the ends of the names tell the order."""
    named = re.match(r"(?:.*[._])?([a-z]{2,3})-([a-z]{2,3})[.]", Path(files[0]).name)
    known = [code for code in named.groups() if base(code) in LANGUAGES] if named else []
    pairs = [*dropwhile(_is_bilingual, files)]
    ends = [*map(language_of, (pairs if len(pairs) > 1 else files)[:2]), ""][:2]
    if ends[0] == ends[1] and base(ends[0]) not in LANGUAGES:  # corpus.en.tok corpus.fr.tok
        ends = ["", ""]
    sure = len(known) == 2 or not {*known} <= {*WORDS_TOO.split()}  # en-uz.tsv, but not my-own.tsv
    first = sure and not (language_of(files[0]) and all(ends))
    return list(named.groups()) if named and first else ends


def _is_bilingual(file: FilePath) -> bool:
    """Tells whether a file has both sides: by its format, or as an archive named for none."""
    archive = str(file).lower().endswith(".zip") and not language_of(file)
    return archive or text_suffix(file)[1:] in BILINGUAL


def with_languages(
    files: Sequence[FilePath],
    recipe: str,
    overrides: Sequence[str],
    layout: Layout = NAMED_LAYOUT,
) -> tuple[list[str], str]:
    """Returns the overrides, `section.key=value`, with both languages of the text, and a message
    that says what they are and why.

    A language that recipe and overrides leave open is that in the files' names, or else the one in
    which most of the first lines are, or else the default. The message warns of text in another
    language than recipe, overrides or names say. Raises InputError if both languages are the same.
    """
    data = load_config(recipe, overrides).data
    names, by = named_languages(files), "by the file's name"
    if not any(names) and is_on_disk(files[0]) and (inside := languages_in(files[0], layout)):
        names, by = inside, "by the file"
    keys = "source_language", "target_language"
    # The languages that are set or named are the keys of JSON lines, and the languages in a TMX
    # file.
    places: dict[str, Any] = {
        key: name if name and key not in data.model_fields_set else getattr(data, key)
        for key, name in zip(keys, names, strict=True)
    }
    _, sides = next(_samples(files, replace(layout, **places)), ("", []))
    sides = sides or [(), ()]
    reads = list(map(_read_languages, sides))
    clear = list(map(_clear, reads))
    if not all(clear) or clear[0] == clear[1]:
        clear = ["", ""]
    found, how = [], []
    for (key, code), named, read in zip(places.items(), names, clear, strict=True):
        why = "as set"
        if key not in data.model_fields_set:
            choices = (named, by), (read, "by the text"), (code, "assumed")
            code, why = next(choice for choice in choices if choice[0])
            found.append(f"data.{key}={code}")
        how.append((code, why))
    (source, why), (target, other) = how
    if source == target:
        text = parallel_texts(files, layout=layout)[0]
        if not all(map(is_on_disk, files)) or any(text.pairs()):
            raise InputError(
                f"both sides are in one language, {source}",
                "the names end in the language: corpus.en corpus.fr; or --set"
                " data.target_language=fr",
            )
    reasons = why if why == other else f"{why}, {other}"
    remedy = ": name others by --set data.source_language=… and data.target_language=…"
    said = f"{source} → {target} ({reasons}{remedy * ('assumed' in (why, other))})"
    return [*overrides, *found], said + _doubts(sides, reads, (source, target))


def language_doubts(
    files: Sequence[FilePath], layout: Layout, first: int = 0, can_name: bool = True
) -> str:
    """Returns lines that warn of texts in other languages than the layout's, from the text `first`
    on, counted from 0. can_name: whether settings may name other languages. Streams, and what
    cannot be read, are passed over."""
    codes = layout.source_language, layout.target_language
    return "".join(
        _doubts(sides, map(_read_languages, sides), codes, f"{name}: ", can_name)
        for name, sides in _samples(files, layout, first)
    )


def _samples(
    files: Sequence[FilePath], layout: Layout, first: int = 0
) -> Iterator[tuple[str, list[SideLines]]]:
    """Yields the name of each text from `first` on, and the first lines of its sides; no sides of
    an empty text. Ends before streams, which can be read only once, and before a text that cannot
    be read."""
    with suppress(InputError, OSError):
        on_disk = bool(files) and all(map(is_on_disk, files))
        for text in parallel_texts(files, layout=layout)[first:] if on_disk else []:
            yield text.name, list(zip(*islice(text.pairs(), SAMPLED), strict=True))


def _read_languages(lines: SideLines) -> Counter[str]:
    """Returns how many blocks of these lines are in each language."""
    blocks = ("\n".join(lines[first : first + BLOCK]) for first in range(0, len(lines), BLOCK))
    return Counter(
        ranked_languages(text)[0][0] for text in blocks if sum(map(str.isalpha, text)) >= LEAST
    )


def _clear(read: Counter[str]) -> str:
    """Returns the language of most blocks, or the empty string."""
    best, count = next(iter(read.most_common(1)), ("", 0))
    return best if count >= CLEAR * read.total() else ""


def _doubts(
    sides: Sequence[SideLines],
    reads: Iterable[Counter[str]],
    codes: Sequence[str],
    name: str = "",
    can_name: bool = True,
) -> str:
    """Returns lines that warn if the sides are not in the languages of these codes, or not
    parallel."""
    doubts = []
    for side, code, read, lines in zip(SIDES, codes, reads, sides, strict=False):
        if doubt := _doubt(side, code, read) or _script_doubt(side, code, lines):
            option = f", or name the language by --set data.{side}_language" * can_name
            doubts.append(f"{doubt} (check the order of the files{option})")
        doubts.append(_split_doubt(code, lines))
    doubts += [_copy_doubt(*sides), _shift_doubt(*sides)] if len(sides) == 2 else []
    return "".join(f"\n  warning    {name}{doubt}" for doubt in doubts if doubt)


def _split_doubt(code: str, lines: SideLines) -> str:
    """Returns a warning if text of a language without spaces has one at every few letters."""
    letters = sum(map(str.isalpha, text := "\n".join(lines)))
    spaces = len(re.findall(r"(?<=[^\W\d_a-zA-Z]) (?=[^\W\d_a-zA-Z])", text))
    if base(code) not in UNSPACED or letters < SCRIPT_LETTERS or 6 * spaces < letters:
        return ""
    remedy = "take the spaces out, or add --words given, --align.words given, data.tokeniser=space"
    return f"the {code} text is split into words, and would be split again ({remedy})"


def _copy_doubt(source: SideLines, target: SideLines) -> str:
    """Returns a warning if a fifth of the pairs has the same text on both sides."""
    pairs = zip(source, target, strict=True)
    same = sum(one == other for one, other in pairs if any(map(str.isalpha, one)))
    if 5 * same < len(source) or same < SCRIPT_LETTERS:
        return ""
    remedy = "are they translated? --set data.drop_identical=true leaves them out"
    return f"{same} of {len(source)} lines are the same on both sides ({remedy})"


def _shift_doubt(source: SideLines, target: SideLines) -> str:
    """Returns a warning if the lengths of the lines fit those of lines further down on the other
    side far better."""
    if len(source) < SAMPLED // 4:
        return ""
    fits = {
        shift: _correlation(source[max(shift, 0) :], target[max(-shift, 0) :])
        for shift in range(-FARTHEST, FARTHEST + 1)
    }
    best = max(fits, key=fits.__getitem__)
    if fits[best] < max(0.5, fits[0] + 0.3):
        return ""
    later, earlier = SIDES if best > 0 else SIDES[::-1]
    what = f"lines of the {later} seem to belong to the lines of the {earlier} {abs(best)} earlier"
    return f"{what} (is a line missing?)"


def _correlation(one: SideLines, other: SideLines) -> float:
    """Returns the correlation of the lengths of the lines, as far as both sides have some."""
    pairs = zip(map(len, one), map(len, other), strict=False)
    sides = list(zip(*pairs, strict=True))
    return correlation(*sides) if all(len(set(side)) > 1 for side in sides) else 0.0


def _doubt(side: str, code: str, read: Counter[str]) -> str:
    """Returns a warning if nearly all blocks, and several, are in one other language, and
    the model knows the one that they should be in."""
    known = dict(ranked_languages("a")).keys() - read
    for other, count in read.most_common(1):
        if count >= max(3, 0.95 * read.total()) and base(code) in known:
            return f"the {side} text looks like {other}, not {code}"
    return ""


def _script_doubt(side: str, code: str, lines: SideLines) -> str:
    """Returns a warning if most letters of the lines are not of the language's script."""
    expected = next(
        (script for script, codes in _SCRIPTS.items() if base(code) in codes.split()), ""
    )
    names = (unicodedata.name(one, "").split()[:1] for one in "".join(lines) if one.isalpha())
    counts = Counter("CJK" if name[0] in _KANA else name[0] for name in names if name)
    if not expected or counts.total() < SCRIPT_LETTERS or 2 * counts[expected] >= counts.total():
        return ""
    found = counts.most_common(1)[0][0]
    has, needs = (one if one == "CJK" else one.capitalize() for one in (found, expected))
    return f"the {side} text is in {has} letters, but {code} is written in {needs} ones"
