/** Items in a plan: which are shown in full, which by key. */
import { kindRank } from "../item/kind.ts";
import { rank } from "../rank/rank.ts";
import type { ItemRef } from "../state.ts";
import { itemText } from "./boundary.ts";
import { field } from "./source.ts";
import { nested, textOf } from "./text.ts";
import type { CountTokens } from "./token-count.ts";

/** An item with its content; undefined when it was erased. */
export interface PlannedItem extends Omit<ItemRef, "hash"> {
  readonly content: unknown;
}

/** A line of the pinned tier, and of the items. */
export const pinText = (item: Omit<ItemRef, "seq" | "hash">, content: unknown): string =>
  `- ${nested(itemText(item, content))}\n`;

/** An entry of the list of keys. */
export const keyText = ({ kind, key, status }: Pick<ItemRef, "kind" | "key" | "status">): string =>
  `${kind} ${key}${status === null || status === "open" ? "" : ` (${status})`}`;

/** Of what does not fit, this share of the room lists keys. */
const listShare = 0.15;

/** Of the ranked items, as many as fit, and a list of keys of the others. Positions, the best first. */
export function planItems(
  items: readonly PlannedItem[],
  {
    roomTokens,
    count,
    query,
  }: { readonly roomTokens: number; readonly count: CountTokens; readonly query: string },
): { readonly shown: number[]; readonly listed: number[]; readonly usedTokens: number } {
  const ranked = rankItems(items, query);
  const sizes = new Map(ranked.map((item) => [item.seq, count(pinText(item, item.content))]));
  const all = [...sizes.values()].reduce((sum, tokens) => sum + tokens, 0);
  let left = all <= roomTokens ? roomTokens : Math.floor(roomTokens * (1 - listShare));
  const shown: number[] = [];
  const rest: PlannedItem[] = [];
  for (const item of ranked) {
    const tokens = sizes.get(item.seq) ?? 0;
    if (tokens > left) rest.push(item);
    else {
      left -= tokens;
      shown.push(item.seq);
    }
  }
  if (rest.length > 0 && all > roomTokens) left += Math.ceil(roomTokens * listShare);
  const listed: number[] = [];
  for (const item of rest) {
    const tokens = count(`${keyText(item)}, `);
    if (tokens > left) break;
    left -= tokens;
    listed.push(item.seq);
  }
  return { shown, listed, usedTokens: Math.max(0, roomTokens - left) };
}

/** By kind, then by relevance to the query, then the newest. */
function rankItems(items: readonly PlannedItem[], query: string): readonly PlannedItem[] {
  const scores = new Map<string, number>();
  if (query !== "") {
    const candidates = items.map(({ seq, key, content }) => ({
      id: String(seq),
      title: key,
      text: textOf(field(content, "value") ?? "").slice(0, 4_000),
    }));
    for (const { id, score, isRelevant } of rank(query, candidates)) if (isRelevant) scores.set(id, score);
  }
  const scoreOf = ({ seq }: PlannedItem): number => scores.get(String(seq)) ?? 0;
  return items.toSorted(
    (a, b) =>
      kindRank(a.kind, a.status) - kindRank(b.kind, b.status) || scoreOf(b) - scoreOf(a) || b.seq - a.seq,
  );
}
