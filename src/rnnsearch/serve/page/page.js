// The page: the form, the models, and what is shown when.

import { makeBackend } from "./backends.js";
import { button, element, span, ui } from "./elements.js";
import { Inside } from "./inside.js";
import { ResultView } from "./result.js";
import { copyAddress, readState, writeState } from "./state.js";
import { Steer } from "./steer.js";
import { Tree } from "./tree.js";

const LONGEST = 5000; // characters of a text
const counted = (number) => number.toLocaleString("en");
const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

class Page {
  constructor(config) {
    this.config = config;
    this.backend = makeBackend(config, (loaded, bytes) => {
      Object.assign(ui.progress, { max: bytes, value: Math.min(loaded, bytes) });
      const text = `Loading the network: ${megabytes(loaded)} of ${megabytes(bytes)} MB`;
      ui.loaded.textContent = text;
    });
    document.body.dataset.engine = config.engine; // the style sheet shows what this engine has
    const ask = (question) => this.backend.ask("inside", this.view.result.model, question);
    const inside = new Inside({
      ask: config.engine === "local" ? ask : null,
      choices: async (line, prefix) => this.backend.choices({ line, prefix }, this.optionsOfResult),
      choose: ({ sentence, before }, word) => this.steer.choose(sentence, before, word),
    });
    this.view = new ResultView(inside, {
      onChange: () => this.remember(),
      translated: () => this.again(),
    });
    this.steer = new Steer(this.view, {
      translate: (...given) => this.follow(...given),
      onError: (text) => this.complain(text),
    });
    this.tree = new Tree();
    this.running = null;
    ui.model.replaceChildren(...options(config.models));
    ui.keyField.hidden = !config.keys;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) ui.slowly.checked = false;
    this.listen();
    this.begin();
  }

  /** Begins with the state in the address, or with the translation that came with the page, or with
   *  an example. */
  begin() {
    const { first } = this.config;
    if (readState()) return this.restore();
    if (!first) return this.chosen();
    this.set(first);
    this.view.finish({ ...first.result, brought: true, beam: 5, model: first.model }, false);
    this.text = ui.text.value;
  }

  set({ model, text }) {
    if (this.config.models.some((one) => one.name === model)) ui.model.value = model;
    ui.text.value = text;
    this.chosen(false);
  }

  /** Translates here what the page brought: its engine then knows every step. */
  again() {
    this.set(this.config.first);
    return this.translate({ slowly: false });
  }

  async restore() {
    const state = readState();
    document.querySelector(`input[name=beam][value="${state.beam}"]`).checked = true;
    this.set(state);
    await this.translate({ slowly: false });
    const last = (this.view.result?.sentences.length ?? 0) - 1;
    if (last < 0) return;
    if (state.sentence > 0) this.view.choose(Math.min(state.sentence, last), 0);
    if (state.step >= 0) this.view.goTo(state.step);
  }

  remember({ brought = false } = {}) {
    const { result, sentence, step } = this.view;
    if (!result || (result.brought && !brought) || !this.text) return;
    writeState({ model: result.model, beam: result.beam, text: this.text, sentence, step });
  }

  listen() {
    ui.form.onsubmit = (event) => {
      event.preventDefault();
      this.translate();
    };
    ui.text.onkeydown = (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.translate();
    };
    ui.text.oninput = () => this.count();
    ui.stop.onclick = () => this.running?.abort();
    ui.model.onchange = () => this.chosen();
    ui.compare.onclick = () => this.compare();
    ui.grow.onclick = () => this.search();
    ui.link.onclick = () => this.share();
    addEventListener("hashchange", () => readState() && this.restore());
  }

  get model() {
    return this.config.models.find((model) => model.name === ui.model.value);
  }

  get options() {
    const beam = Number(document.querySelector("input[name=beam]:checked").value);
    const key = ui.key.value.trim();
    return { model: this.model.name, beam, nbest: beam, key, glossary: glossary() };
  }

  get optionsOfResult() {
    return { ...this.options, model: this.view.result.model };
  }

  /** Shows the examples of a newly chosen model, and loads its file. */
  async chosen(load = true) {
    const { name, source, target, taught_links: taught } = this.model;
    const [text, every] = [ui.text, this.config.examples ?? {}];
    ui.taught.hidden = !taught;
    ui.untaught.hidden = taught;
    const own = every[name] ?? [];
    text.lang = source;
    ui.output.lang = target;
    ui.examples.hidden = !own.length;
    ui.examples.replaceChildren(...own.map((example) => this.example(example, source)));
    const others = Object.values(every).flat();
    const foreign = others.includes(text.value) && !own.includes(text.value);
    if (!text.value || foreign) text.value = own[0] ?? "";
    this.count();
    if (load && !this.config.first) {
      await this.load().catch((error) => this.complain(error.message));
    }
  }

  example(textContent, lang) {
    const translate = () => {
      ui.text.value = textContent;
      this.count();
      this.translate();
    };
    return button(translate, { textContent, lang });
  }

  async load(name = this.model.name) {
    const show = () => (ui.loading.hidden = false);
    const shown = setTimeout(show, 150); // what is there at once needs no bar
    try {
      await this.backend.load(name);
    } finally {
      clearTimeout(shown);
      ui.loading.hidden = true;
    }
  }

  /** Says how long the text is, and tells whether it is too long. */
  count() {
    const { length } = ui.text.value;
    const [long, over] = [length > LONGEST / 2, length > LONGEST];
    const [text, most] = [counted(length), counted(LONGEST)];
    ui.limit.classList.toggle("bad", over);
    ui.limit.textContent = over
      ? `${text} characters: the most are ${most}.`
      : long ? `${text} of ${most} characters` : "Ctrl + Enter translates, too.";
    return over;
  }

  complain(text) {
    ui.message.textContent = text;
    ui.message.hidden = !text;
    if (text) ui.status.textContent = "";
  }

  async translate({ slowly = ui.slowly.checked } = {}) {
    const text = ui.text.value;
    this.running?.abort();
    this.turn = {}; // of what is shown; later ones are another's
    this.complain(this.reasonAgainst(text));
    this.view.clear();
    this.steer.reset();
    this.tree.close();
    ui.compared.hidden = true;
    if (this.reasonAgainst(text)) return;
    const running = (this.running = new AbortController());
    ui.stop.hidden = false;
    ui.status.textContent = "Translating";
    try {
      const { options } = this; // before the model has come: the visitor may choose another one
      const { signal } = running;
      const stopped = new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
      await Promise.race([this.load(options.model), stopped]);
      const { beam, model } = options;
      const grow = (words) => running === this.running && this.view.grow(words, slowly);
      const result = await this.backend.translate(text, options, grow, running.signal);
      if (running !== this.running) return;
      if (!result.text.trim()) this.complain("The network found nothing to write for this text.");
      this.text = text;
      this.view.finish({ ...result, beam, model }, slowly);
      ui.status.textContent = `Translation: ${result.text}`;
    } catch (error) {
      if (running !== this.running) return;
      if (error.name === "AbortError") ui.status.textContent = "Stopped";
      else this.complain(error.message);
    } finally {
      if (running === this.running) {
        ui.stop.hidden = true;
        this.running = null;
      }
    }
  }

  /** Returns why a text is not translated; nothing if it is. */
  reasonAgainst(text) {
    if (!text.trim()) return "There is no text yet. Type a sentence, or choose an example.";
    const most = `${counted(LONGEST)} characters are the most`;
    return this.count() ? `The text is too long: ${most}. Translate it in parts.` : "";
  }

  async follow(line, prefix, beam, signal) {
    const { model } = this.view.result;
    await this.load(model);
    const options = { ...this.options, model, beam, nbest: beam, prefix };
    return (await this.backend.translate(line, options, null, signal)).sentences[0];
  }

  async search() {
    const { turn } = this;
    try {
      const { model, sentences } = this.view.result;
      await this.load(model);
      const line = sentences[this.view.sentence].source;
      const found = await this.backend.ask("tree", model, { line, beam: 5 });
      if (turn === this.turn) this.tree.show(found);
    } catch (error) {
      if (turn === this.turn) this.complain(error.message);
    }
  }

  /** Copies the address of what is shown, the step and all. */
  share() {
    this.remember({ brought: true });
    return copyAddress(ui.link);
  }

  /** Translates the same text greedily and with a beam of five. */
  async compare() {
    const [rows, texts] = [[], []];
    const { turn, text: source } = this;
    try {
      const { optionsOfResult } = this;
      await this.load(optionsOfResult.model);
      for (const beam of [1, 5]) {
        const options = { ...optionsOfResult, beam, nbest: 1 };
        const { text, sentences } = await this.backend.translate(source, options);
        if (turn !== this.turn) return;
        const score = sentences.reduce((sum, { hypotheses: [best] }) => sum + best.score, 0);
        const number = span("number dim", score.toFixed(2));
        rows.push(element("dt", { textContent: `Beam ${beam}` }));
        rows.push(element("dd", { dir: "auto" }, text, " ", number));
        texts.push(text);
      }
    } catch (error) {
      return turn === this.turn && this.complain(error.message);
    }
    const same = texts[0] === texts[1];
    const textContent = same
      ? "Both find the same translation."
      : "The wider search finds another one.";
    rows.push(element("dd", { className: "note", textContent }));
    ui.compared.replaceChildren(...rows);
    ui.compared.hidden = false;
    ui.status.textContent = textContent;
  }
}

/** Returns the options of the field of models; names tell those of the same languages apart. */
function options(models) {
  const names = new Intl.DisplayNames(["en"], { type: "language", fallback: "code" });
  const [sources, targets] = ["source", "target"].map((side) =>
    models.map((model) => (model[side] ? named(names, model[side]) : "?")),
  );
  const pairs = sources.map((source, k) => `${source} → ${targets[k]}`);
  return pairs.map((pair, k) => {
    const alone = pairs.indexOf(pair) === pairs.lastIndexOf(pair);
    const { name: value } = models[k];
    return element("option", { value, textContent: alone ? pair : `${pair} (${value})` });
  });
}

/** Returns the name of a language; the code itself if it is none of BCP 47. */
function named(names, code) {
  try {
    return names.of(code.replaceAll("_", "-"));
  } catch {
    return code;
  }
}

/** Returns what the visitor wrote: term → translation. */
function glossary() {
  const lines = ui.glossary.value.split("\n").filter((line) => line.trim());
  const terms = lines.map((line) => line.split("=").map((side) => side.trim()));
  const wrong = terms.findIndex((sides) => sides.length !== 2 || sides.includes(""));
  if (wrong < 0) return Object.fromEntries(terms);
  throw new Error(`In the glossary, “${lines[wrong].trim()}” is not “term = translation”.`);
}

try {
  const answer = await fetch(new URL("config.json", import.meta.url));
  if (!answer.ok) throw new Error();
  new Page(await answer.json());
} catch (error) {
  const why = error.message || "config.json is not there";
  ui.message.hidden = false;
  ui.message.textContent = `The page could not be started: ${why}.`;
}
