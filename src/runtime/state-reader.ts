/**
 * States of sessions: the nearest snapshot, and the events since. Snapshots are written on the way, so that
 * the next reader has less to do; how many there are follows the bytes of the log.
 */
import { readEvent } from "../core/event.ts";
import { fold } from "../core/fold.ts";
import { assert, SkeinError } from "../core/error.ts";
import type { LogId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import {
  emptyState,
  parseSnapshot,
  snapshotForm,
  snapshotText,
  type Mind,
  type State,
} from "../core/state.ts";
import type { StoredRecord } from "../core/chain.ts";
import type { Snapshot, Store } from "../store/port.ts";

/** Between two snapshots there are at least this many events … */
const snapshotEventsMin = 256;
/** … and this many times the snapshot's own size in records, so that snapshots stay within 4 % of the log. */
const snapshotShare = 25;
/** Each log on the way costs a look of its own, so a chain of forks gets a snapshot every so many. */
const snapshotForksMax = 16;
/** What a record takes besides its body and content. */
const recordOverheadBytes = 160;

export const recordBytes = (record: {
  readonly body: string;
  readonly contentBytes: number | null;
}): number => recordOverheadBytes + record.body.length + (record.contentBytes ?? 0);

/** A state, and what was added to the log since its last snapshot. */
export interface Known {
  readonly state: State;
  readonly events: number;
  readonly bytes: number;
  /** Logs that the way from the snapshot leads through, besides the first. */
  readonly forks: number;
  /** From how many bytes on it is worth looking whether a snapshot is due. */
  readonly dueBytes: number;
}

const fresh = (state: State): Known => ({ state, events: 0, bytes: 0, forks: 0, dueBytes: 0 });

export interface StateReader {
  /** The state at a position that exists. */
  at(session: LogId, seq: number): Promise<State>;
  /** From a known state to a later position. */
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
  const unwritten = new Map<LogId, Map<number, State>>();

  async function load(session: LogId, seq: number): Promise<Known> {
    const held = latest(unwritten.get(session), seq);
    const stored = readSnapshot(await store.snapshot(session, seq));
    return advance(session, fresh(held.seq >= stored.seq ? held : stored), seq);
  }

  function hold(session: LogId, state: State): void {
    const states = unwritten.get(session) ?? new Map<number, State>();
    unwritten.set(session, states.set(state.seq, state));
    const [oldest] = states.keys();
    if (states.size > unwrittenMax && oldest !== undefined) states.delete(oldest);
  }

  function letGo(session: LogId, state: State): void {
    const states = unwritten.get(session);
    if (states?.get(state.seq) === state) states.delete(state.seq);
    if (states?.size === 0) unwritten.delete(session);
  }

  async function advance(session: LogId, from: Known, toSeq: number): Promise<Known> {
    let known = from;
    while (known.state.seq < toSeq) {
      const fromSeq = known.state.seq + 1;
      const page = await store.read(session, {
        fromSeq,
        toSeq,
        limit: limit.pageRecordsMax,
        contents: false,
      });
      if (page[0]?.seq !== fromSeq) throw await missing(session, fromSeq);
      for (const record of page) {
        if (record.seq !== known.state.seq + 1) throw await missing(session, known.state.seq + 1);
        known = await step(session, known, record);
        known = note(session, known, isRewound(record) || known.forks >= snapshotForksMax);
      }
    }
    return known;
  }

  /** Another process may have deleted the session between two reads; that is no damage. */
  async function missing(session: LogId, seq: number): Promise<SkeinError> {
    if ((await store.head(session)) !== undefined) return gap(session, seq);
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
    const { state } = known;
    hold(session, state);
    // A snapshot that cannot be written costs memory and time later, and nothing else.
    const written = store
      .putSnapshot(session, { seq: state.seq, form: snapshotForm, text })
      .then(() => letGo(session, state))
      .catch(() => undefined);
    writing.add(written);
    void written.then(() => writing.delete(written));
    return fresh(state);
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
function latest(states: ReadonlyMap<number, State> | undefined, seq: number): State {
  let best = emptyState;
  for (const state of states?.values() ?? []) if (state.seq <= seq && state.seq > best.seq) best = state;
  return best;
}

/**
 * The state of a snapshot; the empty one when there is none that can be used. A bad snapshot bricks no
 * session.
 */
function readSnapshot(snapshot: Snapshot | undefined): State {
  if (snapshot === undefined || snapshot.form !== snapshotForm) return emptyState;
  try {
    const state = parseSnapshot(snapshot.text);
    return state.seq === snapshot.seq ? state : emptyState;
  } catch {
    return emptyState;
  }
}

const isRewound = (record: StoredRecord): boolean => record.type === "session.rewound";

function gap(session: LogId, seq: number): SkeinError {
  return new SkeinError("corrupt", `record ${seq} of ${session} is missing`, {
    hint: `run "skein verify ${session}" to see what is damaged`,
  });
}
