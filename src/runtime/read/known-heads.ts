/**
 * Heads that this process has read or written: a log must still hold them at every later read. They reveal a
 * store that fell back to an earlier copy of itself.
 */
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { makeCache } from "../../core/cache.ts";
import type { State } from "../../core/state.ts";
import type { Expect, Head, Store } from "../../store/port.ts";

export interface KnownHead {
  readonly seq: number;
  readonly hash: string;
}

export interface KnownHeads {
  note(log: LogId, head: KnownHead): void;
  /** Those of one log, the latest first. */
  of(log: LogId): readonly KnownHead[];
  forget(log: LogId): void;
}

/** Logs whose heads are remembered, and how many of each, to find where two histories diverge. */
const logsMin = 10_000;
const headsMax = 32;

export function makeNotedHeads(): KnownHeads {
  const heads = makeCache<LogId, KnownHead[]>(logsMin);
  return {
    note(log, head) {
      const own = heads.get(log) ?? [];
      // An earlier read may arrive later.
      if (head.hash === "" || head.seq <= (own[0]?.seq ?? 0)) return;
      if (own.unshift(head) > headsMax) own.pop();
      heads.set(log, own);
    },
    of: (log) => heads.get(log) ?? [],
    forget: heads.delete,
  };
}

/** A record is missing, or another one stands in its place. */
export function rollbackError(log: LogId, seq: number): SkeinError {
  return new SkeinError("corrupt", `${log} was rolled back: record ${seq} is missing`, {
    hint: "a failover or a restored backup lost it; see docs/operating.md",
    detail: "rolled-back",
  });
}

export const isRollbackError = (error: unknown): boolean =>
  error instanceof SkeinError && error.detail === "rolled-back";

/** True when a later read head cannot be of the same log as the noted one. */
export const isBehind = (head: Pick<Head, "seq" | "hash">, { seq, hash }: KnownHead): boolean =>
  head.seq < seq || (head.seq === seq && head.hash !== hash);

/** True when the log still holds the record. */
export async function holdsRecord(store: Store, log: LogId, { seq, hash }: KnownHead): Promise<boolean> {
  const [record] = await store.read(log, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  return record?.hash === hash;
}

/** True when a log with this head still holds the earlier one. */
export async function stillHolds(store: Store, head: Head, met: KnownHead): Promise<boolean> {
  if (isBehind(head, met)) return false;
  return head.seq === met.seq || holdsRecord(store, head.session, met);
}

/** The hash of the record at a state's position. Kept with the state. */
const hashes = new WeakMap<State, string>();

export function noteState(state: State, hash: string): State {
  if (hash !== "") hashes.set(state, hash);
  return state;
}

/** What a log must hold for a decision on this state. */
export function expectAt(state: State): Exclude<Expect, string> {
  const hash = hashes.get(state);
  return hash === undefined ? { seq: state.seq } : { seq: state.seq, hash };
}

export interface WorkspaceHead extends KnownHead {
  /** How often it was found rolled back: dependent caches start over when that changes. */
  readonly times: number;
}

/** The head of the workspace's log, compared with what this engine knew of it. */
export interface WorkspaceHeadReader {
  read(): Promise<WorkspaceHead>;
  /** Throws a rollback of the log once: it cannot be suspended, so the next writer gets the error. */
  throwRollback(): void;
}

export function makeWorkspaceHeadReader(store: Store): WorkspaceHeadReader {
  let known: KnownHead = { seq: 0, hash: "" };
  let times = 0;
  let reported = 0;
  return {
    async read() {
      const last = known;
      const { seq, hash } = (await store.head(store.workspace)) ?? { seq: 0, hash: "" };
      const isThere =
        last.seq === 0 ||
        (!isBehind({ seq, hash }, last) &&
          (seq === last.seq || (await holdsRecord(store, store.workspace, last))));
      if (!isThere && known === last) times += 1;
      if (!isThere ? known === last : seq > known.seq) known = { seq, hash };
      return { seq, hash, times };
    },
    throwRollback() {
      if (reported === times) return;
      reported = times;
      throw new SkeinError("corrupt", "the workspace log was rolled back: the store lost its last records", {
        hint: "re-apply missing agents, memory and policies, then retry",
      });
    },
  };
}
