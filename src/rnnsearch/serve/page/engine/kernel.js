// Products of 8-bit matrices with vectors, as system/tensors.py:quantised makes them, in
// WebAssembly SIMD: assembled here, so that nothing has to be built. A browser without SIMD gets
// the same sums from plain JavaScript.
//
// A row of W is stored as integers from -127 to 127 and a scale, its largest absolute weight over
// 127. A vector is quantised in the same way as it comes. Sums of integers are exact, so both ways
// give the same numbers.

const PAGE = 65536;
const LANES = 16;

/** y[v][r] = sum_k w[r][k] x[v][k]; w, x, y: addresses of int8, int16 and int32 numbers; columns: a
 *  multiple of 16. In postfix notation: a name pushes its value, and =name takes one. The vectors
 *  lie one after the other, so `to` runs on. */
const SUMS = `
  0 =row
  loop
    x =to
    0 =vector
    loop
      zeros =sum
      zeros =more
      w =at
      w columns + =last
      loop
        at load =eight
        sum eight extend_low to load dot add4 =sum
        more eight extend_high to load16 dot add4 =more
        to 32 + =to
        at 16 + =at
        at last < repeat
      end
      sum more add4 =sum
      vector rows * row + 4 * y +
      sum lane0 sum lane1 + sum lane2 + sum lane3 + store
      vector 1 + =vector
      vector vectors < repeat
    end
    w columns + =w
    row 1 + =row
    row rows < repeat
  end
end`;
const PARAMETERS = ["w", "x", "y", "rows", "columns", "vectors"];
const LOCALS = [...PARAMETERS, "row", "vector", "at", "last", "to", "sum", "more", "eight"];
const CODES = {
  ...{ loop: [0x03, 0x40], repeat: [0x0d, 0], end: [0x0b] }, // repeat: br_if
  ...{ "+": [0x6a], "*": [0x6c], "<": [0x49], store: [0x36, 2, 0] }, // of i32
  ...{ load: [0xfd, 0, 0, 0], load16: [0xfd, 0, 0, 16] }, // v128.load, no alignment promised
  zeros: [0xfd, 0x0c, ...new Array(16).fill(0)], // v128.const
  ...{ extend_low: [0xfd, 0x87, 1], extend_high: [0xfd, 0x88, 1] }, // i16x8.extend_…_i8x16_s
  ...{ dot: [0xfd, 0xba, 1], add4: [0xfd, 0xae, 1] }, // i32x4.dot_i16x8_s, i32x4.add
  ...{ lane0: [0xfd, 0x1b, 0], lane1: [0xfd, 0x1b, 1] }, // i32x4.extract_lane
  ...{ lane2: [0xfd, 0x1b, 2], lane3: [0xfd, 0x1b, 3] },
};

/** Returns the bytes of a WebAssembly module with one function, sums(w, x, y, rows, columns,
 *  vectors). */
export function moduleBytes() {
  const body = SUMS.trim().split(/\s+/).flatMap((word) => {
    if (word in CODES) return CODES[word];
    if (/^\d+$/.test(word)) return [0x41, Number(word)]; // i32.const, of a number below 64
    return [word.startsWith("=") ? 0x21 : 0x20, LOCALS.indexOf(word.replace("=", ""))];
  });
  const code = [2, 5, 0x7f, 3, 0x7b, ...body]; // the other locals: i32 × 5, v128 × 3
  const section = (number, bytes) => [number, ...unsigned(bytes.length), ...bytes];
  const name = (text) => [text.length, ...new TextEncoder().encode(text)];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [1, 0x60, 6, ...PARAMETERS.map(() => 0x7f), 0]), // type: six i32 in, nothing out
    ...section(2, [1, ...name("e"), ...name("m"), 0x02, 0x00, 0x01]), // import the memory
    ...section(3, [1, 0]),
    ...section(7, [1, ...name("sums"), 0x00, 0x00]), // export
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ]);
}

/** Returns a number below 2^14 in LEB128. */
const unsigned = (value) => (value < 128 ? [value] : [(value & 0x7f) | 0x80, value >>> 7]);

/** Memory for matrices, and their products. `plain` leaves WebAssembly alone. */
export class Kernel {
  constructor(plain = false) {
    this.memory = new WebAssembly.Memory({ initial: 1 });
    this.used = LANES;
    this.sums = null;
    this.room = { columns: 0, rows: 0, x: 0, y: 0 };
    try {
      const imports = { e: { m: this.memory } };
      const module = plain ? null : new WebAssembly.Module(moduleBytes());
      this.sums = module && new WebAssembly.Instance(module, imports).exports.sums;
    } catch {} // no SIMD here
  }

  /** Returns the address of `bytes` new bytes, a multiple of 16. */
  allocate(bytes) {
    const at = this.used;
    this.used += Math.ceil(bytes / LANES) * LANES;
    const missing = this.used - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
    return at;
  }

  /** Keeps a matrix. values: Int8Array (rows × columns); scales, bias: Float32Array (rows), or no
   *  bias: null. */
  matrix(values, rows, columns, scales, bias) {
    const padded = Math.ceil(columns / LANES) * LANES;
    const address = this.allocate(rows * padded);
    const place = new Int8Array(this.memory.buffer, address, rows * padded);
    for (let row = 0; row < rows; row++) {
      place.set(values.subarray(row * columns, (row + 1) * columns), row * padded);
    }
    return { address, rows, columns, padded, scales, bias };
  }

  /** Computes W x + b for several vectors x. Returns Float32Array (vectors × rows). */
  product(matrix, xs, vectors) {
    const { rows, columns, padded } = matrix;
    this.reserve(vectors, padded, rows);
    const x = new Int16Array(this.memory.buffer, this.room.x, vectors * padded);
    const scales = new Float64Array(vectors);
    for (let vector = 0; vector < vectors; vector++) {
      scales[vector] = quantise(xs, vector * columns, columns, x, vector * padded, padded);
    }
    const y = new Int32Array(this.memory.buffer, this.room.y, vectors * rows);
    if (this.sums) this.sums(matrix.address, this.room.x, this.room.y, rows, padded, vectors);
    else plainSums(new Int8Array(this.memory.buffer, matrix.address), x, y, rows, padded, vectors);
    const result = new Float32Array(vectors * rows);
    const { fround } = Math;
    for (let vector = 0, at = 0; vector < vectors; vector++) {
      for (let row = 0; row < rows; row++, at++) {
        const value = fround(fround(y[at]) * matrix.scales[row]) * scales[vector];
        result[at] = matrix.bias ? fround(value) + matrix.bias[row] : value;
      }
    }
    return result;
  }

  reserve(vectors, columns, rows) {
    const { room } = this;
    if (vectors * columns <= room.columns && vectors * rows <= room.rows) return;
    room.columns = Math.max(room.columns, vectors * columns);
    room.rows = Math.max(room.rows, vectors * rows);
    room.x = this.allocate(2 * room.columns);
    room.y = this.allocate(4 * room.rows);
  }
}

const TINY = 1.1754943508222875e-38;
const TO_INTEGER = 1.5 * 2 ** 52; // adding it rounds to the nearest integer, halves to the even one

/** Writes x as integers from -127 to 127, zeros after its end, and returns the scale. */
function quantise(from, begin, size, to, place, padded) {
  let largest = 0;
  for (let k = 0; k < size; k++) largest = Math.max(largest, Math.abs(from[begin + k]));
  const scale = Math.max(Math.fround(largest / 127), TINY);
  for (let k = 0; k < size; k++) {
    to[place + k] = Math.fround(from[begin + k] / scale) + TO_INTEGER - TO_INTEGER;
  }
  to.fill(0, place + size, place + padded);
  return scale;
}

function plainSums(w, x, y, rows, columns, vectors) {
  for (let row = 0; row < rows; row++) {
    const begin = row * columns;
    for (let vector = 0; vector < vectors; vector++) {
      const at = vector * columns;
      let sum = 0;
      for (let k = 0; k < columns; k++) sum = (sum + w[begin + k] * x[at + k]) | 0;
      y[vector * rows + row] = sum;
    }
  }
}
