/** Events: records, parsed. */
import type { StoredRecord } from "./chain.ts";
import {
  entryOf,
  isForeign,
  type BodyOf,
  type ContentOf,
  type EventType,
  type SessionEventType,
  type WorkspaceEventType,
} from "./catalog.ts";
import { SkeinError } from "./error.ts";
import type { LogId } from "./ids.ts";
import { upcast } from "./upcast.ts";

interface Envelope {
  readonly session: LogId;
  readonly seq: number;
  readonly at: number;
  readonly v: number;
  readonly actor: string;
  readonly turn: number | null;
  readonly cause: number | null;
  readonly key: string | null;
  readonly contentHash: string | null;
  readonly contentBytes: number | null;
  readonly hash: string;
  /** True if the content was erased. */
  readonly erased: boolean;
}

/** An event by its type. */
export interface EventOf<T extends EventType> extends Envelope {
  readonly type: T;
  readonly body: BodyOf<T>;
  /** Undefined if there is none, if it was erased, or if it was not requested. */
  readonly content: ContentOf<T> | undefined;
}

/** An event of the log of a session. */
export type SessionLogEvent = { [T in SessionEventType]: EventOf<T> }[SessionEventType];
/** An event of the log of a workspace. */
export type WorkspaceEvent = { [T in WorkspaceEventType]: EventOf<T> }[WorkspaceEventType];

/** A record that this program does not understand: it comes from another program, or from a newer Skein. */
export interface OpaqueEvent extends Envelope {
  readonly type: string;
  readonly body: unknown;
  readonly content: unknown;
}

/** Events of the catalog, and records that only another program understands. */
export type SessionEvent = SessionLogEvent | WorkspaceEvent | OpaqueEvent;

export type Understood =
  | { readonly kind: "known"; readonly event: SessionLogEvent | WorkspaceEvent }
  | { readonly kind: "foreign" | "newer"; readonly event: OpaqueEvent };

/** Parses a stored record. `contents` says whether the record includes its content, if it has one. */
export function readEvent(record: StoredRecord, contents: boolean): Understood {
  const body = parse(record, "body", record.body);
  const content = record.content === null ? undefined : parse(record, "content", record.content);
  const erased = contents && record.contentHash !== null && record.content === null;
  const entry = entryOf(record.type);
  if (entry === undefined || record.v > entry.v) {
    const kind = isForeign(record.type) ? "foreign" : "newer";
    return { kind, event: envelope(record, record.type, body, content, erased) };
  }
  const now = record.v === entry.v ? { body, content } : upcast({ ...record, body, content }, entry.v);
  const checked = entry.body.safeParse(now.body);
  if (!checked.success) throw corrupt(record, `its body does not match ${record.type}`, checked.error);
  const event = envelope(record, record.type, now.body, now.content, erased);
  return { kind: "known", event: event as unknown as SessionLogEvent | WorkspaceEvent };
}

/** Parses a record that this program has just validated and written, without validating it again. */
export function trustEvent(record: StoredRecord): Understood {
  const event = envelope(record, record.type, parse(record, "body", record.body), undefined, false);
  if (isForeign(record.type)) return { kind: "foreign", event };
  return { kind: "known", event: event as unknown as SessionLogEvent | WorkspaceEvent };
}

function envelope(
  record: StoredRecord,
  type: string,
  body: unknown,
  content: unknown,
  erased: boolean,
): OpaqueEvent {
  const { session, seq, at, v, actor, turn, cause, key, contentHash, contentBytes, hash } = record;
  return {
    session,
    seq,
    at,
    type,
    v,
    actor,
    turn,
    cause,
    key,
    body,
    content,
    contentHash,
    contentBytes,
    hash,
    erased,
  };
}

function parse(record: StoredRecord, part: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw corrupt(record, `its ${part} is not JSON`, cause);
  }
}

function corrupt(record: StoredRecord, what: string, cause: unknown): SkeinError {
  return new SkeinError("corrupt", `record ${record.seq} of ${record.session} cannot be read: ${what}`, {
    hint: `run "skein verify ${record.session}" to see what is damaged`,
    cause,
  });
}
