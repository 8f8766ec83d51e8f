/**
 * The newest states of sessions as this process knows them: kept at hand, brought up to the head when asked
 * for, and held against what was known before, so that no other history is taken for the same log.
 */
import type { Command } from "../../core/command.ts";
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { makeKept } from "../../core/cache.ts";
import type { Store } from "../../store/port.ts";
import {
  holds,
  isBehind,
  isNotAsBefore,
  makeNotedHeads,
  notAsBefore,
  noteState,
  type Noted,
} from "../read/known-heads.ts";
import { makeSetBacks } from "./rollback.ts";
import type { Known, StateReader } from "../read/state-reader.ts";

/** Sessions whose state is kept at hand, at least; at most twice as many. */
const cachedSessionsMin = 500;

export interface Newest {
  /** As it was known last; undefined when it is not at hand. */
  known(log: LogId): Known | undefined;
  keep(log: LogId, known: Known): Known;
  forget(log: LogId): void;
  /** What is known, brought up to the head of the log. Rejects with `corrupt` when it was set back. */
  refresh(log: LogId): Promise<Known>;
  /** How often this process found the log set back. */
  times(log: LogId): number;
  /** Throws what was found, if anything was since it had been found so often. */
  assertNone(log: LogId, times: number): void;
  /** Somebody knew this head, and the log does not hold it: it is suspended for it. Gives what to throw. */
  setBack(log: LogId, head: Noted): Promise<SkeinError>;
}

export interface NewestOptions {
  readonly store: Store;
  readonly states: StateReader;
  /** As `makeSetBacks` needs it. */
  readonly suspend: (log: LogId, known: Known, command: Command) => Promise<boolean>;
  /** Told of a log that was set back, to forget what was kept of it elsewhere. */
  readonly forget: ((log: LogId) => void) | undefined;
}

export function makeNewest({ store, states, suspend, forget }: NewestOptions): Newest {
  const cache = makeKept<LogId, Known>(cachedSessionsMin);
  const noted = makeNotedHeads();
  const setBacks = makeSetBacks({ store, states, suspend });

  function keep(log: LogId, known: Known): Known {
    for (const one of known.recent ?? []) noted.note(log, one);
    noted.note(log, { seq: known.state.seq, hash: known.hash });
    // What was read earlier may come in later.
    if ((cache.get(log)?.state.seq ?? 0) > known.state.seq) return known;
    cache.set(log, known);
    return known;
  }

  async function refresh(log: LogId): Promise<Known> {
    await setBacks.tell(log);
    // Before the head is read, so that the log must hold them.
    const times = setBacks.times(log);
    const heads = [...noted.of(log)];
    const known = cache.get(log);
    try {
      return await read(log, known, heads[0]);
    } catch (error) {
      if (!isNotAsBefore(error) || heads.length === 0) throw error;
    }
    // Of those who find it at once, one is enough to say so.
    if (setBacks.times(log) === times) {
      noted.forget(log);
      cache.delete(log);
      forget?.(log);
      setBacks.found(log, heads);
    }
    await setBacks.tell(log);
    setBacks.assertNone(log, times);
    throw new Error("invariant: what was found is thrown");
  }

  async function read(log: LogId, known: Known | undefined, last: Noted | undefined): Promise<Known> {
    const head = await store.head(log);
    if (head === undefined) {
      cache.delete(log);
      throw new SkeinError("not-found", `there is no session ${log}`, {
        hint: '"skein ps" lists what there is',
      });
    }
    if (last !== undefined && isBehind(head, last)) throw notAsBefore(log, last.seq);
    const newest = await (known === undefined
      ? states.load(log, head.seq)
      : states.advance(log, known, head.seq));
    const isRead = known !== undefined || last === undefined || last.seq === head.seq;
    if (!isRead && !(await holds(store, log, last))) throw notAsBefore(log, last.seq);
    const sure = newest.hash === "" ? { ...newest, hash: head.hash } : newest;
    noteState(sure.state, sure.hash);
    return keep(log, sure);
  }

  return {
    known: cache.get,
    keep,
    forget: cache.delete,
    refresh,
    times: setBacks.times,
    assertNone: setBacks.assertNone,
    async setBack(log, head) {
      // What this process believes itself is looked after first.
      const own: unknown = await refresh(log).catch((error: unknown) => error);
      return own instanceof SkeinError && own.code === "corrupt" ? own : setBacks.told(log, [head]);
    },
  };
}
