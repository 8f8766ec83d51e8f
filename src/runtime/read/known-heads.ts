/**
 * Heads that this process has read or was told of when it appended: what a log must still hold whenever it is
 * looked at again. A store that fell back to an earlier copy of itself is known by that.
 */
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { makeKept } from "../../core/cache.ts";
import type { State } from "../../core/state.ts";
import type { Expect, Head, Store } from "../../store/port.ts";

export interface Noted {
  readonly seq: number;
  readonly hash: string;
}

export interface NotedHeads {
  note(log: LogId, head: Noted): void;
  /** Those of one log, the latest first. */
  of(log: LogId): readonly Noted[];
  forget(log: LogId): void;
}

/** Logs whose heads are remembered, and how many of each, to find where two histories part. */
const logsMin = 10_000;
const headsMax = 32;

export function makeNotedHeads(): NotedHeads {
  const heads = makeKept<LogId, Noted[]>(logsMin);
  return {
    note(log, head) {
      const own = heads.get(log) ?? [];
      // What was read earlier may come in later.
      if (head.hash === "" || head.seq <= (own[0]?.seq ?? 0)) return;
      if (own.unshift(head) > headsMax) own.pop();
      heads.set(log, own);
    },
    of: (log) => heads.get(log) ?? [],
    forget: heads.delete,
  };
}

/** A record is gone that was there, or another one stands in its place. */
export function notAsBefore(log: LogId, seq: number): SkeinError {
  return new SkeinError("corrupt", `${log} no longer holds the record ${seq} that was there before`, {
    hint: "the store may have fallen back to an earlier copy of itself; see docs/operating.md",
    detail: "rolled-back",
  });
}

export const isNotAsBefore = (error: unknown): boolean =>
  error instanceof SkeinError && error.detail === "rolled-back";

/** Whether a head that was read after another one was noted cannot be of the same log. */
export const isBehind = (head: Pick<Head, "seq" | "hash">, { seq, hash }: Noted): boolean =>
  head.seq < seq || (head.seq === seq && head.hash !== hash);

/** Whether the log still holds the record. */
export async function holds(store: Store, log: LogId, { seq, hash }: Noted): Promise<boolean> {
  const [record] = await store.read(log, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
  return record?.hash === hash;
}

/** Whether a log that stands at this head still holds what was met before. */
export async function isStill(store: Store, head: Head, met: Noted): Promise<boolean> {
  if (isBehind(head, met)) return false;
  return head.seq === met.seq || holds(store, head.session, met);
}

/** The hash of the record that a state stands at. Kept with the state. */
const hashes = new WeakMap<State, string>();

export function noteState(state: State, hash: string): State {
  if (hash !== "") hashes.set(state, hash);
  return state;
}

/** What is expected of a log by whoever decided on this state of it. */
export function expectAt(state: State): Exclude<Expect, string> {
  const hash = hashes.get(state);
  return hash === undefined ? { seq: state.seq } : { seq: state.seq, hash };
}

export interface WorkspaceHead extends Noted {
  /** How often it was found set back: whoever keeps what they read of it begins anew when that changes. */
  readonly times: number;
}

/** What this process knew of the log of each workspace. Kept with the store. */
const workspaces = new WeakMap<Store, { last: Noted; times: number; told: number }>();

/** The head of the workspace's log, held against what this process knew of it. */
export async function workspaceHead(store: Store): Promise<WorkspaceHead> {
  const kept = workspaces.get(store) ?? { last: { seq: 0, hash: "" }, times: 0, told: 0 };
  workspaces.set(store, kept);
  const { last } = kept;
  const { seq, hash } = (await store.head(store.workspace)) ?? { seq: 0, hash: "" };
  const isThere =
    last.seq === 0 ||
    (!isBehind({ seq, hash }, last) && (seq === last.seq || (await holds(store, store.workspace, last))));
  if (!isThere && kept.last === last) kept.times += 1;
  if (!isThere ? kept.last === last : seq > kept.last.seq) kept.last = { seq, hash };
  return { seq, hash, times: kept.times };
}

/** Throws once what was found of the workspace's log: it cannot be suspended, and whoever writes is told. */
export function tellWorkspace(store: Store): void {
  const kept = workspaces.get(store);
  if (kept === undefined || kept.told === kept.times) return;
  kept.told = kept.times;
  throw new SkeinError("corrupt", "the log of the workspace was set back: the store lost the end of it", {
    hint: "look at agents, memory and policies, set again what is missing, and do this once more",
  });
}
