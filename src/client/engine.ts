/** The engine of a server: the library's calls, over HTTP. */
import type { SessionId } from "../core/ids.ts";
import { checkOptions, SkeinError } from "../protocol/library.ts";
import type { Me } from "../protocol/me.ts";
import { operationIds, operationOf, type OperationId } from "../call/operations.ts";
import type { Engine } from "../runtime/engine/engine.ts";
import type { LiveDelta } from "../runtime/turn/live.ts";
import type { Plan, RunPlanOptions, TicketRow } from "../tickets/tickets.ts";
import { callOperation, readGiven } from "./method.ts";
import { madeSession, makeSession, type RemoteSession } from "./session.ts";
import { followStream, wholeEvent } from "./stream.ts";
import type {
  FindTranscriptsOptions,
  TranscriptPreview,
  TranscriptResult,
  TranscriptsFound,
  UploadTranscriptOptions,
} from "./transcripts.ts";
import type { Wire } from "./wire.ts";
import type { SessionEvent } from "../core/event.ts";

/** Calls that need the engine in the same process; call/local.ts has the reasons. */
type LocalCall = "as" | "checkToken" | "model" | "work" | "webhook";
/** Calls that return a handle. */
type OwnCall = "open" | "session" | "fire";

/** Options of `engine.follow`. */
export interface FollowOptions {
  /** A received position; without one it begins with new events. */
  readonly after?: string;
  /** Only this session, its ancestors, and all their forks. */
  readonly family?: string;
  readonly signal?: AbortSignal;
}

/**
 * An update of any log: an event and its position, or a delta of a session, live only. `rollback`: the store
 * fell back to an earlier copy of itself; events after that position are repeated, null is the beginning.
 */
export type FollowUpdate =
  | { readonly event: SessionEvent; readonly position: string }
  | { readonly rollback: string | null }
  | { readonly session: SessionId; readonly delta: LiveDelta };

/** The engine of a server: the library's calls over HTTP. */
export interface RemoteEngine extends Omit<Pick<Engine, keyof Engine>, LocalCall | OwnCall> {
  open(...given: Parameters<Engine["open"]>): Promise<RemoteSession>;
  session(...given: Parameters<Engine["session"]>): Promise<RemoteSession>;
  fire(...given: Parameters<Engine["fire"]>): Promise<RemoteSession>;
  /** Runs a plan on the server, as `runPlan` of `skein/tickets` does in this process. */
  runTickets(plan: Plan | string, options?: RunPlanOptions): Promise<readonly TicketRow[]>;
  /** Lists the tickets of a plan with their status. */
  tickets(plan: Plan | string): Promise<TicketRow[]>;
  /** Finds the sessions of other tools on the server's machine. */
  findTranscripts(options?: FindTranscriptsOptions): Promise<TranscriptsFound>;
  /** The first messages of one of them. */
  previewTranscript(key: string): Promise<TranscriptPreview>;
  /** Imports sessions that were found. */
  importTranscripts(
    keys: readonly string[],
    options?: { readonly again?: boolean },
  ): Promise<readonly TranscriptResult[]>;
  /** Imports the sessions in a file of another tool. */
  uploadTranscript(
    source: AsyncIterable<Uint8Array> | Blob,
    options?: UploadTranscriptOptions,
  ): Promise<readonly TranscriptResult[]>;
  /** The identity of this client at the server, and its scopes. */
  me(): Promise<Me>;
  /** Follows the feed, with deltas. Every event once, until the signal is aborted. */
  follow(options?: FollowOptions): AsyncGenerator<FollowUpdate>;
  /** Aborts this client's requests. The server and its sessions continue. May be called twice. */
  close(): Promise<void>;
}

type EngineCall = Extract<OperationId, `engine.${string}`>;
const engineCalls = operationIds.filter((id): id is EngineCall => operationOf(id).of === "engine");

export function makeEngine(wire: Wire): RemoteEngine {
  const call = (operation: EngineCall, given: readonly unknown[]): Promise<unknown> =>
    callOperation(wire, operation, undefined, given);
  const methods = engineCalls.map((operation) => [
    operationOf(operation).call,
    (...given: readonly unknown[]) => call(operation, given),
  ]);
  const made = async (operation: EngineCall, given: readonly unknown[]): Promise<RemoteSession> =>
    madeSession(wire, await call(operation, given));
  const close = async (): Promise<void> => wire.close();
  return {
    ...(Object.fromEntries(methods) as unknown as RemoteEngine),
    open: (...given) => made("engine.open", given),
    fire: (...given) => made("engine.fire", given),
    session: async (idOrEnding) => makeSession(wire, await findSession(wire, idOrEnding)),
    async sessions({ status, ...rest } = {}) {
      const wanted = typeof status === "string" ? [status] : status;
      const given = wanted === undefined ? rest : { ...rest, status: wanted };
      return (await call("engine.sessions", [given])) as Awaited<ReturnType<Engine["sessions"]>>;
    },
    async delete(idOrEnding, options = {}) {
      await callOperation(wire, "engine.delete", named(idOrEnding), [options]);
    },
    async feed(...given) {
      const page = (await call("engine.feed", given)) as Awaited<ReturnType<Engine["feed"]>>;
      return { ...page, events: page.events.map(wholeEvent) };
    },
    async putBlob(bytes) {
      if (!(bytes instanceof Uint8Array))
        throw new SkeinError("invalid", "putBlob: bytes: expected a Uint8Array");
      const answer = await wire.call("engine.putBlob", {
        body: new Blob([bytes as Uint8Array<ArrayBuffer>]),
      });
      return (answer as { readonly hash: string }).hash;
    },
    async blob(hash) {
      const pieces: Uint8Array<ArrayBuffer>[] = [];
      for await (const piece of wire.bytes("engine.blob", readGiven("engine.blob", [hash])))
        pieces.push(piece as Uint8Array<ArrayBuffer>);
      return new Uint8Array(await new Blob(pieces).arrayBuffer());
    },
    async *export(idOrEnding, options = {}) {
      const asked = readGiven("engine.export", [options]);
      yield* wire.bytes("engine.export", { ...asked, session: named(idOrEnding) });
    },
    async *exportProject(project, options = {}) {
      yield* wire.bytes("engine.exportProject", readGiven("engine.exportProject", [project, options]));
    },
    async import(source, options = {}) {
      const asked = readGiven("engine.import", [options]);
      const answer = await wire.call("engine.import", { ...asked, body: await bodyOf(wire, source) });
      return answer as Awaited<ReturnType<Engine["import"]>>;
    },
    async uploadTranscript(source, options = {}) {
      const asked = readGiven("engine.uploadTranscript", [options]);
      const body = source instanceof Blob ? source : await bodyOf(wire, source);
      const answer = await wire.call("engine.uploadTranscript", { ...asked, body });
      return answer as readonly TranscriptResult[];
    },
    me: async () => (await wire.me()) as Me,
    follow: (options = {}) => follow(wire, options),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function named(idOrEnding: unknown): string {
  if (typeof idOrEnding === "string" && idOrEnding !== "") return idOrEnding;
  throw new SkeinError("invalid", "expected a session id", {
    hint: "pass an id, or a unique id suffix of at least 4 characters",
  });
}

/** A whole id must only exist; the server resolves a suffix. */
async function findSession(wire: Wire, idOrEnding: string): Promise<SessionId> {
  const session = named(idOrEnding);
  if (/^ses_[0-9a-z]{26}$/.test(session)) {
    await wire.call("session.head", { session });
    return session as SessionId;
  }
  return ((await wire.call("engine.session", { session })) as { readonly id: SessionId }).id;
}

/** Streams the bytes, where that is possible; otherwise all at once. */
async function bodyOf(
  wire: Wire,
  source: AsyncIterable<Uint8Array>,
): Promise<Blob | ReadableStream<Uint8Array>> {
  if (wire.world.sendsStreams) return streamOf(source);
  const all: Uint8Array<ArrayBuffer>[] = [];
  for await (const piece of source) all.push(piece as Uint8Array<ArrayBuffer>);
  return new Blob(all);
}

function streamOf(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const pieces: AsyncIterator<Uint8Array, unknown> = source[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(sink) {
      const piece = await pieces.next();
      if (piece.done === true) sink.close();
      else sink.enqueue(piece.value);
    },
    async cancel() {
      await pieces.return?.();
    },
  });
}

async function* follow(wire: Wire, options: FollowOptions): AsyncGenerator<FollowUpdate> {
  checkOptions("follow", options, ["after", "family", "signal"]);
  const { signal, ...params } = options;
  if (isAborted(signal)) return;
  try {
    for await (const item of followStream(wire, "engine.feed", {
      params: { ...params, follow: true },
      signal,
    })) {
      if (item.what === "event") yield { event: item.event, position: item.position };
      else if (item.what === "delta") yield deltaOf(item.delta);
      else if (item.what === "rollback") yield { rollback: item.after };
    }
  } catch (error) {
    if (!isAborted(signal)) throw error;
  }
}

const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

function deltaOf({ session, ...delta }: LiveDelta & { readonly session?: string }): FollowUpdate {
  return { session: session as SessionId, delta };
}
