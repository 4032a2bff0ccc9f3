"""The page to browse in a real browser: its script runs under its policy, and every weight is within reach of
keys and fingers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from browser import NEEDS_CHROMIUM, Page

from rnnsearch.figure3 import Panel
from rnnsearch.lab.alignment_report import alignment_page, browsed_run

USE = """(() => {
const said = [];
const key = (target, name) => target.dispatchEvent(new KeyboardEvent("keydown", {key: name, bubbles: true}));
const value = () => said.push(document.querySelector(".value").textContent);
const heading = () => said.push(document.getElementById("heading").textContent);
document.querySelector(".matrix tbody td").focus(); value();
key(document.activeElement, "ArrowRight"); value();
key(document.activeElement, "ArrowDown"); value();
key(document.activeElement, "Home"); value();
key(document.activeElement, "ArrowUp"); key(document.activeElement, "ArrowUp"); value();
heading();
document.querySelectorAll(".matrix tbody td")[3].click(); value();
said.push(document.querySelectorAll(".matrix td[tabindex='0']").length);
key(document.body, "j"); heading();
key(document.body, "j"); heading();
document.getElementById("previous").click(); heading();
document.getElementById("order").value = "aer"; document.getElementById("descending").click();
said.push([...document.querySelectorAll(".list span:first-child")].map(one => one.textContent).join());
document.getElementById("filter").value = "deux"; document.getElementById("filter").dispatchEvent(new Event("input"));
said.push(document.querySelectorAll(".list button").length);
return said;
})()"""

pytestmark = [pytest.mark.slow, pytest.mark.processes, NEEDS_CHROMIUM]


def shown(tab: Page, page: str, folder: Path) -> str:
    """The elements of a page after its scripts ran."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    tab.open((folder / "page.html").as_uri())
    return str(tab.run("document.documentElement.outerHTML"))


@pytest.fixture(scope="module")
def page() -> str:
    weights = np.array([[1.0, 0.0], [0.25, 0.75]])
    gold = {"sure": [(0, 0)], "possible": [(1, 1)]}
    runs = [
        browsed_run(Panel("run", ["a", "</s>"], ["un", word], weights), [(0, 0)], {"aer": (aer, 1)})
        for word, aer in (("x", 0.1), ("deux", 0.9))
    ]
    sentences = [
        {"number": number, "gold": gold, "runs": [run]} for number, run in enumerate(runs, 1)
    ]
    return alignment_page(sentences, "title", "note")


def test_the_script_runs_under_the_page_s_policy(tab: Page, page: str, tmp_path: Path) -> None:
    found = shown(tab, page, tmp_path)
    assert re.search(r'<h2 id="heading"[^>]*>Sentence 1</h2>', found)
    assert found.count('role="gridcell"') == 4
    assert re.search(
        '<td role="gridcell" tabindex="0" class="sure linked" [^>]*style="--grey: 255;">', found
    )


def test_another_script_does_not(tab: Page, page: str, tmp_path: Path) -> None:
    other = "<script>document.title = 'broken'</script></body>"
    found = shown(tab, page.replace("</body>", other), tmp_path)
    assert "<title>title</title>" in found


def test_keys_and_fingers_reach_every_value(tab: Page, page: str, tmp_path: Path) -> None:
    tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
    shown(tab, page, tmp_path)
    assert tab.run(USE) == [
        *(
            "un ← a: 1.00, sure gold link, link",
            "un ← </s>: 0.00",
            "x ← </s>: 0.75, possible gold link",
            "x ← a: 0.25",
        ),
        *(
            "un ← a: 1.00, sure gold link, link",
            "Sentence 1",
            "x ← </s>: 0.75, possible gold link",
            1,
        ),
        *("Sentence 2", "Sentence 2", "Sentence 1", "2 · AER 0.900,1 · AER 0.100", 1),
    ]
