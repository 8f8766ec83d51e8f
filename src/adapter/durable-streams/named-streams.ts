/**
 * Named streams: a session each, found by a label with the digest of the name. Their data are records of the
 * log, checked and written in one append that expects the state it was checked against.
 */
import { hash } from "node:crypto";
import { SkeinError } from "../../core/error.ts";
import { readEvent } from "../../core/event.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { openOnce } from "../open-once.ts";
import { bytesOf, joined, type AppendPiece } from "./named-data.ts";
import {
  emptyStream,
  expiryOf,
  foldStream,
  recordTypes,
  type PieceBody,
  type Producer,
  type StreamSettings,
  type StreamState,
} from "./named-state.ts";

const nameLabel = "durable-streams.stream";
const sourceLabel = "durable-streams.source";
const kindLabels = { "durable-streams.kind": "stream" };
const digestOf = (name: string): string => hash("sha256", name, "hex");
const types: readonly string[] = Object.values(recordTypes);

/** A stream that is there. `isDeleted`: only for its forks. */
export interface NamedStream {
  readonly session: Session;
  readonly state: StreamState;
  readonly settings: StreamSettings;
}

/** What an append writes. */
export interface StreamAppend {
  readonly pieces: readonly AppendPiece[];
  readonly closes: boolean;
  readonly producer: Producer | null;
  readonly streamSeq: string | null;
}

type Store = ReturnType<typeof internalsOf>["store"];

/** What one store's streams were when last looked at. It is only ever behind. */
interface KnownStream {
  readonly states: Map<string, { readonly state: StreamState; readonly forkedSeq: number }>;
  /** By session. */
  readonly names: Map<string, string>;
  /** Reads that are not in the log. */
  readonly reads: Map<string, number>;
  /** By session: the appends of this process wait for each other. */
  readonly lines: Map<string, Promise<unknown>>;
}

const knownMax = 1_000;
const namesMax = 100_000;
const chunkBytes = 1_048_576;

/** Named streams of all stores of a server. */
export class NamedStreams {
  readonly #known = new WeakMap<Store, KnownStream>();

  #of(engine: Engine): KnownStream {
    const { store } = internalsOf(engine);
    const known = this.#known.get(store) ?? newKnown();
    this.#known.set(store, known);
    return known;
  }

  /** The stream of a name; null: there is none. One that has expired is deleted. */
  async find(engine: Engine, name: string): Promise<NamedStream | null> {
    const found = await this.#look(engine, name);
    if (found === null || found.state.isDeleted) return found;
    const { world } = internalsOf(engine);
    const readMs = this.#of(engine).reads.get(found.session.id) ?? 0;
    const expiresMs = expiryOf(found.state, readMs);
    if (expiresMs === null || world.now() < expiresMs) return found;
    await this.delete(engine, found);
    return this.#look(engine, name);
  }

  /** Every stream by its name, without those that were deleted or have expired. */
  async *all(engine: Engine): AsyncGenerator<readonly [name: string, stream: NamedStream]> {
    const { world } = internalsOf(engine);
    const { names, reads } = this.#of(engine);
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = { labels: kindLabels, ...(cursor === undefined ? {} : { cursor }) };
      const { rows, cursor: next } = await engine.sessions(page);
      cursor = next;
      for (const { session: id } of rows) {
        const stream = await orNull(this.#at(engine, id));
        if (stream === null || stream.state.isDeleted) continue;
        const expiresMs = expiryOf(stream.state, reads.get(id) ?? 0);
        if (expiresMs !== null && world.now() >= expiresMs) continue;
        const name = names.get(id) ?? (await nameOf(stream));
        if (name === null) continue;
        names.set(id, name);
        for (const oldest of names.keys()) if (names.size > namesMax) names.delete(oldest);
        yield [name, stream];
      }
    }
  }

  /** The name of a stream by its session; null: it is none. */
  async nameOf(engine: Engine, id: string): Promise<string | null> {
    const known = this.#of(engine).names.get(id);
    if (known !== undefined) return known;
    const stream = await orNull(this.#at(engine, id));
    return stream === null ? null : nameOf(stream);
  }

  async #look(engine: Engine, name: string): Promise<NamedStream | null> {
    const { rows } = await engine.sessions({ labels: { [nameLabel]: digestOf(name) }, limit: 100 });
    for (const { session: id } of rows) {
      const stream = await orNull(this.#at(engine, id));
      if (stream !== null) return stream;
    }
    return null;
  }

  /** The stream of a session, as of its head. */
  async #at(engine: Engine, id: string): Promise<NamedStream | null> {
    const session = await engine.session(id);
    const { store } = internalsOf(engine);
    const { states } = this.#of(engine);
    let { state, forkedSeq } = states.get(session.id) ?? { state: emptyStream, forkedSeq: -1 };
    if (forkedSeq < 0) forkedSeq = (await session.fold()).standing.fork?.seq ?? 0;
    const { seq: headSeq } = await session.head();
    // A restored copy of the store may have fewer records.
    if (state.seq > headSeq) state = emptyStream;
    while (state.seq < headSeq) {
      const range = { fromSeq: state.seq + 1, toSeq: headSeq, limit: limit.pageRecordsMax };
      const page = await store.read(session.id, { ...range, types, contents: false, reverse: false });
      for (const record of page) state = foldStream(state, readEvent(record, false).event, forkedSeq);
      if (page.length < limit.pageRecordsMax) state = { ...state, seq: headSeq };
    }
    states.delete(session.id);
    states.set(session.id, { state, forkedSeq });
    for (const oldest of states.keys()) if (states.size > knownMax) states.delete(oldest);
    return state.settings === null ? null : { session, state, settings: state.settings };
  }

  /** Creates a stream that `find` did not find. Null: another request created it meanwhile. */
  async create(
    engine: Engine,
    name: string,
    { settings, data }: { readonly settings: StreamSettings; readonly data: readonly StreamAppend[] },
  ): Promise<NamedStream | null> {
    const session = await this.#open(engine, name, settings);
    const written = await append(
      session,
      [{ type: recordTypes.created, body: settings, content: { name } }, ...data.flatMap(dataRecords)],
      { key: `${nameLabel}:created` },
    );
    if (written.duplicate) return null;
    return this.#at(engine, session.id);
  }

  async #open(engine: Engine, name: string, { fork }: StreamSettings): Promise<Session> {
    const labels = { ...kindLabels, [nameLabel]: digestOf(name) };
    return openOnce(`${nameLabel}:${digestOf(name)}`, async (key) => {
      if (fork === null) return engine.open({ objective: `Stream ${name}`, labels, key });
      const source = await internalsOf(engine).forRequest({ key }).session(fork.source);
      const more = { ...labels, [sourceLabel]: fork.source };
      const { id } = await source.fork({ labels: more, atSeq: Math.max(fork.seq, 1) });
      return engine.session(id);
    });
  }

  /** Checks and appends. `check` throws, or says what is written; null: nothing. */
  async append<T>(
    engine: Engine,
    name: string,
    check: (stream: NamedStream) => { readonly write: StreamAppend | null; readonly result: T },
  ): Promise<{ readonly stream: NamedStream; readonly result: T } | null> {
    const found = await this.find(engine, name);
    if (found === null) return null;
    return this.#inLine(engine, found.session.id, async () => {
      for (let tries = 1; ; tries++) {
        const stream = await this.#at(engine, found.session.id);
        if (stream === null) return null;
        const { write, result } = check(stream);
        if (write === null) return { stream, result };
        try {
          await append(stream.session, dataRecords(write), { expect: { seq: stream.state.seq } });
          const after = await this.#at(engine, found.session.id);
          return after === null ? null : { stream: after, result };
        } catch (error) {
          const isBehind = error instanceof SkeinError && error.code === "conflict";
          if (!isBehind || tries === triesMax) throw error;
        }
      }
    });
  }

  async #inLine<T>(engine: Engine, id: string, work: () => Promise<T>): Promise<T> {
    const { lines } = this.#of(engine);
    const before = lines.get(id) ?? Promise.resolve();
    const done = before.then(work);
    const line = done.catch(() => null);
    lines.set(id, line);
    try {
      return await done;
    } finally {
      if (lines.get(id) === line) lines.delete(id);
    }
  }

  /** A read keeps a stream with a TTL alive. It is recorded now and then. */
  async touch(engine: Engine, { session, state, settings }: NamedStream): Promise<void> {
    if (settings.ttlSeconds === null || state.isDeleted) return;
    const { reads } = this.#of(engine);
    const nowMs = internalsOf(engine).world.now();
    reads.delete(session.id);
    reads.set(session.id, nowMs);
    for (const oldest of reads.keys()) if (reads.size > knownMax) reads.delete(oldest);
    if (nowMs - state.usedMs < settings.ttlSeconds * 100) return;
    await append(session, [{ type: recordTypes.read, body: {}, content: null }], {});
  }

  /** Deletes a stream. While it has forks, its data stays for them. */
  async delete(engine: Engine, { session, settings, state }: NamedStream): Promise<void> {
    if (await this.#hasForks(engine, session.id)) {
      if (!state.isDeleted)
        await append(session, [{ type: recordTypes.deleted, body: {}, content: null }], {});
      return;
    }
    await engine.delete(session.id, { reason: "the stream was deleted" });
    this.#of(engine).states.delete(session.id);
    const source = settings.fork === null ? null : await orNull(this.#at(engine, settings.fork.source));
    if (source?.state.isDeleted === true) await this.delete(engine, source);
  }

  async #hasForks(engine: Engine, id: string): Promise<boolean> {
    const { rows } = await engine.sessions({ labels: { [sourceLabel]: id }, limit: 100 });
    for (const { session } of rows) if ((await orNull(this.#at(engine, session))) !== null) return true;
    return false;
  }

  /** The data after a position, up to about 1 MiB: whole appends. */
  async read(
    { session, settings, state }: NamedStream,
    afterSeq: number,
  ): Promise<{ readonly bytes: Buffer; readonly seq: number; readonly isUpToDate: boolean }> {
    const appends: Buffer[] = [];
    let open: Buffer[] = [];
    let [seq, room] = [afterSeq, chunkBytes];
    if (afterSeq < state.tailSeq) {
      const range = { fromSeq: afterSeq + 1, toSeq: state.tailSeq, types: [recordTypes.data] };
      for await (const event of session.events(range)) {
        const bytes = bytesOf(event.content);
        open.push(bytes);
        room -= bytes.length;
        if ((event.body as PieceBody).more === true) continue;
        appends.push(Buffer.concat(open));
        open = [];
        ({ seq } = event);
        if (room <= 0) break;
      }
    }
    return { bytes: joined(appends, settings.contentType), seq, isUpToDate: seq >= state.tailSeq };
  }

  /** The first append after a position, and its count of bytes or messages. Null: there is none. */
  async next({ session, state }: NamedStream, afterSeq: number): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    const range = { fromSeq: afterSeq + 1, toSeq: Math.max(state.tailSeq, 1), types: [recordTypes.data] };
    if (afterSeq >= state.tailSeq) return null;
    for await (const event of session.events(range)) {
      parts.push(bytesOf(event.content));
      if ((event.body as PieceBody).more !== true) return Buffer.concat(parts);
    }
    return null;
  }
}

const newKnown = (): KnownStream => ({
  states: new Map(),
  names: new Map(),
  reads: new Map(),
  lines: new Map(),
});

const triesMax = 50;

/** The name that a stream was created with; null when it was erased. */
async function nameOf({ session, state: { createdSeq } }: NamedStream): Promise<string | null> {
  const range = { fromSeq: createdSeq, toSeq: createdSeq, types: [recordTypes.created] };
  for await (const { content } of session.events(range))
    return (content as { readonly name?: string } | undefined)?.name ?? null;
  return null;
}

/** The records of an append: a close alone has no data. */
function dataRecords({ pieces, closes, producer, streamSeq }: StreamAppend): readonly StreamRecord[] {
  const by = producer === null ? {} : { producer };
  if (pieces.length === 0) return closes ? [{ type: recordTypes.closed, body: by, content: null }] : [];
  const order = streamSeq === null ? {} : { streamSeq };
  return pieces.map(({ count, content }, place) => ({
    type: recordTypes.data,
    body: {
      count,
      ...(place < pieces.length - 1 ? { more: true } : {}),
      ...by,
      ...order,
      ...(closes ? { closes } : {}),
    },
    content,
  }));
}

interface StreamRecord {
  readonly type: `x.${string}`;
  readonly body: unknown;
  readonly content: unknown;
}

const append = (
  session: Session,
  records: readonly StreamRecord[],
  options: { readonly key?: string; readonly expect?: { readonly seq: number } },
) => session.append(records, { ...options, verbatim: true });

/** The result; null when the session does not exist any more. */
export async function orNull<T>(work: Promise<T | null>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof SkeinError && error.code === "not-found") return null;
    throw error;
  }
}
