// Text in, text and alignment out, in the browser: one model, and how it translates. The objects
// are those of the HTTP service.

import { Beginning } from "./beginning.js";
import { beginsSmall, leastGain, withSmallLetter } from "./case.js";
import { Codec, inWords } from "./codec.js";
import { faithfulWords } from "./copied.js";
import { Faithful } from "./faithful.js";
import { Network } from "./network.js";
import { encodeWordsFaithfully, inOtherCase } from "./reading.js";
import { search } from "./search.js";
import { cut, joinedParts, sentences } from "./sentences.js";
import { readTensors } from "./tensors.js";

const END = "</s>";
const NOTHING = {
  ...{ text: "", tokens: [], score: 0, log_probabilities: [], confidence: [] },
  ...{ doubtful_numbers: [], unknown_words: [], alignment: [], sources: 1 },
};

export class Translator {
  /** text: the model's text.json. bytes: of its model.safetensors. plain: without WebAssembly. */
  constructor(text, bytes, plain = false) {
    this.settings = text.search;
    this.source = new Codec(text.source);
    this.target = new Codec(text.target);
    this.target.copied = this.source.copied;
    const languages = [text.source.language, text.target.language];
    this.faithful = new Faithful(this.source, this.target.filter, languages);
    this.rules = text.source;
    this.labels = new Map(); // words of a label → how it is read in the other case
    this.network = new Network(readTensors(bytes), text.wiring, plain);
  }

  /** Translates sentence by sentence. options: {beam, nbest, prefix}: with a prefix, text that the
   *  translation begins with, the text is one sentence. show(event) is called with {sentence,
   *  source_tokens, tokens, alignment} after each word, if it is there. pause() is awaited now and
   *  then: it may throw, to stop. Returns {text, sentences}. */
  async translate(text, options, show = null, pause = async () => {}) {
    const nbest = Math.min(options.nbest, options.beam);
    const settings = { ...this.settings, ...options, nbest };
    const lines = options.prefix?.trim() ? [text] : sentences(text, this.rules);
    const done = [];
    for (const [sentence, line] of lines.entries()) {
      const tell = show && ((words) => show({ sentence, ...words }));
      done.push(await this.sentence(line, settings, tell, pause));
    }
    return { text: done.map((one) => one.hypotheses[0].text).join(" "), sentences: done };
  }

  async sentence(line, given, show, pause) {
    const { faithful } = given;
    const begun = given.prefix?.trim();
    const prefix = begun ? new Beginning(this.target, given.prefix, faithful) : null;
    const settings = { ...given, prefix };
    const encoded = this.encode(line, settings);
    const encode = (words) =>
      faithful ? this.encodeFaithfully(words) : this.source.encodeWords(words);
    const pieces = cut(encoded, this.source, settings.max_source_length, encode);
    if (prefix && pieces.length > 1) {
      const remedy = "beginnings are kept for shorter ones.";
      throw new Error(`This sentence is long and was translated in parts: ${remedy}`);
    }
    const parts = [];
    for (const piece of pieces) {
      parts.push(await this.part(piece, settings, parts.length ? null : show, pause));
    }
    const ranks = parts[0].slice(0, Math.min(...parts.map((one) => one.length)));
    const text = (words) => this.target.text(words);
    const hypotheses = ranks.map((_, rank) => joinedParts(parts.map((one) => one[rank]), text));
    return { source: line, source_tokens: [...encoded.words, END], hypotheses };
  }

  encode(line, { faithful }) {
    if (!faithful) return this.source.encode(line);
    return this.encodeFaithfully(faithfulWords(this.source, line));
  }

  encodeFaithfully(words) {
    const label = this.labels.get(words.join(" "));
    return label ?? encodeWordsFaithfully(this.source, words, this.target.language);
  }

  /** Returns what the encoder makes of these ids; that of the last sentence is kept, with the steps
   *  after its beginnings. */
  annotated(ids) {
    const key = ids.join();
    if (this.last?.key !== key) this.last = { key, sentence: this.network.encode(ids) };
    return this.last.sentence;
  }

  async part(encoded, settings, show, pause) {
    if (encoded.ids.length === 1 && !encoded.words.length) return [NOTHING];
    const reads = settings.faithful && !settings.prefix;
    const recased = reads ? inOtherCase(this.source, encoded, this.target.language) : null;
    const others = recased ? await this.searched(recased, settings, null, pause) : [];
    const found = await this.searched(encoded, settings, show, pause);
    const least = leastGain(encoded.words);
    const gain = others[0]?.tokens.length ? logProbability(others[0]) - logProbability(found[0]) : least;
    if (gain <= least) return found;
    this.labels.set(encoded.words.join(" "), recased);
    return others;
  }

  async searched(encoded, settings, show, pause) {
    await pause();
    const walk = search(this.network, this.annotated(encoded.ids), settings);
    let next = walk.next();
    for (; !next.done; next = walk.next()) {
      if (show) {
        const { tokens, alignment, confidence } = this.inWords(encoded, next.value, settings);
        show({ source_tokens: [...encoded.words, END], tokens, alignment, confidence });
      }
      await pause();
    }
    const all = next.value.map((one) => this.inWords(encoded, one, settings));
    const texts = all.map((one) => one.tokens.join(" "));
    return all.filter((_, k) => texts.indexOf(texts[k]) === k);
  }

  inWords(encoded, { ids, score, logProbabilities, weights }, settings) {
    const { prefix, faithful, confidence = [1, 0] } = settings;
    const { words, wordOf } = (prefix ?? this.target).decode(ids);
    const count = words.length;
    const found = {
      words: encoded.ids.length === 1 ? [] : words, // else an empty sentence was translated
      alignment: inWords(weights, encoded.wordOf, wordOf, count),
      confidence: wordConfidence(logProbabilities, wordOf, count, confidence),
      steps: words.map((_, word) => [...wordOf.keys()].filter((k) => wordOf[k] === word)),
      doubtful_numbers: [],
    };
    const kept = prefix?.kept ?? 0;
    const held = faithful ? this.faithful.holdRest(encoded, found, kept) : found;
    if (faithful && !kept && beginsSmall(encoded.words)) {
      held.words = withSmallLetter(held.words, this.target, this.faithful.filter, encoded.words);
    }
    const unknown = (prefix?.unknown ?? []).filter((word) => !encoded.words.includes(word));
    return {
      ...{ text: (prefix ?? this.target).text(held.words), tokens: held.words },
      ...{ score, log_probabilities: logProbabilities, confidence: held.confidence },
      ...{ doubtful_numbers: held.doubtful_numbers, unknown_words: unknown },
      ...{ alignment: held.alignment, ids, steps: held.steps },
      sources: encoded.words.length + 1,
    };
  }
}

const logProbability = (one) => one.log_probabilities.reduce((sum, p) => sum + p, 0);

/** Returns the confidence of each word, as evaluation/confidence.py computes it. */
function wordConfidence(logProbabilities, wordOf, words, [slope, bias]) {
  const sums = new Array(words).fill(0);
  wordOf.forEach((word, k) => (sums[word] += logProbabilities[k]));
  return sums.map((sum) => {
    const logit = Math.min(Math.max(sum - Math.log(-Math.expm1(sum)), -15), 15);
    return 1 / (1 + Math.exp(-(slope * logit + bias)));
  });
}
