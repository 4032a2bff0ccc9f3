"""What a visitor of an exported page waits for, and gets: bytes to load, milliseconds per sentence in a headless Chromium, and how many
translations are those of Python with int8 products.

    python benchmarks/exported_page.py RUN --text test.en --sentences 50
    python benchmarks/exported_page.py RUN --text test.en --reference test.fr --sentences 1000     # BLEU of both, too
    python benchmarks/exported_page.py --random          # initial weights of the size that is shipped, for times only

Each sentence is translated in the page, by the engine in its worker, greedily and with a beam of 5. With --plain the products are those of
plain JavaScript, without WebAssembly. With --random every translation is as long as its source, since an untrained network finds no end.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from browser import browser, static_host

from rnnsearch.builtin.generate import write
from rnnsearch.config import load_config
from rnnsearch.evaluation.bleu import bleu
from rnnsearch.exporting.static_page import export_page
from rnnsearch.run import Run
from rnnsearch.system.tensors import save_tensors
from rnnsearch.text.codec import Codec, side_tokeniser
from rnnsearch.text.formats.lines import read_lines
from rnnsearch.text.vocabulary import Vocabulary
from rnnsearch.translation.translator import Translator

SHIPPED = (
    *("data.vocabulary_size=10000", "model.embedding_size=256", "model.hidden_size=512", "model.encoder_size=256"),
    *("model.alignment_size=256", "model.maxout_size=256", "model.initialisation=glorot", "model.tie_output=true"),
    *("search.min_length_ratio=1.0", "search.max_length_ratio=1.0", "search.normalise=length"),
)
TIMED = """(async () => {
  const { Translator } = await import("./engine/translator.js");
  const { fetchBytes } = await import("./engine/tensors.js");
  const config = await (await fetch("config.json")).json();
  const folder = config.models[0].folder;
  const begun = performance.now();
  const text = await (await fetch(`${folder}/text.json`)).json();
  const translator = new Translator(text, await fetchBytes(`${folder}/model.safetensors`), PLAIN);
  const loaded = performance.now() - begun;
  const times = { 1: [], 5: [] };
  const texts = { 1: [], 5: [] };
  let steps = 0;
  for (const line of LINES) {
    for (const beam of [1, 5]) {
      const start = performance.now();
      const result = await translator.translate(line, { beam, nbest: beam });
      times[beam].push(performance.now() - start);
      texts[beam].push(result.text);
      if (beam === 1) steps += result.sentences.reduce((sum, one) => sum + one.hypotheses[0].log_probabilities.length, 0);
    }
  }
  return { loaded, times, texts, steps, simd: Boolean(translator.network.kernel.sums) };
})()"""


def random_run(folder: Path) -> Path:
    """A run of the shipped size that has learned nothing."""
    settings = load_config(overrides=SHIPPED)
    words = Vocabulary(f"w{number}" for number in range(settings.data.vocabulary_size))
    codecs = [Codec(side_tokeniser(side, settings.data), words) for side in ("source", "target")]
    run = Run.create(folder, settings, *codecs)
    save_tensors(run.model_path, run.make_network().state_dict(), {})
    return folder


def lines_of(arguments: argparse.Namespace, folder: Path) -> list[str]:
    if arguments.random:
        return [
            " ".join(f"w{(7919 * place + number) % 10_000}" for place in range(arguments.words)) for number in range(arguments.sentences)
        ]
    if arguments.text is None:
        write(folder / "corpus", 1, 500)
        arguments.text = folder / "corpus" / "test.en"
    return list(read_lines(str(arguments.text)))[: arguments.sentences]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--random", action="store_true", help="a network of the shipped size with its initial weights")
    parser.add_argument("--text", type=Path, help="source lines (default: the built-in corpus)")
    parser.add_argument("--reference", type=Path, help="their translations, for BLEU")
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--words", type=int, default=20, help="of a sentence, with --random")
    parser.add_argument("--plain", action="store_true", help="without WebAssembly")
    arguments = parser.parse_args()
    if bool(arguments.run) == arguments.random:
        parser.error("give a run, or --random")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        made = export_page([random_run(folder / "run") if arguments.random else arguments.run], folder / "page")
        lines = lines_of(arguments, folder)
        with static_host(made.folder) as address, browser(folder) as page:
            page.open(address)
            script = TIMED.replace("PLAIN", json.dumps(arguments.plain)).replace("LINES", json.dumps(lines))
            found = page.run(script)
        size = made.page_bytes + sum(made.model_bytes.values())
    print(f"to load      {size / 1e6:8.2f} MB, {made.page_bytes / 1e6:.2f} of it the page and its engine")
    print(f"loaded       {found['loaded']:8.0f} ms, from this machine's disk")
    print(f"products by  {'WebAssembly SIMD' if found['simd'] else 'plain JavaScript'}")
    print(f"greedy words {found['steps'] / len(lines):8.1f} per sentence, subwords and ends of sentence counted")
    for beam, times in found["times"].items():
        print(f"beam {beam}       {statistics.median(times):8.0f} ms per sentence (median of {len(times)}), {max(times):.0f} at most")
    if arguments.run:
        compare(arguments, lines, {int(beam): texts for beam, texts in found["texts"].items()})


def compare(arguments: argparse.Namespace, lines: list[str], texts: dict[int, list[str]]) -> None:
    """texts: beam → what the page wrote."""
    translator = Translator.load(arguments.run)
    reference = list(read_lines(str(arguments.reference)))[: len(lines)] if arguments.reference else None
    for beam, ours in texts.items():
        theirs = [result.text for result in translator.translate(lines, beam=beam, precision="int8")]
        same = sum(one == other for one, other in zip(ours, theirs, strict=True))
        scores = f"; BLEU {bleu(ours, reference).value:.2f}, Python {bleu(theirs, reference).value:.2f}" if reference else ""
        print(f"beam {beam}       {same} of {len(lines)} translations are Python's with int8 products{scores}")


if __name__ == "__main__":
    main()
