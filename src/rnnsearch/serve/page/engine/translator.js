// Text in, text and alignment out, in the browser: one model, and how it translates. The objects are those of the HTTP service.

import { Beginning } from "./beginning.js";
import { Codec, inWords } from "./codec.js";
import { encodeWordsFaithfully, Faithful, faithfulWords, WordFilter } from "./faithful.js";
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
    this.target.copied = this.source.copied;
    const known = text.target.known && new WordFilter(Uint8Array.from(atob(text.target.known), (letter) => letter.charCodeAt(0)));
    this.faithful = new Faithful(this.source, known ?? null, [text.source.language, text.target.language]);
    this.rules = text.source;
    this.network = new Network(readTensors(bytes), text.wiring, plain);
  }

  /** Translates sentence by sentence. options: {beam, nbest, prefix}: with a prefix, text that the translation begins with, the text is one
   *  sentence. show(event) is called with {sentence, source_tokens, tokens, alignment}
   *  after each word, if it is there. pause() is awaited now and then: it may throw, to stop. Returns {text, sentences}. */
  async translate(text, options, show = null, pause = async () => {}) {
    const settings = { ...this.settings, ...options };
    settings.nbest = Math.min(settings.nbest, settings.beam);
    const done = [];
    for (const [number, line] of (options.prefix?.trim() ? [text] : sentences(text, this.rules)).entries()) {
      done.push(await this.sentence(line, settings, show && ((words) => show({ sentence: number, ...words })), pause));
    }
    return { text: done.map((one) => one.hypotheses[0].text).join(" "), sentences: done };
  }

  async sentence(line, given, show, pause) {
    const settings = { ...given, prefix: given.prefix?.trim() ? new Beginning(this.target, given.prefix, given.faithful) : null };
    const encoded = this.encode(line, settings);
    const encode = (words) => (settings.faithful ? encodeWordsFaithfully(this.source, words) : this.source.encodeWords(words));
    const pieces = cut(encoded, this.source, settings.max_source_length, encode);
    if (settings.prefix && pieces.length > 1) throw new Error("This sentence is long and was translated in parts: beginnings are kept for shorter ones.");
    const parts = [];
    for (const part of pieces) {
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
    return settings.faithful ? encodeWordsFaithfully(this.source, faithfulWords(this.source, line)) : this.source.encode(line);
  }

  /** Returns what the encoder makes of these ids; that of the last sentence is kept, with the steps after its beginnings. */
  annotated(ids) {
    const key = ids.join();
    if (this.last?.key !== key) this.last = { key, sentence: this.network.encode(ids) };
    return this.last.sentence;
  }

  async part(encoded, settings, before, show, pause) {
    if (encoded.ids.length === 1 && !encoded.words.length) return [{ text: "", tokens: [], score: 0, log_probabilities: [], confidence: [], doubtful_numbers: [], unknown_words: [], alignment: [], sources: 1 }];
    await pause();
    const walk = search(this.network, this.annotated(encoded.ids), settings);
    for (;;) {
      const { done, value } = walk.next();
      if (done) {
        const all = value.map((one) => this.inWords(encoded, one, settings));
        return all.filter((one, k) => all.findIndex((other) => other.tokens.join(" ") === one.tokens.join(" ")) === k);
      }
      if (show && !before.length) {
        const logProbabilities = value.steps.map((one) => one.logProbability);
        const { tokens, alignment, confidence } = this.inWords(encoded, { ...value, logProbabilities }, settings);
        show({ source_tokens: [...encoded.words, END], tokens, alignment, confidence });
      }
      await pause();
    }
  }

  inWords(encoded, { ids, score, logProbabilities, weights }, settings) {
    const { prefix } = settings;
    const decoded = (prefix ?? this.target).decode(ids);
    const found = {
      words: decoded.words,
      alignment: inWords(weights, encoded.wordOf, decoded.wordOf, decoded.words.length),
      confidence: wordConfidence(logProbabilities, decoded.wordOf, decoded.words.length, settings.confidence ?? [1, 0]),
      steps: decoded.words.map((_, word) => [...decoded.wordOf.keys()].filter((k) => decoded.wordOf[k] === word)),
    };
    if (encoded.ids.length === 1) found.words = []; // nothing was read: an empty sentence was translated
    const { words, alignment, confidence, steps, doubtful_numbers = [] } = settings.faithful ? this.faithful.holdRest(encoded, found, prefix?.kept ?? 0) : found;
    const unknown_words = (prefix?.unknown ?? []).filter((word) => !encoded.words.includes(word));
    const scores = { score, log_probabilities: logProbabilities, confidence, doubtful_numbers, unknown_words };
    return { text: (prefix ?? this.target).text(words), tokens: words, ...scores, alignment, ids, steps, sources: encoded.words.length + 1 };
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
