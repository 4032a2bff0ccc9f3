"""Text and gold sentences together: the text is cut into words, the gold sentences stay as they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "scripts" / "text_with_gold.py"


def test_text_is_cut_and_gold_sentences_follow_as_they_are(tmp_path: Path) -> None:
    texts = {
        "text.es": "¡Hola, Ana!\nuna casa.\n" + "a " * 61 + "\n",
        "text.en": "Hello, Ana!\na house.\nlong\n",
        "gold.es": "No , gracias.\n",
        "gold.en": "No , thanks.\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    files = [tmp_path / name for name in texts]
    words = [*files[:2], "--gold", *files[2:], "--out", tmp_path / "both"]
    subprocess.run([sys.executable, SCRIPT, *map(str, words)], check=True)
    pairs = list(
        zip(
            *((tmp_path / f"both.{side}").read_text("utf-8").splitlines() for side in ("es", "en")),
            strict=True,
        )
    )
    assert set(pairs[:-1]) == {("¡ Hola , Ana !", "Hello , Ana !"), ("una casa .", "a house .")}
    assert pairs[-1] == ("No , gracias.", "No , thanks.")
