// "History of a training": scrubs through history.json, which scripts/training_history.py makes.

import { element, find } from "./elements.js";
import { linesFigure, matrixFigure, offerFiles } from "./figures.js";
import { Matrix } from "./matrix.js";
import { copyAddress } from "./state.js";

const PACE = 700; // milliseconds from moment to moment

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const matrix = new Matrix(find("matrix"), find("value"), () => {});
let history = null;
let timer = 0;

/** α of a moment, from digits of base 36. */
function rows(digits, columns) {
  const weights = [...digits].map((digit) => parseInt(digit, 36) / 35);
  return Array.from({ length: weights.length / columns }, (_, i) => weights.slice(i * columns, (i + 1) * columns));
}

const at = () => [Number(find("sentence").value), Number(find("moment").value)];

function shown() {
  const [sentence, moment] = at();
  const { source, target } = history.sentences[sentence];
  return { sourceTokens: source, tokens: target, alignment: rows(history.moments[moment].weights[sentence], source.length) };
}

/** The class of a word that was written: right at its place, in the reference elsewhere, or wrong. */
function mark(word, place, reference) {
  if (word === reference[place]) return "right";
  return reference.includes(word) ? "elsewhere" : "wrong";
}

function draw() {
  const [sentence, moment] = at();
  const { update, loss, texts } = history.moments[moment];
  const picture = shown();
  matrix.show({ ...picture, step: picture.tokens.length });
  const lines = linesFigure(picture);
  lines.setAttribute("role", "img");
  lines.setAttribute("aria-label", "The same weights as lines between the words");
  find("lines").replaceChildren(lines);
  const words = texts[sentence].split(" ").filter(Boolean);
  const reference = find("reference").textContent.split(" ");
  find("written").replaceChildren(...words.flatMap((word, i) => [element("span", { textContent: word, className: mark(word, i, reference) }), " "]));
  const said = `After ${update.toLocaleString("en")} updates; surprise per word of the ten translations: ${loss.toFixed(2)}`;
  find("said").textContent = said;
  find("moment").setAttribute("aria-valuetext", said);
}

function choose() {
  find("reference").textContent = history.sentences[at()[0]].text;
  draw();
}

function go(moment) {
  find("moment").value = moment;
  draw();
}

function stop() {
  clearInterval(timer);
  timer = 0;
  find("play").textContent = "Play";
}

function play() {
  if (timer) return stop();
  const last = history.moments.length - 1;
  if (at()[1] === last) go(0);
  find("play").textContent = "Pause";
  timer = setInterval(() => {
    go(at()[1] + 1);
    if (at()[1] === last) stop();
  }, calm.matches ? 3 * PACE : PACE);
}

/** Shows what the address says. */
function restore() {
  const values = new URLSearchParams(location.hash.slice(1));
  const number = (name, count, otherwise) => Math.min(count - 1, Math.max(0, parseInt(values.get(name) ?? otherwise, 10) || 0));
  find("sentence").value = number("sentence", history.sentences.length, 0);
  find("moment").value = number("moment", history.moments.length, 0);
  choose();
}

function share() {
  const [sentence, moment] = at();
  window.history.replaceState(null, "", `#${new URLSearchParams({ sentence, moment })}`);
  return copyAddress(find("link"));
}

async function start() {
  const answer = await fetch(new URL("history.json", import.meta.url));
  if (!answer.ok) throw new Error(`history.json: ${answer.status}`);
  history = await answer.json();
  find("title").textContent = history.title;
  find("sentence").replaceChildren(...history.sentences.map(({ source }, place) => element("option", { value: place, textContent: source.slice(0, -1).join(" ") })));
  find("moment").max = history.moments.length - 1;
  find("moment").addEventListener("input", () => {
    stop();
    draw();
  });
  find("sentence").addEventListener("change", choose);
  find("play").addEventListener("click", play);
  find("bar").addEventListener("submit", (event) => event.preventDefault());
  find("link").addEventListener("click", share);
  addEventListener("hashchange", restore);
  new MutationObserver(draw).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] }); // lines have colours of their own
  for (const place of document.querySelectorAll(".learn .save")) {
    const make = place.dataset.figure === "matrix" ? matrixFigure : linesFigure;
    offerFiles(place, () => make(shown()), `history-${place.dataset.figure}`, (error) => trouble(error.message));
  }
  restore();
  find("trouble").hidden = true;
  find("bar").hidden = find("views").hidden = false;
}

function trouble(message) {
  find("trouble").textContent = message;
  find("trouble").hidden = false;
}

start().catch((error) => trouble(`The history could not be shown (${error.message}).`));
