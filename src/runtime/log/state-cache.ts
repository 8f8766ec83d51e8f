/**
 * The newest states of sessions that this process knows: cached, brought up to the head on demand, and
 * compared with the known heads, so that another history is never taken for the same log.
 */
import type { Command } from "../../core/command.ts";
import { SkeinError, sessionNotFound } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { makeCache } from "../../core/cache.ts";
import type { Store } from "../../store/port.ts";
import {
  holdsRecord,
  isBehind,
  isRollbackError,
  makeNotedHeads,
  rollbackError,
  noteState,
  type KnownHead,
} from "../read/known-heads.ts";
import { makeRollbacks } from "./rollback.ts";
import type { KnownState, StateReader } from "../read/state-reader.ts";

/** The minimum number of cached states; at most twice as many. */
const cachedSessionsMin = 500;

export interface Newest {
  /** The last known state; undefined when it is not cached. */
  known(log: LogId): KnownState | undefined;
  keep(log: LogId, known: KnownState): KnownState;
  forget(log: LogId): void;
  /** The known state, brought up to the head of the log. Rejects with `corrupt` after a rollback. */
  refresh(log: LogId): Promise<KnownState>;
  /** How often this process found the log rolled back. */
  times(log: LogId): number;
  /** Throws the finding when the log was rolled back more often than this. */
  assertNone(log: LogId, times: number): void;
  /**
   * A component knew this head, and the log does not hold it: suspends the session. Returns the error to
   * throw.
   */
  suspendRolledBack(log: LogId, head: KnownHead): Promise<SkeinError>;
}

export interface NewestOptions {
  readonly store: Store;
  readonly states: StateReader;
  /** As `makeRollbacks` needs it. */
  readonly suspend: (log: LogId, known: KnownState, command: Command) => Promise<boolean>;
  /** Called for a rolled-back log, to drop other caches of it. */
  readonly forget: ((log: LogId) => void) | undefined;
}

export function makeNewest({ store, states, suspend, forget }: NewestOptions): Newest {
  const cache = makeCache<LogId, KnownState>(cachedSessionsMin);
  const noted = makeNotedHeads();
  const rollbacks = makeRollbacks({ store, states, suspend });

  function keep(log: LogId, known: KnownState): KnownState {
    for (const one of known.recent ?? []) noted.note(log, one);
    noted.note(log, { seq: known.state.seq, hash: known.hash });
    // An earlier read may arrive later.
    if ((cache.get(log)?.state.seq ?? 0) > known.state.seq) return known;
    cache.set(log, known);
    return known;
  }

  async function refresh(log: LogId): Promise<KnownState> {
    await rollbacks.raise(log);
    // Before the head is read, so that the log must hold them.
    const times = rollbacks.times(log);
    const heads = [...noted.of(log)];
    const known = cache.get(log);
    try {
      return await read(log, known, heads[0]);
    } catch (error) {
      if (!isRollbackError(error) || heads.length === 0) throw error;
    }
    // When several find it at once, one report is enough.
    if (rollbacks.times(log) === times) {
      noted.forget(log);
      cache.delete(log);
      forget?.(log);
      rollbacks.found(log, heads);
    }
    await rollbacks.raise(log);
    rollbacks.assertNone(log, times);
    throw new Error("invariant: what was found is thrown");
  }

  async function read(
    log: LogId,
    known: KnownState | undefined,
    last: KnownHead | undefined,
  ): Promise<KnownState> {
    const head = await store.head(log);
    if (head === undefined) {
      cache.delete(log);
      throw sessionNotFound(log);
    }
    if (last !== undefined && isBehind(head, last)) throw rollbackError(log, last.seq);
    const newest = await (known === undefined
      ? states.load(log, head.seq)
      : states.advance(log, known, head.seq));
    const isRead = known !== undefined || last === undefined || last.seq === head.seq;
    if (!isRead && !(await holdsRecord(store, log, last))) throw rollbackError(log, last.seq);
    const sure = newest.hash === "" ? { ...newest, hash: head.hash } : newest;
    noteState(sure.state, sure.hash);
    return keep(log, sure);
  }

  return {
    known: cache.get,
    keep,
    forget: cache.delete,
    refresh,
    times: rollbacks.times,
    assertNone: rollbacks.assertNone,
    async suspendRolledBack(log, head) {
      // Checks this process's own state first.
      const own: unknown = await refresh(log).catch((error: unknown) => error);
      return own instanceof SkeinError && own.code === "corrupt" ? own : rollbacks.suspendFor(log, [head]);
    },
  };
}
