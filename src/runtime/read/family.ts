/**
 * The family of a session, defined once for `lineage`, `cost --family` and the feed of a family: its
 * ancestors up to the first one, and all descendants of that. A session descends from another as a fork, as
 * an opened child, or as its successor.
 */
import { readRecords } from "./record-pages.ts";
import type { SessionId } from "../../core/ids.ts";
import { originOf } from "../../core/branch/origin.ts";
import type { Store } from "../../store/port.ts";
import { ancestry } from "./ancestry.ts";
import { headOf } from "./position.ts";
import type { StateReader } from "./state-reader.ts";
import type { Deps } from "../deps.ts";

/** The relation of two sessions of a family. */
export type Relation = "fork" | "child" | "successor" | "split";

/** How a session descends from another; both null for the first one of a family. */
interface Link {
  readonly session: SessionId;
  /** Its origin, and the position there; 0 when the position is unknown. */
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  readonly relation: Relation | null;
}

export interface Relative extends Link {
  /** 0 for the first one. */
  readonly depth: number;
  /** A session through which the log is read even when its own session is absent; null: there is none. */
  readonly via: SessionId | null;
}

export interface Family {
  /** Each before its descendants, these in the order of their origin. */
  readonly relatives: readonly Relative[];
  /** The number left out, with all their descendants. */
  readonly left: number;
}

interface Logs {
  readonly store: Store;
  readonly states: StateReader;
}

/**
 * At most about `max` relatives, and always the path to the session itself. A path longer than `max` begins
 * at a session whose parent is not among the relatives.
 */
export async function readFamily(logs: Logs, session: SessionId, max = Infinity): Promise<Family> {
  await headOf(logs, session);
  const path = await pathTo(logs, session, max);
  const relatives: Relative[] = [];
  const seen = new Set(path.map((step) => step.session));
  let left = 0;
  const waiting: Relative[] = path.slice(0, 1).map((step) => ({ ...step, depth: 0 }));
  for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
    const { session: id, depth } = one;
    const isOnPath = path[depth]?.session === id;
    if (relatives.length >= max && !isOnPath) {
      left += 1;
      continue;
    }
    relatives.push(one);
    const next = isOnPath ? path[depth + 1] : undefined;
    const links = (await linksFrom(logs.store, id)).filter((link) => !seen.has(link.session));
    for (const link of links) seen.add(link.session);
    const below = [...links.map((link) => ({ ...link, via: link.session })), ...(next ? [next] : [])];
    for (const link of below.toSorted(byPlace).toReversed()) waiting.push({ ...link, depth: depth + 1 });
  }
  return { relatives, left };
}

const byPlace = (a: Link, b: Link): number =>
  (a.parent?.seq ?? 0) - (b.parent?.seq ?? 0) || (a.session < b.session ? -1 : 1);

type Step = Omit<Relative, "depth">;

/** From the first one down to the session. Ids in imported logs may form a cycle. */
async function pathTo(logs: Logs, session: SessionId, max: number): Promise<readonly Step[]> {
  const path: Step[] = [];
  const passed = new Set<SessionId>();
  const add = (step: Step): void => {
    path.push(step);
    passed.add(step.session);
  };
  for (let at: SessionId | undefined = session; at !== undefined && !passed.has(at);) {
    const head = await logs.store.head(at);
    if (head === undefined) add({ session: at, parent: null, relation: null, via: null });
    const chain: Awaited<ReturnType<typeof ancestry>> = head ? await ancestry(logs, at, head.seq) : [];
    for (const [place, { session: one }] of chain.entries()) {
      const above = chain[place + 1];
      const link = above
        ? await forkLink(logs.store, one, above.session)
        : await originLink(logs.store, one, at);
      add({ ...link, via: at });
    }
    at = path.length < max ? path.at(-1)?.parent?.session : undefined;
  }
  const last = path.at(-1);
  if (last === undefined || last.parent === null || !passed.has(last.parent.session))
    return path.toReversed();
  // A cycle in a damaged store: it begins here.
  return [{ ...last, parent: null, relation: null }, ...path.slice(0, -1).toReversed()];
}

async function forkLink(store: Store, session: SessionId, parent: SessionId): Promise<Link> {
  const head = await store.head(session);
  return { session, parent: { session: parent, seq: head?.parent?.seq ?? 0 }, relation: "fork" };
}

/** From the first record of a log, read through any session that shares it. */
async function originLink(store: Store, session: SessionId, via: SessionId): Promise<Link> {
  const [first] = await store.read(via, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  const origin = first === undefined ? null : originOf(first);
  if (first === undefined || origin === null) return { session, parent: null, relation: null };
  // For a successor: the last position of its predecessor at that time.
  const seq = origin.seq ?? (await store.seqAt(origin.session, first.at + 1)) - 1;
  return { session, parent: { session: origin.session, seq }, relation: origin.relation };
}

async function linksFrom(store: Store, session: SessionId): Promise<readonly Link[]> {
  const links: Link[] = (await store.forks(session)).map((fork) => ({
    session: fork.session,
    parent: { session, seq: fork.seq },
    relation: "fork",
  }));
  for (const one of await store.openedFrom(session)) {
    const link = await originLink(store, one, one);
    if (link.parent?.session === session) links.push(link);
  }
  return links;
}

/** The session that another one continues; null when it has no predecessor. */
export async function carriedOn({ store }: Deps, session: SessionId): Promise<SessionId | null> {
  const [record] = await store.read(session, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  const body = record?.type === "session.opened" ? (JSON.parse(record.body) as { from?: SessionId }) : {};
  return body.from ?? null;
}

/** How many predecessors are followed; beyond, a handoff stands for the rest. */
export const earlierMax = 100;

/**
 * The sessions that a session opened or forked itself, whatever their status; and those of the sessions that
 * it continues by `clear` or `rollover`, the last hundred.
 */
export async function childrenOf({ store }: Deps, session: SessionId): Promise<readonly SessionId[]> {
  const children = new Set<SessionId>();
  const passed = new Set<string>();
  for (let at: SessionId | null = session; at !== null && passed.size < earlierMax && !passed.has(at);) {
    passed.add(at);
    for (const child of await ownChildren(store, at)) children.add(child);
    at = await continuedBy(store, at);
  }
  return [...children];
}

/** The session that was closed when this one was opened; null when none was. */
async function continuedBy(store: Store, session: SessionId): Promise<SessionId | null> {
  const [record] = await store.read(session, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  if (record?.type !== "session.opened") return null;
  const { from, first } = JSON.parse(record.body) as { readonly from?: SessionId; readonly first?: string };
  return first === undefined || from === undefined ? null : from;
}

async function ownChildren(store: Store, session: SessionId): Promise<ReadonlySet<SessionId>> {
  const head = await store.head(session);
  const children = new Set<SessionId>();
  const toSeq = head?.seq ?? 0;
  const own = [(head?.parent?.seq ?? 0) + 1, toSeq] as const;
  for await (const { body } of readRecords(store, session, own, { types: ["budget.allotted"] })) {
    const { session: other, direction } = JSON.parse(body) as { session: SessionId; direction: string };
    if (direction === "given") children.add(other);
  }
  // Forks from before the allotment was always recorded.
  for (const { session: fork, seq } of await store.forks(session)) {
    const range = { fromSeq: seq + 1, toSeq: seq + 1, limit: 1, contents: false };
    const [record] = await store.read(fork, range);
    const { by } = JSON.parse(record?.body ?? "{}") as { by?: string };
    if (by === "session") children.add(fork);
  }
  return children;
}
