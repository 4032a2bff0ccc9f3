// Which words of a translation another one has not.

/** Returns [begin, end]: the words before `begin` and from `end` on are those of `before`, too. */
export function difference(before, after) {
  const shorter = Math.min(before.length, after.length);
  let [begin, same] = [0, 0];
  while (begin < shorter && before[begin] === after[begin]) begin++;
  while (same < shorter - begin && before.at(-1 - same) === after.at(-1 - same)) same++;
  return [begin, after.length - same];
}
