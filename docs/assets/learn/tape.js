// Tensors, and the operations of the network on them. Each operation computes its value at once and, on a tape that records, notes how
// its gradient flows back; `backward` plays the notes in reverse. A tensor is a matrix: {rows, columns, value, grad}.
//
// The rows of a sequence lie position after position: row j · batch + b belongs to word j of sentence b.

export class Tape {
  /** memory: where tensors lie. recording: false where no gradient is wanted. */
  constructor(memory, recording = true) {
    this.memory = memory;
    this.recording = recording;
    this.notes = [];
  }

  tensor(rows, columns) {
    const value = this.memory.floats(rows * columns);
    return { rows, columns, value, grad: this.recording ? this.memory.floats(rows * columns) : null };
  }

  note(backward) {
    if (this.recording) this.notes.push(backward);
  }

  backward() {
    for (let place = this.notes.length - 1; place >= 0; place--) this.notes[place]();
  }

  /** y = W x (+ b) (+ a) of every row x. layer: {weight, bias}, parameters; weight: (out, in). a: the columns of `onto` after `from`. */
  linear({ weight, bias }, x, onto = null, from = 0) {
    const { memory } = this;
    const [out, inside] = [weight.rows, weight.columns];
    const y = this.tensor(x.rows, out);
    if (onto) addColumns(y.value, 0, out, onto.value, from, onto.columns, out);
    if (bias) for (let at = 0, row = 0; row < x.rows; row++) for (let k = 0; k < out; k++) y.value[at++] += bias.value[k];
    memory.addProduct(y.value, x.value, transposed(weight), x.rows, inside, out);
    this.note(() => {
      memory.addProduct(x.grad, y.grad, weight.value, x.rows, out, inside);
      memory.addProduct(weight.grad, y.grad, x.value, out, x.rows, inside, 1, out);
      if (onto) addColumns(onto.grad, from, onto.columns, y.grad, 0, out, out);
      if (bias) for (let at = 0, row = 0; row < x.rows; row++) for (let k = 0; k < out; k++) bias.grad[k] += y.grad[at++];
    });
    return y;
  }

  /** e(x) = E x + b: the rows of E for these words. */
  lookup({ weight, bias }, words) {
    const { columns } = weight;
    const y = this.tensor(words.length, columns);
    words.forEach((word, row) => {
      for (let k = 0; k < columns; k++) y.value[row * columns + k] = weight.value[word * columns + k] + bias.value[k];
    });
    this.note(() =>
      words.forEach((word, row) => {
        for (let k = 0; k < columns; k++) {
          weight.grad[word * columns + k] += y.grad[row * columns + k];
          bias.grad[k] += y.grad[row * columns + k];
        }
      }),
    );
    return y;
  }

  /** f of every number. slope: f' from f's value. */
  elementwise(x, f, slope) {
    const y = this.tensor(x.rows, x.columns);
    for (let at = 0; at < y.value.length; at++) y.value[at] = f(x.value[at]);
    this.note(() => {
      for (let at = 0; at < y.value.length; at++) x.grad[at] += y.grad[at] * slope(y.value[at]);
    });
    return y;
  }

  tanh(x) {
    return this.elementwise(x, Math.tanh, tanhSlope);
  }

  sigmoid(x) {
    return this.elementwise(x, sigmoid, sigmoidSlope);
  }

  /** a ∘ b */
  multiply(a, b) {
    const y = this.tensor(a.rows, a.columns);
    for (let at = 0; at < y.value.length; at++) y.value[at] = a.value[at] * b.value[at];
    this.note(() => {
      for (let at = 0; at < y.value.length; at++) {
        a.grad[at] += y.grad[at] * b.value[at];
        b.grad[at] += y.grad[at] * a.value[at];
      }
    });
    return y;
  }

  /** (1 − z) ∘ a + z ∘ b */
  mix(a, b, z) {
    const y = this.tensor(a.rows, a.columns);
    for (let at = 0; at < y.value.length; at++) y.value[at] = a.value[at] + z.value[at] * (b.value[at] - a.value[at]);
    this.note(() => {
      for (let at = 0; at < y.value.length; at++) {
        const grad = y.grad[at];
        a.grad[at] += grad * (1 - z.value[at]);
        b.grad[at] += grad * z.value[at];
        z.grad[at] += grad * (b.value[at] - a.value[at]);
      }
    });
    return y;
  }

  /** Some rows of x, which share its numbers. */
  rows(x, from, count) {
    const part = (numbers) => numbers && numbers.subarray(from * x.columns, (from + count) * x.columns);
    return { rows: count, columns: x.columns, value: part(x.value), grad: part(x.grad) };
  }

  /** The columns `from` to `from + count` of x. */
  columns(x, from, count) {
    const y = this.tensor(x.rows, count);
    addColumns(y.value, 0, count, x.value, from, x.columns, count);
    this.note(() => addColumns(x.grad, from, x.columns, y.grad, 0, count, count));
    return y;
  }

  /** [a; b] of every row. */
  beside(a, b) {
    const y = this.tensor(a.rows, a.columns + b.columns);
    addColumns(y.value, 0, y.columns, a.value, 0, a.columns, a.columns);
    addColumns(y.value, a.columns, y.columns, b.value, 0, b.columns, b.columns);
    this.note(() => {
      addColumns(a.grad, 0, a.columns, y.grad, 0, y.columns, a.columns);
      addColumns(b.grad, 0, b.columns, y.grad, a.columns, y.columns, b.columns);
    });
    return y;
  }

  /** The rows of several tensors, one tensor below the other. */
  stack(tensors) {
    const y = this.tensor(tensors.reduce((sum, one) => sum + one.rows, 0), tensors[0].columns);
    let at = 0;
    const starts = tensors.map(({ value }) => {
      y.value.set(value, at);
      at += value.length;
      return at - value.length;
    });
    this.note(() =>
      tensors.forEach(({ grad }, place) => {
        for (let k = 0, from = starts[place]; k < grad.length; k++) grad[k] += y.grad[from + k];
      }),
    );
    return y;
  }

  /** Row b of `yes` where real[b], of `no` elsewhere. */
  where(real, yes, no) {
    const y = this.tensor(yes.rows, yes.columns);
    const row = ({ columns }, numbers, b) => numbers.subarray(b * columns, (b + 1) * columns);
    real.forEach((one, b) => row(y, y.value, b).set(row(y, one ? yes.value : no.value, b)));
    this.note(() =>
      real.forEach((one, b) => {
        const to = row(y, one ? yes.grad : no.grad, b);
        const from = row(y, y.grad, b);
        for (let k = 0; k < to.length; k++) to[k] += from[k];
      }),
    );
    return y;
  }

  /** e_ij = vᵀ tanh(W_a s + U_a h_j) of every sentence and position: (batch, positions). query: W_a s, (batch, n'); keys: U_a h_j,
   *  (positions · batch, n'); v: (1, n'). */
  energies(query, keys, v) {
    const [batch, size] = [query.rows, query.columns];
    const positions = keys.rows / batch;
    const y = this.tensor(batch, positions);
    const hidden = this.memory.floats(positions * batch * size);
    for (let j = 0, at = 0; j < positions; j++) {
      for (let b = 0; b < batch; b++) {
        let energy = 0;
        for (let k = 0; k < size; k++, at++) {
          hidden[at] = Math.tanh(query.value[b * size + k] + keys.value[at]);
          energy += v.value[k] * hidden[at];
        }
        y.value[b * positions + j] = energy;
      }
    }
    this.note(() => {
      for (let j = 0, at = 0; j < positions; j++) {
        for (let b = 0; b < batch; b++) {
          const grad = y.grad[b * positions + j];
          for (let k = 0; k < size; k++, at++) {
            v.grad[k] += grad * hidden[at];
            const inner = grad * v.value[k] * (1 - hidden[at] * hidden[at]);
            query.grad[b * size + k] += inner;
            keys.grad[at] += inner;
          }
        }
      }
    });
    return y;
  }

  /** α_i: the softmax of each row over the words of its sentence; 0 on padding (Eq. 6). */
  softmax(x, lengths) {
    const { columns } = x;
    const y = this.tensor(x.rows, columns);
    for (let row = 0; row < x.rows; row++) {
      const from = row * columns;
      const to = from + lengths[row];
      let largest = -Infinity;
      for (let at = from; at < to; at++) largest = Math.max(largest, x.value[at]);
      let sum = 0;
      for (let at = from; at < to; at++) sum += y.value[at] = Math.exp(x.value[at] - largest);
      for (let at = from; at < to; at++) y.value[at] /= sum;
    }
    this.note(() => {
      for (let row = 0; row < x.rows; row++) {
        const from = row * columns;
        const to = from + lengths[row];
        let mean = 0;
        for (let at = from; at < to; at++) mean += y.value[at] * y.grad[at];
        for (let at = from; at < to; at++) x.grad[at] += y.value[at] * (y.grad[at] - mean);
      }
    });
    return y;
  }

  /** c_i = Σ_j α_ij h_j (Eq. 5). weights: (batch, positions); annotations: (positions · batch, size). */
  context(weights, annotations) {
    const [batch, positions, size] = [weights.rows, weights.columns, annotations.columns];
    const y = this.tensor(batch, size);
    for (let j = 0, at = 0; j < positions; j++) {
      for (let b = 0; b < batch; b++) {
        const weight = weights.value[b * positions + j];
        for (let k = 0; k < size; k++, at++) y.value[b * size + k] += weight * annotations.value[at];
      }
    }
    this.note(() => {
      for (let j = 0, at = 0; j < positions; j++) {
        for (let b = 0; b < batch; b++) {
          const weight = weights.value[b * positions + j];
          let grad = 0;
          for (let k = 0; k < size; k++, at++) {
            const outer = y.grad[b * size + k];
            grad += outer * annotations.value[at];
            annotations.grad[at] += weight * outer;
          }
          weights.grad[b * positions + j] += grad;
        }
      }
    });
    return y;
  }

  /** The larger of every two neighbours (A.2.2). */
  maxout(x) {
    const y = this.tensor(x.rows, x.columns / 2);
    for (let at = 0; at < y.value.length; at++) y.value[at] = Math.max(x.value[2 * at], x.value[2 * at + 1]);
    this.note(() => {
      for (let at = 0; at < y.value.length; at++) {
        x.grad[x.value[2 * at] >= x.value[2 * at + 1] ? 2 * at : 2 * at + 1] += y.grad[at];
      }
    });
    return y;
  }

  /** Returns Σ −log p(word) with p the softmax of each row; a word below 0 does not count. Its gradient is multiplied by `scale`. */
  negativeLogLikelihood(logits, words, scale) {
    const { columns } = logits;
    let total = 0;
    const p = this.memory.floats(logits.value.length);
    words.forEach((word, row) => {
      if (word < 0) return;
      const from = row * columns;
      let largest = -Infinity;
      for (let k = 0; k < columns; k++) largest = Math.max(largest, logits.value[from + k]);
      let sum = 0;
      for (let k = 0; k < columns; k++) sum += p[from + k] = Math.exp(logits.value[from + k] - largest);
      for (let k = 0; k < columns; k++) p[from + k] /= sum;
      total += largest + Math.log(sum) - logits.value[from + word];
    });
    this.note(() =>
      words.forEach((word, row) => {
        if (word < 0) return;
        for (let k = 0; k < columns; k++) logits.grad[row * columns + k] += scale * p[row * columns + k];
        logits.grad[row * columns + word] -= scale;
      }),
    );
    return total;
  }
}

const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const sigmoidSlope = (y) => y * (1 - y);
const tanhSlope = (y) => 1 - y * y;

/** Adds `count` columns of one matrix, after its column `fromColumn`, to those of another. */
function addColumns(to, toColumn, toWidth, from, fromColumn, fromWidth, count) {
  for (let at = toColumn, other = fromColumn; at < to.length; at += toWidth, other += fromWidth) {
    for (let k = 0; k < count; k++) to[at + k] += from[other + k];
  }
}

/** Returns Wᵀ, made again after each update of W. */
function transposed(weight) {
  const { rows, columns, value, turned } = weight;
  if (weight.stale) {
    for (let row = 0; row < rows; row++) for (let k = 0; k < columns; k++) turned[k * rows + row] = value[row * columns + k];
    weight.stale = false;
  }
  return turned;
}
