"""What is copied letter by letter from the source: each is one word, for which the network reads a
stand-in, or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rnnsearch.text.codec import JOINER, Codec
from rnnsearch.text.language_codes import POINTED_ORDINALS, base
from rnnsearch.text.moses import EMPHASIS, ESCAPE, FIRST_WORDS
from rnnsearch.text.repairs import DETACHED
from rnnsearch.translation.dates import HOURS, spell_dates
from rnnsearch.translation.number_forms import FIGURE
from rnnsearch.translation.spelt import SPELT, TIMES, in_digits
from rnnsearch.translation.word_tables import word_list

_EMOJI = (
    "\u231a\u231b\u23e9-\u23fa\u2600-\u27bf\u2b1b\u2b1c\u2b50\u2b55\U0001f000-\U0001f3fa"
    "\U0001f400-\U0001fbff"
)
# joiners, skin tones, flags of regions
_JOINED = "\u200d\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
_CLUSTER = rf"[{_EMOJI}]|[0-9#*]\ufe0f?\u20e3|\S\ufe0f"
# none that a sentence may begin with, as me, it, us, go, be, de: "hello.it is me"
_ENDINGS = (
    "7z|ai|app|aspx?|avi|bak|bat|biz|bmp|bz2|cfg|ch|cn|com|conf|cpp|css|csv|dat|db|deb|dev|dll|dmg"
    "|docx?|edu|env|epub|eu|exe|flac|fr|gif|gov|gz|html?|ico|info|ini|io|ipynb|iso|jar|java|jp"
    "|jpe?g|jsx?|json|lock|log|md|mkv|mov|mp3|mp4|net|nl|od[pst]|ogg|org|pdf|php|png|pptx?|ps1|psd"
    "|py|rar|rb|rpm|rs|rst|rtf|ru|sh|sql|srt|svg|tar|tex|tiff?|tmp|toml|tsx?|tsv|ttf|tv|txt|uk|vcf"
    "|vue|wav|web[mp]|whl|xcf|xlsx?|xml|xyz|xz|ya?ml|zip"
)
_NAMES = (
    "amount|attribute|count|date|email|field|file|id|items?|key|link|max|min|model|names?|number"
    "|other|price|size|time|title|total|type|url|username|users?|values?"
)
"""Usual names of values after a colon; other words may be text (*Il dit :viens*)."""
_FILE = (
    rf"[A-Za-z][\w-]+(?:(?:\.[\w-]+)*\.(?:{_ENDINGS})|(?:\.[\w-]+)+\.[a-z][a-z0-9]{{1,4}})"
    r"(?![\w(-]|[.@]\w)"
)
_FIRST = "|".join(sorted({word for words in FIRST_WORDS.values() for word in words.split()}))
LINK_ADDRESS = r"(?:[^()\s]|\([^()\s]*\))*(?:\s+(?:\"[^\"]*\"|'[^']*'))?"
"""What stands in the parentheses of a link of Markdown: an address, and perhaps a title."""
COPIED_PATTERNS = {
    "front": (
        r"^(?:[|:\s]*[-=_*]{3}[-=_*|:\s]*$)"  # a rule, or the line below a table's heading
        r"|^(?:[①-⑳•●○◦▪▸►■◆‣](?:\s+|(?=\S))"
        r"|(?:[-–—+*·→⇒□☐☑✓]|-{2,3}|/{2,3}|[-=]+>|>+|\[(?:[ xX]|[0-9]{1,3})?\]:?"
        r"|[0-9]{1,3}(?:\.[0-9]{1,3})*[.)]|[0-9]{1,2}(?:\.[0-9]{1,2}){2,3}(?!\s+[a-zß-ÿ](?![.)]))"
        rf"|[A-LN-Z]\.(?=\s+(?:{_FIRST})(?!\w)|\s*$)"
        r"|(?:[a-z]|[ivx]{2,5})\.|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivx]{2,5})\.?\))\s+)+"
    ),
    "tag": r"</?[A-Za-z0-9][\w:-]*(?:\s[^<>]*)?/?>|&(?:#x?)?\w{2,8};",
    "address": (
        r"<(?:https?://[^\s<>]+|[^\s@<>]+@[^\s@<>]+)>"
        r"|(?:[A-Za-z][A-Za-z0-9+.-]{1,30}://|www\.)[^\s<>\"]+"
        r"|(?<![^\s<>\"])[^\s@<>\"]+@[^\s@<>\"]+\.\w+|[@#]\w+"
        r"|(?<!\w)[A-Za-z]:(?:\\|/(?!/))[^\s<>\"]*|\\\\\w[^\s<>\"]+"
        r"|(?:\$(?:[a-z_]\w*|(?!(?:USD|CAD|AUD|EUR|GBP)\b)[A-Z_]{3,})|\$\{\w+\}|%[A-Za-z_]\w+%)"
        r"[\\/]\w[^\s<>\"]*"
        r"|(?<![^\s(\"'=])(?<!\d\s)(?:~|\.\.?)?/[\w.@+-]+[\w@+/-][\w.@+/-]*"
        rf"|localhost[^\s<>\"]*|(?<![\w@./\\-])(?:[\w.-]+/)*{_FILE}(?:[:/?][^\s<>\"]*)?"
    ),
    "escape": rf"(?:(?<!\s)\s+)?{ESCAPE}\s*",
    "number": r"%(?:\d+\$)?[-+0-9.]*(?:hh?|ll?|z)?[diufg](?!\w)",
    "placeholder": (
        r"(?<!\w)%[A-Za-z_]\w+%(?!\w)"
        r"|%(?:\(\w+\)|(?:\d+\$)?[-+0-9.]*)[a-zA-Z@](?!\w)|%[1-9](?!\w)"
        r"|\{\{[^{}]*\}\}|\{%[^{}]*%\}|<[%?][^<>]*[%?]>|\[\[[^\[\]]+\]\]|__\w+__"
        r"|[$#%]?\{\s*(?:[^{}\s]+\s*)?\}|\{\s*\w+\s*,(?:[^{}]|\{[^{}]*\})*\}"
        r"|\$\w*\([^()]*\)|\$(?:[a-z_]\w*|[A-Z_]{3,})"
        rf"|(?<![^\s(\"']):(?:{_NAMES}|[a-z]|[a-z]\w*[A-Z_\d]\w*|_\w+|[a-z_]\w*:)(?![\w:])"
    ),
    "code": (
        r"(?<![\w.])(?:[A-Za-z_][\w.]*\(\)|[A-Za-z_]\w*(?:\.\w+)+\([^()\s]*(?:,\s[^()\s]+)*\)"
        r"|v\d+(?:\.\d+)+(?:[-+][\w.]*\w)?"
        r"|\d{4}-\d\d-\d\dT[\w:.+-]*\w|\w*[A-Za-z0-9]_\w+(?:\([^()\s]*\))?(?:=[^\s,;]*\w)?"
        r"|[A-Za-z]\w*={1,2}[^\s,;=]*\w|\w+(?:::\w+)+"
        r"|[a-z]{2,}(?:[A-Z][a-z0-9]+)+(?!\w)(?:\([^()\s]*\))?)"
        r"|(?<![^\s(\"'])(?:--[A-Za-z][\w-]*(?:=[^\s,;]*\w)?|-[A-Za-z](?![\w'-]))"
        r"|(?<![\w+#])(?:[A-Za-z]\w*\+\+\w*|[A-Z]#|[A-F]\+"
        r"|(?:Ctrl|Alt|Shift|Cmd|Maj)(?:\+\w+)+)(?![\w+#])"
        r"|(?<![\w.,])\d+(?:[.,]\d+)?(?:×|°\d+[′'](?:\d+[″\"])?|'\d{1,2}(?:\"|''))(?!\w)"
        r"|(?<![\w&])[A-Z]{1,4}&[A-Z]{1,4}(?![\w&;])"
    ),
    # which a tokeniser cuts
    "name": r"(?<![\w'])O'(?!C(?:lock|LOCK))[A-Z]\w+(?:-[A-Z]\w+)*(?![\w-]|\.[a-z])",
    "hours": HOURS,
    "figure": FIGURE,
    "time": TIMES,
    "spelt": SPELT,
    "emoji": rf"(?:{_CLUSTER})(?:{_CLUSTER}|[{_JOINED}])*|(?<!\S)<3+(?!\S)",
    "mark": (  # of Markdown
        rf"{EMPHASIS}|\[\^\w+\]|!\[|\](?:\({LINK_ADDRESS}\)|\[[^\[\]\s]*\])|^#{{1,6}}\s+"
    ),
    "snippet": r"`[^`]+`",
}
"""Kind → what is copied letter by letter. Punctuation at the end of an address belongs to the
sentence. What is in front of a sentence (bullets, numbers, quoted lines) is copied with its
spaces."""
ANY_COPIED = re.compile(
    "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in COPIED_PATTERNS.items())
)
STAND_INS: dict[str, list[str]] = {
    **{kind: [] for kind in word_list("front tag escape emoji mark")},
    **{kind: ["XX"] for kind in word_list("address placeholder code snippet hours")},
    "name": ["Martin"],
    "number": ["12"],
}
"""Kind → the words that the network reads instead."""
DASHED = re.compile(r"([$£€]\d[\d.,]*)–(?=\d)")
"""A range of amounts: £2–3bn. Only a hyphen stays in one word with both numbers."""
CENTS = re.compile(
    r"(?<![\w.,])(\d{1,3}) ?(€|euros?) ?(\d\d)(?=\s*(?:$|[.;:!?)](?:\s|$)|, (?!rue|avenue|place)"
    r"|(?:au|de|du|en|la|le|les|par) |et (?!\d)|pour (?!cent)|l'))"
)
"""An amount of French as it is said: *12 euros 50*."""
METRES = re.compile(r"(?<![\w.,])(\d) ?m ?(\d\d)(?!\w|[.,]\d| ?(?:c?m|s)\b)")
"""A length of French as it is said: *1m85*."""
POINTED_TIME = re.compile(
    r"(?<![\w.,:$£€])(0?[1-9]|1[0-2])\.([0-5]\d)(?=\s?(?:[ap]\.?m|[AP]\.?M)(?!\w))"
)
"""A time of English with a point: *8.45 pm*."""
BELOW_ZERO = re.compile(
    r"(?<![\w-])[Mm]oins (?=\d+ ?(?:°|degrés?))|(?<=fait )moins (?=\d+(?:\s*[.,!?]|\s*$))"
)
AFTER_ADDRESS = ".,;:!?\"')]}»”’"


def faithful_words(codec: Codec, line: str, *, typed: bool = False) -> list[str]:
    """Splits a source line into words. What is copied letter by letter is one word; *l' eau* is
    read as *l'eau*, *12 € 50* as *12,50 €*. typed: a beginning of a translation, whose letters
    stay."""
    words: list[str] = []
    end, line = 0, line.lstrip().replace("’", "'")
    language = base(codec.tokeniser.language)
    line = DASHED.sub(r"\1-", DETACHED.sub(r"\1'", line) if language == "fr" else line)
    respelt = "" if typed else language
    if respelt == "fr":
        line = METRES.sub(r"\1,\2 m", BELOW_ZERO.sub("-", line))
    if respelt == "en":
        line = POINTED_TIME.sub(r"\1:\2", line)
    line = spell_dates(line, respelt)

    def plain(text: str) -> list[str]:
        return codec.words(CENTS.sub(r"\1,\3 \2", text) if respelt == "fr" else text)

    for found in ANY_COPIED.finditer(line):
        dated = found["front"] and language in POINTED_ORDINALS
        if dated and found[0][:1].isdecimal() and found[0].rstrip().endswith("."):
            continue  # 3. Oktober
        if found["spelt"] and not in_digits(found[0], times=False):
            continue
        copied = found[0].rstrip(AFTER_ADDRESS) if found["address"] else found[0]
        bare = found["front"] and found.end() < len(line) and not copied[-1].isspace()  # •Paris
        own = copied + " " * bool(bare)
        words += [*plain(line[end : found.start()]), re.sub(r"\s", JOINER, own)]
        end = found.start() + len(copied)
    return words + plain(line[end:])


@lru_cache(maxsize=1 << 16)
def kind_of(word: str) -> str | None:
    """Returns the kind of a word that is copied letter by letter; None for others."""
    found = ANY_COPIED.fullmatch(word.replace(JOINER, " "))
    return found.lastgroup if found and (not found["spelt"] or in_digits(found[0])) else None


def enclosed(words: Sequence[str]) -> dict[int, range]:
    """Returns, for the places of marks of Markdown, the places of the words that two of them
    enclose: [words](address), **words**, ~~words~~."""
    found, opened = dict[int, range](), dict[str, int]()
    for place, word in enumerate(words):
        emphasis, closes = re.fullmatch(EMPHASIS, word), word[:1] == "]"
        mark = "[" if closes or word == "![" else word
        if (emphasis or closes) and mark in opened:
            first = opened.pop(mark)
            if first + 1 < place and (emphasis or kind_of(word) == "mark"):
                found |= dict.fromkeys((first, place), range(first + 1, place))
        elif emphasis or (mark == "[" and not closes):
            opened[mark] = place
    return found
