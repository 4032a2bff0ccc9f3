// Numbers and their matrix products. All numbers of a training lie in one block of memory, so that WebAssembly can reach them; its one
// function is assembled here, byte by byte, so that nothing has to be built. A browser without it gets the same sums from JavaScript.

const BYTES = 160 * 2 ** 20;
const PAGE = 65536;
const VECTOR = 16; // bytes: four numbers

/** A stack of float32 arrays. `release(mark)` frees what came after `mark()`. */
export class Memory {
  /** plain: without WebAssembly. */
  constructor(plain = false, bytes = BYTES) {
    this.used = 0;
    const kernel = plain ? null : assembled(bytes);
    this.buffer = kernel ? kernel.memory.buffer : new ArrayBuffer(bytes);
    this.multiplyAdd = kernel?.multiplyAdd ?? null;
  }

  /** Returns an array of zeros. Raises RangeError if the block is full. */
  floats(count) {
    const at = this.used;
    const end = at + Math.ceil((4 * count) / VECTOR) * VECTOR;
    if (end > this.buffer.byteLength) throw new RangeError("This training needs more memory than it has.");
    this.used = end;
    return new Float32Array(this.buffer, at, count).fill(0);
  }

  mark() {
    return this.used;
  }

  release(mark) {
    this.used = mark;
  }

  /** C += A B. B: (inner, columns) and C: (rows, columns), row after row. A[i][p] is a[i · aRow + p · aInner], so it may lie transposed. */
  addProduct(c, a, b, rows, inner, columns, aRow = inner, aInner = 1) {
    if (!rows || !inner) return;
    let from = 0;
    if (this.multiplyAdd) {
      this.multiplyAdd(c.byteOffset, a.byteOffset, b.byteOffset, rows, inner, 4 * columns, 4 * aRow, 4 * aInner);
      from = columns - (columns % 4); // a vector has four numbers: the rest is for JavaScript
      if (from === columns) return;
    }
    for (let i = 0; i < rows; i++) {
      for (let p = 0; p < inner; p++) {
        const factor = a[i * aRow + p * aInner];
        for (let j = from, at = i * columns + from, to = p * columns + from; j < columns; j++) c[at++] += factor * b[to++];
      }
    }
  }
}

/** Returns WebAssembly's memory and function, or null where there is no SIMD. */
function assembled(bytes) {
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
    const instance = new WebAssembly.Instance(new WebAssembly.Module(moduleBytes()), { e: { m: memory } });
    return { memory, multiplyAdd: instance.exports.f };
  } catch {
    return null;
  }
}

/** Bytes of a module with one function f(c, a, b, rows, inner, width, aRow, aInner): `addProduct` for all columns that fill vectors.
 *  c, a, b: addresses; width, aRow, aInner: in bytes. */
function moduleBytes() {
  const [c, a, b, rows, inner, width, aRow, aInner] = [0, 1, 2, 3, 4, 5, 6, 7]; // parameters
  const [column, left, atA, atB, atC, factor] = [8, 9, 10, 11, 12, 13]; // i32 × 5, then v128
  const SUMS = 14; // v128 × 4
  const get = (local) => [0x20, local];
  const set = (local) => [0x21, local];
  const i32 = (value) => [0x41, 0x80 | value, 0]; // up to 127
  const [add, subtract, more] = [0x6a, 0x6b, 0x4b];
  const increase = (local, by) => [...get(local), ...by, add, ...set(local)];
  const load = (offset) => [0xfd, 0, 0, offset];
  const store = (offset) => [0xfd, 0x0b, 0, offset];
  const [splat, multiply, addFloats] = [[0xfd, 0x09, 0, 0], [0xfd, 0xe6, 1], [0xfd, 0xe4, 1]];
  /** Runs `body` until `left` is 0. */
  const countdown = (counter, body) => [0x03, 0x40, ...body, ...get(counter), ...i32(1), subtract, 0x22, counter, 0x0d, 0, 0x0b];

  /** As many vectors of a row of C as fit, `vectors` at a time. */
  const blocks = (vectors) => {
    const each = (body) => [...Array(vectors).keys()].flatMap((place) => body(SUMS + place, VECTOR * place));
    return [
      ...[0x02, 0x40, 0x03, 0x40], // block, loop: ends when column + 16 · vectors > width
      ...get(column), ...i32(VECTOR * vectors), add, ...get(width), more, 0x0d, 1,
      ...get(c), ...get(column), add, ...set(atC),
      ...get(b), ...get(column), add, ...set(atB),
      ...get(a), ...set(atA), ...get(inner), ...set(left),
      ...each((sum, offset) => [...get(atC), ...load(offset), ...set(sum)]),
      ...countdown(left, [
        ...get(atA), ...splat, ...set(factor),
        ...each((sum, offset) => [...get(sum), ...get(factor), ...get(atB), ...load(offset), ...multiply, ...addFloats, ...set(sum)]),
        ...increase(atA, get(aInner)), ...increase(atB, get(width)),
      ]),
      ...each((sum, offset) => [...get(atC), ...get(sum), ...store(offset)]),
      ...get(column), ...i32(VECTOR * vectors), add, ...set(column),
      ...[0x0c, 0, 0x0b, 0x0b],
    ];
  };
  const body = [
    ...countdown(rows, [
      ...i32(0), ...set(column), ...blocks(4), ...blocks(1),
      ...increase(c, get(width)), ...increase(a, get(aRow)),
    ]),
    0x0b,
  ];
  const code = [2, 5, 0x7f, 5, 0x7b, ...body]; // locals
  const length = (bytes) => [0x80 | (bytes.length & 0x7f), bytes.length >> 7]; // two bytes: enough for 16,383
  const section = (number, bytes) => [number, ...length(bytes), ...bytes];
  const name = (text) => [1, text.charCodeAt(0)];
  return new Uint8Array([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [1, 0x60, 8, ...new Array(8).fill(0x7f), 0]), // type: eight i32 in, nothing out
    ...section(2, [1, ...name("e"), ...name("m"), 0x02, 0x00, 0x01]), // import the memory
    ...section(3, [1, 0]),
    ...section(7, [1, ...name("f"), 0x00, 0x00]), // export
    ...section(10, [1, ...length(code), ...code]),
  ]);
}
