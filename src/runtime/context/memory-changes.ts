/** The records of the workspace's log that change memory, and what a session knows of it already. */
import type { SessionId } from "../../core/ids.ts";
import { memoryTypes, type MemoryOwners } from "../../core/memory/memory.ts";
import { memoryId, nameIn, type MemoryName, type MemoryRef } from "../../core/memory/name.ts";
import { nameInSession, type MemoryNews } from "../../core/memory/news.ts";
import { present } from "../../core/present.ts";
import { includes, type Range, type Ranges } from "../../core/range.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { ancestry } from "../read/ancestry.ts";
import { readContent, sideBySide } from "../read/content.ts";
import { readOne } from "../read/event-cache.ts";
import { readRecords } from "../read/record-pages.ts";
import { bodyOf } from "../workspace/memory.ts";
import { ifDamaged, principalOf } from "../workspace/memory-follow.ts";

/** An entry whose state changed, as it is after the last of its records. */
export type MemoryChange = MemoryName & {
  readonly seq: number;
  readonly origin?: MemoryRef["origin"];
  readonly status?: string;
  readonly gone?: "forgotten" | "erased";
};

/** Of the entries that a session reads, those that changed in a range of the workspace's log. */
export async function changesIn(
  deps: Deps,
  range: Range,
  mine: (name: MemoryName) => boolean,
): Promise<readonly MemoryChange[]> {
  const { store } = deps;
  const latest = new Map<string, MemoryChange>();
  for await (const record of readRecords(store, store.workspace, range, { types: memoryTypes })) {
    const { seq, type } = record;
    const body = bodyOf(record) as Partial<MemoryRef> & { readonly ranges?: Ranges };
    if (type === "content.erased") {
      for (const name of await erasedEntries(deps, body.ranges ?? []))
        if (mine(name)) latest.set(memoryId(name), { ...nameOf(name), seq, gone: "erased" });
      continue;
    }
    const name = nameIn(body);
    if (name === null || !mine(name)) continue;
    const { origin = null, status } = body;
    const isHeld = type === "memory.promoted";
    const now = isHeld ? { origin, ...present({ status }) } : ({ gone: "forgotten" } as const);
    latest.set(memoryId(name), { ...name, seq, ...now });
  }
  return [...latest.values()];
}

/** The entries whose current value was erased. Erasures are rare: these look at all entries. */
async function erasedEntries({ memory: reader }: Deps, ranges: Ranges): Promise<readonly MemoryName[]> {
  const { memory } = await reader.fold();
  return [...memory.entries()].flatMap(([, entry]) => (includes(ranges, entry.seq) ? [entry] : []));
}

const nameOf = ({ scope, owner, kind, key }: MemoryName): MemoryName => ({ scope, owner, kind, key });

/** The changes with their values. An entry without one was erased. */
export async function withValues(
  { store }: Deps,
  changes: readonly MemoryChange[],
): Promise<readonly MemoryNews[]> {
  return sideBySide(changes, async ({ gone, origin = null, status, ...one }): Promise<MemoryNews> => {
    if (gone !== undefined) return { ...one, gone };
    const content = await readContent(store, store.workspace, one.seq).catch(ifDamaged);
    if (content === undefined) return { ...one, gone: "erased" };
    const { value, because } = content as { readonly value: unknown; readonly because?: string };
    return { ...one, origin, value, ...present({ status, because }) };
  });
}

/** What a session carries, as far as it was read. It is derived, and gone with the process. */
export interface CarriedNames {
  /** The positions of `memory.carried` that it is made of, with the tokens of each. */
  readonly refs: { readonly seq: number; readonly tokens: number }[];
  readonly names: Map<string, CarriedPlace>;
}

/** Where an entry stands in the session's log, and the digest of its value. */
export interface CarriedPlace {
  readonly digest: string;
  readonly seq: number;
  readonly number: number;
}

/** The entries that the session carries; reads those that are new to this process. */
export async function carriedIn(deps: Deps, session: SessionId, { mind }: State): Promise<CarriedNames> {
  const kept = deps.shared.carriedNames;
  const last = kept.get(session);
  // A rewind may have taken some away, and others came.
  const isPrefix = last !== undefined && mind.memory[last.refs.length - 1]?.seq === last.refs.at(-1)?.seq;
  const carried: CarriedNames = isPrefix
    ? { refs: [...last.refs], names: new Map(last.names) }
    : { refs: [], names: new Map() };
  for (const { seq } of mind.memory.slice(carried.refs.length)) {
    const event = await readOne(deps, session, seq);
    if (event?.type !== "memory.carried") continue;
    carried.refs.push({ seq, tokens: event.body.tokens ?? 0 });
    for (const [place, item] of (event.content?.items ?? []).entries()) {
      const digest = deps.world.digest("", JSON.stringify(item.value));
      carried.names.set(nameInSession(item), { digest, seq, number: place + 1 });
    }
    for (const name of event.content?.withdrawn ?? []) carried.names.delete(nameInSession(name));
  }
  kept.set(session, carried);
  return carried;
}

/** Whether an entry comes from this session itself, or from what it shares with its parent. */
export async function isOwnOrigin(
  { store, states }: Deps,
  session: SessionId,
  { seq }: State,
): Promise<(origin: MemoryRef["origin"] | undefined) => boolean> {
  const chain = await ancestry({ store, states }, session, seq);
  return (origin) => chain.some((one) => one.session === origin?.session && origin.seq <= one.seq);
}

/**
 * Whose memory reaches it: its agent's, and that of the person who opened it. A fork that a person made is
 * that person's.
 */
export async function readersOf(deps: Deps, session: SessionId, { standing }: State): Promise<MemoryOwners> {
  const agent = standing.agent?.name ?? null;
  if (standing.fork !== null) {
    const forked = await readOne(deps, session, standing.fork.seq + 1);
    const isOfPerson = forked?.type === "session.forked" && forked.body.by === "person";
    if (isOfPerson) return { agent, user: principalOf(forked.actor) };
  }
  return { agent, user: principalOf((await readOne(deps, session, 1))?.actor ?? "") };
}
