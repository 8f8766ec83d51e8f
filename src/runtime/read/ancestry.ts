/** Ancestry: the logs that a session's own builds on, and the common part of two sessions. */
import { assert, SkeinError } from "../../core/error.ts";
import { parseSessionId, type SessionId } from "../../core/ids.ts";
import type { SortedMap } from "../../core/sorted-map.ts";
import type { Store } from "../../store/port.ts";
import type { StateReader } from "./state-reader.ts";

/** A session, and its last position that belongs to the descendant. */
export interface Ancestor {
  readonly session: SessionId;
  readonly seq: number;
}

interface Logs {
  readonly store: Store;
  readonly states: StateReader;
}

/** The session itself up to a position, its parent up to the fork point, and so on to the first. */
export async function ancestry(logs: Logs, session: SessionId, seq: number): Promise<readonly Ancestor[]> {
  const chain: Ancestor[] = [{ session, seq }];
  const passed = new Set([session]);
  const head = await logs.store.head(session);
  for (let parent = head?.parent ?? null; parent !== null;) {
    // A fork may begin before its parent's own beginning: then the parent has no part in it.
    const capSeq = Math.min(parent.seq, chain.at(-1)?.seq ?? parent.seq);
    if (passed.has(parent.session)) throw new SkeinError("corrupt", `${session} is its own ancestor`);
    passed.add(parent.session);
    chain.push({ session: parent.session, seq: capSeq });
    parent = await parentOf(logs, session, parent.session, capSeq);
  }
  return chain;
}

/** A deleted session has no head any more, but its descendants still know its parent. */
async function parentOf(
  { store, states }: Logs,
  descendant: SessionId,
  ancestor: SessionId,
  seq: number,
): Promise<Ancestor | null> {
  const head = await store.head(ancestor);
  if (head !== undefined) return head.parent;
  const { standing } = await states.at(descendant, seq);
  if (standing.session !== ancestor) return { session: parseSessionId(standing.session), seq };
  const { fork } = standing;
  return fork === null ? null : { session: parseSessionId(fork.parent), seq: fork.seq };
}

/** The session whose own log holds a position. */
export function ownerOf(chain: readonly Ancestor[], seq: number): Ancestor {
  const owner = chain.findLast((one) => one.seq >= seq);
  assert(owner !== undefined, `position ${seq} is past the end of the log`);
  return { session: owner.session, seq };
}

/** The last position that both logs share; 0 when they share none. */
export function sharedSeq(a: readonly Ancestor[], b: readonly Ancestor[]): number {
  const caps = new Map(a.map(({ session, seq }) => [session, seq]));
  return Math.max(0, ...b.map(({ session, seq }) => Math.min(seq, caps.get(session) ?? 0)));
}

/**
 * The last position of the other log that a session knows: because they share it, or because it was merged
 * from there or from an ancestor of it.
 */
export function knownSeq(
  own: readonly Ancestor[],
  other: readonly Ancestor[],
  bases: SortedMap<number>,
): number {
  const merged = other.map(({ session, seq }) => Math.min(seq, bases.get(session) ?? 0));
  return Math.max(sharedSeq(own, other), ...merged);
}
