// A page to browse alignments. Words are inserted as text only (textContent and attributes), never as markup.

import { element, find } from "./elements.js";
import { Matrix } from "./matrix.js";

const data = JSON.parse(find("data").textContent);
const { sentences: entries, measures: names } = data;
let [shown, chosen] = [[], null];

const missing = (value) => value === null || value === undefined;
const number = (key, value) => (missing(value) ? "–" : ["source_words", "target_words"].includes(key) ? String(value) : value.toFixed(3).replace("-", "−"));
const value = (entry, key) => (key === "number" ? entry.number : entry.runs[0].measures[key]);
const text = (entry) => entry.runs[0].source.slice(0, -1).join(" ");

function list() {
  const key = find("order").value;
  const sign = find("descending").checked ? -1 : 1;
  const wanted = find("filter").value.trim().toLowerCase();
  shown = entries.filter((entry) => !wanted || String(entry.number) === wanted || `${text(entry)} ${entry.runs[0].target.join(" ")}`.toLowerCase().includes(wanted));
  shown.sort((a, b) => {
    const [left, right] = [value(a, key), value(b, key)];
    return missing(left) - missing(right) || (missing(left) ? 0 : sign * (left - right)) || a.number - b.number;
  });
  find("list").replaceChildren(
    ...shown.map((entry) => {
      const numbers = `${entry.number}${key === "number" ? "" : ` · ${names[key]} ${number(key, value(entry, key))}`}`;
      const button = element("button", { type: "button" }, element("span", { textContent: numbers }), element("span", { className: "text", lang: "", textContent: text(entry) || "(empty)" }));
      button.addEventListener("click", () => choose(entry));
      return element("li", {}, button);
    }),
  );
  mark();
}

function mark() {
  const place = shown.indexOf(chosen);
  [...find("list").querySelectorAll("button")].forEach((button, at) => {
    if (at !== place) return button.removeAttribute("aria-current");
    button.setAttribute("aria-current", "true");
    const [box, own] = [find("list"), button].map((one) => one.getBoundingClientRect()); // scrolled within the list, never the page
    if (own.top < box.top) find("list").scrollTop -= box.top - own.top;
    if (own.bottom > box.bottom) find("list").scrollTop += own.bottom - box.bottom;
  });
  find("previous").disabled = place <= 0 && shown.length > 0;
  find("next").disabled = place >= shown.length - 1;
}

function step(by) {
  if (shown.length) choose(shown[Math.max(0, Math.min(shown.length - 1, shown.indexOf(chosen) + by))]);
}

function choose(entry) {
  chosen = entry;
  history.replaceState(null, "", `#${entry.number}`);
  find("heading").textContent = `Sentence ${entry.number}`;
  find("sentence").replaceChildren(...[text(entry), entry.runs[0].target.join(" ")].map((words) => element("p", { lang: "", textContent: words })), table(entry));
  find("runs").replaceChildren(...entry.runs.map((run) => picture(entry, run)));
  mark();
}

function table({ runs }) {
  const keys = Object.keys(names).filter((key) => runs.some((run) => run.measures[key] !== undefined));
  const cells = (kind, texts) => texts.map((said) => element(kind, { className: "number", textContent: said, ...(kind === "th" && { scope: "col" }) }));
  const head = element("tr", {}, element("th", { scope: "col", textContent: "Run" }), ...cells("th", keys.map((key) => names[key])));
  const rows = runs.map((run) => element("tr", {}, element("th", { scope: "row", textContent: run.title || "run" }), ...cells("td", keys.map((key) => number(key, run.measures[key])))));
  return element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Measures" }, element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function picture({ gold }, { title, source, target, links, weights }) {
  const [place, said] = [element("div", { className: "matrix" }), element("div", { className: "value", "aria-hidden": "true" })];
  const kinds = [["sure", "sure gold link", gold?.sure], ["possible", "possible gold link", gold?.possible], ["linked", "link", links]];
  const found = kinds.map(([kind, word, all]) => [kind, word, new Set((all ?? []).map(String))]);
  const marks = (i, j) => Object.fromEntries(found.filter(([, , all]) => all.has(`${j},${i}`)));
  const shades = [...atob(weights)].map((letter) => letter.charCodeAt(0) / 255);
  const alignment = target.map((_, i) => shades.slice(i * source.length, (i + 1) * source.length));
  new Matrix(place, said, undefined, marks).show({ sourceTokens: source, tokens: target, alignment, step: target.length });
  const words = links.map(([j, i]) => `${source[j]} – ${target[i]}`).join(", ");
  const inWords = element("details", { className: "made" }, element("summary", { textContent: `${links.length} links in words` }), element("p", { textContent: words || "none" }));
  return element("figure", {}, element("figcaption", { textContent: title }), place, said, inWords);
}

const sorted = Object.entries(names).filter(([key]) => entries.some((entry) => value(entry, key) !== undefined));
find("order").append(...[["number", "order of the files"], ...sorted].map(([key, name]) => element("option", { value: key, textContent: name })));
for (const id of ["order", "descending", "filter"]) find(id).addEventListener("input", list);
for (const id of ["gold", "links"]) find(id)?.addEventListener("input", () => find("browser").classList.toggle(id, find(id).checked));
find("previous").addEventListener("click", () => step(-1));
find("next").addEventListener("click", () => step(1));
document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  const by = { j: 1, k: -1 }[event.key];
  if (!by || ["INPUT", "SELECT"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  step(by);
});
find("picker").open = matchMedia("(min-width: 48.01rem)").matches;
list();
if (shown.length) choose(entries.find((entry) => `#${entry.number}` === location.hash) || shown[0]);
