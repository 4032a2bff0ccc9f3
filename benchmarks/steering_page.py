"""Measures what a key costs on the page of an exported model, while somebody types over a
translation.

    rnnsearch export en-fr --out page
    python benchmarks/steering_page.py page

In Chromium, after each letter, the rest of a sentence of 20 words is translated: first by beam 1,
which is shown, then by beam 5. Printed are medians and 95th percentiles of wall time and of the
page's CPU time: the latter is what one core without other jobs needs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.browser import Page, browser, static_host

LINE = (
    "In May the European Commission presented a plan for cheaper trains , which the member states"
    " now want to change ."
)
TYPED = "La Commission a présenté en mai"
ENGINE = """(async () => {
  const { Translator } = await import("./engine/translator.js");
  const { fetchBytes } = await import("./engine/tensors.js");
  const { models } = await (await fetch("config.json")).json();
  const at = (file) => `${models[0].folder ?? `models/${models[0].name}`}/${file}`;
  const text = await (await fetch(at("text.json"))).json();
  const engine = new Translator(text, await fetchBytes(at("model.safetensors")));
  window.key = async (line, prefix, beam) => {
    const begun = performance.now();
    await engine.translate(line, { beam, nbest: beam, prefix });
    return performance.now() - begun;
  };
})()"""


def renderers(tab: Page) -> list[Path]:
    """Returns the folders of the system's figures about the threads of the browser's pages."""
    session, tab._session = tab._session, ""
    processes = tab.call("SystemInfo.getProcessInfo")["processInfo"]
    tab._session = session
    return [Path(f"/proc/{one['id']}/task") for one in processes if one["type"] == "renderer"]


def cpu_time(processes: list[Path]) -> float:
    """Returns the CPU time of all their threads so far, in ms."""
    figures = [task / "schedstat" for process in processes for task in process.iterdir()]
    return sum(int(figure.read_text().split()[0]) for figure in figures) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "page", type=Path, help="an exported folder with a model from English to French"
    )
    folder = parser.parse_args().page
    found: dict[int, list[tuple[float, float]]] = {1: [], 5: []}
    with (
        static_host(folder) as address,
        tempfile.TemporaryDirectory() as own,
        browser(Path(own)) as tab,
    ):
        tab.open(address)
        tab.run(ENGINE)
        pages = renderers(tab)
        for size in range(1, len(TYPED) + 1):
            for beam, times in found.items():
                before = cpu_time(pages)
                wall = tab.run(f"key({LINE!r}, {TYPED[:size]!r}, {beam})")
                times.append((wall, cpu_time(pages) - before))
    for beam, times in found.items():
        median, high = np.percentile(times[3:], (50, 95), axis=0)  # the first ones are compiled
        print(
            f"beam {beam}: wall {median[0]:.0f} ms, 95 % {high[0]:.0f} ms; "
            f"CPU {median[1]:.0f} ms, 95 % {high[1]:.0f} ms; {len(times) - 3} keys"
        )


if __name__ == "__main__":
    main()
