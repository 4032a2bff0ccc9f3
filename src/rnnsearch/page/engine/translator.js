// Text in, text and alignment out, in the browser: one model, and how it translates. The objects are those of the HTTP service.

import { Codec, inWords } from "./codec.js";
import { Network } from "./network.js";
import { search } from "./search.js";
import { cut, joinedParts, sentences } from "./sentences.js";
import { readTensors } from "./tensors.js";

const END = "</s>";

export class Translator {
  /** text: the model's text.json. bytes: of its model.safetensors. plain: without WebAssembly. */
  constructor(text, bytes, plain = false) {
    this.settings = text.search;
    this.source = new Codec(text.source);
    this.target = new Codec(text.target);
    this.abbreviations = text.source.prefixes ?? [];
    this.network = new Network(readTensors(bytes), text.wiring, plain);
  }

  /** Translates sentence by sentence. options: {beam, nbest}. show(event) is called with {sentence, source_tokens, tokens, alignment}
   *  after each word. pause() is awaited now and then: it may throw, to stop. Returns {text, sentences}. */
  async translate(text, options, show = () => {}, pause = async () => {}) {
    const settings = { ...this.settings, ...options };
    settings.nbest = Math.min(settings.nbest, settings.beam);
    const done = [];
    for (const [number, line] of sentences(text, this.abbreviations).entries()) {
      done.push(await this.sentence(line, settings, (words) => show({ sentence: number, ...words }), pause));
    }
    return { text: done.map((one) => one.hypotheses[0].text).join(" "), sentences: done };
  }

  async sentence(line, settings, show, pause) {
    const encoded = this.source.encode(line);
    const parts = [];
    for (const part of cut(encoded, this.source, settings.max_source_length)) {
      parts.push(await this.part(part, settings, parts, show, pause));
    }
    const ranks = Math.min(...parts.map((one) => one.length));
    const hypotheses = Array.from({ length: ranks }, (_, rank) => {
      const { sources, ...whole } = joinedParts(parts.map((one) => one[rank]), (words) => this.target.text(words));
      void sources;
      return whole;
    });
    return { source: line, source_tokens: [...encoded.words, END], hypotheses };
  }

  async part(encoded, settings, before, show, pause) {
    if (encoded.ids.length === 1) return [{ text: "", tokens: [], score: 0, log_probabilities: [], alignment: [], sources: 1 }];
    await pause();
    const walk = search(this.network, this.network.encode(encoded.ids), settings);
    for (;;) {
      const { done, value } = walk.next();
      if (done) return value.map((one) => this.inWords(encoded, one));
      if (!before.length) {
        const { tokens, alignment } = this.inWords(encoded, { ...value, logProbabilities: [] });
        show({ source_tokens: [...encoded.words, END], tokens, alignment });
      }
      await pause();
    }
  }

  inWords(encoded, { ids, score, logProbabilities, weights }) {
    const { words, wordOf } = this.target.decode(ids);
    const alignment = inWords(weights, encoded.wordOf, wordOf, words.length);
    return { text: this.target.text(words), tokens: words, score, log_probabilities: logProbabilities, alignment, sources: encoded.words.length + 1 };
  }
}
