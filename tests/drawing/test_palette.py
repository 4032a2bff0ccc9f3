"""Colours that can be read, that colour-blind eyes tell apart, and that every style sheet and figure
shares."""

from __future__ import annotations

import re
from importlib import resources
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from rnnsearch.drawing.palette import DARK, FONTS, LIGHT, ON_GREY, SERIES, properties

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
EYES = {
    "usual": "1 0 0  0 1 0  0 0 1",
    "protanopia": "0.152286 1.052583 -0.204868  0.114503 0.786281 0.099216  -0.003882 -0.048116 1.051998",
    "deuteranopia": "0.367322 0.860646 -0.227968  0.280085 0.672501 0.047413  -0.011820 0.042940 0.968881",
    "tritanopia": "1.255528 -0.076749 -0.178779  -0.078411 0.930809 0.147602  0.004733 0.691367 0.303900",
}
MATRICES = {name: np.array(text.split(), dtype=np.float64).reshape(3, 3) for name, text in EYES.items()}
THEMES = {"light": LIGHT, "dark": DARK}


def linear(colour: str) -> NDArray[np.float64]:
    values = np.array([int(colour[start : start + 2], 16) for start in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 defines it."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: NDArray[np.float64]) -> NDArray[np.float64]:
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ np.clip(
        rgb, 0, 1
    )
    x, y, z = np.cbrt(xyz / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", THEMES)
def test_letters_and_lines_stand_out_from_the_ground(theme: str) -> None:
    colours = THEMES[theme]
    for name in ("text", "dim", "accent", "bad", *(f"series-{place}" for place in range(len(SERIES)))):
        assert contrast(colours[name], colours["ground"]) >= 4.5, name
    assert contrast(colours["text"], colours["mark"]) >= 4.5
    assert contrast(colours["text"], colours["chosen"]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eyes", MATRICES)
def test_two_series_are_never_taken_for_one_another(theme: str, eyes: str) -> None:
    """2.3 is the least difference that is noticed side by side."""
    seen = [lab(MATRICES[eyes] @ linear(THEMES[theme][f"series-{place}"])) for place in range(len(SERIES))]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 8


@pytest.mark.parametrize("name", ON_GREY)
def test_links_are_told_from_every_grey(name: str) -> None:
    greys = [f"#{level:02x}{level:02x}{level:02x}" for level in range(0, 256, 5)]
    for matrix in MATRICES.values():
        seen = lab(matrix @ linear(ON_GREY[name]))
        assert min(np.linalg.norm(seen - lab(linear(grey))) for grey in greys) > 20


def test_every_property_that_is_used_is_in_the_palette() -> None:
    assert set(LIGHT) == set(DARK)
    defined = set(re.findall(r"--([\w-]+):", properties()))
    assert defined == {*LIGHT, *ON_GREY, *FONTS}
    folder = resources.files("rnnsearch.drawing")
    texts = {
        entry.name: entry.read_text("utf-8")
        for entry in folder.iterdir()
        if entry.name.endswith((".css", ".js", ".html"))
    }
    own = {"width", "cell", "letters", "grey"}  # sizes, and the weight of a cell
    for name, text in texts.items():
        assert set(re.findall(r"var\(--([\w-]+)\)", text)) <= defined | own, name
        assert not set(re.findall(r"#[0-9a-fA-F]{6}\b", text)), name
