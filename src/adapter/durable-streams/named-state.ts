/** The state of a named stream, from its records without their contents. Pure. */
import type { SessionEvent } from "../../core/event.ts";

/** Types of the records of named streams. */
export const recordTypes = {
  created: "x.durable-streams.created",
  data: "x.durable-streams.data",
  closed: "x.durable-streams.closed",
  read: "x.durable-streams.read",
  deleted: "x.durable-streams.deleted",
} as const;

/** An idempotent producer: the newest epoch, and the highest number that was accepted in it. */
export interface Producer {
  readonly id: string;
  readonly epoch: number;
  readonly seq: number;
}

/** How a stream was created, as far as a second PUT is compared with it. */
export interface StreamSettings {
  readonly contentType: string;
  readonly ttlSeconds: number | null;
  readonly expiresAtMs: number | null;
  readonly isClosed: boolean;
  readonly fork: StreamFork | null;
}

/** Where a fork comes from. */
export interface StreamFork {
  /** The session of the source. */
  readonly source: string;
  readonly seq: number;
  /** Messages or bytes of the next append that it has besides. */
  readonly more: number;
}

export interface StreamState {
  /** The position of the last record that it was made of. */
  readonly seq: number;
  /** Null: the stream is not there, or not yet. */
  readonly settings: StreamSettings | null;
  /** The position of the last data. */
  readonly tailSeq: number;
  /** The position of its own first record: what is before belongs to the source of a fork. */
  readonly createdSeq: number;
  readonly usedMs: number;
  readonly isClosed: boolean;
  /** The producer whose append closed it. */
  readonly closedBy: Producer | null;
  readonly lastStreamSeq: string | null;
  readonly producers: ReadonlyMap<string, Producer>;
  readonly isDeleted: boolean;
}

export const emptyStream: StreamState = {
  seq: 0,
  settings: null,
  tailSeq: 0,
  createdSeq: 0,
  usedMs: 0,
  isClosed: false,
  closedBy: null,
  lastStreamSeq: null,
  producers: new Map(),
  isDeleted: false,
};

/** The body of a data record. */
export interface PieceBody {
  /** The bytes, or the messages, that it holds. */
  readonly count: number;
  /** The append continues in the next record. */
  readonly more?: true;
  readonly producer?: Producer;
  readonly streamSeq?: string;
  readonly closes?: true;
}

/** The state after one more record. `forkedSeq`: up to there the records are those of a session before. */
export function foldStream(state: StreamState, event: SessionEvent, forkedSeq: number): StreamState {
  const { seq, at, type } = event;
  const next = { ...state, seq };
  if (type === recordTypes.created) {
    const settings = event.body as StreamSettings;
    // A person's fork of the session has the record of its source: it is not a stream.
    const own = seq > forkedSeq ? settings : null;
    const { isClosed } = settings;
    const fresh = { ...emptyStream, seq, createdSeq: seq, tailSeq: state.tailSeq, usedMs: at };
    return { ...fresh, settings: own, isClosed };
  }
  if (type === recordTypes.data) {
    const { more, producer, streamSeq, closes } = event.body as PieceBody;
    const producers = producer === undefined ? state.producers : withProducer(state.producers, producer);
    return {
      ...next,
      tailSeq: seq,
      usedMs: at,
      producers,
      lastStreamSeq: streamSeq ?? state.lastStreamSeq,
      ...(closes === true && more !== true ? { isClosed: true, closedBy: producer ?? null } : {}),
    };
  }
  if (type === recordTypes.closed) {
    const { producer } = event.body as { readonly producer?: Producer };
    const producers = producer === undefined ? state.producers : withProducer(state.producers, producer);
    return { ...next, usedMs: at, isClosed: true, closedBy: producer ?? null, producers };
  }
  if (type === recordTypes.read) return { ...next, usedMs: at };
  if (type === recordTypes.deleted) return { ...next, isDeleted: true };
  return next;
}

const withProducer = (all: StreamState["producers"], producer: Producer): StreamState["producers"] =>
  new Map(all).set(producer.id, producer);

/** When the stream expires; null: never. `readMs`: the last read that is not in the log yet. */
export function expiryOf({ settings, usedMs }: StreamState, readMs: number): number | null {
  if (settings === null) return null;
  if (settings.expiresAtMs !== null) return settings.expiresAtMs;
  return settings.ttlSeconds === null ? null : Math.max(usedMs, readMs) + settings.ttlSeconds * 1_000;
}

/** Whether a PUT asks for what is there. */
export function isSame(there: StreamSettings, asked: StreamSettings): boolean {
  return (
    there.contentType.toLowerCase() === asked.contentType.toLowerCase() &&
    there.ttlSeconds === asked.ttlSeconds &&
    there.expiresAtMs === asked.expiresAtMs &&
    there.isClosed === asked.isClosed &&
    there.fork?.source === asked.fork?.source &&
    there.fork?.seq === asked.fork?.seq &&
    there.fork?.more === asked.fork?.more
  );
}

/** What the state says of an append by a producer. */
export type AppendVerdict =
  | { readonly is: "new" }
  | { readonly is: "duplicate"; readonly highest: Producer }
  | { readonly is: "stale"; readonly epoch: number }
  | { readonly is: "gap"; readonly expected: number }
  | { readonly is: "not-zero" };

export function judgeProducer({ producers }: StreamState, { id, epoch, seq }: Producer): AppendVerdict {
  const known = producers.get(id);
  if (known === undefined) return seq === 0 ? { is: "new" } : { is: "gap", expected: 0 };
  if (epoch < known.epoch) return { is: "stale", epoch: known.epoch };
  if (epoch > known.epoch) return seq === 0 ? { is: "new" } : { is: "not-zero" };
  if (seq <= known.seq) return { is: "duplicate", highest: known };
  return seq === known.seq + 1 ? { is: "new" } : { is: "gap", expected: known.seq + 1 };
}
