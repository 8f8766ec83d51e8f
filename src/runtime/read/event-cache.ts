/** A cache of events for contexts and states, which are read repeatedly. */
import { readRecords } from "./record-pages.ts";
import type { SessionId } from "../../core/ids.ts";
import { blobReference, inflate, makeWhole } from "./content.ts";
import { type ReadSaid, readSaid } from "./projection.ts";
import type { Digest, StoredRecord } from "../../core/chain.ts";
import { readEvent, type SessionLogEvent } from "../../core/event.ts";
import type { TranscriptReading } from "../../core/context/transcript.ts";
import type { Store } from "../../store/port.ts";
import type { StateReader } from "./state-reader.ts";

/**
 * Reads records one by one, and caches recent ones: stepping through positions shows the same items again and
 * again. One read holds no more than can be shown at once.
 */
export async function makeReadSaid(deps: ContextWorld, session: SessionId): Promise<ReadSaid> {
  await freshen(deps, session);
  const add = makeWhole(session);
  return async (seq) => {
    const event = await readOne(deps, session, seq);
    if (event === undefined) return readSaid(deps.store, session, seq);
    add(event);
    return event;
  };
}

export interface ContextWorld {
  readonly store: Store;
  readonly states: Pick<StateReader, "at">;
  readonly world: { readonly digest: Digest };
  /** Saves reading what every step shows. */
  readonly cache?: EventCache;
  /** Counts tokens; without it they are estimated. */
  readonly tokenizer?: { readonly counter: () => Promise<(text: string) => number> };
}

/**
 * Events by log and position. An erasure also removes them here; one of another process is found in the log,
 * see `freshen`.
 */
export interface EventCache {
  /** The head at the last check for erasures; undefined when nothing is cached. */
  checked(session: SessionId): number | undefined;
  setChecked(session: SessionId, headSeq: number): void;
  /** How often something was removed: an earlier read must not be cached afterwards. */
  forgotten(): number;
  get(session: SessionId, seq: number): SessionLogEvent | undefined;
  set(session: SessionId, event: SessionLogEvent): void;
  /** The last read part of a session's transcript, so that a step reads only new events. */
  window(session: SessionId): Window | undefined;
  setWindow(session: SessionId, window: Window): void;
  /** The rendered context of a session, to be continued when its log has grown. */
  render(session: SessionId): CachedRender | undefined;
  setRender(session: SessionId, render: CachedRender): void;
  /** Removes everything, or everything of one session. */
  forget(session?: SessionId): void;
}

/** The events of a transcript up to a position, and the inputs among them. */
export interface Window {
  /** What it was read for: the same boundary, prunes and rewinds. */
  readonly key: string;
  readonly toSeq: number;
  readonly events: readonly SessionLogEvent[];
}

/** A context that was rendered up to a position, with the digest up to each of its parts. */
export interface CachedRender {
  /** What it was rendered for: the same plan, settings and tools. */
  readonly key: string;
  toSeq: number;
  readonly reading: TranscriptReading;
  readonly digests: string[];
  /** Of the JSON of its parts. */
  chars: number;
}

/** Removes the cached events of a session if its log has a newer erasure. */
export async function freshen({ store, cache }: ContextWorld, session: SessionId): Promise<void> {
  if (cache === undefined) return;
  const checked = cache.checked(session);
  const headSeq = (await store.head(session))?.seq ?? 0;
  if (checked === headSeq) return;
  cache.setChecked(session, headSeq);
  if (checked === undefined) return;
  const range = { fromSeq: checked + 1, toSeq: headSeq, limit: 1, contents: false };
  const found = await store.read(session, { ...range, types: ["content.erased"] });
  if (found.length === 0) return;
  cache.forget(session);
  cache.setChecked(session, headSeq);
}

export async function readOne(
  { store, cache }: ContextWorld,
  session: SessionId,
  seq: number,
): Promise<SessionLogEvent | undefined> {
  const known = cache?.get(session, seq);
  if (known !== undefined) return known;
  const forgotten = cache?.forgotten();
  const [record] = await store.read(session, { fromSeq: seq, toSeq: seq, limit: 1, contents: true });
  const event = record === undefined ? undefined : await understand(store, record);
  if (event !== undefined && cache?.forgotten() === forgotten) cache?.set(session, event);
  return event;
}

export async function* readRange(
  store: Store,
  session: SessionId,
  range: readonly [number, number],
  types: readonly string[],
  isPruned: (seq: number) => boolean = () => false,
): AsyncGenerator<SessionLogEvent> {
  for await (const record of readRecords(store, session, range, { types, contents: true })) {
    const event = await understand(store, record, isPruned(record.seq));
    if (event !== undefined) yield event;
  }
}

/** The event of a record, with its whole content; undefined for an unknown type. */
export async function understand(
  store: Store,
  record: StoredRecord,
  isPruned = false,
): Promise<SessionLogEvent | undefined> {
  const { kind, event } = readEvent(record, true);
  if (kind !== "known") return undefined;
  const known = event as SessionLogEvent;
  const reference = blobReference(known.content);
  if (reference === null) return known;
  const { bytes: contentBytes } = reference;
  // Of a pruned output only the length is shown.
  if (isPruned) return { ...known, contentBytes };
  return { ...known, contentBytes, content: await inflate(store, known.content) } as SessionLogEvent;
}

/** Characters of rendered contexts: those of some windows of a million tokens. */
const renderCharsMax = 33_554_432;

/** Sessions with a cached transcript, and sessions with any cached event. */
const windowsMax = 8;
const headsMax = 1_000;

/** A cache of at most so many bytes of contents, the most recently used. */
export function makeEventCache(bytesMax = 8_388_608): EventCache {
  const held = new Map<string, SessionLogEvent>();
  let bytes = 0;
  const sizeOf = (event: SessionLogEvent): number => 500 + 2 * (event.contentBytes ?? 0);
  const drop = (key: string, event: SessionLogEvent): void => {
    held.delete(key);
    bytes -= sizeOf(event);
  };
  const windows = new Map<SessionId, Window>();
  const renders = new Map<SessionId, CachedRender>();
  const heads = new Map<SessionId, number>();
  let forgotten = 0;
  return {
    checked: (session) => heads.get(session),
    forgotten: () => forgotten,
    setChecked(session, headSeq) {
      heads.delete(session);
      heads.set(session, headSeq);
      const [oldest] = heads.keys();
      if (heads.size > headsMax && oldest !== undefined) this.forget(oldest);
    },
    window: (session) => windows.get(session),
    setWindow(session, window) {
      windows.delete(session);
      const total = window.events.reduce((sum, event) => sum + sizeOf(event), 0);
      if (total > bytesMax) return;
      windows.set(session, window);
      const [oldest] = windows.keys();
      if (windows.size > windowsMax && oldest !== undefined) windows.delete(oldest);
    },
    render: (session) => renders.get(session),
    setRender(session, render) {
      renders.delete(session);
      if (render.chars > renderCharsMax) return;
      renders.set(session, render);
      let chars = 0;
      for (const one of renders.values()) chars += one.chars;
      for (const [oldest, one] of renders) {
        if (chars <= renderCharsMax && renders.size <= windowsMax) break;
        renders.delete(oldest);
        chars -= one.chars;
      }
    },
    get(session, seq) {
      const key = `${session} ${seq}`;
      const event = held.get(key);
      if (event === undefined) return undefined;
      held.delete(key);
      held.set(key, event);
      return event;
    },
    set(session, event) {
      const key = `${session} ${event.seq}`;
      const before = held.get(key);
      if (before !== undefined) drop(key, before);
      held.set(key, event);
      bytes += sizeOf(event);
      for (const [oldest, one] of held) {
        if (bytes <= bytesMax) break;
        drop(oldest, one);
      }
    },
    forget(session) {
      forgotten += 1;
      for (const one of session === undefined ? [...windows.keys()] : [session]) windows.delete(one);
      for (const one of session === undefined ? [...renders.keys()] : [session]) renders.delete(one);
      for (const one of session === undefined ? [...heads.keys()] : [session]) heads.delete(one);
      const prefix = session === undefined ? "" : `${session} `;
      for (const [key, event] of held) if (key.startsWith(prefix)) drop(key, event);
    },
  };
}
