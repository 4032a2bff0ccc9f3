// The training in a thread of its own. Messages in: {kind: "start", settings, training}, {kind: "run", until}, "pause", "step", {kind: "sentence", …}.
// Out: ready, progress, measured, looked, unknown, error; each names the training that it belongs to.

import { breath } from "./breath.js";
import { Corpus } from "./corpus.js";
import { Training } from "./training.js";

const SLICE = 200; // milliseconds between two reports
const LOOK = 700; // between two pictures
const MEASURE = 3000; // between two measures by length
const SHARE = 12; // a measure costs at most a twelfth of the time, on the slowest machine too
const ENOUGH = 6000; // updates, after which it pauses

let corpus = null;
let training = null;
let number = 0; // of the training, as the page counts them
let running = false;
let rounds = 0; // how often it has begun to run: a loop that is overtaken ends
let seconds = 0;
let chosen = null; // {source, reference}: words
let points = [];
const due = { look: 0, measure: 0 };

const actions = {
  async start({ settings, training: mine }) {
    number = mine;
    corpus ??= new Corpus(await (await fetched("corpus.json")).json());
    training = new Training(corpus, settings);
    [seconds, points] = [0, []];
    say("ready", { simd: training.simd, heldOut: corpus.heldOut });
  },
  async run({ until }) {
    if (running) return;
    running = true;
    const round = ++rounds;
    const stop = until > training.updates ? until : training.updates + ENOUGH;
    const goesOn = () => running && round === rounds && training.updates < stop;
    let since = performance.now();
    while (goesOn()) {
      const end = since + SLICE;
      while (performance.now() < end && training.updates < stop) update();
      if (end > due.measure) measure();
      if (end > due.look) look();
      await breath();
      const now = performance.now();
      seconds += (now - since) / 1000;
      since = now;
      if (goesOn()) report();
    }
    if (round !== rounds) return;
    running = false;
    measure();
    look();
    report();
  },
  pause() {
    running = false;
  },
  step() {
    update();
    measure();
    look();
    report();
  },
  sentence({ source, reference, text }) {
    if (text !== undefined) {
      const { words, unknown } = corpus.read(text);
      if (unknown.length || !words.length) return say("unknown", { words: unknown });
      [source, reference] = [words, null];
    }
    chosen = { source, reference };
    look();
  },
};

addEventListener("message", async ({ data }) => {
  try {
    await actions[data.kind](data);
  } catch (error) {
    running = false;
    say("error", { message: error.message });
  }
});

function say(kind, rest) {
  postMessage({ kind, training: number, ...rest });
}

async function fetched(name) {
  const answer = await fetch(new URL(name, import.meta.url));
  if (!answer.ok) throw new Error(`The sentences could not be loaded (${answer.status}).`);
  return answer;
}

function update() {
  const point = training.update();
  if (point) points.push(point);
}

function measure() {
  const begun = performance.now();
  say("measured", { updates: training.updates, shares: training.measure() });
  due.measure = begun + Math.max(MEASURE, SHARE * (performance.now() - begun));
}

function look() {
  due.look = performance.now() + LOOK;
  if (chosen) say("looked", training.look(chosen.source, chosen.reference));
}

function report() {
  const { updates, longest } = training;
  say("progress", { updates, longest, seconds, points, running });
  points = [];
}
