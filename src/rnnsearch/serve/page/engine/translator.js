// Text in, text and alignment out, in the browser: one model, and how it translates. The objects are those of the HTTP service.

import { Codec, inWords } from "./codec.js";
import { encodeFaithfully, encodeWordsFaithfully, Faithful, WordFilter } from "./faithful.js";
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
    const known = text.target.known && new WordFilter(Uint8Array.from(atob(text.target.known), (letter) => letter.charCodeAt(0)));
    this.faithful = new Faithful(this.source, known ?? null, [text.source.language, text.target.language]);
    this.rules = text.source;
    this.network = new Network(readTensors(bytes), text.wiring, plain);
  }

  /** Translates sentence by sentence. options: {beam, nbest}. show(event) is called with {sentence, source_tokens, tokens, alignment}
   *  after each word. pause() is awaited now and then: it may throw, to stop. Returns {text, sentences}. */
  async translate(text, options, show = () => {}, pause = async () => {}) {
    const settings = { ...this.settings, ...options };
    settings.nbest = Math.min(settings.nbest, settings.beam);
    const done = [];
    for (const [number, line] of sentences(text, this.rules).entries()) {
      done.push(await this.sentence(line, settings, (words) => show({ sentence: number, ...words }), pause));
    }
    return { text: done.map((one) => one.hypotheses[0].text).join(" "), sentences: done };
  }

  async sentence(line, settings, show, pause) {
    const encoded = this.encode(line, settings);
    const encode = (words) => (settings.faithful ? encodeWordsFaithfully(this.source, words) : this.source.encodeWords(words));
    const parts = [];
    for (const part of cut(encoded, this.source, settings.max_source_length, encode)) {
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

  encode(line, settings) {
    return settings.faithful ? encodeFaithfully(this.source, line) : this.source.encode(line);
  }

  async part(encoded, settings, before, show, pause) {
    if (encoded.ids.length === 1 && !encoded.words.length) return [{ text: "", tokens: [], score: 0, log_probabilities: [], confidence: [], doubtful_numbers: [], alignment: [], sources: 1 }];
    await pause();
    const walk = search(this.network, this.network.encode(encoded.ids), settings);
    for (;;) {
      const { done, value } = walk.next();
      if (done) {
        const all = value.map((one) => this.inWords(encoded, one, settings));
        return all.filter((one, k) => all.findIndex((other) => other.tokens.join(" ") === one.tokens.join(" ")) === k);
      }
      if (!before.length) {
        const logProbabilities = value.steps.map((one) => one.logProbability);
        const { tokens, alignment, confidence } = this.inWords(encoded, { ...value, logProbabilities }, settings);
        show({ source_tokens: [...encoded.words, END], tokens, alignment, confidence });
      }
      await pause();
    }
  }

  inWords(encoded, { ids, score, logProbabilities, weights }, settings) {
    const decoded = this.target.decode(ids);
    const found = {
      words: decoded.words,
      alignment: inWords(weights, encoded.wordOf, decoded.wordOf, decoded.words.length),
      confidence: wordConfidence(logProbabilities, decoded.wordOf, decoded.words.length, settings.confidence ?? [1, 0]),
      steps: decoded.words.map((_, word) => [...decoded.wordOf.keys()].filter((k) => decoded.wordOf[k] === word)),
    };
    if (encoded.ids.length === 1) found.words = []; // nothing was read: an empty sentence was translated
    const { words, alignment, confidence, steps, doubtful_numbers = [] } = settings.faithful ? this.faithful.hold(encoded, found) : found;
    const scores = { score, log_probabilities: logProbabilities, confidence, doubtful_numbers };
    return { text: this.target.text(words), tokens: words, ...scores, alignment, ids, steps, sources: encoded.words.length + 1 };
  }
}

/** Returns the confidence of each word, as evaluation/confidence.py computes it. */
function wordConfidence(logProbabilities, wordOf, words, [slope, bias]) {
  const sums = new Array(words).fill(0);
  wordOf.forEach((word, k) => (sums[word] += logProbabilities[k]));
  return sums.map((sum) => {
    const logit = Math.min(Math.max(sum - Math.log(-Math.expm1(sum)), -15), 15);
    return 1 / (1 + Math.exp(-(slope * logit + bias)));
  });
}
