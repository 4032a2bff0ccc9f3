// RNNsearch and RNNencdec, as small as a browser can train them: the equations of src/rnnsearch/model, with the names of its parameters.

import { Tape } from "./tape.js";

/** The default sizes: m of an embedding, n of a state, n' of the alignment model, l of the maxout layer. */
export const SIZES = { embedding: 32, hidden: 48, alignment: 32, maxout: 32 };

/** The parameters, and p(y | x) that they give. */
export class Network {
  /** settings: {kind: "rnnsearch" or "rnnencdec", wiring: "eq4", "appendix" or "released", sizes, initialisation: "glorot" or "paper"}.
   *  words: {source, target}, the sizes of the vocabularies. random: gives numbers from 0 to 1. */
  constructor(memory, settings, words, random) {
    Object.assign(this, { memory, random, wiring: settings.wiring, attends: settings.kind === "rnnsearch" });
    this.initialisation = settings.initialisation;
    this.parameters = new Map();
    const { embedding: m, hidden: n, alignment, maxout } = settings.sizes;
    this.size = n;
    this.sourceEmbedding = this.embedding("source_embedding", words.source, m);
    this.targetEmbedding = this.embedding("target_embedding", words.target, m);
    this.forwards = this.cell("encoder.forwards", m, n, 0);
    this.backwards = this.attends ? this.cell("encoder.backwards", m, n, 0) : null;
    this.annotation = this.attends ? 2 * n : n;
    this.decoder = this.cell("decoder.cell", m, n, this.annotation);
    this.W_s = this.linear("decoder.W_s", n, n, { bias: true });
    if (this.attends) {
      this.W_a = this.linear("decoder.alignment.W_a", alignment, n, { deviation: 0.001 });
      this.U_a = this.linear("decoder.alignment.U_a", alignment, this.annotation, { deviation: 0.001 });
      this.v_a = this.linear("decoder.alignment.v_a", 1, alignment, { deviation: 0 }).weight;
    }
    this.U_o = this.linear("readout.U_o", 2 * maxout, n, { bias: true });
    this.V_o = this.linear("readout.V_o", 2 * maxout, m);
    this.C_o = this.linear("readout.C_o", 2 * maxout, this.annotation);
    this.output = this.linear("output", words.target, maxout, { bias: true });
  }

  // Parameters and their initial values: as appendix B.1 says, or with the variances of Glorot & Bengio 2010 (model/network.py).

  parameter(name, rows, columns) {
    const floats = () => this.memory.floats(rows * columns);
    const made = { rows, columns, value: floats(), grad: floats(), turned: floats(), stale: true };
    this.parameters.set(name, made);
    return made;
  }

  embedding(name, words, size) {
    const weight = this.parameter(`${name}.weight`, words, size);
    this.gaussian(weight.value, this.initialisation === "glorot" ? size ** -0.5 : 0.01);
    return { weight, bias: this.parameter(`${name}.bias`, 1, size) };
  }

  linear(name, out, inside, { bias = false, deviation = 0.01, orthogonal = false } = {}) {
    const weight = this.parameter(`${name}.weight`, out, inside);
    if (orthogonal) this.orthogonal(weight);
    else if (this.initialisation === "paper") this.gaussian(weight.value, deviation);
    else {
      const limit = Math.sqrt(6 / (out + inside));
      weight.value.forEach((_, at) => (weight.value[at] = limit * (2 * this.random() - 1)));
    }
    return { weight, bias: bias ? this.parameter(`${name}.bias`, 1, out) : null };
  }

  gaussian(values, deviation) {
    values.forEach((_, at) => {
      const radius = Math.sqrt(-2 * Math.log(1 - this.random())); // Box & Muller 1958
      values[at] = deviation * radius * Math.cos(2 * Math.PI * this.random());
    });
  }

  /** Makes every square block of (blocks · n, n) orthogonal, by Gram and Schmidt. */
  orthogonal({ rows, columns: n, value }) {
    this.gaussian(value, 1);
    for (let row = 0; row < rows; row++) {
      const mine = value.subarray(row * n, (row + 1) * n);
      const first = row - (row % n);
      for (let other = first; other < row; other++) {
        const theirs = value.subarray(other * n, (other + 1) * n);
        const shared = theirs.reduce((sum, each, k) => sum + each * mine[k], 0);
        theirs.forEach((each, k) => (mine[k] -= shared * each));
      }
      const length = Math.hypot(...mine);
      mine.forEach((each, k) => (mine[k] = each / length));
    }
  }

  // The gated unit (A.1.1)

  cell(name, input, n, context) {
    return {
      W: this.linear(`${name}.W`, n, input, { bias: true }),
      W_zr: this.linear(`${name}.W_zr`, 2 * n, input),
      U: this.linear(`${name}.U`, n, n, { orthogonal: true }),
      U_zr: this.linear(`${name}.U_zr`, 2 * n, n, { orthogonal: true }),
      C: context ? this.linear(`${name}.C`, 3 * n, context) : null,
    };
  }

  /** What the words alone decide of a cell's pre-activations: [W e + b; W_zr e] of every row. */
  project(tape, cell, embedded) {
    return tape.beside(tape.linear(cell.W, embedded), tape.linear(cell.W_zr, embedded));
  }

  /** s' = (1 − z)∘s + z∘s̃ with s̃ = tanh(W e + U[r∘s] + C c), z = σ(W_z e + U_z s + C_z c), r = σ(W_r e + U_r s + C_r c). */
  advance(tape, cell, word, state, context) {
    const n = this.size;
    const sums = cell.C ? tape.linear(cell.C, context, word) : word;
    const gates = tape.sigmoid(tape.linear(cell.U_zr, state, sums, n));
    const [z, r] = [tape.columns(gates, 0, n), tape.columns(gates, n, n)];
    const candidate = tape.tanh(tape.linear(cell.U, tape.multiply(r, state), sums));
    return tape.mix(state, candidate, z);
  }

  // The encoder (Sec. 3.2)

  /** The states of one direction, (positions · batch, n); a state passes unchanged over padding. */
  read(tape, cell, embedded, lengths, reverse) {
    const batch = lengths.length;
    const positions = embedded.rows / batch;
    const words = this.project(tape, cell, embedded);
    const states = new Array(positions);
    let state = tape.tensor(batch, this.size);
    for (let step = 0; step < positions; step++) {
      const j = reverse ? positions - 1 - step : step;
      const next = this.advance(tape, cell, tape.rows(words, j * batch, batch), state);
      const real = Array.from(lengths, (length) => j < length);
      state = real.every(Boolean) ? next : tape.where(real, next, state);
      states[j] = state;
    }
    return states;
  }

  /** The annotations h_j = [→h_j; ←h_j] (Eq. 7), their keys U_a h_j, and s_0 = tanh(W_s ←h_1). RNNencdec has →h alone, and its summary
   *  →h_Tx is every context. source: ids, word j of all sentences after word j − 1 of all. */
  encode(tape, source, lengths) {
    const embedded = tape.lookup(this.sourceEmbedding, source);
    const forwards = this.read(tape, this.forwards, embedded, lengths, false);
    if (!this.attends) {
      const summary = forwards.at(-1);
      return { lengths, summary, state: tape.tanh(tape.linear(this.W_s, summary)) };
    }
    const backwards = this.read(tape, this.backwards, embedded, lengths, true);
    const annotations = tape.beside(tape.stack(forwards), tape.stack(backwards));
    const keys = tape.linear(this.U_a, annotations);
    return { lengths, annotations, keys, state: tape.tanh(tape.linear(this.W_s, backwards[0])) };
  }

  // The decoder (Sec. 3.1; A.2.2), in the three variants of model/decoder.py

  start(tape, encoded) {
    const batch = encoded.lengths.length;
    const weights = this.attends ? tape.tensor(batch, encoded.keys.rows / batch) : null; // of a word that read no context
    return { cell: encoded.state, context: tape.tensor(batch, this.annotation), weights };
  }

  /** α_i and c_i, the query being the state as it stands (Eqs. 5 and 6). */
  attend(tape, state, encoded) {
    if (!this.attends) return { ...state, context: encoded.summary };
    const weights = tape.softmax(tape.energies(tape.linear(this.W_a, state.cell), encoded.keys, this.v_a), encoded.lengths);
    return { ...state, weights, context: tape.context(weights, encoded.annotations) };
  }

  /** Returns [the state that p(y_i) is read from, the state for the next step]. embedded: E y_{i−1}, null at the first step. word: as the
   *  cell projects it. */
  step(tape, word, state, encoded) {
    const moved = (from) => {
      const input = word ?? this.project(tape, this.decoder, tape.tensor(from.cell.rows, this.targetEmbedding.weight.columns));
      return { ...from, cell: this.advance(tape, this.decoder, input, from.cell, from.context) };
    };
    if (this.wiring === "released") {
      const next = this.attend(tape, word ? moved(state) : state, encoded);
      return [next, next];
    }
    const next = moved(this.attend(tape, state, encoded));
    return [this.wiring === "appendix" ? state : next, next];
  }

  /** The logits of y_i: a maxout layer of s, E y_{i−1} and c, then W_o (A.2.2). */
  readout(tape, hidden, previous, context) {
    const layer = tape.linear(this.C_o, context, tape.linear(this.V_o, previous, tape.linear(this.U_o, hidden)));
    return tape.linear(this.output, tape.maxout(layer));
  }

  /** Walks the decoder along given translations (teacher forcing). Returns the logits, (target positions · batch, words), and α_i of each
   *  step. batch: {source, lengths, target, targetLengths}, ids laid out as `encode` wants them. */
  follow(tape, { source, lengths, target }) {
    const batch = lengths.length;
    const steps = target.length / batch;
    const encoded = this.encode(tape, source, lengths);
    const noWord = tape.tensor(batch, this.targetEmbedding.weight.columns); // there is no y_0
    const embedded = steps > 1 ? tape.lookup(this.targetEmbedding, target.subarray(0, (steps - 1) * batch)) : null;
    const words = embedded && this.project(tape, this.decoder, embedded);
    let state = this.start(tape, encoded);
    const seen = [];
    for (let i = 0; i < steps; i++) {
      const [read, next] = this.step(tape, i ? tape.rows(words, (i - 1) * batch, batch) : null, state, encoded);
      seen.push(read);
      state = next;
    }
    const previous = embedded ? tape.stack([noWord, embedded]) : noWord;
    const [hidden, contexts] = [tape.stack(seen.map(({ cell }) => cell)), tape.stack(seen.map(({ context }) => context))];
    return { logits: this.readout(tape, hidden, previous, contexts), weights: seen.map(({ weights }) => weights) };
  }

  /** Returns −log p of a batch's translations, in nats, and adds the gradient of its mean over the sentences to those of the parameters. */
  addGradients(batch) {
    const mark = this.memory.mark();
    const tape = new Tape(this.memory);
    const { logits } = this.follow(tape, batch);
    const loss = tape.negativeLogLikelihood(logits, realWords(batch), 1 / batch.lengths.length);
    tape.backward();
    this.memory.release(mark);
    return loss;
  }

  /** Calls `work(tape)` with a tape that records nothing, and frees what it made. */
  without(work) {
    const mark = this.memory.mark();
    const result = work(new Tape(this.memory, false));
    this.memory.release(mark);
    return result;
  }

  /** Returns α of a given translation as rows; of one sentence. */
  align(batch) {
    return this.without((tape) => this.follow(tape, batch).weights.map((each) => row(each, batch.lengths[0])));
  }

  /** Writes the translation of each sentence, word by word (greedy search). Returns ids without the end of sentence, and α as rows of the
   *  first sentence. */
  translate({ source, lengths }, end, longest) {
    return this.without((tape) => {
      const encoded = this.encode(tape, source, lengths);
      const written = Array.from(lengths, () => []);
      const open = new Set(written.keys());
      const rows = [];
      let state = this.start(tape, encoded);
      let embedded = null;
      for (let i = 0; i < longest && open.size; i++) {
        const [read, next] = this.step(tape, embedded && this.project(tape, this.decoder, embedded), state, encoded);
        const previous = embedded ?? tape.tensor(lengths.length, this.targetEmbedding.weight.columns);
        const logits = this.readout(tape, read.cell, previous, read.context);
        const words = Int32Array.from(written, (_, b) => likeliest(logits, b));
        if (open.has(0)) rows.push(row(read.weights, lengths[0]));
        for (const b of [...open]) {
          if (words[b] === end) open.delete(b);
          else written[b].push(words[b]);
        }
        embedded = tape.lookup(this.targetEmbedding, words);
        state = next;
      }
      return { words: written, weights: rows };
    });
  }
}

/** The target words, and −1 after a sentence's end. */
function realWords({ target, targetLengths }) {
  const batch = targetLengths.length;
  return target.map((word, at) => (Math.floor(at / batch) < targetLengths[at % batch] ? word : -1));
}

const row = (weights, words) => weights && Array.from(weights.value.subarray(0, words));

function likeliest({ value, columns }, row) {
  let best = 0;
  for (let k = 1; k < columns; k++) if (value[row * columns + k] > value[row * columns + best]) best = k;
  return best;
}
