/**
 * States of sessions: the nearest snapshot, and the events since. Snapshots are written on the way, so that
 * the next reader has less to do; how many there are follows the bytes of the log.
 */
import { fold } from "../../core/fold.ts";
import { readEvent } from "../../core/event.ts";
import { assert, SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import {
  emptyState,
  parseSnapshot,
  snapshotForm,
  snapshotText,
  type Mind,
  type State,
} from "../../core/state.ts";
import type { StoredRecord } from "../../core/chain.ts";
import type { Snapshot, Store } from "../../store/port.ts";
import { holds, isNotAsBefore, notAsBefore, type Noted } from "./known-heads.ts";

/** Between two snapshots there are at least this many events … */
const snapshotEventsMin = 256;
/** … and this many times the snapshot's own size in records, so that snapshots stay within 4 % of the log. */
const snapshotShare = 25;
/** Each log on the way costs a look of its own, so a chain of forks gets a snapshot every so many. */
const snapshotForksMax = 16;
/** Of how many of the records that were read the hashes are told. */
const recentMax = 16;
/** What a record takes besides its body and content. */
const recordOverheadBytes = 160;

export const recordBytes = (record: {
  readonly body: string;
  readonly contentBytes: number | null;
}): number => recordOverheadBytes + record.body.length + (record.contentBytes ?? 0);

/** A state, and what was added to the log since its last snapshot. */
export interface Known {
  readonly state: State;
  /** Of the record that was folded last; empty when there is none, or nobody knows. */
  readonly hash: string;
  /** Of those that were read last, to know by which of them a log is still the same. */
  readonly recent?: readonly Noted[];
  readonly events: number;
  readonly bytes: number;
  /** Logs that the way from the snapshot leads through, besides the first. */
  readonly forks: number;
  /** From how many bytes on it is worth looking whether a snapshot is due. */
  readonly dueBytes: number;
}

const fresh = (state: State, hash: string): Known => ({
  state,
  hash,
  events: 0,
  bytes: 0,
  forks: 0,
  dueBytes: 0,
});

/** What is known before anything is read; for a fork that is to begin, its parent's state. */
export const unread = (state: State = emptyState): Known => fresh(state, "");

export interface StateReader {
  /** The state at a position that exists. */
  at(session: LogId, seq: number): Promise<State>;
  /**
   * From a known state to a later position. Rejects when the log does not hold what is known: `isNotAsBefore`
   * tells that from other damage.
   */
  advance(session: LogId, from: Known, toSeq: number): Promise<Known>;
  load(session: LogId, seq: number): Promise<Known>;
  /** Writes a snapshot if it is due; gives back what is known then. */
  note(session: LogId, known: Known, force?: boolean): Known;
  /** Resolves when no snapshot is being written. */
  settled(): Promise<void>;
}

/** States of one session that are held until the store has them, at most. */
const unwrittenMax = 1_000;

export function makeStateReader(store: Store): StateReader {
  const writing = new Set<Promise<void>>();
  // Snapshots that the store does not have yet. Without them every rewind in a log would be folded to its
  // target from the last one that was written, and every rewind on that way again: time that doubles with
  // each.
  const unwritten = new Map<LogId, Map<number, Known>>();

  async function load(session: LogId, seq: number): Promise<Known> {
    for (let toSeq = seq; ;) {
      const held = latest(unwritten.get(session), toSeq);
      const stored = readSnapshot(await store.snapshot(session, toSeq));
      const from = held.state.seq >= stored.state.seq ? held : stored;
      try {
        if (from.state.seq === seq && from.hash !== "") await assertHeld(session, from);
        return await advance(session, from, seq);
      } catch (error) {
        if (!isNotAsBefore(error) || from.state.seq === 0) throw error;
        // Made of records that are not there any more: an earlier one may be as good as new.
        letGo(session, from);
        toSeq = from.state.seq - 1;
      }
    }
  }

  async function assertHeld(session: LogId, { state: { seq }, hash }: Known): Promise<void> {
    if (!(await holds(store, session, { seq, hash }))) throw notAsBefore(session, seq);
  }

  function hold(session: LogId, known: Known): void {
    const states = unwritten.get(session) ?? new Map<number, Known>();
    unwritten.set(session, states.set(known.state.seq, known));
    const [oldest] = states.keys();
    if (states.size > unwrittenMax && oldest !== undefined) states.delete(oldest);
  }

  function letGo(session: LogId, { state }: Known): void {
    const states = unwritten.get(session);
    if (states?.get(state.seq)?.state === state) states.delete(state.seq);
    if (states?.size === 0) unwritten.delete(session);
  }

  async function advance(session: LogId, from: Known, toSeq: number): Promise<Known> {
    let known = from;
    // The last record that is known is read along, so that nobody goes on from another history.
    let linked = known.hash === "";
    while (known.state.seq < toSeq) {
      const fromSeq = known.state.seq + (linked ? 1 : 0);
      const page = await store.read(session, {
        fromSeq,
        toSeq,
        limit: limit.pageRecordsMax,
        contents: false,
      });
      if (page[0]?.seq !== fromSeq) throw await missing(session, fromSeq, !linked);
      if (!linked && page[0].hash !== known.hash) throw notAsBefore(session, fromSeq);
      const next = linked ? page : page.slice(1);
      linked = next.length === 0;
      for (const record of next) {
        if (record.seq !== known.state.seq + 1) throw await missing(session, known.state.seq + 1, false);
        known = await step(session, known, record);
        known = note(session, known, isRewound(record) || known.forks >= snapshotForksMax);
      }
      known = { ...known, recent: page.slice(-recentMax).map(({ seq, hash }) => ({ seq, hash })) };
    }
    return known;
  }

  /** Another process may have deleted the session between two reads; that is no damage. */
  async function missing(session: LogId, seq: number, wasThere: boolean): Promise<SkeinError> {
    const head = await store.head(session);
    if (head !== undefined) return wasThere && head.seq < seq ? notAsBefore(session, seq) : gap(session, seq);
    return new SkeinError("not-found", `there is no session ${session}`, {
      hint: '"skein ps" lists what there is',
    });
  }

  async function step(session: LogId, known: Known, record: StoredRecord): Promise<Known> {
    const read = readEvent(record, false);
    let recalled: { readonly seq: number; readonly mind: Mind } | null = null;
    if (read.kind === "known" && read.event.type === "session.rewound") {
      const { toSeq } = read.event.body;
      if (toSeq >= record.seq) throw gap(session, toSeq);
      recalled = await load(session, toSeq).then(({ state }) => state);
    }
    const state = fold(known.state, read, (seq) => {
      assert(recalled?.seq === seq, `only the target of a rewind is recalled, not ${seq}`);
      return recalled.mind;
    });
    return {
      ...known,
      state,
      hash: record.hash,
      events: known.events + 1,
      bytes: known.bytes + recordBytes(record),
      forks: known.forks + (record.type === "session.forked" ? 1 : 0),
    };
  }

  function note(session: LogId, known: Known, force = false): Known {
    if (!force && (known.events < snapshotEventsMin || known.bytes < known.dueBytes)) return known;
    const text = snapshotText(known.state);
    const dueBytes = text.length * snapshotShare;
    if (!force && known.bytes < dueBytes) return { ...known, dueBytes };
    const { state, hash } = known;
    hold(session, known);
    // A snapshot that cannot be written costs memory and time later, and nothing else.
    const written = store
      .putSnapshot(session, { seq: state.seq, form: snapshotForm, text: withHash(text, hash) })
      .then(() => letGo(session, known))
      .catch(() => undefined);
    writing.add(written);
    void written.then(() => writing.delete(written));
    return fresh(state, hash);
  }

  return {
    load,
    advance,
    note,
    at: async (session, seq) => (await load(session, seq)).state,
    async settled() {
      while (writing.size > 0) await Promise.all(writing);
    },
  };
}

/** The last of the states that is not past the position. */
function latest(states: ReadonlyMap<number, Known> | undefined, seq: number): Known {
  let best = unread();
  for (const one of states?.values() ?? [])
    if (one.state.seq <= seq && one.state.seq > best.state.seq) best = one;
  return best.state.seq === 0 ? best : fresh(best.state, best.hash);
}

/** A snapshot says which record it was made at, so that it is never taken for one of another history. */
const withHash = (text: string, hash: string): string =>
  hash === "" ? text : `${text.slice(0, -1)},"hash":"${hash}"}`;

/**
 * The state of a snapshot; the empty one when there is none that can be used. A bad snapshot bricks no
 * session.
 */
function readSnapshot(snapshot: Snapshot | undefined): Known {
  if (snapshot === undefined || snapshot.form !== snapshotForm) return unread();
  try {
    const { hash = "", ...state } = parseSnapshot(snapshot.text) as State & { readonly hash?: string };
    return state.seq === snapshot.seq ? fresh(state, hash) : unread();
  } catch {
    return unread();
  }
}

const isRewound = (record: StoredRecord): boolean => record.type === "session.rewound";

function gap(session: LogId, seq: number): SkeinError {
  return new SkeinError("corrupt", `record ${seq} of ${session} is missing`, {
    hint: `run "skein verify ${session}" to see what is damaged`,
  });
}
