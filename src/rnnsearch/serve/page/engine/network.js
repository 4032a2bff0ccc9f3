// The network of the paper, one step at a time (Sec. 3; A.1, A.2), with 8-bit matrices. Vectors are Float32Array; several hypotheses
// lie one after the other. The names are those of src/rnnsearch/model.

import { Kernel } from "./kernel.js";

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** The network of a model's tensors. wiring: the decoder variant, "released", "eq4" or "appendix". plain: without WebAssembly. */
export class Network {
  constructor(tensors, wiring, plain = false) {
    this.tensors = tensors;
    this.kernel = new Kernel(plain);
    this.wiring = wiring;
    const forwards = this.cell("encoder.forwards");
    const backwards = this.cell("encoder.backwards");
    this.encoder = { forwards, backwards };
    this.source = this.embedding("source_embedding");
    this.target = this.embedding("target_embedding");
    this.decoder = this.cell("decoder.cell");
    this.W_s = this.matrix("decoder.W_s");
    this.W_a = this.matrix("decoder.alignment.W_a");
    this.U_a = this.matrix("decoder.alignment.U_a");
    this.v_a = this.values("decoder.alignment.v_a.weight");
    this.U_o = this.matrix("readout.U_o");
    this.V_o = this.matrix("readout.V_o");
    this.C_o = this.matrix("readout.C_o");
    this.factor = tensors.has("output.factor.weight") ? this.matrix("output.factor") : null;
    this.output = tensors.has("output.weight")
      ? this.matrix("output")
      : { ...this.matrix("target_embedding"), bias: this.values("output.bias") }; // tied: W_o is E
    this.words = this.output.rows;
    this.size = this.decoder.size;
    this.annotation = 2 * forwards.size;
    this.tensors = null; // the matrices lie in the kernel's memory now
  }

  values(name) {
    const found = this.tensors.get(name);
    if (!found) throw new Error(`The model's file lacks ${name}.`);
    return found.values;
  }

  matrix(name) {
    const found = this.tensors.get(`${name}.weight`);
    if (!found) throw new Error(`The model's file lacks ${name}.weight.`);
    const [rows, columns] = found.shape;
    const bias = this.tensors.get(`${name}.bias`)?.values;
    const fits = bias?.length === rows;
    return this.kernel.matrix(found.values, rows, columns, this.values(`${name}.weight.scale`), fits ? bias : null);
  }

  embedding(name) {
    const { shape, values } = this.tensors.get(`${name}.weight`);
    return { size: shape[1], values, scales: this.values(`${name}.weight.scale`), bias: this.values(`${name}.bias`) };
  }

  cell(name) {
    const [W, W_zr, U, U_zr] = ["W", "W_zr", "U", "U_zr"].map((part) => this.matrix(`${name}.${part}`));
    const C = this.tensors.has(`${name}.C.weight`) ? this.matrix(`${name}.C`) : null;
    return { W, W_zr, U, U_zr, C, size: U.rows };
  }

  /** Returns e(x) = E x + b of each id, one after the other. */
  embed({ size, values, scales, bias }, ids) {
    const result = new Float32Array(ids.length * size);
    ids.forEach((id, place) => {
      const scale = scales[id];
      for (let k = 0; k < size; k++) result[place * size + k] = Math.fround(values[id * size + k] * scale) + bias[k];
    });
    return result;
  }

  /** Returns the part of a cell's pre-activations that depends on the word alone: [W e + b; W_zr e] of each word. */
  project(cell, embedded, count) {
    const inner = this.kernel.product(cell.W, embedded, count);
    const gates = this.kernel.product(cell.W_zr, embedded, count);
    return { inner, gates };
  }

  /** The gated unit (A.1.1): s' = (1 − z)∘s + z∘tanh(W e + U[r∘s] + C c). word: `project` of as many words, from `at` on.
   *  trace: an object that gets the gates z and r; or nothing. */
  advance(cell, word, at, states, contexts, count, trace) {
    const n = cell.size;
    const fromState = this.kernel.product(cell.U_zr, states, count);
    const fromContext = cell.C ? this.kernel.product(cell.C, contexts, count) : null;
    const gated = new Float32Array(count * n);
    const z = new Float32Array(count * n);
    const reset = trace && new Float32Array(count * n);
    const base = (row, k) => (fromContext ? fromContext[row * 3 * n + k] : 0);
    for (let row = 0; row < count; row++) {
      for (let k = 0; k < n; k++) {
        const gate = (at + row) * 2 * n;
        const own = row * 2 * n;
        z[row * n + k] = sigmoid(word.gates[gate + k] + base(row, n + k) + fromState[own + k]);
        const r = sigmoid(word.gates[gate + n + k] + base(row, 2 * n + k) + fromState[own + n + k]);
        gated[row * n + k] = r * states[row * n + k];
        if (reset) reset[row * n + k] = r;
      }
    }
    if (trace) Object.assign(trace, { z, r: reset });
    const candidate = this.kernel.product(cell.U, gated, count);
    const next = new Float32Array(count * n);
    for (let row = 0; row < count; row++) {
      for (let k = 0; k < n; k++) {
        const place = row * n + k;
        const proposed = Math.tanh(word.inner[(at + row) * n + k] + base(row, k) + candidate[place]);
        next[place] = states[place] + z[place] * (proposed - states[place]);
      }
    }
    return next;
  }

  /** Returns the annotations h_j = [→h_j; ←h_j] (Eq. 7), their keys U_a h_j, and s_0 = tanh(W_s ←h_1). */
  encode(ids) {
    const length = ids.length;
    const { forwards, backwards } = this.encoder;
    const embedded = this.embed(this.source, ids);
    const annotations = new Float32Array(length * this.annotation);
    const read = (cell, order, offset) => {
      const word = this.project(cell, embedded, length);
      let state = new Float32Array(cell.size);
      for (const j of order) {
        state = this.advance(cell, word, j, state, null, 1);
        annotations.set(state, j * this.annotation + offset);
      }
      return state;
    };
    const order = [...ids.keys()];
    read(forwards, order, 0);
    const first = read(backwards, order.reverse(), forwards.size);
    const hidden = this.kernel.product(this.W_s, first, 1).map(Math.tanh);
    return { length, annotations, keys: this.kernel.product(this.U_a, annotations, length), state: this.start(hidden, length) };
  }

  start(hidden, length) {
    return { count: 1, hidden, context: new Float32Array(this.annotation), weights: new Float32Array(length) };
  }

  /** α_i (Eq. 6) and c_i (Eq. 5) of every hypothesis: e_ij = v_a · tanh(W_a s + U_a h_j).
   *  change: {temperature, factors} makes α_ij ∝ factors_j exp(e_ij / temperature) instead; or nothing. trace: gets energies and weights. */
  attend(sentence, state, change, trace) {
    const { length, annotations, keys } = sentence;
    const { count } = state;
    const size = this.v_a.length;
    const queries = this.kernel.product(this.W_a, state.hidden, count);
    const weights = new Float32Array(count * length);
    const context = new Float32Array(count * this.annotation);
    for (let row = 0; row < count; row++) {
      const energies = weights.subarray(row * length, (row + 1) * length);
      for (let j = 0; j < length; j++) {
        let energy = 0;
        for (let k = 0; k < size; k++) energy += this.v_a[k] * Math.tanh(queries[row * size + k] + keys[j * size + k]);
        energies[j] = energy;
      }
      if (trace) trace.energies = energies.slice();
      if (change) energies.forEach((energy, j) => (energies[j] = energy / change.temperature + Math.log(change.factors[j])));
      softmax(energies);
      const sum = new Float64Array(this.annotation);
      for (let j = 0; j < length; j++) {
        for (let k = 0, at = j * this.annotation; k < this.annotation; k++, at++) sum[k] += energies[j] * annotations[at];
      }
      context.set(sum, row * this.annotation);
    }
    if (trace) Object.assign(trace, { weights, context });
    return { ...state, context, weights };
  }

  /** Computes one step (src/rnnsearch/model/decoder.py). previous: y_{i−1} of every hypothesis, null at the first step.
   *  Returns log p(y_i) of all words, the state that it was read from, and the state for the next step. change, trace: as in `attend`. */
  step(sentence, state, previous, change, trace) {
    const embedded = previous && this.embed(this.target, previous);
    const nothing = new Float32Array(this.target.size);
    const advanced = (from) => {
      const word = this.project(this.decoder, embedded ?? nothing, from.count);
      return { ...from, hidden: this.advance(this.decoder, word, 0, from.hidden, from.context, from.count, trace) };
    };
    let read;
    let next;
    if (this.wiring === "released") {
      read = next = this.attend(sentence, previous ? advanced(state) : state, change, trace);
    } else {
      next = advanced(this.attend(sentence, state, change, trace));
      read = this.wiring === "appendix" ? state : next;
    }
    return { logProbabilities: this.readout(read, embedded, trace), weights: read.weights, state: next };
  }

  /** Returns log p(y_i) from s, E y_{i−1} and c: maxout, W_o and softmax (A.2.2). */
  readout(state, embedded, trace) {
    const { count } = state;
    const layer = this.kernel.product(this.U_o, state.hidden, count);
    const parts = [this.kernel.product(this.C_o, state.context, count)];
    if (embedded) parts.push(this.kernel.product(this.V_o, embedded, count));
    for (const part of parts) for (let k = 0; k < layer.length; k++) layer[k] += part[k];
    let features = new Float32Array(layer.length / 2);
    for (let k = 0; k < features.length; k++) features[k] = Math.max(layer[2 * k], layer[2 * k + 1]);
    if (trace) trace.layer = layer;
    if (this.factor) features = this.kernel.product(this.factor, features, count);
    const logits = this.kernel.product(this.output, features, count);
    for (let row = 0; row < count; row++) logSoftmax(logits.subarray(row * this.words, (row + 1) * this.words));
    return logits;
  }

  /** 1 if the attention of a step is read by the next word, as in the variant `appendix`; else 0. */
  get firstAttended() {
    return Number(this.wiring === "appendix");
  }

  /** Returns the state of these hypotheses, in this order. */
  select(state, rows) {
    const pick = (values) => {
      const size = values.length / state.count;
      const chosen = new Float32Array(rows.length * size);
      rows.forEach((row, place) => chosen.set(values.subarray(row * size, (row + 1) * size), place * size));
      return chosen;
    };
    return { count: rows.length, hidden: pick(state.hidden), context: pick(state.context), weights: pick(state.weights) };
  }
}

function softmax(values) {
  const largest = values.reduce((a, b) => Math.max(a, b), -Infinity);
  let sum = 0;
  for (let k = 0; k < values.length; k++) sum += values[k] = Math.exp(values[k] - largest);
  for (let k = 0; k < values.length; k++) values[k] /= sum;
}

function logSoftmax(values) {
  let largest = -Infinity;
  for (let k = 0; k < values.length; k++) if (values[k] > largest) largest = values[k];
  let sum = 0;
  for (let k = 0; k < values.length; k++) sum += Math.exp(values[k] - largest);
  const log = Math.log(sum);
  for (let k = 0; k < values.length; k++) values[k] = values[k] - largest - log;
}
