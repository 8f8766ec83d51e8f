/**
 * Lineage: the family of a session (read/family.ts) from the first one on, the status of each session, and
 * what was merged into it. Read from heads and states, not from whole logs.
 */
import { readPages } from "./record-pages.ts";
import type { SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { SessionStatus } from "../../core/session/lifecycle.ts";
import { emptyState, type Ref, type State } from "../../core/state.ts";
import { readContent } from "./content.ts";
import type { Deps } from "../deps.ts";
import { readFamily, type Relation, type Relative } from "./family.ts";

/** A session of a family. */
export interface LineageNode {
  readonly session: SessionId;
  /** 0 for the first one of the family. */
  readonly depth: number;
  /** Its origin, and the position there; 0 when the position is unknown. */
  readonly parent: { readonly session: SessionId; readonly seq: number } | null;
  /** How it descends from there. `fork`: they share all up to that position. Null with `parent`. */
  readonly relation: Relation | null;
  /** `absent`: it was deleted, or lives in another store. */
  readonly status: SessionStatus | "absent";
  readonly name: string | null;
  readonly objective: string | null;
  readonly agent: string | null;
  /** 0 when it is absent. */
  readonly headSeq: number;
  readonly openedAt: number;
  /** `at` of its last record; 0 when it is absent. */
  readonly activeAt: number;
  /** It lives elsewhere, and is read-only here. */
  readonly copy?: true;
  /** Merges since it was forked, in order: up to which position of the other, and where in its own log. */
  readonly merged: readonly { readonly from: string; readonly toSeq: number; readonly seq: number }[];
}

/** The family of a session: the result of `session.lineage`. */
export interface Lineage {
  /** The requested session. */
  readonly session: SessionId;
  /** Each before its descendants, these in the order of their origin. */
  readonly nodes: readonly LineageNode[];
  /** The number of sessions left out, with their descendants, because there are too many. */
  readonly left: number;
}

export async function readLineage(deps: Deps, session: SessionId): Promise<Lineage> {
  const { relatives, left } = await readFamily(deps, session, limit.lineageMax);
  const nodes: LineageNode[] = [];
  for (const relative of relatives) nodes.push(await nodeOf(deps, relative));
  return { session, nodes, left };
}

export async function nodeOf(deps: Deps, relative: Relative): Promise<LineageNode> {
  const { store, states } = deps;
  const { via: _, ...place } = relative;
  const head = await store.head(place.session);
  if (head === undefined) return absentNode(deps, relative);
  const state = await states.at(place.session, head.seq);
  const { standing } = state;
  const fork = await atFork(deps, relative, state);
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
    merged: await mergesIn(deps, place.session, state, fork),
  };
}

/** The last merge of each session that the mind still holds and that the fork made itself. */
async function mergesIn(
  { store }: Deps,
  session: SessionId,
  { mind, seq: headSeq }: State,
  fork: State,
): Promise<LineageNode["merged"]> {
  const own = [...mind.bases.entries()].filter(([from, toSeq]) => fork.mind.bases.get(from) !== toSeq);
  const seqs = new Map<string, number>();
  const only = { types: ["session.merged"], reverse: true };
  for await (const page of readPages(store, session, [1, own.length === 0 ? 0 : headSeq], only)) {
    for (const { body, seq } of page) {
      const { from, toSeq } = JSON.parse(body) as { readonly from: string; readonly toSeq: number };
      const isWanted = own.some(([name, place]) => name === from && place === toSeq);
      if (isWanted && !seqs.has(from)) seqs.set(from, seq);
    }
    if (seqs.size === own.length) break;
  }
  return own
    .map(([from, toSeq]) => ({ from, toSeq, seq: seqs.get(from) ?? 0 }))
    .toSorted((a, b) => a.seq - b.seq);
}

/** What a fork inherited was merged before it; without merges there is nothing to check. */
const atFork = async (
  { states }: Deps,
  { session, parent, relation }: Relative,
  state: State,
): Promise<State> =>
  parent === null || relation !== "fork" || state.mind.bases.size === 0
    ? emptyState
    : states.at(session, parent.seq);

/** What a descendant still knows of it. */
async function absentNode({ states }: Deps, { via, ...place }: Relative): Promise<LineageNode> {
  const { parent, relation } = place;
  const first = parent === null || relation !== "fork" ? 1 : parent.seq + 1;
  const { standing } = via === null || via === place.session ? emptyState : await states.at(via, first);
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
