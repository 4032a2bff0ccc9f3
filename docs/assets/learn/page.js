// "Watch it learn": the page's side of worker.js.

import { LengthChart, LossChart, NAMES } from "./charts.js";
import { BUCKETS, LONGEST } from "./corpus.js";
import { element, find } from "./elements.js";
import { copied, matrixFigure, offerFiles } from "./figures.js";
import { Matrix } from "./matrix.js";
import { copyAddress } from "./state.js";

const OFFERED = 5; // sentences of each length
const OWN = "own";
const SETTINGS = ["seed", "hidden", "rate", "wiring", "initialisation"];
const SAID = 15_000; // milliseconds between two reports to a screen reader
const CALM = 5_000; // between two pictures, for whoever wants little motion

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const loss = new LossChart(find("loss"));
const lengths = new LengthChart(find("lengths"), BUCKETS, LONGEST);
const matrix = new Matrix(find("matrix"), find("value"), () => {});
const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
const send = (kind, rest = {}) => worker.postMessage({ kind, ...rest });

let running = false;
let number = 0; // of the training: news of an earlier one are late
let heldOut = [];
let told = 0;
let waiting = {}; // the latest news of each kind, not yet drawn
let drawn = 0;
let goal = 0; // update of a link that was followed: the next run pauses there
let linked = null; // the link's sentence, until the sentences are there

worker.addEventListener("error", () => trouble("This browser could not start the training."));
worker.addEventListener("message", ({ data }) => {
  if (data.training !== number) return;
  if (data.kind === "error") return trouble(data.message);
  if (data.kind === "ready") return begun(data);
  if (data.kind === "unknown") return unknown(data.words);
  if (data.kind === "progress") {
    data.points = [...(waiting.progress?.points ?? []), ...data.points];
    setRunning(data.running);
  }
  waiting[data.kind] = data;
  if (!calm.matches || !running || performance.now() - drawn > CALM) requestAnimationFrame(draw);
});

function draw() {
  const { progress, measured, looked } = waiting;
  waiting = {};
  drawn = performance.now();
  if (progress) figures(progress);
  if (measured?.updates) lengths.push(measured.shares);
  if (looked) show(looked);
  if (progress?.updates && (!running || performance.now() - told > SAID)) tell();
}

function figures({ updates, seconds, longest, points }) {
  find("updates").textContent = updates.toLocaleString("en");
  find("updates").dataset.count = updates;
  if (seconds > 1) find("speed").textContent = Math.round(updates / seconds);
  find("longest").textContent = longest;
  loss.push(points);
}

/** For a screen reader: what both charts say. */
function tell() {
  told = performance.now();
  find("said").textContent = ["loss", "lengths"].map((id) => find(id).querySelector("svg")?.getAttribute("aria-label")).join(". ");
}

function show({ written, ...picture }) {
  matrix.show({ ...picture, step: picture.tokens.length });
  written.forEach((words, place) => {
    const spans = words.map(({ word, right }) => element("span", { textContent: word, className: right === null ? "" : right ? "right" : "wrong" }));
    find(`written-${place}`).replaceChildren(...spans.flatMap((span) => [span, " "]));
  });
}

function unknown(words) {
  find("unknown").textContent = words.length ? `They have never seen ${words.map((word) => `“${word}”`).join(", ")}.` : "";
}

function trouble(message) {
  find("trouble").textContent = message;
  find("trouble").hidden = false;
}

// The controls

function settings() {
  const value = (id) => find(id).value;
  const seed = Math.min(9999, Math.max(1, Math.round(Number(value("seed"))) || 1));
  const [hidden, rate] = [Number(value("hidden")), Number(value("rate"))];
  return { seed, hidden, rate, wiring: value("wiring"), initialisation: value("initialisation") };
}

function begin({ until = 0 } = {}) {
  send("pause");
  setRunning(false);
  goal = until;
  find("run").textContent = goal ? `Train to update ${goal.toLocaleString("en")}` : "Start";
  waiting = {};
  loss.clear();
  lengths.clear();
  for (const [id, text] of Object.entries({ updates: "0", speed: "–", longest: "5" })) find(id).textContent = text;
  find("updates").dataset.count = 0;
  send("start", { settings: settings(), training: ++number });
}

function begun({ heldOut: pairs, simd }) {
  find("trouble").hidden = simd;
  if (!simd) trouble("This browser has no fast WebAssembly: the training runs, some six times slower.");
  if (!heldOut.length) {
    heldOut = pairs;
    offer();
    find("sentence-part").hidden = false;
  }
  if (linked) {
    fill("sentence", linked.get("sentence"));
    fill("own", linked.get("own")?.slice(0, find("own").maxLength));
    linked = null;
  }
  choose();
}

/** Sets a field, unless the value is none of its own. */
function fill(id, value) {
  const field = find(id);
  const before = field.value;
  field.value = value ?? before;
  if (!field.value) field.value = before;
}

/** What is shown as the fragment of the address: the same settings and updates give the same weights everywhere. */
function share() {
  const values = { ...settings(), updates: find("updates").dataset.count ?? 0, sentence: find("sentence").value };
  if (values.sentence === OWN) values.own = find("own").value;
  history.replaceState(null, "", `#${new URLSearchParams(values)}`);
  return copyAddress(find("link"));
}

function restore() {
  const values = new URLSearchParams(location.hash.slice(1));
  if (!values.has("seed")) return false;
  for (const id of SETTINGS) fill(id, values.get(id));
  linked = values;
  begin({ until: Math.min(99_999, Math.max(0, Math.round(Number(values.get("updates"))) || 0)) });
  return true;
}

function setRunning(now) {
  if (now === running) return;
  running = now;
  find("run").textContent = now ? "Pause" : "Go on";
  find("step").disabled = now;
}

function offer() {
  const groups = BUCKETS.map(([low, high]) => {
    const fitting = [...heldOut.entries()].filter(([, [source]]) => {
      const words = source.split(" ").length;
      return words >= low && words <= high;
    });
    const options = fitting.slice(0, OFFERED).map(([place, [source]]) => element("option", { value: place, textContent: natural(source) }));
    return element("optgroup", { label: `${low} to ${high} words` }, ...options);
  });
  find("sentence").replaceChildren(...groups, element("option", { value: OWN, textContent: "a sentence of your own …" }));
  find("sentence").value = groups[2].firstChild.value;
}

const natural = (text) => text.replace(/ ([.,?])/g, "$1");

function choose() {
  const { value } = find("sentence");
  const own = value === OWN;
  find("own-part").hidden = !own;
  unknown([]);
  if (own) {
    find("reference").textContent = "that is for you to say";
    return send("sentence", { text: find("own").value });
  }
  const [source, reference] = heldOut[Number(value)];
  find("reference").textContent = reference;
  send("sentence", { source: source.split(" "), reference: reference.split(" ") });
}

find("run").addEventListener("click", () => {
  send(running ? "pause" : "run", { until: goal });
  setRunning(!running);
});
find("step").addEventListener("click", () => send("step"));
find("again").addEventListener("click", () => begin());
find("link").addEventListener("click", share);
addEventListener("hashchange", restore);
find("sentence").addEventListener("change", choose);
find("own").addEventListener("input", choose);
find("bar").addEventListener("submit", (event) => event.preventDefault());
for (const id of SETTINGS) find(id).addEventListener("change", () => begin());
for (const place of document.querySelectorAll(".learn .save")) {
  const { figure } = place.dataset;
  const draw = () => (figure === "matrix" ? matrixFigure(matrix.shown) : copied(find(figure).querySelector("svg")));
  offerFiles(place, draw, `learning-${figure}`, (error) => trouble(error.message));
}

find("trouble").hidden = true;
find("bar").hidden = false;
if (!restore()) begin();
