/**
 * Lineage: the family of a session, from the first one on: who was forked from whom and where, and what was
 * merged into whom. Read from heads and states; no log is walked through.
 */
import type { SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { Status } from "../core/lifecycle.ts";
import { emptyState, type Ref, type State } from "../core/state.ts";
import { ancestry } from "./ancestry.ts";
import { readContent } from "./content.ts";
import { headOf } from "./place.ts";
import type { Context } from "./engine-context.ts";

export interface LineageNode {
  readonly session: SessionId;
  /** 0 for the first one of the family. */
  readonly depth: number;
  /** What it was forked from, and the last position that they share. */
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  /** `absent`: it was deleted, or lives in another store. */
  readonly status: Status | "absent";
  readonly name: string | null;
  readonly objective: string | null;
  readonly agent: string | null;
  /** 0 when it is absent. */
  readonly headSeq: number;
  readonly openedAt: number;
  /** `at` of its last record; 0 when it is absent. */
  readonly activeAt: number;
  /** It lives elsewhere, and is only read here. */
  readonly copy?: true;
  /** What came into it since it was forked, in order: up to where in the other, and where in its own log. */
  readonly merged: readonly { readonly from: string; readonly toSeq: number; readonly seq: number }[];
}

export interface Lineage {
  /** The one that was asked for. */
  readonly session: SessionId;
  /** Each before its forks, forks in the order in which they left. */
  readonly nodes: readonly LineageNode[];
  /** Forks that are left out, with their own, because there are too many. */
  readonly left: number;
}

interface Place {
  readonly session: SessionId;
  readonly depth: number;
  readonly parent: LineageNode["parent"];
}

export async function readLineage(context: Context, session: SessionId): Promise<Lineage> {
  const { seq } = await headOf(context, session);
  const path = (await ancestry(context, session, seq)).map((one) => one.session).toReversed();
  const nodes: LineageNode[] = [];
  let left = 0;
  const waiting: Place[] = [{ session: path[0] ?? session, depth: 0, parent: null }];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const { session: id, depth } = place;
    // However large the family is, the way to the one that was asked for is shown.
    if (nodes.length >= limit.lineageMax && path[depth] !== id) {
      left += 1;
      continue;
    }
    nodes.push(await nodeOf(context, place, session));
    const forks = await forksOf(context, id, path[depth] === id ? path[depth + 1] : undefined);
    const parentOf = (forkSeq: number) => ({ session: id, seq: forkSeq });
    for (const fork of forks.toReversed())
      waiting.push({ session: fork.session, depth: depth + 1, parent: parentOf(fork.seq) });
  }
  return { session, nodes, left };
}

/** In the order in which they left. Of an absent session only the one on the way is known. */
async function forksOf(
  { store }: Context,
  session: SessionId,
  next: SessionId | undefined,
): Promise<readonly { readonly session: SessionId; readonly seq: number }[]> {
  const forks = [...(await store.forks(session))];
  if (next !== undefined && !forks.some((fork) => fork.session === next)) {
    const head = await store.head(next);
    forks.push({ session: next, seq: head?.parent?.seq ?? 0 });
  }
  return forks.toSorted((a, b) => a.seq - b.seq || (a.session < b.session ? -1 : 1));
}

async function nodeOf(context: Context, place: Place, descendant: SessionId): Promise<LineageNode> {
  const { store, states } = context;
  const head = await store.head(place.session);
  if (head === undefined) return absentNode(context, place, descendant);
  const state = await states.at(place.session, head.seq);
  const { standing } = state;
  const fork = place.parent === null ? emptyState : await atFork(context, place, state);
  const text = async (ref: Ref | null, field: "name" | "objective"): Promise<string | null> => {
    const content = ref === null ? undefined : await readContent(store, place.session, ref.seq);
    const value = (content as Record<string, unknown> | undefined)?.[field];
    return typeof value === "string" ? value : null;
  };
  return {
    ...place,
    status: standing.status,
    name: await text(standing.name, "name"),
    objective: await text(standing.objective, "objective"),
    agent: standing.agent?.name ?? null,
    headSeq: head.seq,
    openedAt: standing.openedAt,
    ...(head.copy === true ? { copy: true as const } : {}),
    activeAt: state.at,
    merged: await mergesIn(context, place.session, state, fork),
  };
}

/** The last merge of each session that the mind still holds and a fork did not begin with. */
async function mergesIn(
  { store }: Context,
  session: SessionId,
  { mind, seq: headSeq }: State,
  fork: State,
): Promise<LineageNode["merged"]> {
  const own = [...mind.bases.entries()].filter(([from, toSeq]) => fork.mind.bases.get(from) !== toSeq);
  const seqs = new Map<string, number>();
  for (let toSeq = headSeq; toSeq > 0 && seqs.size < own.length;) {
    const range = { fromSeq: 1, toSeq, reverse: true, limit: limit.pageRecordsMax, contents: false };
    const page = await store.read(session, { ...range, types: ["session.merged"] });
    for (const { body, seq } of page) {
      const { from, toSeq: upTo } = JSON.parse(body) as { readonly from: string; readonly toSeq: number };
      const isWanted = own.some(([name, place]) => name === from && place === upTo);
      if (isWanted && !seqs.has(from)) seqs.set(from, seq);
    }
    toSeq = (page.at(-1)?.seq ?? 1) - 1;
  }
  return own
    .map(([from, toSeq]) => ({ from, toSeq, seq: seqs.get(from) ?? 0 }))
    .toSorted((a, b) => a.seq - b.seq);
}

/** What a fork took over was merged before it; without merges nobody needs to look. */
const atFork = async ({ states }: Context, { session, parent }: Place, state: State): Promise<State> =>
  parent === null || state.mind.bases.size === 0 ? emptyState : states.at(session, parent.seq);

/** What a descendant still knows of it. */
async function absentNode({ states }: Context, place: Place, descendant: SessionId): Promise<LineageNode> {
  const first = place.parent === null ? 1 : place.parent.seq + 1;
  const { standing } = await states.at(descendant, first);
  const known = standing.session === place.session;
  return {
    ...place,
    status: "absent",
    name: null,
    objective: null,
    agent: known ? (standing.agent?.name ?? null) : null,
    headSeq: 0,
    openedAt: known ? standing.openedAt : 0,
    activeAt: 0,
    merged: [],
  };
}
