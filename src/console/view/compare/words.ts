/** Two texts side by side: the words that only one of them has. */

/** A run of words that both have, or only this one. */
export interface WordRun {
  readonly text: string;
  readonly isOwn: boolean;
}

/** White space, a short text in quotes (as in JSON), a number, a word, any other character. */
const word = /\s+|"[^"\n]{0,60}"|\d+(?:[.,]\d+)*|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu;

/** Above this many word pairs the middles of two texts are not compared. */
const pairsMax = 400_000;

/** Both in pieces, in order. Joined, the pieces of each are the text itself. */
export function compareWords(a: string, b: string): readonly [readonly WordRun[], readonly WordRun[]] {
  const [ours, theirs] = [a.match(word) ?? [], b.match(word) ?? []];
  let head = 0;
  while (head < ours.length && head < theirs.length && ours[head] === theirs[head]) head += 1;
  let tail = 0;
  const most = Math.min(ours.length, theirs.length) - head;
  while (tail < most && ours.at(-1 - tail) === theirs.at(-1 - tail)) tail += 1;
  const middle = (words: readonly string[]): readonly string[] => words.slice(head, words.length - tail);
  const [first, second] = common(middle(ours), middle(theirs));
  return [
    pieces(ours, (place) => place < head || place >= ours.length - tail || first.has(place - head)),
    pieces(theirs, (place) => place < head || place >= theirs.length - tail || second.has(place - head)),
  ];
}

/** Indices of a longest common subsequence, in each. */
function common(a: readonly string[], b: readonly string[]): readonly [Set<number>, Set<number>] {
  const [inA, inB] = [new Set<number>(), new Set<number>()];
  if (a.length * b.length > pairsMax) return [inA, inB];
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      inA.add(i++);
      inB.add(j++);
    } else if (at(i + 1, j) >= at(i, j + 1)) i += 1;
    else j += 1;
  }
  return [inA, inB];
}

/** White space between two words of one side belongs to them. */
function pieces(words: readonly string[], isShared: (place: number) => boolean): readonly WordRun[] {
  const made: { text: string; isOwn: boolean }[] = [];
  for (const [place, text] of words.entries()) {
    const isBlank = text.trim() === "";
    const isBetween = isBlank && place > 0 && !isShared(place - 1) && !isSharedAt(words, isShared, place + 1);
    const isOwn = isBetween || (!isShared(place) && !(isBlank && made.length > 0 && isShared(place - 1)));
    const last = made.at(-1);
    if (last?.isOwn === isOwn) last.text += text;
    else made.push({ text, isOwn });
  }
  return made;
}

const isSharedAt = (words: readonly string[], isShared: (place: number) => boolean, place: number): boolean =>
  place >= words.length || isShared(place);

/** A value for display: a text as it is, anything else as JSON. */
export const valueText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
