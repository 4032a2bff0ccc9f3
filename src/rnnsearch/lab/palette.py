"""The palette of all figures, charts and style sheets."""

from __future__ import annotations

from rnnsearch.figure3 import GOLD

SERIES = (
    "#0a5fa5",
    "#b3470a",
    "#0b7a57",
    "#9c3a79",
    "#4a2c0a",
    "#6a2fd0",
    "#141f5c",
    "#72757a",
)
"""Colours of systems, runs, variants or sides, in their order. The colour-blind can distinguish
them, too."""
_DARK_SERIES = (
    "#6db3f2",
    "#ff9c5b",
    "#4fd0a3",
    "#f08fc8",
    "#f5ec6b",
    "#8f72fa",
    "#d9595c",
    "#c3c8ce",
)

LIGHT = {
    "text": "#1c2024",
    "dim": "#5b6570",
    "ground": "#ffffff",
    "raised": "#f6f7f9",
    "rule": "#dfe3e8",
    "shade": "#00000033",
    "accent": "#0a5fa5",
    "chosen": "#dbe9f9",
    "mark": "#fdecc8",
    "mark-line": "#b3470a",
    "bad": "#a32626",
    **{f"series-{place}": colour for place, colour in enumerate(SERIES)},
}
DARK = {
    "text": "#e6e9ec",
    "dim": "#9fa9b4",
    "ground": "#14171a",
    "raised": "#1c2025",
    "rule": "#343b43",
    "shade": "#000000cc",
    "accent": "#78b7f2",
    "chosen": "#1f3a57",
    "mark": "#4a3713",
    "mark-line": "#ffa366",
    "bad": "#ff9a94",
    **{f"series-{place}": colour for place, colour in enumerate(_DARK_SERIES)},
}
"""Name of the style sheet's custom property → colour. Figures are drawn in LIGHT; on a page their
colours become the properties."""

FONTS = {
    "sans": 'system-ui, "Segoe UI", Roboto, "Noto Sans", sans-serif',
    "serif": 'Charter, "Bitstream Charter", "Iowan Old Style", Georgia, "DejaVu Serif", serif',
    "mono": (
        'ui-monospace, "SF Mono", "Noto Sans Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace'
    ),
}
"""Fonts of all pages: for text, headings, code. Every system has one of each, so no page loads a
font."""

ON_GREY = {"gold": GOLD, "link": "#1a85ff"}
"""Colours of gold links and links on an alignment matrix. They are visible on black, white and
every grey, so the same in light and dark."""

TEXT, DIM, RULE = LIGHT["text"], LIGHT["dim"], LIGHT["rule"]


def properties() -> str:
    """Returns palette and fonts as CSS custom properties. A printed page always has the light
    palette."""
    light, dark = (
        " ".join(f"--{name}: {colour};" for name, colour in colours.items())
        for colours in (LIGHT | ON_GREY | FONTS, DARK)
    )
    dark_screen = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return f":root {{ color-scheme: light dark; {light} }}\n{dark_screen}\n"
