// A page to browse alignments. Words are inserted as text only (textContent and attributes), never
// as markup.

import { button, element, ui } from "./elements.js";
import { Matrix } from "./matrix.js";

const { sentences: entries, measures: names } = JSON.parse(ui.data.textContent);
let [shown, chosen] = [[], null];

const missing = (value) => value === null || value === undefined;
const value = (entry, key) => (key === "number" ? entry.number : entry.runs[0].measures[key]);
const texts = ({ runs: [{ source, target }] }) => [source.slice(0, -1).join(" "), target.join(" ")];

function number(key, value) {
  if (missing(value)) return "–";
  if (key === "source_words" || key === "target_words") return String(value);
  return value.toFixed(3).replace("-", "−");
}

function list() {
  const key = ui.order.value;
  const sign = ui.descending.checked ? -1 : 1;
  const wanted = ui.filter.value.trim().toLowerCase();
  shown = entries.filter((entry) => {
    const found = texts(entry).join(" ").toLowerCase().includes(wanted);
    return found || String(entry.number) === wanted;
  });
  shown.sort((a, b) => {
    const [left, right] = [value(a, key), value(b, key)];
    const known = missing(left) - missing(right);
    return known || (missing(left) ? 0 : sign * (left - right)) || a.number - b.number;
  });
  const items = shown.map((entry) => {
    const measure = key === "number" ? "" : ` · ${names[key]} ${number(key, value(entry, key))}`;
    const numbers = element("span", { textContent: entry.number + measure });
    const textContent = texts(entry)[0] || "(empty)";
    const text = element("span", { className: "text", lang: "", textContent });
    return element("li", {}, button(() => choose(entry), {}, numbers, text));
  });
  ui.list.replaceChildren(...items);
  mark();
}

function mark() {
  const place = shown.indexOf(chosen);
  [...ui.list.querySelectorAll("button")].forEach((one, at) => {
    one.ariaCurrent = at === place ? true : null;
    if (at !== place) return;
    const [box, own] = [ui.list, one].map((each) => each.getBoundingClientRect());
    // scrolled within the list, never the page
    if (own.top < box.top) ui.list.scrollTop -= box.top - own.top;
    if (own.bottom > box.bottom) ui.list.scrollTop += own.bottom - box.bottom;
  });
  ui.previous.disabled = place <= 0 && shown.length > 0;
  ui.next.disabled = place >= shown.length - 1;
}

function step(by) {
  const place = Math.min(shown.length - 1, shown.indexOf(chosen) + by);
  if (shown.length) choose(shown[Math.max(0, place)]);
}

function choose(entry) {
  chosen = entry;
  history.replaceState(null, "", `#${entry.number}`);
  ui.heading.textContent = `Sentence ${entry.number}`;
  const lines = texts(entry).map((textContent) => element("p", { lang: "", textContent }));
  ui.sentence.replaceChildren(...lines, table(entry));
  ui.runs.replaceChildren(...entry.runs.map((run) => picture(entry, run)));
  mark();
}

function table({ runs }) {
  const used = (key) => runs.some((run) => run.measures[key] !== undefined);
  const keys = Object.keys(names).filter(used);
  const head = (scope, textContent, className = "") =>
    element("th", { scope, className, textContent });
  const heads = keys.map((key) => head("col", names[key], "number"));
  const rows = runs.map(({ title, measures }) => {
    const cells = keys.map((key) => {
      return element("td", { className: "number", textContent: number(key, measures[key]) });
    });
    return element("tr", {}, head("row", title || "run"), ...cells);
  });
  const first = element("thead", {}, element("tr", {}, head("col", "Run"), ...heads));
  return element(
    "div",
    { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Measures" },
    element("table", {}, first, element("tbody", {}, ...rows)),
  );
}

function picture({ gold }, { title, source, target, links, weights }) {
  const place = element("div", { className: "matrix" });
  const said = element("div", { className: "value", ariaHidden: true });
  const kinds = [
    ["sure", "sure gold link", gold?.sure],
    ["possible", "possible gold link", gold?.possible],
    ["linked", "link", links],
  ].map(([kind, word, all]) => [kind, word, new Set((all ?? []).map(String))]);
  const marks = (i, j) => Object.fromEntries(kinds.filter(([, , all]) => all.has(`${j},${i}`)));
  const shades = [...atob(weights)].map((letter) => letter.charCodeAt(0) / 255);
  const width = source.length;
  const alignment = target.map((_, i) => shades.slice(i * width, (i + 1) * width));
  const written = { sourceTokens: source, tokens: target, alignment, step: target.length };
  new Matrix(place, said, undefined, marks).show(written);
  const words = links.map(([j, i]) => `${source[j]} – ${target[i]}`).join(", ") || "none";
  const inWords = element(
    "details",
    { className: "made" },
    element("summary", { textContent: `${links.length} links in words` }),
    element("p", { textContent: words }),
  );
  return element("figure", {}, element("figcaption", { textContent: title }), place, said, inWords);
}

const measured = ([key]) => entries.some((entry) => value(entry, key) !== undefined);
const orders = [["number", "order of the files"], ...Object.entries(names).filter(measured)];
const options = orders.map(([key, name]) => element("option", { value: key, textContent: name }));
ui.order.append(...options);
for (const field of [ui.order, ui.descending, ui.filter]) field.oninput = list;
for (const field of [ui.gold, ui.links]) {
  field?.addEventListener("input", () => ui.browser.classList.toggle(field.id, field.checked));
}
ui.previous.onclick = () => step(-1);
ui.next.onclick = () => step(1);
document.querySelector("form").onsubmit = (event) => event.preventDefault();
document.addEventListener("keydown", (event) => {
  const by = { j: 1, k: -1 }[event.key];
  const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
  if (!by || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  step(by);
});
ui.picker.open = matchMedia("(min-width: 48.01rem)").matches;
list();
if (shown.length) choose(entries.find(({ number: n }) => `#${n}` === location.hash) || shown[0]);
