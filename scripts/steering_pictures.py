"""Records how somebody steers a translation on the page of the model en-fr, in Chromium:
`python scripts/steering_pictures.py` writes docs/images/steering-*.webp."""

from __future__ import annotations

import base64
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.browser import Page, browser, static_host

from rnnsearch.serve.export import export_page

PICTURES = Path(__file__).parents[1] / "docs" / "images"
LINE = "The committee will present a plan for cheaper trains in May."
WIDE, NARROW = (960, 620), (390, 620)
QUALITY = 60
SAID = "document.getElementById('status').textContent === 'Translation: ' + {}"
OUTPUT = "document.getElementById('output').textContent"
FIELD = "document.getElementById('field')"
CHOICES = "document.querySelectorAll('#inside .offered button')"
STILL = "document.getAnimations().forEach((one) => { one.pause(); one.currentTime = 0; })"
"""What changed stays marked."""


def word(place: int) -> str:
    return f"[data-word='0.{place}']"


def picture(tab: Page, name: str) -> None:
    """Writes a picture of the window, from the heading of the translation down."""
    tab.run(f"{STILL}; scrollTo(0, document.getElementById('translation').offsetTop - 12)")
    image = base64.b64decode(
        tab.call("Page.captureScreenshot", format="webp", quality=QUALITY)["data"]
    )
    (PICTURES / f"steering-{name}.webp").write_bytes(image)


def choose(tab: Page, place: int, rank: int) -> None:
    """Chooses one of the other words at this place."""
    was = tab.run(OUTPUT)
    tab.wait(f"{CHOICES}.length === 8")
    tab.run(f"[...{CHOICES}].filter((one) => one.ariaPressed !== 'true')[{rank}].click()")
    tab.wait(f"document.getElementById('inside').hidden && {OUTPUT} !== {json.dumps(was)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page"
        export_page(["en-fr"], page)
        with static_host(page) as address, browser(Path(folder)) as tab:
            tab.screen(*WIDE)
            tab.open(address)
            tab.wait("document.querySelectorAll('#model option').length")
            tab.run("document.getElementById('slowly').checked = false")
            tab.run(f"document.getElementById('text').value = {json.dumps(LINE)}")
            tab.click("#translate")
            tab.wait(SAID.format(OUTPUT))
            tab.click(word(2))
            tab.wait(f"document.querySelectorAll('#inside table').length && {CHOICES}.length === 8")
            picture(tab, "choices")
            choose(tab, 2, 0)
            tab.wait(SAID.format(OUTPUT))
            tab.screen(*WIDE, dark=True)
            picture(tab, "chosen")
            tab.screen(*NARROW, dark=True)
            tab.tap("#edit")
            for _ in range(3):
                tab.press("Tab")
            tab.type(" des pr")
            tab.wait(SAID.format(f"{FIELD}.value"))
            picture(tab, "typed")
            tab.screen(*NARROW)
            tab.press("Tab")
            tab.press("Tab")
            picture(tab, "accepted")
            tab.tap("#undo")
            tab.wait(f"{FIELD}.hidden")
            picture(tab, "undone")


if __name__ == "__main__":
    main()
