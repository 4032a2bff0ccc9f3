"""Converts the gold links of the shared task of 2003 (English–French Hansards) to ordinary text,
which a model trained on ordinary French needs.

Its French has every contraction and elision written out: `de le`, `à les`, `ce ne est pas que il`.
This script writes ordinary French (`du`, `aux`, `ce n'est pas qu'il`), and links between the words
of Moses's tokeniser. A merged word has the links of both words; a split word's parts all have its
links. A link is sure if one of its sources is sure.

    python scripts/ordinary_french.py test.en.gz test.fr.gz test.wa --out wpt03.test

writes wpt03.test.en, .fr and .links.

The rules are made for these files. `le` is a pronoun before the infinitives that occur in them,
`les` before every word that ends like an infinitive, and a lowercase h is mute.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from rnnsearch.errors import InputError
from rnnsearch.evaluation.alignment_error import read_gold
from rnnsearch.text.formats.lines import read_pairs
from rnnsearch.text.links import Range, project, tokeniser_ranges
from rnnsearch.text.tokens import Tokeniser
from rnnsearch.word_links import GoldLinks

CONTRACTED = {"de le": "du", "de les": "des", "à le": "au", "à les": "aux"}
ELIDED = re.compile(
    "(?i:je|ne|de|le|la|que|se|ce|me|te|jusque|lorsque|puisque|quoique)"
    " (?:[aeiouàâäéèêëîïôöùûüœæh]|[AEIOUÀÂÄÉÈÊËÎÏÔÖÙÛÜŒÆ]|y$)|(?i:quelque) une?$"
)
"""Pairs of words the first of which is elided."""
WHOLE = re.compile("ce à|(?:le|que) oui|(?:le|de|que) onze", re.IGNORECASE)
"""Exceptions without elision, such as `ce à quoi` and `le oui`."""
PRONOUN = re.compile(r"\S+ (?i:faire|rendre|restreindre)$|les (?!(?i:quatre)$)\S*(?i:er|ir|re)$")
"""`le` or `les` as the object of an infinitive. A noun after `les` ends in s or x; after `le`, many
nouns end like infinitives (`du ministre`)."""


def ordinary(words: list[str]) -> list[tuple[str, int]]:
    """Converts words with everything written out to (ordinary word, number of words it replaces).
    An elided word ends in an apostrophe."""
    found: list[tuple[str, int]] = []
    place = 0
    while place < len(words):
        word = words[place]
        here, following = " ".join(words[place : place + 2]), " ".join(words[place + 1 : place + 3])
        contracted = CONTRACTED.get(f"{word.lower()} {following.partition(' ')[0]}")
        if contracted and not _elides(following) and not PRONOUN.match(following):
            found.append((contracted if word.islower() else contracted.capitalize(), 2))
        elif _elides(here) and words[max(place - 1, 0)] != "-":  # `puis - je avoir` stays
            found.append((word[:-1] + "'", 1))
        else:
            found.append((word, 1))
        place += found[-1][1]
    return found


def _elides(two_words: str) -> bool:
    return bool(ELIDED.match(two_words)) and not WHOLE.fullmatch(two_words)


def line(words: list[tuple[str, int]]) -> str:
    """Returns the ordinary line, without a space after an elided word."""
    return "".join(word if word.endswith("'") else f"{word} " for word, _ in words).strip()


def ranges(words: list[tuple[str, int]], text: str, language: str) -> list[Range]:
    """Returns, for each word of the file, its range of the tokeniser's words of `text`. words: as
    `ordinary` returns them."""
    found = tokeniser_ranges([word for word, _ in words], Tokeniser("moses", language).words(text))
    if found is None:
        raise InputError(f"the tokeniser changes letters of {text!r}")
    return [span for span, (_, count) in zip(found, words, strict=True) for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", help="English text")
    parser.add_argument("target", help="French text")
    parser.add_argument("gold", help="gold links: NAACL .wa or Pharaoh")
    parser.add_argument("--out", required=True, help="prefix of the files to write")
    arguments = parser.parse_args()
    texts: dict[str, list[str]] = {"en": [], "fr": [], "links": []}
    pairs, links = list(read_pairs(arguments.source, arguments.target)), read_gold(arguments.gold)
    if len(pairs) != len(links):
        what = f"has {len(links)} sentences, and the text has {len(pairs)}"
        raise InputError(what, file=arguments.gold)
    for (source, target), gold in zip(pairs, links, strict=True):
        english, french = [(word, 1) for word in source.split()], ordinary(target.split())
        lines = line(english), line(french)
        spans = ranges(english, lines[0], "en"), ranges(french, lines[1], "fr")
        for name, entry in zip(texts, (*lines, written(gold, *spans)), strict=True):
            texts[name].append(entry)
    for name, entries in texts.items():
        Path(f"{arguments.out}.{name}").write_text(
            "".join(f"{entry}\n" for entry in entries), encoding="utf-8"
        )


def written(gold: GoldLinks, source: list[Range], target: list[Range]) -> str:
    """Returns the links between the tokeniser's words in Pharaoh format, possible links as
    `i?j`."""
    sure, possible = (
        set(project(sorted(links), source, target)) for links in (gold.sure, gold.possible)
    )
    return " ".join(f"{i}{'-' if (i, j) in sure else '?'}{j}" for i, j in sorted(possible))


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
