/** A session of a server: the calls of the library's handle, over HTTP. It holds only the id. */
import { present } from "../core/present.ts";
import type { ForkOptions } from "../core/branch/commands.ts";
import type { StoredRecord } from "../core/chain.ts";
import type { SessionId } from "../core/ids.ts";
import { parseSnapshot, SkeinError } from "../protocol/library.ts";
import { operationIds, operationOf, type OperationId } from "../call/operations.ts";
import type { SessionUpdate, SessionRun } from "../runtime/turn/ask.ts";
import { runOf } from "./run.ts";
import type { CarryOver } from "../runtime/branch/carry-over.ts";
import type { EventsOptions } from "../runtime/read/event-reader.ts";
import type { MergeAnswer } from "../runtime/branch/merge-answer.ts";
import type { MergeOptions, MergeReport } from "../runtime/branch/merge.ts";
import type { RunResult, RunOptions } from "../runtime/turn/runner.ts";
import type { Session } from "../runtime/engine/session.ts";
import type { SessionView } from "../runtime/engine/view.ts";
import { callOperation, readGiven } from "./method.ts";
import { followStream, wholeEvent } from "./stream.ts";
import type { Wire } from "./wire.ts";
import type { SessionEvent } from "../core/event.ts";

/** Calls that need the engine in the same process; call/local.ts has the reasons. */
type LocalCall = "drive" | "lease";
/** Calls that return a handle, or take fewer options. */
type OwnCall = "fork" | "clear" | "rollover" | "split" | "load" | "run" | "watch";
/** Aborted: the wait ends. The run continues; interrupt it to end it. */
type WaitOptions = Pick<RunOptions, "signal">;

/** A session of a server: the library's calls over HTTP. */
export interface RemoteSession extends Omit<Pick<Session, keyof Session>, LocalCall | OwnCall> {
  fork(...given: Parameters<Session["fork"]>): Promise<RemoteSession>;
  clear(...given: Parameters<Session["clear"]>): Promise<RemoteSession>;
  rollover(...given: Parameters<Session["rollover"]>): Promise<RemoteSession>;
  split(...given: Parameters<Session["split"]>): Promise<RemoteSession>;
  load(...given: Parameters<Session["load"]>): Promise<RemoteView>;
  run(options?: WaitOptions): Promise<RunResult>;
  watch(options?: WaitOptions): SessionRun;
}

/** A session as it was at a position. Read-only; to continue from here, fork or rewind. */
export interface RemoteView extends Omit<Pick<SessionView, keyof SessionView>, "session" | "fork"> {
  readonly session: RemoteSession;
  fork(options?: ForkOptions): Promise<RemoteSession>;
}

type SessionCall = Extract<OperationId, `session.${string}`>;
const sessionCalls = operationIds.filter((id): id is SessionCall => operationOf(id).of === "session");

/** The response of a call that makes a session. */
export interface MadeAnswer {
  readonly session: SessionId;
  readonly carriedOver?: CarryOver;
}

export const madeSession = (wire: Wire, answer: unknown): RemoteSession => {
  const { session, carriedOver = null } = answer as MadeAnswer;
  return makeSession(wire, session, carriedOver);
};

export function makeSession(wire: Wire, id: SessionId, carriedOver: CarryOver | null = null): RemoteSession {
  const call = (operation: SessionCall, given: readonly unknown[]): Promise<unknown> =>
    callOperation(wire, operation, id, given);
  const methods = sessionCalls.map((operation) => [
    operationOf(operation).call,
    (...given: readonly unknown[]) => call(operation, given),
  ]);
  const made = async (operation: SessionCall, given: readonly unknown[]): Promise<RemoteSession> =>
    madeSession(wire, await call(operation, given));
  const session: RemoteSession = {
    ...(Object.fromEntries(methods) as unknown as RemoteSession),
    id,
    carriedOver,
    fork: (...given) => made("session.fork", given),
    clear: (...given) => made("session.clear", given),
    rollover: (...given) => made("session.rollover", given),
    split: (...given) => made("session.split", given),
    async fold(...given) {
      return parseSnapshot(JSON.stringify(await call("session.fold", given)));
    },
    async contracts() {
      const list = (await call("session.contracts", [])) as Awaited<ReturnType<Session["contracts"]>>;
      // JSON has no `undefined`: an erased schema becomes explicit.
      return list.map((one) => ({ ...one, schema: one.schema }));
    },
    async load(...given) {
      const { seq } = (await call("session.load", given)) as { readonly seq: number };
      return makeView(session, seq);
    },
    merge: (options) => merge(wire, session, options),
    events: (...[options = {}]) => readEvents(wire, id, options),
    records: () => readRecords(wire, id),
    ask: (...given) => runOf(ask(wire, id, given)),
    watch: (options = {}) => runOf(watch(wire, session, options)),
  };
  return session;
}

function makeView(session: RemoteSession, seq: number): RemoteView {
  return {
    session,
    seq,
    state: () => session.state({ atSeq: seq }),
    items: () => session.items({ atSeq: seq }),
    events: (...[options = {}]) => session.events({ ...options, toSeq: Math.min(seq, options.toSeq ?? seq) }),
    fork: (options = {}) => session.fork({ ...options, atSeq: seq }),
    rewind: (options) => session.rewind(seq, options),
  };
}

/** The resolver runs here: on the current conflicts, and again if they changed before the write. */
async function merge(wire: Wire, session: RemoteSession, options: MergeOptions): Promise<MergeReport> {
  const ask = (given: MergeOptions, expectSeq?: number): Promise<MergeReport> =>
    wire.call("session.merge", {
      ...readGiven("session.merge", [given]),
      session: session.id,
      expectSeq,
    }) as Promise<MergeReport>;
  if (typeof (options as MergeOptions | null)?.resolve !== "function") return ask(options);
  const { resolve, ...rest } = options as MergeOptions & { readonly resolve: Resolver };
  const known = new Map<string, MergeAnswer | undefined>();
  for (;;) {
    const { seq } = await session.head();
    const { conflicts } = await ask({ ...rest, dryRun: true });
    const answers: Record<string, MergeAnswer> = {};
    for (const conflict of conflicts) {
      const name = JSON.stringify(conflict);
      const answer = known.has(name) ? known.get(name) : await resolve(conflict);
      known.set(name, answer);
      if (answer !== undefined) answers[conflict.name] = answer;
    }
    try {
      return await ask({ ...rest, resolve: answers }, seq);
    } catch (error) {
      if (!hasGoneOn(error)) throw error;
    }
  }
}

type Resolver = Extract<MergeOptions["resolve"], (...given: never) => unknown>;

const hasGoneOn = (error: unknown): boolean =>
  error instanceof SkeinError &&
  (error.cause as { readonly code?: unknown } | undefined)?.code === "precondition-failed";

/** One key for all connections: the input is written once, however often it is sent. */
async function* ask(
  wire: Wire,
  session: string,
  given: readonly unknown[],
): AsyncGenerator<SessionUpdate, RunResult> {
  const asked = readGiven("session.ask", given);
  return yield* heardOf(
    followStream(wire, "session.ask", { key: wire.world.newKey(), ...present(asked), session }),
  );
}

async function* watch(
  wire: Wire,
  session: RemoteSession,
  options: WaitOptions,
): AsyncGenerator<SessionUpdate, RunResult> {
  const asked = readGiven("session.watch", [options]);
  // Everything from now on, including what arrives during a reconnect.
  const { seq } = await session.head();
  const from = { ...asked, session: session.id, lastId: String(seq) };
  return yield* heardOf(followStream(wire, "session.watch", from));
}

async function* heardOf(telling: ReturnType<typeof followStream>): AsyncGenerator<SessionUpdate, RunResult> {
  for await (const item of telling) {
    if (item.what === "ran") return item.ran;
    if (item.what === "event") yield item.event;
    else if (item.what === "delta") yield item.delta;
  }
  throw new SkeinError("unavailable", "the stream ended before the run did");
}

const pageEvents = 500;

async function* readEvents(
  wire: Wire,
  session: string,
  options: EventsOptions,
): AsyncGenerator<SessionEvent> {
  const { params, most, since, until, signal } = readOptions(options);
  if (most === 0 || isAborted(signal)) return;
  if (options.follow !== true) {
    const end = present({ until });
    yield* readPages(
      wire,
      session,
      { ...params, ...end },
      { most, reverse: options.reverse === true, signal },
    );
    return;
  }
  let left = most;
  const asked = { session, params: { ...params, deltas: false }, signal };
  try {
    for await (const item of followStream(wire, "session.events", asked)) {
      if (item.what !== "event") continue;
      if (item.event.at >= (until ?? Infinity)) return;
      // The server counts from where the log was when the stream began.
      if (item.event.at < since) continue;
      yield item.event;
      left -= 1;
      if (left === 0) return;
    }
  } catch (error) {
    if (!isAborted(signal)) throw error;
  }
}

const isAborted = (signal: AbortSignal | undefined): boolean => signal?.aborted === true;

/** Count and end are tracked here: a stream has many connections, and a read many pages. */
function readOptions(options: EventsOptions) {
  for (const name of ["fromSeq", "toSeq", "limit"] as const) {
    const value = options[name];
    if (value === undefined || (Number.isInteger(value) && value >= 1)) continue;
    const expected = Number.isInteger(value) ? "at least 1" : "an integer";
    throw new SkeinError("invalid", `events: ${name}: expected ${expected}, got ${value}`);
  }
  if (options.reverse === true && options.follow === true) {
    throw new SkeinError("invalid", "events: reverse: not allowed with follow");
  }
  const { since, until, limit: most = Infinity, ...rest } = options;
  const from = since === undefined ? {} : { since: momentOf("since", since) };
  const { params = {}, signal } = readGiven("session.events", [{ ...rest, ...from }]);
  const end = until === undefined ? undefined : momentOf("until", until);
  return { params, most, signal, since: from.since ?? -Infinity, until: end };
}

function momentOf(name: string, value: number | Date): number {
  const ms = value instanceof Date ? value.getTime() : value;
  if (typeof ms === "number" && Number.isFinite(ms)) return ms;
  throw new SkeinError("invalid", `events: ${name}: expected a time`, {
    hint: "pass a Date, or milliseconds since 1970",
  });
}

interface PageOptions {
  readonly most: number;
  readonly reverse: boolean;
  readonly signal: AbortSignal | undefined;
}

async function* readPages(
  wire: Wire,
  session: string,
  params: Readonly<Record<string, unknown>>,
  { most, reverse, signal }: PageOptions,
): AsyncGenerator<SessionEvent> {
  let left = most;
  let place: Readonly<Record<string, unknown>> = {};
  let at: number | null = null;
  for (;;) {
    const count = { limit: Math.min(left, pageEvents) };
    const page = (await wire.call("session.events", {
      session,
      params: { ...params, ...place, ...count },
      signal,
    })) as { readonly events: readonly SessionEvent[]; readonly next: number | null };
    for (const event of page.events) yield wholeEvent(event);
    left -= page.events.length;
    if (page.next === null || left <= 0) return;
    if (page.next === at)
      throw new SkeinError("corrupt", `events: the page from ${at} repeats the previous page`);
    at = page.next;
    place = reverse ? { toSeq: page.next } : { fromSeq: page.next };
  }
}

async function* readRecords(wire: Wire, session: string): AsyncGenerator<StoredRecord> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of wire.bytes("session.records", { session })) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as StoredRecord;
  }
}
