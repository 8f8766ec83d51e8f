/**
 * Finds the sessions that share a position: those of a store that build on the same records. Built once from
 * the session index, so that forks of forks are found also where those between them were deleted.
 */
import { readRows } from "../read/session-rows.ts";
import { type SkeinError, sessionNotFound } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Range } from "../../core/range.ts";
import { ancestry, type Ancestor } from "../read/ancestry.ts";
import type { Deps } from "../deps.ts";

/** A range of a log, and the session whose own log holds it. */
export interface OwnedRange {
  readonly range: Range;
  readonly owner: SessionId;
  /** The owner lives in this store, or is a copy there, so that it can be named itself. */
  readonly present: boolean;
}

export interface SharedLogs {
  /** Sessions that share positions which can be erased through this one, each with the last of them. */
  sharers(session: SessionId): Promise<ReadonlyMap<SessionId, number>>;
  /** Sessions that share the own log of a possibly deleted one, each with the last position of it. */
  below(owner: SessionId): ReadonlyMap<SessionId, number>;
  /** The log of a session, from its first position on. */
  stretches(session: SessionId): Promise<readonly OwnedRange[]>;
}

type Logs = Pick<Deps, "store" | "states">;

export async function readFamily(logs: Logs): Promise<SharedLogs> {
  const { store } = logs;
  const children = new Map<string, { readonly session: SessionId; readonly seq: number }[]>();
  const add = (parent: SessionId, child: { readonly session: SessionId; readonly seq: number }) => {
    children.set(parent, [...(children.get(parent) ?? []), child]);
  };
  for await (const { session, parent, headSeq } of readRows(logs.store, {})) {
    if (parent === null) continue;
    if ((await store.head(parent.session)) !== undefined) {
      add(parent.session, { session, seq: parent.seq });
      continue;
    }
    // No list of deleted ones exists: it is the nearest living one, and all between.
    for (const ancestor of (await ancestry(logs, session, headSeq)).slice(1)) {
      add(ancestor.session, { session, seq: ancestor.seq });
      if ((await store.head(ancestor.session)) !== undefined) break;
    }
  }

  /** All sessions that share a session's own log, and up to where. */
  function walk(session: SessionId, toSeq: number, found: Map<SessionId, number>): void {
    const waiting = [{ session, seq: toSeq }];
    for (let one = waiting.pop(); one !== undefined; one = waiting.pop()) {
      for (const child of children.get(one.session) ?? []) {
        const seq = Math.min(one.seq, child.seq);
        if ((found.get(child.session) ?? 0) < seq) found.set(child.session, seq);
        waiting.push({ session: child.session, seq });
      }
    }
  }

  async function chainOf(session: SessionId): Promise<readonly Ancestor[]> {
    const head = await store.head(session);
    if (head === undefined) throw gone(session);
    return ancestry(logs, session, head.seq);
  }

  return {
    async sharers(session) {
      const found = new Map<SessionId, number>();
      for (const [place, ancestor] of (await chainOf(session)).entries()) {
        if (place > 0 && (await store.head(ancestor.session)) !== undefined) continue;
        walk(ancestor.session, ancestor.seq, found);
      }
      found.delete(session);
      return found;
    },
    below(owner) {
      const found = new Map<SessionId, number>();
      walk(owner, Infinity, found);
      return found;
    },
    async stretches(session) {
      const chain = await chainOf(session);
      const stretches: OwnedRange[] = [];
      for (const [place, { session: owner, seq }] of chain.entries()) {
        const fromSeq = (chain[place + 1]?.seq ?? 0) + 1;
        if (fromSeq > seq) continue;
        const present = place === 0 || (await store.head(owner)) !== undefined;
        stretches.unshift({ range: [fromSeq, seq], owner, present });
      }
      return stretches;
    },
  };
}

const gone = (session: SessionId): SkeinError => sessionNotFound(session);
