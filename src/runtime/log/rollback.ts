/**
 * Rolled-back logs: the store had acknowledged records, or shown them to this process, and no longer holds
 * them, or holds others in their place. A fail-over to a replica that was behind does that, and a restored
 * backup. No process continues silently: the session is suspended, the process that detects it gets an error,
 * and a run that began on the lost history stops for good.
 */
import { readRecords } from "../read/record-pages.ts";
import type { Command } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import { isSharedLogId, type LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { rolledBackReason, type State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";
import { holdsRecord, type KnownHead } from "../read/known-heads.ts";
import type { KnownState, StateReader } from "../read/state-reader.ts";

export interface Rollbacks {
  /** How often this process found the log rolled back. */
  times(log: LogId): number;
  /** Throws the finding when the log was rolled back more often than this. */
  assertNone(log: LogId, times: number): void;
  /** The log does not hold these heads. Nothing else is done with it before that is reported. */
  found(log: LogId, heads: readonly KnownHead[]): void;
  /** If a rollback was found and not yet reported, suspends the session and throws; else does nothing. */
  raise(log: LogId): Promise<void>;
  /** The same for a rollback that another component found by its own heads; returns the error to throw. */
  suspendFor(log: LogId, heads: readonly KnownHead[]): Promise<SkeinError>;
}

interface RollbackInput {
  readonly store: Store;
  readonly states: StateReader;
  /** Writes it unless the log has moved on: then false. True also when the session does not allow it. */
  readonly suspend: (log: LogId, known: KnownState, command: Command) => Promise<boolean>;
}

export function makeRollbacks({ store, states, suspend }: RollbackInput): Rollbacks {
  const counts = new Map<LogId, number>();
  const errors = new Map<LogId, SkeinError>();
  /** Found, and not reported yet: the store may be out of reach. */
  const open = new Map<LogId, readonly KnownHead[]>();
  const suspending = new Map<LogId, Promise<SkeinError>>();

  async function suspendFor(log: LogId, heads: readonly KnownHead[]): Promise<SkeinError> {
    const toSeq = heads[0]?.seq ?? 0;
    const common = await commonOf(store, log, heads);
    const tail = { ...(common === null ? {} : { fromSeq: common + 1 }), toSeq };
    for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
      const head = await store.head(log);
      if (head === undefined || isSharedLogId(log)) return lostTail(log, tail, null);
      const known = await states.load(log, head.seq);
      const sure = known.hash === "" ? { ...known, hash: head.hash } : known;
      const command = { do: "suspend", by: "error", tail, reason: reasonOf(tail) } as const;
      const isDone = isSetBack(known.state) || (await isSuspendedSince(store, log, common ?? toSeq));
      if (isDone || (await suspend(log, sure, command))) return lostTail(log, tail, head.seq);
    }
    throw new SkeinError("conflict", `${log} changes too often; retries exhausted`, { hint: "retry later" });
  }

  async function raise(log: LogId): Promise<void> {
    const heads = open.get(log);
    if (heads === undefined) return;
    const going = suspending.get(log) ?? suspendFor(log, heads);
    suspending.set(log, going);
    try {
      const error = await going;
      errors.set(log, error);
      if (open.get(log) === heads) open.delete(log);
      throw error;
    } finally {
      if (suspending.get(log) === going) suspending.delete(log);
    }
  }

  return {
    times: (log) => counts.get(log) ?? 0,
    assertNone(log, times) {
      if ((counts.get(log) ?? 0) === times) return;
      throw errors.get(log) ?? lostTail(log, { toSeq: open.get(log)?.[0]?.seq ?? 0 }, null);
    },
    found(log, heads) {
      counts.set(log, (counts.get(log) ?? 0) + 1);
      open.set(log, heads);
    },
    raise,
    suspendFor,
  };
}

const isSetBack = ({ standing: { status, why } }: State): boolean =>
  status === "suspended" && why?.by === rolledBackReason;

/** The last of these heads that the log still holds; null when it holds none. */
async function commonOf(store: Store, log: LogId, heads: readonly KnownHead[]): Promise<number | null> {
  for (const head of heads) if (await holdsRecord(store, log, head)) return head.seq;
  return null;
}

/** True when it was suspended for a rollback behind this position; it may have been activated since. */
async function isSuspendedSince(store: Store, log: LogId, seq: number): Promise<boolean> {
  const types = ["session.suspended"];
  for await (const { body } of readRecords(store, log, [seq + 1, Infinity], { types }))
    if ("tail" in (JSON.parse(body) as object)) return true;
  return false;
}

interface Tail {
  readonly fromSeq?: number;
  readonly toSeq: number;
}

const whichOf = ({ fromSeq, toSeq }: Tail): string =>
  fromSeq === undefined ? `records up to ${toSeq}` : `records ${fromSeq} to ${toSeq}`;

const reasonOf = (tail: Tail): string =>
  `the store no longer holds ${whichOf(tail)}, which it had acknowledged: a fail-over or a restored backup ` +
  "lost them. Check what they may have done before you continue";

function lostTail(log: LogId, tail: Tail, headSeq: number | null): SkeinError {
  const hint =
    headSeq === null
      ? "a failover or a restored backup lost them; see docs/operating.md"
      : `a failover or a restored backup lost them. To continue: skein activate ${log}`;
  return new SkeinError("corrupt", `${log} was rolled back: the store lost its ${whichOf(tail)}`, { hint });
}
