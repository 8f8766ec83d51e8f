/** Entries of memory that an input is about, and that the context does not show. */
import { seqsIn } from "../../core/context/planned.ts";
import type { LogId, SessionId } from "../../core/ids.ts";
import type { CarriedMemory } from "../../core/item/commands.ts";
import { carriedValue, isOwn, whoseIn, type CarriedEntry } from "../../core/memory/choice.ts";
import type { MemoryRef } from "../../core/memory/name.ts";
import { nameInSession } from "../../core/memory/news.ts";
import { present } from "../../core/present.ts";
import type { Fused } from "../../core/rank/hybrid.ts";
import { corpusMin, rankIn, type Ranked } from "../../core/rank/rank.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { sideBySide } from "../read/content.ts";
import { readOne } from "../read/event-cache.ts";
import { readEntry, type MemoryReader } from "../workspace/memory.ts";
import { carriedIn, isOwnOrigin, readersOf, type CarriedPlace } from "./memory-changes.ts";
import type { MemoryAccess } from "./memory-news.ts";
import type { EmbeddedText } from "./vectors.ts";

export type IndexedMemory = Awaited<ReturnType<MemoryReader["index"]>>;

/** An entry; without a place in the session's log it is to be carried. */
export interface FoundMemory extends Fused {
  readonly item: CarriedEntry;
  readonly place: CarriedPlace | null;
}

export interface RelevantMemoryOptions {
  readonly access: MemoryAccess;
  readonly indexed: IndexedMemory;
  readonly news: CarriedMemory | null;
  readonly query: string;
  /** The texts are given only where there is an embedding model. */
  readonly choose: (byWords: readonly Ranked[], texts: readonly EmbeddedText[]) => Promise<readonly Fused[]>;
  readonly isHybrid: boolean;
}

export async function relevantMemory(
  deps: Deps,
  session: SessionId,
  state: State,
  { access, indexed, news, query, choose, isHybrid }: RelevantMemoryOptions,
): Promise<readonly FoundMemory[]> {
  const { memory, relevance, values } = indexed;
  const owners = await readersOf(deps, session, state);
  const notified = new Set(
    [...(news?.items ?? []), ...(news?.withdrawn ?? [])].map((one) => nameInSession(one)),
  );
  const isNotified = (entry: MemoryRef): boolean => notified.size > 0 && notified.has(nameInSession(entry));
  const mayCarry = (entry: MemoryRef): boolean =>
    access.carry.scopes.includes(entry.scope) && isOwn(entry, owners) && !isNotified(entry);
  const may = (id: string): boolean => {
    const entry = memory.get(id);
    return entry !== undefined && mayCarry(entry);
  };
  const byWords = rankIn(relevance.among(corpusMin), query, may, {
    relevantOnly: !isHybrid,
    isMemory: true,
  });
  const valueOf = async (id: string, entry: MemoryRef): Promise<unknown> => {
    if (values.has(id)) return values.get(id);
    const { value, erased } = await readEntry(deps, entry);
    return erased ? undefined : value;
  };
  const texts = isHybrid
    ? textsOf(
        deps.store.workspace,
        [...memory.entries()].filter(([id]) => may(id)),
        valueOf,
      )
    : wordsOnly(deps.store.workspace, byWords);
  const chosen = await choose(byWords, texts);
  if (chosen.length === 0) return [];
  const isOfSession = await isOwnOrigin(deps, session, state);
  const { names } = await carriedIn(deps, session, state);
  const isShown = await shownBy(deps, session, state);
  const found = await sideBySide(chosen, async (one): Promise<FoundMemory[]> => {
    const entry = memory.get(one.id);
    const stored = entry === undefined ? undefined : await valueOf(one.id, entry);
    if (entry === undefined || stored === undefined || isOfSession(entry.origin)) return [];
    const { scope, kind, key, origin } = entry;
    const value = carriedValue(entry, stored);
    const known = names.get(nameInSession(entry));
    const place = known?.digest === deps.world.digest("", JSON.stringify(value)) ? known : null;
    if (place !== null && isShown(place)) return [];
    const on = one.words.length === 0 ? "near in meaning" : `on ${one.words.slice(0, 3).join(", ")}`;
    const why = `${whoseIn(scope)}, ${on}`;
    return [
      { ...one, place, item: { scope, kind, key, value, why, ...present({ origin: origin ?? undefined }) } },
    ];
  });
  return found.flat();
}

const wordsOnly = (log: LogId, byWords: readonly Ranked[]): readonly EmbeddedText[] =>
  byWords.slice(0, 1).map(({ id }) => ({ id, digest: "", session: log, seq: 0, read: async () => null }));

/** The newest first: of very many only those are compared by meaning. */
const textsOf = (
  log: LogId,
  entries: readonly (readonly [string, MemoryRef])[],
  valueOf: (id: string, entry: MemoryRef) => Promise<unknown>,
): readonly EmbeddedText[] =>
  entries
    .toSorted(([, a], [, b]) => b.seq - a.seq)
    .map(([id, entry]) => ({
      id,
      // Of the record, without reading it: a store that falls back may give its position to another.
      digest: `memory ${entry.seq} ${entry.at} ${entry.scope} ${entry.key}`,
      session: log,
      seq: entry.seq,
      read: async () => {
        const value = await valueOf(id, entry);
        if (value === undefined) return null;
        return `${entry.key}: ${typeof value === "string" ? value : JSON.stringify(value)}`;
      },
    }));

/** Whether a carried entry is in the context: where it stands, or in the plan. */
async function shownBy(
  deps: Deps,
  session: SessionId,
  { standing }: State,
): Promise<(place: CarriedPlace) => boolean> {
  const { plan } = standing;
  const event = plan === null ? undefined : await readOne(deps, session, plan);
  if (plan === null || event?.type !== "context.planned") return () => true;
  const shown = new Map((event.content?.memory ?? []).map((one) => [one.seq, new Set(seqsIn(one.shown))]));
  return ({ seq, number }) => seq > plan || shown.get(seq)?.has(number) === true;
}
