/** What is looked for: the text of inputs. */
import { wordsOf } from "../../core/memory/words.ts";
import { saidIn } from "../../core/context/retrieved.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Deps } from "../deps.ts";
import { sideBySide } from "../read/content.ts";
import { readOne } from "../read/event-cache.ts";

/** Characters read of an input: its beginning and its end. */
const queryChars = { head: 6_000, tail: 4_000 } as const;

/** The text of inputs, as far as it is ranked by. */
export async function queryOf(deps: Deps, session: SessionId, seqs: readonly number[]): Promise<string> {
  const texts = await sideBySide(seqs, async (seq) => saidIn(await readOne(deps, session, seq)) ?? "");
  const { head, tail } = queryChars;
  return texts
    .map((text) => (text.length <= head + tail ? text : `${text.slice(0, head)}\n${text.slice(-tail)}`))
    .join("\n");
}

/** Words that are looked for in logs, in pairs. */
const searchedWordsMax = 4;

/** Pairs of the most telling words: what shares only one is not relevant. Alone, only identifiers. */
export function searchesFor(query: string): readonly string[] {
  const words = [...new Set(wordsOf(query))]
    .filter((word) => word.length > 2)
    .toSorted((a, b) => Number(/\p{N}/u.test(b)) - Number(/\p{N}/u.test(a)) || b.length - a.length)
    .slice(0, searchedWordsMax)
    .map((word) => `${word}*`);
  if (words.length === 1) return words;
  const alone = words.filter((word) => word.length > 5 && /\p{N}/u.test(word));
  return [
    ...alone,
    ...words.flatMap((one, place) => words.slice(place + 1).map((other) => `${one} ${other}`)),
  ];
}
