/**
 * The memory news of an open session at its next turn: entries that are new, changed or gone since it
 * last looked. What it carries already is always kept right; of the rest it gets what holds for its user and
 * its agent, and what it is about. Everything else is reachable by lookup.
 */
import type { CarriedMemory } from "../item/commands.ts";
import { kindRank } from "../item/kind.ts";
import { present } from "../present.ts";
import { rank } from "../rank/rank.ts";
import {
  carriedValue,
  isCarriedAnyway,
  memoryLine,
  preferencesMax,
  whoseIn,
  type CarriedEntry,
  type WithdrawnEntry,
} from "./choice.ts";
import { memoryId, type MemoryName, type MemoryRef } from "./name.ts";

/** An entry of the session's scopes whose state changed, as it is now. */
export type MemoryNews =
  | (Pick<MemoryRef, keyof MemoryName | "seq" | "origin" | "status"> & {
      readonly value: unknown;
      readonly because?: string;
    })
  | (MemoryName & { readonly seq: number; readonly gone: "forgotten" | "erased" });

/** What a session carries: the name of an entry, and the digest of its value. */
export type KnownMemory = ReadonlyMap<string, { readonly digest: string }>;

export interface NewsOptions {
  readonly known: KnownMemory;
  /** The objective. What an input is about, retrieval brings in. */
  readonly about: string;
  readonly tokensMax: number;
  readonly count: (text: string) => number;
  /** Of a value as JSON. */
  readonly digest: (json: string) => string;
}

/** A name in a session, which has one user and one agent. */
export const nameInSession = ({
  scope,
  kind,
  key,
}: Omit<MemoryName, "owner" | "scope"> & { scope: string }) => JSON.stringify([scope, kind, key]);

interface Choice {
  readonly news: Extract<MemoryNews, { value: unknown }>;
  readonly item: CarriedEntry;
  readonly isChange: boolean;
  readonly score: number;
}

/** Null: nothing of it concerns the session. */
export function chooseNews(
  news: readonly MemoryNews[],
  { known, about, tokensMax, count, digest }: NewsOptions,
): CarriedMemory | null {
  const withdrawn: WithdrawnEntry[] = [];
  const held: Extract<MemoryNews, { value: unknown }>[] = [];
  for (const one of news) {
    const before = known.get(nameInSession(one))?.digest;
    if ("gone" in one) {
      const { scope, kind, key, gone } = one;
      if (before !== undefined) withdrawn.push({ scope, kind, key, why: gone });
    } else if (before === undefined || before !== digest(JSON.stringify(carriedValue(one, one.value))))
      held.push(one);
  }
  const items: CarriedEntry[] = [];
  let [used, left] = [0, 0];
  for (const { item, isChange } of ranked(held, { known, about })) {
    const tokens = count(`${memoryLine(item)}\n`);
    if (used + tokens <= tokensMax) {
      used += tokens;
      items.push(item);
    } else if (isChange) {
      const { scope, kind, key } = item as CarriedEntry & Pick<WithdrawnEntry, "scope">;
      withdrawn.push({ scope, kind, key, why: "changed" });
    } else left++;
  }
  if (items.length + withdrawn.length + left === 0) return null;
  return { items, tokens: used, withdrawn, left };
}

/** Changes of what is known first, then by importance, relevance and age. */
function ranked(held: readonly Choice["news"][], { known, about }: Pick<NewsOptions, "known" | "about">) {
  const found = relevant(held, about);
  const choices = held.flatMap((news): Choice[] => {
    const { scope, kind, key, origin, value } = news;
    const hit = found.get(memoryId(news));
    const isChange = known.has(nameInSession(news));
    if (!isChange && hit === undefined && !isCarriedAnyway(news)) return [];
    const on = isChange ? ", changed" : hit === undefined ? "" : `, on ${hit.words.slice(0, 3).join(", ")}`;
    const why = `${whoseIn(scope)}${on}`;
    const from = present({ origin: origin ?? undefined });
    const item = { scope, kind, key, value: carriedValue(news, value), why, ...from };
    return [{ news, item, isChange, score: hit?.score ?? 0 }];
  });
  const sorted = choices.toSorted(
    (a, b) =>
      Number(b.isChange) - Number(a.isChange) ||
      kindRank(a.news.kind) - kindRank(b.news.kind) ||
      b.score - a.score ||
      b.news.seq - a.news.seq,
  );
  // Without relevance only the newest.
  const anyway = sorted.filter(({ isChange, score }) => !isChange && score === 0);
  const newest = new Set(anyway.toSorted((a, b) => b.news.seq - a.news.seq).slice(0, preferencesMax));
  return sorted.filter((one) => one.isChange || one.score > 0 || newest.has(one));
}

/** The entries that the objective is about. */
function relevant(held: readonly Choice["news"][], about: string) {
  const found = new Map<string, { readonly score: number; readonly words: readonly string[] }>();
  const candidates = held.map((one) => ({
    id: memoryId(one),
    title: one.key,
    text: typeof one.value === "string" ? one.value : (JSON.stringify(one.value) ?? ""),
    note: one.because ?? "",
  }));
  for (const { id, score, words, isRelevant } of rank(about, candidates))
    if (isRelevant) found.set(id, { score, words });
  return found;
}
