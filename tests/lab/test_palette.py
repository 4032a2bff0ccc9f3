"""Colours that can be read, and that every style sheet and figure shares."""

from __future__ import annotations

import re
from importlib import resources

import numpy as np
import pytest
from numpy.typing import NDArray

from rnnsearch.lab.palette import DARK, FONTS, LIGHT, ON_GREY, SERIES, properties

THEMES = {"light": LIGHT, "dark": DARK}


def linear(colour: str) -> NDArray[np.float64]:
    values = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_letters_and_lines_stand_out_from_the_ground(theme: str) -> None:
    colours = THEMES[theme]
    for name in (
        "text",
        "dim",
        "accent",
        "bad",
        *(f"series-{place}" for place in range(len(SERIES))),
    ):
        assert contrast(colours[name], colours["ground"]) >= 4.5, name
    assert contrast(colours["text"], colours["mark"]) >= 4.5
    assert contrast(colours["text"], colours["chosen"]) >= 4.5


def test_every_property_that_is_used_is_in_the_palette() -> None:
    assert set(LIGHT) == set(DARK)
    defined = set(re.findall(r"--([\w-]+):", properties()))
    assert defined == {*LIGHT, *ON_GREY, *FONTS}
    folder = resources.files("rnnsearch.lab")
    texts = {
        entry.name: entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith((".css", ".js", ".html"))
    }
    own = {"width", "cell", "letters", "grey"}  # sizes, and the weight of a cell
    for name, text in texts.items():
        assert set(re.findall(r"var\(--([\w-]+)\)", text)) <= defined | own, name
        assert not set(re.findall(r"#[0-9a-fA-F]{6}\b", text)), name
