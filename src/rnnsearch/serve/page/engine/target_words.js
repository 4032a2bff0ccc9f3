// The words of a translation: the functions of translation/target_words.py, where they are described.

import { COPIED } from "./tables.js";

/** copied: position of the source word that it copies, or null. steps: the ids of the word, by
 *  place. */
export function word(text, row, confidence, steps, copied = null) {
  const place = strongest(row);
  const read = row[place] > 0 && place < row.length - 1 ? place : null;
  return { text, row, confidence, steps, copied, read };
}

export const copy = (text, run, place) =>
  word(text, mean(run), COPIED, run.flatMap((one) => one.steps), place);

export const reword = (made, at, text) => (made[at] = { ...made[at], text });

export function added(text, place, sources) {
  const row = Array.from({ length: sources + 1 }, (_, j) => Number(j === place));
  return word(text, row, COPIED, [], place);
}

export function insert(made, text, place, sources, [first, end] = [0, 0]) {
  const tag = /^<[\p{L}\p{N}_].*[^/]>$/su.test(text);
  const after = made.findLastIndex((one) => one.read !== null && one.read < place) + 1;
  const before = made.findIndex((one) => one.read > place);
  const inside = (one) => one.read !== null && first <= one.read && one.read < end;
  const inner = place < first ? made.findIndex(inside) : made.findLastIndex(inside) + 1;
  const outer = !tag ? after : before < 0 ? made.length : before;
  let at = made.some(inside) ? inner : outer;
  const copied = (k) => made[k]?.copied ?? null;
  while (copied(at) !== null && copied(at) === copied(at - 1)) at++; // not inside a number
  made.splice(at, 0, added(text, place, sources));
}

export const strongest = (row) => row.reduce((best, p, j) => (p > row[best] ? j : best), 0);

export const mean = (run) =>
  run[0].row.map((_, j) => run.reduce((sum, one) => sum + one.row[j], 0) / run.length);
