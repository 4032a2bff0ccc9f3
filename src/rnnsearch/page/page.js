// The page: the form, the models, and what is shown when.

import { makeBackend } from "./backends.js";
import { element, find } from "./elements.js";
import { ResultView } from "./result.js";

const LONGEST = 5000; // characters of a text
const EXAMPLES = {
  en: [
    "The agreement on the European Economic Area was signed in August 1992.",
    "It should be noted that the marine environment is the least known of environments.",
    "The committee has not yet given its opinion on this proposal.",
  ],
  fr: [
    "L'accord sur la zone économique européenne a été signé en août 1992.",
    "Il convient de noter que l'environnement marin est le moins connu de l'environnement.",
    "La commission n'a pas encore donné son avis sur cette proposition.",
  ],
};

class Page {
  constructor(config) {
    this.config = config;
    this.backend = makeBackend(config);
    this.view = new ResultView();
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
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) find("slowly").checked = false;
    this.listen();
    this.chosen();
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
  }

  get model() {
    return this.config.models.find((model) => model.name === find("model").value);
  }

  get options() {
    const beam = Number(document.querySelector("input[name=beam]:checked").value);
    return { model: this.model.name, beam, nbest: beam, key: find("key").value.trim() };
  }

  /** Another model: its examples, and its file. */
  async chosen() {
    const { name, source, target } = this.model;
    const own = this.config.examples?.[name] ?? EXAMPLES[source] ?? [];
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
    if (!find("text").value) find("text").value = own[0] ?? "";
    this.count();
    await this.load().catch((error) => this.complain(error.message));
  }

  async load() {
    const { name } = this.model;
    const shown = setTimeout(() => (find("loading").hidden = false), 150); // what is there at once needs no bar
    try {
      await this.backend.load(name, (loaded, bytes) => {
        if (this.model.name !== name) return;
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

  async translate() {
    const text = find("text").value;
    this.running?.abort();
    this.complain("");
    this.view.clear();
    find("compared").hidden = true;
    if (!text.trim()) return this.complain("There is no text yet. Type a sentence, or choose an example.");
    if (this.count()) return this.complain(`The text is too long: ${LONGEST.toLocaleString("en")} characters are the most. Translate it in parts.`);
    const slowly = find("slowly").checked;
    const running = new AbortController();
    this.running = running;
    find("stop").hidden = false;
    find("status").textContent = "Translating";
    try {
      await this.load();
      const grow = (words) => running === this.running && this.view.grow(words, slowly);
      const result = await this.backend.translate(text, this.options, grow, running.signal);
      if (running !== this.running) return;
      if (!result.text.trim()) this.complain("The network found nothing to write for this text.");
      this.view.finish(result, slowly);
      this.text = text;
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

  /** The same text, greedily and with a beam of five. */
  async compare() {
    const found = [];
    try {
      for (const beam of [1, 5]) found.push(await this.backend.translate(this.text, { model: this.model.name, beam, nbest: 1 }, () => {}));
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
    const answer = await fetch("config.json");
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
