// The page: the form, the models, and what is shown when.

import { makeBackend } from "./backends.js";
import { element, find } from "./elements.js";
import { Inside } from "./inside.js";
import { ResultView } from "./result.js";
import { copyAddress, readState, writeState } from "./state.js";
import { Steer } from "./steer.js";
import { Tree } from "./tree.js";

const LONGEST = 5000; // characters of a text
const TAUGHT =
  "This network was also shown word links while it learned: a statistical aligner had found which words belong together.";
const FOUND = "Nobody told this network which words belong together while it learned to translate; it found out by itself.";

class Page {
  constructor(config) {
    this.config = config;
    this.backend = makeBackend(config);
    const local = config.engine === "local";
    const ask = (question) => this.backend.ask("inside", this.view.result.model, question);
    const inside = new Inside(find("inside"), {
      ask: local ? ask : null,
      choices: async (line, prefix) => this.backend.choices({ line, prefix }, { ...this.options, model: this.view.result.model }),
      choose: ({ sentence, before }, word) => this.steer.choose(sentence, before, word),
    });
    this.view = new ResultView(inside, { onChange: () => this.remember(), translated: () => this.again() });
    this.steer = new Steer(this.view, { translate: (...given) => this.follow(...given), onError: (text) => this.complain(text) });
    this.tree = new Tree(find("tree"));
    find("grow").hidden = !local;
    find("look-inside").textContent = local
      ? "Choose a word of the translation: other words appear, and the inside of the step that wrote it. Or type over it: what stands before the cursor is kept."
      : "Choose a word of the translation: other words appear. Or type over it: what stands before the cursor is kept. This service keeps its weights: a page made by rnnsearch export also shows the inside of each step.";
    this.running = null;
    const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
    const called = (code) => (code ? names.of(code) : "?");
    const pairs = config.models.map((model) => `${called(model.source)} → ${called(model.target)}`);
    find("model").replaceChildren(
      ...config.models.map((model, k) => {
        const alone = pairs.indexOf(pairs[k]) === pairs.lastIndexOf(pairs[k]);
        return element("option", { value: model.name, textContent: alone ? pairs[k] : `${pairs[k]} (${model.name})` });
      }),
    );
    find("where").textContent =
      config.engine === "local"
        ? "The network runs in this browser. What you type does not leave it."
        : "The network runs on the server that this page came from. What you type is sent to it.";
    find("key-field").hidden = !config.keys;
    find("glossary-field").hidden = local;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) find("slowly").checked = false;
    this.listen();
    this.begin();
  }

  /** Begins with the state in the address, or with the translation that came with the page, or with an example. */
  begin() {
    const { first } = this.config;
    if (readState()) return this.restore();
    if (!first) return this.chosen();
    find("model").value = first.model;
    find("text").value = first.text;
    this.chosen(false);
    this.view.finish({ ...first.result, brought: true, beam: 5, model: first.model }, false);
    this.text = find("text").value;
  }

  /** Translates here what the page brought: its engine then knows every step. */
  again() {
    const { model, text } = this.config.first;
    find("model").value = model;
    find("text").value = text;
    this.chosen(false);
    return this.translate({ slowly: false });
  }

  async restore() {
    const { model, beam, text, sentence, step } = readState();
    if (this.config.models.some((one) => one.name === model)) find("model").value = model;
    document.querySelector(`input[name=beam][value="${beam}"]`).checked = true;
    find("text").value = text;
    this.chosen(false);
    await this.translate({ slowly: false });
    const { result } = this.view;
    if (!result?.sentences.length) return;
    if (sentence > 0) this.view.choose(Math.min(sentence, result.sentences.length - 1), 0);
    if (step >= 0) this.view.goTo(step);
  }

  /** Puts what is shown into the address. */
  remember({ brought = false } = {}) {
    const { result, sentence, step } = this.view;
    if (result && (brought || !result.brought) && this.text) writeState({ model: result.model, beam: result.beam, text: this.text, sentence, step });
  }

  listen() {
    find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.translate();
    });
    find("text").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        this.translate();
      }
    });
    find("text").addEventListener("input", () => this.count());
    find("stop").addEventListener("click", () => this.running?.abort());
    find("model").addEventListener("change", () => this.chosen());
    find("compare").addEventListener("click", () => this.compare());
    find("grow").addEventListener("click", () => this.search());
    find("link").addEventListener("click", () => this.share());
    addEventListener("hashchange", () => readState() && this.restore());
  }

  get model() {
    return this.config.models.find((model) => model.name === find("model").value);
  }

  get options() {
    const beam = Number(document.querySelector("input[name=beam]:checked").value);
    return { model: this.model.name, beam, nbest: beam, key: find("key").value.trim(), glossary: this.glossary };
  }

  /** Term → translation. */
  get glossary() {
    const lines = find("glossary").value.split("\n").filter((line) => line.trim());
    const terms = lines.map((line) => line.split("=").map((side) => side.trim()));
    const wrong = terms.findIndex((sides) => sides.length !== 2 || sides.includes(""));
    if (wrong >= 0) throw new Error(`In the glossary, “${lines[wrong].trim()}” is not “term = translation”.`);
    return Object.fromEntries(terms);
  }

  /** Shows the examples of a newly chosen model, and loads its file. */
  async chosen(load = true) {
    const { name, source, target, taught_links } = this.model;
    find("taught").textContent = taught_links ? TAUGHT : FOUND;
    const own = this.config.examples?.[name] ?? [];
    find("text").lang = source;
    find("output").lang = target;
    find("examples").hidden = !own.length;
    find("examples").replaceChildren(
      ...own.map((text) => {
        const button = element("button", { type: "button", textContent: text, lang: source });
        button.addEventListener("click", () => {
          find("text").value = text;
          this.count();
          this.translate();
        });
        return button;
      }),
    );
    const examples = Object.values(this.config.examples ?? {}).flat();
    if (!find("text").value || (!own.includes(find("text").value) && examples.includes(find("text").value))) find("text").value = own[0] ?? "";
    this.count();
    if (load && !this.config.first) await this.load().catch((error) => this.complain(error.message));
  }

  async load(name = this.model.name) {
    const shown = setTimeout(() => (find("loading").hidden = false), 150); // what is there at once needs no bar
    try {
      await this.backend.load(name, (loaded, bytes) => {
        Object.assign(find("progress"), { max: bytes, value: Math.min(loaded, bytes) });
        find("loaded").textContent = `Loading the network: ${(loaded / 1e6).toFixed(1)} of ${(bytes / 1e6).toFixed(1)} MB`;
      });
    } finally {
      clearTimeout(shown);
      find("loading").hidden = true;
    }
  }

  count() {
    const { length } = find("text").value;
    const over = length > LONGEST;
    find("limit").textContent = over
      ? `${length.toLocaleString("en")} characters: the most are ${LONGEST.toLocaleString("en")}.`
      : length > LONGEST / 2
        ? `${length.toLocaleString("en")} of ${LONGEST.toLocaleString("en")} characters`
        : "Ctrl + Enter translates, too.";
    find("limit").classList.toggle("bad", over);
    return over;
  }

  complain(text) {
    find("message").textContent = text;
    find("message").hidden = !text;
    if (text) find("status").textContent = "";
  }

  async translate({ slowly = find("slowly").checked } = {}) {
    const text = find("text").value;
    this.running?.abort();
    this.complain("");
    this.view.clear();
    this.steer.reset();
    this.tree.close();
    find("compared").hidden = true;
    if (!text.trim()) return this.complain("There is no text yet. Type a sentence, or choose an example.");
    if (this.count()) return this.complain(`The text is too long: ${LONGEST.toLocaleString("en")} characters are the most. Translate it in parts.`);
    const running = new AbortController();
    this.running = running;
    find("stop").hidden = false;
    find("status").textContent = "Translating";
    try {
      await this.load();
      const { beam, model } = this.options;
      const grow = (words) => running === this.running && this.view.grow(words, slowly);
      const result = await this.backend.translate(text, this.options, grow, running.signal);
      if (running !== this.running) return;
      if (!result.text.trim()) this.complain("The network found nothing to write for this text.");
      this.text = text;
      this.view.finish({ ...result, beam, model }, slowly);
      find("status").textContent = `Translation: ${result.text}`;
    } catch (error) {
      if (running !== this.running) return;
      if (error.name === "AbortError") find("status").textContent = "Stopped";
      else this.complain(error.message);
    } finally {
      if (running === this.running) {
        find("stop").hidden = true;
        this.running = null;
      }
    }
  }

  /** Translates a sentence whose translation begins with this prefix. */
  async follow(line, prefix, beam, signal) {
    const { model } = this.view.result;
    await this.load(model);
    const { sentences } = await this.backend.translate(line, { ...this.options, model, beam, nbest: beam, prefix }, null, signal);
    return sentences[0];
  }

  /** Shows the search for the chosen sentence as a tree. */
  async search() {
    try {
      const { model, sentences } = this.view.result;
      await this.load(model);
      this.tree.show(await this.backend.ask("tree", model, { line: sentences[this.view.sentence].source, beam: 5 }));
    } catch (error) {
      this.complain(error.message);
    }
  }

  /** Copies the address of what is shown, the step and all. */
  share() {
    this.remember({ brought: true });
    return copyAddress(find("link"));
  }

  /** Translates the same text greedily and with a beam of five. */
  async compare() {
    const found = [];
    try {
      const { model } = this.view.result;
      await this.load(model);
      for (const beam of [1, 5]) found.push(await this.backend.translate(this.text, { ...this.options, model, beam, nbest: 1 }));
    } catch (error) {
      return this.complain(error.message);
    }
    const score = ({ sentences }) => sentences.reduce((sum, one) => sum + one.hypotheses[0].score, 0);
    const rows = found.flatMap((result, k) => [
      element("dt", { textContent: `Beam ${[1, 5][k]}` }),
      element("dd", { dir: "auto" }, result.text, " ", element("span", { className: "number dim", textContent: score(result).toFixed(2) })),
    ]);
    const same = found[0].text === found[1].text;
    rows.push(element("dd", { className: "note", textContent: same ? "Both find the same translation." : "The wider search finds another one." }));
    find("compared").replaceChildren(...rows);
    find("compared").hidden = false;
    find("status").textContent = rows.at(-1).textContent;
  }
}

async function start() {
  const message = find("message");
  try {
    const answer = await fetch(new URL("config.json", import.meta.url));
    if (!answer.ok) throw new Error();
    new Page(await answer.json());
  } catch (error) {
    message.hidden = false;
    message.textContent =
      location.protocol === "file:"
        ? "A browser does not run this page from a file. Put the folder on a web host, or serve it here: python -m http.server"
        : `The page could not be started: ${error.message || "config.json is not there"}.`;
  }
}

start();
