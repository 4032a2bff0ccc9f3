"use strict";
// Words are inserted as text only (textContent and attributes), never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const entries = data.sentences, names = data.measures;
const $ = id => document.getElementById(id);
const LARGE = 24, SMALL = 14, LONGEST = 24;
let shown = [], chosen = null;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const missing = value => value === null || value === undefined;
const number = (key, value) => missing(value) ? "–" : ["source_words", "target_words"].includes(key) ? String(value) : value.toFixed(3).replace("-", "−");
const value = (entry, key) => key === "number" ? entry.number : entry.runs[0].measures[key];
const text = entry => entry.runs[0].source.slice(0, -1).join(" ");
const short = word => word.length > LONGEST ? word.slice(0, LONGEST - 1) + "…" : word;

function list() {
  const key = $("order").value, sign = $("descending").checked ? -1 : 1, wanted = $("filter").value.trim().toLowerCase();
  shown = entries.filter(entry => !wanted || String(entry.number) === wanted ||
    (text(entry) + " " + entry.runs[0].target.join(" ")).toLowerCase().includes(wanted));
  shown.sort((a, b) => {
    const [left, right] = [value(a, key), value(b, key)];
    return missing(left) - missing(right) || (missing(left) ? 0 : sign * (left - right)) || a.number - b.number;
  });
  $("list").replaceChildren(...shown.map(entry => {
    const numbers = element("span", {}, `${entry.number}` + (key === "number" ? "" : ` · ${names[key]} ${number(key, value(entry, key))}`));
    const button = element("button", {type: "button"}, numbers, element("span", {class: "text", lang: ""}, text(entry) || "(empty)"));
    button.addEventListener("click", () => choose(entry));
    return element("li", {}, button);
  }));
  mark();
}

function mark() {
  const place = shown.indexOf(chosen);
  [...$("list").querySelectorAll("button")].forEach((button, at) => {
    if (at !== place) { button.removeAttribute("aria-current"); return; }
    button.setAttribute("aria-current", "true");
    const box = $("list").getBoundingClientRect(), own = button.getBoundingClientRect();  // scrolled within the list, never the page
    if (own.top < box.top) $("list").scrollTop -= box.top - own.top;
    if (own.bottom > box.bottom) $("list").scrollTop += own.bottom - box.bottom;
  });
  $("previous").disabled = place <= 0 && shown.length > 0;
  $("next").disabled = place >= shown.length - 1;
}

function step(by) {
  if (shown.length) choose(shown[Math.max(0, Math.min(shown.length - 1, shown.indexOf(chosen) + by))]);
}

function choose(entry) {
  chosen = entry;
  history.replaceState(null, "", "#" + entry.number);
  $("heading").textContent = `Sentence ${entry.number}`;
  $("sentence").replaceChildren(element("p", {lang: ""}, text(entry)), element("p", {lang: ""}, entry.runs[0].target.join(" ")), table(entry));
  $("runs").replaceChildren(...entry.runs.map(run => picture(entry, run)));
  mark();
}

function table(entry) {
  const keys = Object.keys(names).filter(key => entry.runs.some(run => run.measures[key] !== undefined));
  const cells = (kind, texts) => texts.map(said => element(kind, kind === "th" ? {class: "number", scope: "col"} : {class: "number"}, said));
  const head = element("tr", {}, element("th", {scope: "col"}, "Run"), ...cells("th", keys.map(key => names[key])));
  const rows = entry.runs.map(run => element("tr", {}, element("th", {scope: "row"}, run.title || "run"),
    ...cells("td", keys.map(key => number(key, run.measures[key])))));
  const whole = element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
  return element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Measures"}, whole);
}

function picture(entry, run) {
  const said = element("div", {class: "value", "aria-hidden": "true"});
  const made = run.links.map(([j, i]) => `${run.source[j]} – ${run.target[i]}`).join(", ");
  return element("figure", {}, element("figcaption", {}, run.title), element("div", {class: "matrix"}, matrix(entry, run, said)), said,
    element("details", {class: "made"}, element("summary", {}, `${run.links.length} links in words`), element("p", {}, made || "none")));
}

function matrix(entry, run, said) {
  const rows = run.target.length, columns = run.source.length;
  const weights = Uint8Array.from(atob(run.weights), letter => letter.charCodeAt(0));
  const kinds = new Map();
  const add = (kind, found) => found.forEach(([j, i]) => kinds.set(`${i} ${j}`, [...(kinds.get(`${i} ${j}`) || []), kind]));
  if (entry.gold) { add("sure", entry.gold.sure); add("possible", entry.gold.possible); }
  add("linked", run.links);
  const heads = run.source.map(word => element("th", {scope: "col", title: word}, element("span", {lang: ""}, short(word))));
  const sides = run.target.map(word => element("th", {scope: "row", title: word, lang: ""}, short(word)));
  const cells = sides.map((_, i) => heads.map((_, j) => {
    const cell = element("td", {role: "gridcell", tabindex: i || j ? "-1" : "0", class: (kinds.get(`${i} ${j}`) || []).join(" ")});
    cell.style.setProperty("--grey", weights[i * columns + j]);
    return cell;
  }));
  const size = Math.max(SMALL, Math.min(LARGE, Math.floor(900 / Math.max(rows, columns, 1))));
  const label = `Alignment of ${rows} target and ${columns} source words${run.title ? ` by ${run.title}` : ""}`;
  const grid = element("table", {role: "grid", "aria-label": label, style: `--cell: ${size}px; --letters: ${Math.min(13, size - 2)}px`},
    element("thead", {}, element("tr", {}, element("th"), ...heads)),
    element("tbody", {}, ...sides.map((side, i) => element("tr", {}, side, ...cells[i]))));
  const WORDS = {sure: "sure gold link", possible: "possible gold link", linked: "link"};

  function show(i, j) {
    heads.forEach((head, place) => head.classList.toggle("on", place === j));
    sides.forEach((side, place) => side.classList.toggle("on", place === i));
    if (i === undefined) { said.textContent = ""; return; }
    const more = (kinds.get(`${i} ${j}`) || []).map(kind => `, ${WORDS[kind]}`).join("");
    said.textContent = `${run.target[i]} ← ${run.source[j]}: ${(weights[i * columns + j] / 255).toFixed(2)}${more}`;
    cells[i][j].setAttribute("aria-label", said.textContent);
  }

  function place(cell) {
    const i = cells.findIndex(row => row.includes(cell));
    return i < 0 ? [undefined, undefined] : [i, cells[i].indexOf(cell)];
  }

  grid.addEventListener("mouseover", event => show(...place(event.target.closest("td"))));
  grid.addEventListener("mouseleave", () => show(...place(document.activeElement)));
  grid.addEventListener("focusin", event => show(...place(event.target)));
  grid.addEventListener("focusout", () => show());
  grid.addEventListener("click", event => go(...place(event.target.closest("td"))));
  grid.addEventListener("keydown", event => {
    const [i, j] = place(event.target);
    const to = {ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1], Home: [i, 0], End: [i, columns - 1]}[event.key];
    if (!to || i === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();  // else the arrows would go to another sentence
    go(...to);
  });

  function go(i, j) {
    const cell = (cells[i] || [])[j];
    if (!cell) return;
    grid.querySelectorAll("[tabindex='0']").forEach(other => other.setAttribute("tabindex", "-1"));
    cell.setAttribute("tabindex", "0");
    cell.focus();
  }
  return grid;
}

$("order").append(element("option", {value: "number"}, "order of the files"),
  ...Object.entries(names).filter(([key]) => entries.some(entry => value(entry, key) !== undefined)).map(([key, name]) => element("option", {value: key}, name)));
for (const id of ["order", "descending", "filter"]) $(id).addEventListener("input", list);
for (const id of ["gold", "links"]) if ($(id)) $(id).addEventListener("input", () => $("browser").classList.toggle(id, $(id).checked));
$("previous").addEventListener("click", () => step(-1));
$("next").addEventListener("click", () => step(1));
document.querySelector("form").addEventListener("submit", event => event.preventDefault());
document.addEventListener("keydown", event => {
  if (["INPUT", "SELECT"].includes(event.target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  const by = {j: 1, k: -1}[event.key];
  if (by) { event.preventDefault(); step(by); }
});
$("picker").open = matchMedia("(min-width: 48.01rem)").matches;
list();
if (shown.length) choose(entries.find(entry => "#" + entry.number === location.hash) || shown[0]);
