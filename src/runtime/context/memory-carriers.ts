/** The sessions that carry an entry of memory, the most recently active first. */
import { carriedValue, isOwn } from "../../core/memory/choice.ts";
import { memoryId, type MemoryName, type MemoryScope } from "../../core/memory/name.ts";
import { nameInSession } from "../../core/memory/news.ts";
import type { SessionId } from "../../core/ids.ts";
import type { ItemKind } from "../../core/item/kind.ts";
import { present } from "../../core/present.ts";
import type { SessionFilter } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import { stateNow } from "../read/state-now.ts";
import { notThere, readEntry } from "../workspace/memory.ts";
import { ifDamaged } from "../workspace/memory-follow.ts";
import { carriedIn, readersOf } from "./memory-changes.ts";

/** The entry, as for `engine.forget`, and the page. */
export interface MemoryCarriersOptions {
  readonly scope: MemoryScope;
  /** The agent or user; by default of `user`: the actor. */
  readonly owner?: string;
  readonly kind: ItemKind;
  readonly key: string;
  /** From the page before. */
  readonly cursor?: string;
}

/** A session that carries an entry. */
export interface MemoryCarrier {
  readonly session: SessionId;
  readonly name: string | null;
  /** Where its log carries the entry. */
  readonly seq: number;
  /** Whether it is the entry's current value; an older one is replaced at the session's next turn. */
  readonly current: boolean;
}

/** A page of `engine.memoryCarriers`. */
export interface MemoryCarriers {
  readonly carriers: readonly MemoryCarrier[];
  /** How many sessions were looked at for this page. */
  readonly looked: number;
  /** Null: there are no further sessions. */
  readonly cursor: string | null;
}

/** Sessions that are looked at for one page. */
const lookedMax = 200;

export async function memoryCarriers(
  deps: Deps,
  name: MemoryName,
  cursor: string | undefined,
): Promise<MemoryCarriers> {
  const { memory } = await deps.memory.fold();
  const entry = memory.get(memoryId(name));
  if (entry === undefined) throw notThere(memory, name);
  const { value, erased } = await readEntry(deps, entry);
  const digest = erased ? null : deps.world.digest("", JSON.stringify(carriedValue(entry, value)));
  const filter: SessionFilter = name.scope === "agent" && name.owner !== null ? { agent: name.owner } : {};
  const page = await deps.store.list(filter, { limit: lookedMax, ...present({ cursor }) });
  const carriers: MemoryCarrier[] = [];
  for (const { session, name: title } of page.rows) {
    const state = await stateNow(deps, session).catch(ifDamaged);
    if (state === undefined || state === null || state.mind.memory.length === 0) continue;
    const place = (await carriedIn(deps, session, state)).names.get(nameInSession(entry));
    if (place === undefined || !isOwn(entry, await readersOf(deps, session, state))) continue;
    carriers.push({ session, name: title, seq: place.seq, current: place.digest === digest });
  }
  return { carriers, looked: page.rows.length, cursor: page.cursor };
}
