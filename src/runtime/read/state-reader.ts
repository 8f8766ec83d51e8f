/**
 * States of sessions: the nearest snapshot, and the events since. Reading writes snapshots, so that the next
 * reader has less to do; their number follows the bytes of the log.
 */
import { fold, recalledBy, recallingTypes } from "../../core/fold.ts";
import { readEvent } from "../../core/event.ts";
import { SkeinError, assert, sessionNotFound } from "../../core/error.ts";
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
import { holdsRecord, isRollbackError, rollbackError, type KnownHead } from "./known-heads.ts";

/** Between two snapshots there are at least this many events … */
const snapshotEventsMin = 256;
/** … and this many times the snapshot's own size in records, so that snapshots stay within 4 % of the log. */
const snapshotShare = 25;
/** Each log on the way costs a read, so a chain of forks gets a snapshot every so many. */
const snapshotForksMax = 16;
/** How many of the last read records keep their hashes. */
const recentMax = 16;
/** The bytes of a record besides its body and content. */
const recordOverheadBytes = 160;

export const recordBytes = (record: {
  readonly body: string;
  readonly contentBytes: number | null;
}): number => recordOverheadBytes + record.body.length + (record.contentBytes ?? 0);

/** A state, and what was added to the log since its last snapshot. */
export interface KnownState {
  readonly state: State;
  /** The hash of the last folded record; empty when there is none, or it is unknown. */
  readonly hash: string;
  /** The hashes of the last read records, to recognize the same log. */
  readonly recent?: readonly KnownHead[];
  readonly events: number;
  readonly bytes: number;
  /** Logs between the snapshot and the state, besides the first. */
  readonly forks: number;
  /** From how many bytes on a snapshot may be due. */
  readonly dueBytes: number;
}

const fresh = (state: State, hash: string): KnownState => ({
  state,
  hash,
  events: 0,
  bytes: 0,
  forks: 0,
  dueBytes: 0,
});

/** The initial state before any read; for a new fork, its parent's state. */
export const unread = (state: State = emptyState): KnownState => fresh(state, "");

export interface StateReader {
  /** The state at a position that exists. */
  at(session: LogId, seq: number): Promise<State>;
  /**
   * From a known state to a later position. Rejects when the log does not hold the known records:
   * `isRollbackError` distinguishes that from other damage.
   */
  advance(session: LogId, from: KnownState, toSeq: number): Promise<KnownState>;
  load(session: LogId, seq: number): Promise<KnownState>;
  /** Writes a snapshot if it is due; returns the updated entry. */
  note(session: LogId, known: KnownState, force?: boolean): KnownState;
  /** Resolves when no snapshot is being written. */
  settled(): Promise<void>;
}

/** States of one session that are held until the store has them, at most. */
const unwrittenMax = 1_000;

export function makeStateReader(store: Store): StateReader {
  const writing = new Set<Promise<void>>();
  // Snapshots that the store does not have yet. Without them every rewind in a log would be folded to its
  // target from the last written one, and every rewind on that way again: time that doubles with each.
  const unwritten = new Map<LogId, Map<number, KnownState>>();

  async function load(session: LogId, seq: number): Promise<KnownState> {
    for (let toSeq = seq; ;) {
      const held = latest(unwritten.get(session), toSeq);
      const stored = readSnapshot(await store.snapshot(session, toSeq));
      const from = held.state.seq >= stored.state.seq ? held : stored;
      try {
        if (from.state.seq === seq && from.hash !== "") await assertHeld(session, from);
        return await advance(session, from, seq);
      } catch (error) {
        if (!isRollbackError(error) || from.state.seq === 0) throw error;
        // Made from lost records: an earlier one may still be valid.
        letGo(session, from);
        toSeq = from.state.seq - 1;
      }
    }
  }

  async function assertHeld(session: LogId, { state: { seq }, hash }: KnownState): Promise<void> {
    if (!(await holdsRecord(store, session, { seq, hash }))) throw rollbackError(session, seq);
  }

  function hold(session: LogId, known: KnownState): void {
    const states = unwritten.get(session) ?? new Map<number, KnownState>();
    unwritten.set(session, states.set(known.state.seq, known));
    const [oldest] = states.keys();
    if (states.size > unwrittenMax && oldest !== undefined) states.delete(oldest);
  }

  function letGo(session: LogId, { state }: KnownState): void {
    const states = unwritten.get(session);
    if (states?.get(state.seq)?.state === state) states.delete(state.seq);
    if (states?.size === 0) unwritten.delete(session);
  }

  async function advance(session: LogId, from: KnownState, toSeq: number): Promise<KnownState> {
    let known = from;
    // Reads the last known record too, so that a fold never continues from another history.
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
      if (!linked && page[0].hash !== known.hash) throw rollbackError(session, fromSeq);
      const next = linked ? page : page.slice(1);
      linked = next.length === 0;
      for (const record of next) {
        if (record.seq !== known.state.seq + 1) throw await missing(session, known.state.seq + 1, false);
        known = await step(session, known, record);
        known = note(session, known, isRecalling(record) || known.forks >= snapshotForksMax);
      }
      known = { ...known, recent: page.slice(-recentMax).map(({ seq, hash }) => ({ seq, hash })) };
    }
    return known;
  }

  /** Another process may have deleted the session between two reads; that is not damage. */
  async function missing(session: LogId, seq: number, wasThere: boolean): Promise<SkeinError> {
    const head = await store.head(session);
    if (head !== undefined)
      return wasThere && head.seq < seq ? rollbackError(session, seq) : gap(session, seq);
    return sessionNotFound(session);
  }

  async function step(session: LogId, known: KnownState, record: StoredRecord): Promise<KnownState> {
    const read = readEvent(record, false);
    let recalled: { readonly seq: number; readonly mind: Mind } | null = null;
    const toSeq = recalledBy(read);
    if (toSeq !== null) {
      if (toSeq >= record.seq) throw gap(session, toSeq);
      recalled = await load(session, toSeq).then(({ state }) => state);
    }
    const state = fold(known.state, read, (seq) => {
      assert(recalled?.seq === seq, `only what an event goes back to is recalled, not ${seq}`);
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

  function note(session: LogId, known: KnownState, force = false): KnownState {
    if (!force && (known.events < snapshotEventsMin || known.bytes < known.dueBytes)) return known;
    const text = snapshotText(known.state);
    const dueBytes = text.length * snapshotShare;
    if (!force && known.bytes < dueBytes) return { ...known, dueBytes };
    const { state, hash } = known;
    hold(session, known);
    // A snapshot that cannot be written only costs memory and time later.
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
function latest(states: ReadonlyMap<number, KnownState> | undefined, seq: number): KnownState {
  let best = unread();
  for (const one of states?.values() ?? [])
    if (one.state.seq <= seq && one.state.seq > best.state.seq) best = one;
  return best.state.seq === 0 ? best : fresh(best.state, best.hash);
}

/** A snapshot names its record, so that it is never taken for one of another history. */
const withHash = (text: string, hash: string): string =>
  hash === "" ? text : `${text.slice(0, -1)},"hash":"${hash}"}`;

/** The state of a snapshot; the empty one when none is usable. A bad snapshot bricks no session. */
function readSnapshot(snapshot: Snapshot | undefined): KnownState {
  if (snapshot === undefined || snapshot.form !== snapshotForm) return unread();
  try {
    const { hash = "", ...state } = parseSnapshot(snapshot.text) as State & { readonly hash?: string };
    return state.seq === snapshot.seq ? fresh(state, hash) : unread();
  } catch {
    return unread();
  }
}

const isRecalling = (record: StoredRecord): boolean => recallingTypes.includes(record.type);

function gap(session: LogId, seq: number): SkeinError {
  return new SkeinError("corrupt", `record ${seq} of ${session} is missing`, {
    hint: `run "skein verify ${session}" to see what is damaged`,
  });
}
