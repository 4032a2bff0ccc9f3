// The words of a translation, each with the source words that it reads, as translation/target_words.py has them.

const COPIED = 0.5; // the confidence of a copied word

/** copied: position of the source word that it copies, or null. steps: the ids of the word, by place. */
export function word(text, row, confidence, steps, copied = null) {
  const place = strongest(row);
  return { text, row, confidence, steps, copied, read: row[place] > 0 && place < row.length - 1 ? place : null };
}

/** Returns the word that replaces a run of words by the source word at `place`. */
export const copy = (text, run, place) =>
  word(text, mean(run), COPIED, run.flatMap((one) => one.steps), place);

/** Inserts a copy of a source word behind the words that read earlier places; an opening tag, before the words that read later ones. */
export function insert(made, text, place, sources) {
  const row = new Array(sources + 1).fill(0);
  row[place] = 1;
  const read = [...made.entries()].filter(([, one]) => one.read !== null);
  const later = read.filter(([, one]) => one.read > place).map(([at]) => at);
  const earlier = read.filter(([, one]) => one.read < place).map(([at]) => at + 1);
  const at = /^<[\p{L}\p{N}_].*[^/]>$/su.test(text) ? Math.min(made.length, ...later) : Math.max(0, ...earlier);
  made.splice(at, 0, word(text, row, COPIED, [], place));
}

export const strongest = (row) => row.reduce((best, weight, j) => (weight > row[best] ? j : best), 0);
export const mean = (run) => run[0].row.map((_, j) => run.reduce((sum, one) => sum + one.row[j], 0) / run.length);
