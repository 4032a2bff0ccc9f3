"""The alternative to the page's own engine: the same network as ONNX graphs in ONNX Runtime Web, in a headless Chromium.

    npm pack onnxruntime-web@1.30.0 && tar xzf onnxruntime-web-1.30.0.tgz
    python benchmarks/onnx_web.py --runtime package/dist                # initial weights of the size that is shipped
    python benchmarks/exported_page.py --random                         # the page's engine, the same sentences

Each sentence has --words words and its translation as many, greedily (one hypothesis) and with 5 hypotheses a step, among whose words the
best 5 are found each time. Both in float32, and with the weights of matrix products in 8 bits as ONNX Runtime's dynamic quantisation makes
them (its GRU stays float32). One thread, as in the page. Needs the extra `onnx`, onnxruntime and Chromium.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from browser import browser, static_host
from exported_page import random_run
from onnxruntime.quantization import quantize_dynamic

from rnnsearch.exporting.onnx_model import export_onnx

RUNTIME = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
GRAPHS = ("encoder.onnx", "step.onnx")
TIMED = """(async () => {
  const ort = await import("./ort.wasm.min.mjs");
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = new URL("./", location.href).href;
  const begun = performance.now();
  const [encoder, step] = [await ort.InferenceSession.create("FOLDER/encoder.onnx"), await ort.InferenceSession.create("FOLDER/step.onnx")];
  const loaded = performance.now() - begun;
  const integers = (values, shape) => new ort.Tensor("int64", BigInt64Array.from(values, BigInt), shape);

  function best(scores, many) {                       // places of the largest values
    const kept = [];
    for (let place = 0; place < scores.length; place++) {
      if (kept.length === many && scores[place] <= scores[kept[many - 1]]) continue;
      let rank = kept.length;
      while (rank && scores[kept[rank - 1]] < scores[place]) rank--;
      kept.splice(rank, 0, place);
      kept.length = Math.min(kept.length, many);
    }
    return kept;
  }

  function chosen(tensor, rows) {                     // (1, k, …) → those hypotheses
    const size = tensor.size / tensor.dims[1];
    const data = new tensor.data.constructor(rows.length * size);
    rows.forEach((row, place) => data.set(tensor.data.subarray(row * size, (row + 1) * size), place * size));
    return new ort.Tensor(tensor.type, data, [1, rows.length, ...tensor.dims.slice(2)]);
  }

  async function translate(ids, beam) {
    const state = { ...(await encoder.run({ source: integers(ids, [1, ids.length]), lengths: integers([ids.length], [1]) })) };
    let previous = integers([-1], [1, 1]);
    let scores = [0];
    for (let word = 0; word < ids.length; word++) {
      const inputs = { previous };
      for (const name of step.inputNames) if (name !== "previous") inputs[name] = state[name];
      const found = await step.run(inputs);
      const logs = found.log_probabilities, words = logs.dims[2];
      const sums = Float32Array.from(logs.data, (value, place) => value + scores[Math.floor(place / words)]);
      const places = best(sums, beam), rows = places.map((place) => Math.floor(place / words));
      for (const [name, value] of Object.entries(found))
        if (name.startsWith("next_")) state[name.slice(5)] = chosen(value, rows);
      scores = places.map((place) => sums[place]);
      previous = integers(places.map((place) => place % words), [1, beam]);
    }
  }

  const times = { 1: [], 5: [] };
  for (const ids of SENTENCES)
    for (const beam of [1, 5]) {
      const start = performance.now();
      await translate(ids, beam);
      times[beam].push(performance.now() - start);
    }
  return { loaded, times };
})()"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runtime", type=Path, required=True, help="the folder `dist` of the package onnxruntime-web")
    parser.add_argument("--sentences", type=int, default=8)
    parser.add_argument("--words", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        host = folder / "host"
        export_onnx(random_run(folder / "run"), host / "float32")
        (host / "int8").mkdir()
        for graph in GRAPHS:
            quantize_dynamic(host / "float32" / graph, host / "int8" / graph)
        for file in RUNTIME:
            shutil.copy(arguments.runtime / file, host)
        (host / "index.html").write_text("<!doctype html><title>ONNX Runtime Web</title>", encoding="utf-8")
        sentences = [[2 + (7919 * place + row) % 9_000 for place in range(arguments.words)] + [0] for row in range(arguments.sentences)]
        runtime = sum((host / file).stat().st_size for file in RUNTIME)
        print(f"ONNX Runtime Web: {runtime / 1e6:.1f} MB\n")
        print("| graphs | MB | loaded, ms | greedy, ms a sentence | 5 hypotheses |\n|---|---|---|---|---|")
        with static_host(host) as address, browser(folder) as page:
            for kind in ("float32", "int8"):
                page.open(address)
                found = page.run(TIMED.replace("FOLDER", f"./{kind}").replace("SENTENCES", json.dumps(sentences)))
                size = sum((host / kind / graph).stat().st_size for graph in GRAPHS)
                greedy, five = (statistics.median(found["times"][beam]) for beam in ("1", "5"))
                print(f"| {kind} | {size / 1e6:.1f} | {found['loaded']:.0f} | {greedy:.0f} | {five:.0f} |")


if __name__ == "__main__":
    main()
