// The filter of the words that a side of training's text held, as text/vocabulary.py makes it.

import { HASHES, SEEDS } from "./tables.js";

export class WordFilter {
  /** known: its bits in base64. */
  constructor(known) {
    this.bits = Uint8Array.from(atob(known), (letter) => letter.charCodeAt(0));
  }

  has(text) {
    const data = new TextEncoder().encode(text);
    const [first, second] = SEEDS.map((seed) => hashed(data, seed));
    const places = Array.from({ length: HASHES }, (_, k) => first + k * second);
    const size = 8 * this.bits.length;
    return places.every((at) => (this.bits[Math.floor((at % size) / 8)] >> (at % size) % 8) & 1);
  }
}

/** Returns the 32-bit FNV-1a hash of the bytes, finalised as in MurmurHash3. */
function hashed(data, seed) {
  let value = seed;
  for (const byte of data) value = Math.imul(value ^ byte, 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}
