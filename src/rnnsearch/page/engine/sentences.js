// A visitor's text as the sentences that are translated one by one.

const ENDS = /^(?:[.!?…]+|[。！？؟।॥]+)$/u;
const CLOSING = /^["'”’»)\]}」』]+$/u;
const PIECE = /\S+|\n/gu;

/** Returns the sentences of a text, none of them empty. A line break ends one; so does a full stop, a question mark or an exclamation mark,
 *  with the quotation marks behind it, unless the word is an abbreviation or the next one begins with a lowercase letter. */
export function sentences(text, abbreviations) {
  const known = new Set(abbreviations);
  const found = [];
  let current = [];
  const finish = () => {
    if (current.length) found.push(current.join(" "));
    current = [];
  };
  const pieces = text.match(PIECE) ?? [];
  pieces.forEach((piece, place) => {
    if (piece === "\n") return finish();
    current.push(piece);
    const next = pieces[place + 1] ?? "\n";
    if (ends(piece, known) && next !== "\n" && !/^\p{Ll}/u.test(next)) finish();
  });
  finish();
  return found;
}

function ends(piece, known) {
  const bare = piece.replace(/["'”’»)\]}」』]+$/u, "");
  if (/[!?…。！？؟।॥]$/u.test(bare)) return true;
  if (!bare.endsWith(".")) return false;
  const stem = bare.slice(0, -1);
  return !(known.has(stem) || /^\p{Lu}$/u.test(stem) || (stem.includes(".") && /\p{L}/u.test(stem)));
}

/** Returns the sentence itself, or parts of at most `limit` ids each, cut after sentence ends where there are any; `encode` makes a part of
 *  words (translation/source_lines.py). */
export function cut(sentence, codec, limit, encode) {
  if (sentence.ids.length - 1 <= limit) return [sentence];
  const parts = [[]];
  let used = 0;
  let ended = false;
  for (const word of sentence.words.flatMap((one) => cutWord(one, codec, limit))) {
    const size = codec.parts(word).length;
    const end = ENDS.test(word);
    if (parts.at(-1).length && (used + size > limit || (ended && !end && !CLOSING.test(word)))) {
      parts.push([]);
      used = 0;
      ended = false;
    }
    parts.at(-1).push(word);
    used += size;
    ended = end || (ended && CLOSING.test(word));
  }
  return parts.map(encode);
}

function cutWord(word, codec, limit) {
  if (codec.parts(word).length <= limit) return [word];
  const letters = [...word];
  const size = Math.max(1, limit - 1);
  return Array.from({ length: Math.ceil(letters.length / size) }, (_, k) => letters.slice(k * size, (k + 1) * size).join(""));
}

/** Joins the hypotheses of a sentence's parts to one; `text` makes a line of words. */
export function joinedParts(parts, text) {
  if (parts.length === 1) return parts[0];
  const columns = parts.map((part) => part.sources - 1);
  const before = columns.map((_, k) => columns.slice(0, k).reduce((a, b) => a + b, 0));
  const all = columns.reduce((a, b) => a + b, 0);
  const tokens = parts.flatMap((part) => part.tokens);
  const alignment = parts.flatMap((part, number) =>
    part.alignment.map((row) => {
      const whole = new Array(all + 1).fill(0);
      row.slice(0, -1).forEach((weight, k) => (whole[before[number] + k] = weight));
      whole[all] = row.at(-1); // the ends of the parts are one end
      return whole;
    }),
  );
  return {
    text: text(tokens),
    tokens,
    score: parts.reduce((sum, part) => sum + part.score, 0),
    log_probabilities: parts.flatMap((part) => part.log_probabilities),
    confidence: parts.flatMap((part) => part.confidence),
    alignment,
    sources: all + 1,
  };
}
