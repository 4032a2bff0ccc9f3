// A safetensors file in the browser: a header of names, types, shapes and places, and the numbers after it.

const ARRAYS = { I8: Int8Array, F32: Float32Array };

/** Fetches a file. onProgress(bytes) is called as it comes. Throws an Error with a message for the visitor. */
export async function fetchBytes(address, onProgress = () => {}) {
  let answer;
  try {
    answer = await fetch(address);
  } catch {
    throw new Error(`${nameOf(address)} could not be loaded. Is the connection still there?`);
  }
  if (!answer.ok) throw new Error(`${nameOf(address)} could not be loaded: the host answers ${answer.status}.`);
  const reader = answer.body.getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    size += value.length;
    onProgress(size);
  }
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Returns a Map of name → {shape, values}. Throws an Error if the bytes are not such a file, or not all of it. */
export function readTensors(bytes) {
  const damaged = new Error("The model's file is damaged or was not loaded completely. Load the page again.");
  if (bytes.length < 8) throw damaged;
  const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  if (size > bytes.length - 8) throw damaged;
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
  } catch {
    throw damaged;
  }
  const tensors = new Map();
  for (const [name, { dtype, shape, data_offsets: place }] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const kind = ARRAYS[dtype];
    const [begin, end] = place.map((offset) => offset + 8 + size);
    if (!kind || end > bytes.length || end < begin) throw damaged;
    const copy = bytes.slice(begin, end); // where a number of its type may lie
    tensors.set(name, { shape, values: new kind(copy.buffer) });
  }
  return tensors;
}

function nameOf(address) {
  return String(address).split("/").pop();
}
