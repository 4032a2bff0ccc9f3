// A safetensors file in the browser: a header of names, types, shapes and places, and the numbers
// after it.

const ARRAYS = { I8: Int8Array, F32: Float32Array };
const DAMAGED =
  "The model's file is damaged or was not loaded completely. Load the page again.";

/** Fetches a file. onProgress(bytes) is called as it comes. Throws an Error with a message for the
 *  visitor. */
export async function fetchBytes(address, onProgress = () => {}) {
  const failed = `${String(address).split("/").pop()} could not be loaded`;
  const answer = await fetch(address).catch(() => {
    throw new Error(`${failed}. Is the connection still there?`);
  });
  if (!answer.ok) throw new Error(`${failed}: the host answers ${answer.status}.`);
  let size = 0;
  const counted = new TransformStream({
    transform(part, stream) {
      onProgress((size += part.length));
      stream.enqueue(part);
    },
  });
  return new Uint8Array(await new Response(answer.body.pipeThrough(counted)).arrayBuffer());
}

/** Returns a Map of name → {shape, values}. Throws an Error if the bytes are not such a file, or
 *  not all of it. */
export function readTensors(bytes) {
  let numbers;
  let header;
  try {
    const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
    header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
    numbers = bytes.subarray(8 + size);
  } catch {
    throw new Error(DAMAGED);
  }
  delete header.__metadata__;
  const tensors = Object.entries(header).map(([name, { dtype, shape, data_offsets: place }]) => {
    const [begin, end] = place;
    if (!(dtype in ARRAYS) || end > numbers.length || end < begin) throw new Error(DAMAGED);
    const copy = numbers.slice(begin, end); // where a number of its type may lie
    return [name, { shape, values: new ARRAYS[dtype](copy.buffer) }];
  });
  return new Map(tensors);
}
