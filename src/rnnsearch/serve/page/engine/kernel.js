// Products of 8-bit matrices with vectors, as system/tensors.py:quantised makes them, in WebAssembly SIMD: assembled here, byte by byte,
// so that nothing has to be built. A browser without SIMD gets the same sums from plain JavaScript.
//
// A row of W is stored as integers from -127 to 127 and a scale, its largest absolute weight over 127. A vector is quantised in the same
// way as it comes. Sums of integers are exact, so both ways give the same numbers.

const PAGE = 65536;
const LANES = 16;

/** Returns the bytes of a WebAssembly module with one function: sums(w, x, y, rows, columns, vectors) writes y[v][r] = sum_k w[r][k] x[v][k].
 *  w: int8 addresses, x: int16, y: int32; columns: a multiple of 16. */
export function moduleBytes() {
  const get = (local) => [0x20, local];
  const set = (local) => [0x21, local];
  const i32 = (value) => [0x41, ...signed(value)];
  const [add, multiply, less] = [[0x6a], [0x6c], [0x49]];
  const simd = (code, ...rest) => [0xfd, ...unsigned(code), ...rest];
  const load = (offset) => simd(0, 0, ...unsigned(offset)); // v128.load, no alignment promised
  const [w, x, y, rows, columns, vectors] = [0, 1, 2, 3, 4, 5]; // parameters
  const [row, vector, at, end, to, sum, more, eight] = [6, 7, 8, 9, 10, 11, 12, 13]; // i32 × 5, v128 × 3
  const loop = (counter, limit, body) => [
    ...i32(0), ...set(counter),
    0x03, 0x40, ...body, // loop
    ...get(counter), ...i32(1), ...add, ...set(counter),
    ...get(counter), ...get(limit), ...less, 0x0d, 0x00, // br_if loop
    0x0b,
  ];
  const extendLow = [0xfd, 0x87, 0x01]; // i16x8.extend_low_i8x16_s
  const extendHigh = [0xfd, 0x88, 0x01]; // i16x8.extend_high_i8x16_s
  const dot = [0xfd, 0xba, 0x01]; // i32x4.dot_i16x8_s
  const add4 = [0xfd, 0xae, 0x01]; // i32x4.add
  const lane = (number) => [0xfd, 0x1b, number]; // i32x4.extract_lane
  const zero = [0xfd, 0x0c, ...new Array(16).fill(0)]; // v128.const
  const inner = [
    ...zero, ...set(sum), ...zero, ...set(more),
    ...get(w), ...set(at), ...get(w), ...get(columns), ...add, ...set(end),
    0x03, 0x40,
    ...get(at), ...load(0), ...set(eight),
    ...get(sum), ...get(eight), ...extendLow, ...get(to), ...load(0), ...dot, ...add4, ...set(sum),
    ...get(more), ...get(eight), ...extendHigh, ...get(to), ...load(16), ...dot, ...add4, ...set(more),
    ...get(to), ...i32(2 * LANES), ...add, ...set(to),
    ...get(at), ...i32(LANES), ...add, ...set(at),
    ...get(at), ...get(end), ...less, 0x0d, 0x00,
    0x0b,
    ...get(sum), ...get(more), ...add4, ...set(sum),
    // y + 4 · (vector · rows + row)
    ...get(vector), ...get(rows), ...multiply, ...get(row), ...add, ...i32(4), ...multiply, ...get(y), ...add,
    ...get(sum), ...lane(0), ...get(sum), ...lane(1), ...add, ...get(sum), ...lane(2), ...add, ...get(sum), ...lane(3), ...add,
    0x36, 0x02, 0x00, // i32.store
  ];
  const body = [
    ...loop(row, rows, [
      ...get(x), ...set(to), // the vectors lie one after the other, so `to` runs on
      ...loop(vector, vectors, inner),
      ...get(w), ...get(columns), ...add, ...set(w),
    ]),
    0x0b,
  ];
  const code = [2, ...[5, 0x7f], ...[3, 0x7b], ...body];
  const section = (number, bytes) => [number, ...unsigned(bytes.length), ...bytes];
  const name = (text) => [text.length, ...[...text].map((letter) => letter.charCodeAt(0))];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [1, 0x60, 6, ...new Array(6).fill(0x7f), 0]), // type: six i32 in, nothing out
    ...section(2, [1, ...name("e"), ...name("m"), 0x02, 0x00, 0x01]), // import the memory
    ...section(3, [1, 0]),
    ...section(7, [1, ...name("sums"), 0x00, 0x00]), // export
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ]);
}

function unsigned(value) {
  const bytes = [];
  do {
    bytes.push((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>>= 7;
  } while (value);
  return bytes;
}

function signed(value) {
  const bytes = [];
  for (;;) {
    const low = value & 0x7f;
    value >>= 7;
    const done = (value === 0 && !(low & 0x40)) || (value === -1 && low & 0x40);
    bytes.push(low | (done ? 0 : 0x80));
    if (done) return bytes;
  }
}

/** Memory for matrices, and their products. `plain` leaves WebAssembly alone. */
export class Kernel {
  constructor(plain = false) {
    this.memory = new WebAssembly.Memory({ initial: 1 });
    this.used = LANES;
    this.sums = null;
    this.room = { vectors: 0, columns: 0, rows: 0, x: 0, y: 0 };
    if (!plain) {
      try {
        const module = new WebAssembly.Module(moduleBytes());
        this.sums = new WebAssembly.Instance(module, { e: { m: this.memory } }).exports.sums;
      } catch {
        this.sums = null; // no SIMD here
      }
    }
  }

  /** Returns the address of `bytes` new bytes, a multiple of 16. */
  allocate(bytes) {
    const at = this.used;
    this.used += Math.ceil(bytes / LANES) * LANES;
    const missing = this.used - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
    return at;
  }

  /** Keeps a matrix. values: Int8Array (rows × columns); scales: Float32Array (rows); bias: Float32Array (rows) or null. */
  matrix(values, rows, columns, scales, bias) {
    const padded = Math.ceil(columns / LANES) * LANES;
    const address = this.allocate(rows * padded);
    const place = new Int8Array(this.memory.buffer, address, rows * padded);
    for (let row = 0; row < rows; row++) place.set(values.subarray(row * columns, (row + 1) * columns), row * padded);
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
    else plainSums(new Int8Array(this.memory.buffer, matrix.address, rows * padded), x, y, rows, padded, vectors);
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
const TO_INTEGER = 6755399441055744; // 1.5 · 2^52: adding it rounds to the nearest integer, halves to the even one

/** Writes x as integers from -127 to 127, zeros after its end, and returns the scale. */
function quantise(from, begin, size, to, place, padded) {
  let largest = 0;
  for (let k = 0; k < size; k++) {
    const value = Math.abs(from[begin + k]);
    if (value > largest) largest = value;
  }
  const scale = Math.max(Math.fround(largest / 127), TINY);
  for (let k = 0; k < size; k++) to[place + k] = Math.fround(from[begin + k] / scale) + TO_INTEGER - TO_INTEGER;
  for (let k = size; k < padded; k++) to[place + k] = 0;
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
