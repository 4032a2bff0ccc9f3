"""Codes of languages."""

from __future__ import annotations

import re

_LANGUAGES = """
    af afr Afrikaans, ar ara Arabic, az aze Azerbaijani, be bel Belarusian, bg bul Bulgarian, bn
    ben Bengali, bo bod Tibetan, ca cat Catalan, cs ces Czech, cy cym Welsh, da dan Danish, de deu
    German, dz dzo Dzongkha, el ell Greek, en eng English, eo epo Esperanto, es spa Spanish, et est
    Estonian, eu eus Basque, fa fas Persian, fi fin Finnish, fr fra French, ga gle Irish, gl glg
    Galician, he heb Hebrew, hi hin Hindi, hr hrv Croatian, hu hun Hungarian, hy hye Armenian, id
    ind Indonesian, is isl Icelandic, it ita Italian, ja jpn Japanese, ka kat Georgian, km khm
    Khmer, ko kor Korean, la lat Latin, lo lao Lao, lt lit Lithuanian, lv lav Latvian, mk mkd
    Macedonian, mr mar Marathi, ms msa Malay, mt mlt Maltese, my mya Burmese, nb nob Norwegian
    Bokmål, ne nep Nepali, nl nld Dutch, nn nno Norwegian Nynorsk, no nor Norwegian, pl pol Polish,
    ps pus Pashto, pt por Portuguese, ro ron Romanian, ru rus Russian, sk slk Slovak, sl slv
    Slovenian, sq sqi Albanian, sr srp Serbian, sv swe Swedish, sw swa Swahili, ta tam Tamil, th tha
    Thai, tr tur Turkish, uk ukr Ukrainian, ur urd Urdu, vi vie Vietnamese, yi yid Yiddish, zh zho
    Chinese
"""
LANGUAGES = {
    code: (name, three)
    for code, three, name in (row.strip().split(maxsplit=2) for row in _LANGUAGES.split(","))
}
"""Code of a language → its English name, and its code of three letters."""
_OTHERS = """
    alb sq, arm hy, baq eu, bur my, chi zh, cmn zh, cze cs, dut nl, fre fr, geo ka, ger de, gre el,
    ice is, mac mk, may ms, per fa, rum ro, slo sk, tib bo, wel cy,
    cn zh, cz cs, dk da, gr el, jp ja, ua uk
"""
"""Other codes of three letters, and codes of countries that are no language's."""
_CODES = {three: code for code, (_, three) in LANGUAGES.items()}
_CODES |= {name.lower(): code for code, (name, _) in LANGUAGES.items()}
_CODES |= dict(row.split() for row in _OTHERS.split(","))
_POINTED_ORDINALS = "cs da de et fi hr hu is lv nb nn no sk sl sr tr"
POINTED_ORDINALS = tuple(_POINTED_ORDINALS.split())
"""Languages in which a full stop after digits makes an ordinal."""


def base(language: str) -> str:
    """Returns the language of a code such as zh-TW, pt_BR, jpn or jp, by its code of two letters if
    it has one."""
    code = re.split("[-_]", language.lower())[0]
    return _CODES.get(code, code)
