// The network of the paper, one step at a time (Sec. 3; A.1, A.2), with 8-bit matrices. Vectors are
// Float32Array; several hypotheses lie one after the other. The names are those of
// src/rnnsearch/model.

import { Kernel } from "./kernel.js";

const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** The network of a model's tensors. wiring: the decoder variant, "released", "eq4" or "appendix".
 *  plain: without WebAssembly. */
export class Network {
  constructor(tensors, wiring, plain = false) {
    this.tensors = tensors;
    this.kernel = new Kernel(plain);
    this.wiring = wiring;
    this.forwards = this.cell("encoder.forwards");
    this.backwards = this.cell("encoder.backwards");
    this.source = this.embedding("source_embedding");
    this.target = this.embedding("target_embedding");
    this.decoder = this.cell("decoder.cell");
    this.W_s = this.matrix("decoder.W_s");
    this.W_a = this.matrix("decoder.alignment.W_a");
    this.U_a = this.matrix("decoder.alignment.U_a");
    this.v_a = this.tensor("decoder.alignment.v_a.weight").values;
    this.U_o = this.matrix("readout.U_o");
    this.V_o = this.matrix("readout.V_o");
    this.C_o = this.matrix("readout.C_o");
    this.factor = tensors.has("output.factor.weight") ? this.matrix("output.factor") : null;
    const tied = !tensors.has("output.weight"); // W_o is E
    this.output = tied
      ? { ...this.matrix("target_embedding"), bias: this.tensor("output.bias").values }
      : this.matrix("output");
    this.words = this.output.rows;
    this.annotation = 2 * this.forwards.size;
    this.tensors = null; // the matrices lie in the kernel's memory now
  }

  tensor(name) {
    const found = this.tensors.get(name);
    if (!found) throw new Error(`The model's file lacks ${name}.`);
    return found;
  }

  matrix(name) {
    const { shape, values } = this.tensor(`${name}.weight`);
    const scales = this.tensor(`${name}.weight.scale`).values;
    const bias = this.tensors.get(`${name}.bias`)?.values;
    return this.kernel.matrix(values, ...shape, scales, bias?.length === shape[0] ? bias : null);
  }

  embedding(name) {
    const { shape, values } = this.tensor(`${name}.weight`);
    const scales = this.tensor(`${name}.weight.scale`).values;
    return { size: shape[1], values, scales, bias: this.tensor(`${name}.bias`).values };
  }

  cell(name) {
    const matrix = (part) => this.matrix(`${name}.${part}`);
    const [W, W_zr, U, U_zr] = ["W", "W_zr", "U", "U_zr"].map(matrix);
    const C = this.tensors.has(`${name}.C.weight`) ? matrix("C") : null;
    return { W, W_zr, U, U_zr, C, size: U.rows };
  }

  /** Returns e(x) = E x + b of each id, one after the other. */
  embed({ size, values, scales, bias }, ids) {
    const result = new Float32Array(ids.length * size);
    ids.forEach((id, place) => {
      for (let k = 0; k < size; k++) {
        result[place * size + k] = Math.fround(values[id * size + k] * scales[id]) + bias[k];
      }
    });
    return result;
  }

  /** Returns the part of a cell's pre-activations that depends on the word alone: [W e + b; W_zr e]
   *  of each word. */
  project(cell, embedded, count) {
    const [inner, gates] = [cell.W, cell.W_zr].map((W) => this.kernel.product(W, embedded, count));
    return { inner, gates };
  }

  /** The gated unit (A.1.1): s' = (1 − z)∘s + z∘tanh(W e + U[r∘s] + C c). word: `project` of as
   *  many words, from `at` on. trace: an object that gets the gates z and r; or nothing. */
  advance(cell, word, at, states, contexts, count, trace) {
    const n = cell.size;
    const fromState = this.kernel.product(cell.U_zr, states, count);
    const fromContext = cell.C ? this.kernel.product(cell.C, contexts, count) : null;
    const base = (row, k) => (fromContext ? fromContext[row * 3 * n + k] : 0);
    const [z, r, gated, next] = Array.from({ length: 4 }, () => new Float32Array(count * n));
    for (let row = 0; row < count; row++) {
      const [given, own] = [(at + row) * 2 * n, row * 2 * n];
      for (let k = 0; k < n; k++) {
        const place = row * n + k;
        z[place] = sigmoid(word.gates[given + k] + base(row, n + k) + fromState[own + k]);
        const fromWord = word.gates[given + n + k];
        const reset = sigmoid(fromWord + base(row, 2 * n + k) + fromState[own + n + k]);
        r[place] = reset;
        gated[place] = reset * states[place];
      }
    }
    if (trace) Object.assign(trace, { z, r });
    const candidate = this.kernel.product(cell.U, gated, count);
    for (let row = 0; row < count; row++) {
      for (let k = 0; k < n; k++) {
        const place = row * n + k;
        const fromWord = word.inner[(at + row) * n + k];
        const proposed = Math.tanh(fromWord + base(row, k) + candidate[place]);
        next[place] = states[place] + z[place] * (proposed - states[place]);
      }
    }
    return next;
  }

  /** Returns the annotations h_j = [→h_j; ←h_j] (Eq. 7), their keys U_a h_j, and
   *  s_0 = tanh(W_s ←h_1). */
  encode(ids) {
    const length = ids.length;
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
    read(this.forwards, order, 0);
    const first = read(this.backwards, order.reverse(), this.forwards.size);
    const hidden = this.kernel.product(this.W_s, first, 1).map(Math.tanh);
    const [context, weights] = [this.annotation, length].map((size) => new Float32Array(size));
    const keys = this.kernel.product(this.U_a, annotations, length);
    return { length, annotations, keys, state: { count: 1, hidden, context, weights } };
  }

  /** α_i (Eq. 6) and c_i (Eq. 5) of every hypothesis: e_ij = v_a · tanh(W_a s + U_a h_j).
   *  change: {temperature, factors} makes α_ij ∝ factors_j exp(e_ij / temperature) instead; or
   *  nothing. trace: gets energies and weights. */
  attend({ length, annotations, keys }, state, change, trace) {
    const { count } = state;
    const size = this.v_a.length;
    const queries = this.kernel.product(this.W_a, state.hidden, count);
    const weights = new Float32Array(count * length);
    const context = new Float32Array(count * this.annotation);
    for (let row = 0; row < count; row++) {
      const energies = weights.subarray(row * length, (row + 1) * length);
      for (let j = 0; j < length; j++) {
        let energy = 0;
        for (let k = 0; k < size; k++) {
          energy += this.v_a[k] * Math.tanh(queries[row * size + k] + keys[j * size + k]);
        }
        energies[j] = energy;
      }
      if (trace) trace.energies = energies.slice();
      if (change) {
        const changed = (e, j) => e / change.temperature + Math.log(change.factors[j]);
        energies.set(energies.map(changed));
      }
      softmax(energies);
      const sum = new Float64Array(this.annotation);
      for (let j = 0, at = 0; j < length; j++) {
        for (let k = 0; k < sum.length; k++, at++) sum[k] += energies[j] * annotations[at];
      }
      context.set(sum, row * this.annotation);
    }
    if (trace) Object.assign(trace, { weights, context });
    return { ...state, context, weights };
  }

  /** Computes one step (src/rnnsearch/model/decoder.py). previous: y_{i−1} of every hypothesis,
   *  null at the first step. Returns log p(y_i) of all words, the state that it was read from, and
   *  the state for the next step. change, trace: as in `attend`. */
  step(sentence, state, previous, change, trace) {
    const embedded = previous && this.embed(this.target, previous);
    const nothing = new Float32Array(this.target.size);
    const advanced = (from) => {
      const { hidden, context, count } = from;
      const word = this.project(this.decoder, embedded ?? nothing, count);
      const next = this.advance(this.decoder, word, 0, hidden, context, count, trace);
      return { ...from, hidden: next };
    };
    let [read, next] = [state, state];
    if (this.wiring === "released") {
      read = next = this.attend(sentence, previous ? advanced(state) : state, change, trace);
    } else {
      next = advanced(this.attend(sentence, state, change, trace));
      if (this.wiring !== "appendix") read = next;
    }
    const logProbabilities = this.readout(read, embedded, trace);
    return { logProbabilities, weights: read.weights, state: next };
  }

  /** Returns log p(y_i) from s, E y_{i−1} and c: maxout, W_o and softmax (A.2.2). */
  readout({ hidden, context, count }, embedded, trace) {
    const layer = this.kernel.product(this.U_o, hidden, count);
    const parts = [this.kernel.product(this.C_o, context, count)];
    if (embedded) parts.push(this.kernel.product(this.V_o, embedded, count));
    for (const part of parts) for (let k = 0; k < layer.length; k++) layer[k] += part[k];
    let features = new Float32Array(layer.length / 2);
    for (let k = 0; k < features.length; k++) {
      features[k] = Math.max(layer[2 * k], layer[2 * k + 1]);
    }
    if (trace) trace.layer = layer;
    if (this.factor) features = this.kernel.product(this.factor, features, count);
    const logits = this.kernel.product(this.output, features, count);
    for (let row = 0; row < count; row++) {
      logSoftmax(logits.subarray(row * this.words, (row + 1) * this.words));
    }
    return logits;
  }

  /** 1 if the next word reads the attention of a step, as in the variant `appendix`; else 0. */
  get firstAttended() {
    return Number(this.wiring === "appendix");
  }

  select({ count, ...vectors }, rows) {
    const pick = (values) => {
      const size = values.length / count;
      const chosen = new Float32Array(rows.length * size);
      rows.forEach((row, k) => chosen.set(values.subarray(row * size, (row + 1) * size), k * size));
      return chosen;
    };
    const [hidden, context, weights] = [vectors.hidden, vectors.context, vectors.weights].map(pick);
    return { count: rows.length, hidden, context, weights };
  }
}

function largestOf(values) {
  let largest = -Infinity;
  for (let k = 0; k < values.length; k++) if (values[k] > largest) largest = values[k];
  return largest;
}

function softmax(values) {
  const largest = largestOf(values);
  let sum = 0;
  for (let k = 0; k < values.length; k++) sum += values[k] = Math.exp(values[k] - largest);
  for (let k = 0; k < values.length; k++) values[k] /= sum;
}

function logSoftmax(values) {
  const largest = largestOf(values);
  let sum = 0;
  for (let k = 0; k < values.length; k++) sum += Math.exp(values[k] - largest);
  const log = Math.log(sum);
  for (let k = 0; k < values.length; k++) values[k] = values[k] - largest - log;
}
