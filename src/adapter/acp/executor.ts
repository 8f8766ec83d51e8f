/** An executor that is an ACP agent: starts its command, and turns its updates into the port's events. */
import { SkeinError } from "../../core/error.ts";
import { errorText } from "../../core/first-error.ts";
import { version } from "../../core/version.ts";
import type { ExecutorSession, TurnExecutor } from "../../core/turn/executor.ts";
import type { PipedChild, World } from "../../runtime/world.ts";
import { ExecutorEvents } from "./executor-events.ts";
import { makeRpc, RpcError, rpcCode, type RpcConnection } from "./json-rpc.ts";

/** How an operator configures an executor. */
export interface AcpExecutorOptions {
  readonly world: Pick<World, "spawnPiped" | "sleep" | "secret">;
  readonly command: readonly [string, ...string[]];
  /** Variables of this process's environment that it gets besides PATH, HOME and LANG. */
  readonly env?: readonly string[];
  /** For its session: an option of category `model`. */
  readonly model?: string;
  readonly startMs?: number;
  readonly cancelMs?: number;
  readonly parkMs?: number;
}

const startMsDefault = 60_000;
const cancelMsDefault = 5_000;
const parkMsDefault = 600_000;
const lineBytesMax = 67_108_864;
const stderrCharsMax = 2_000;

/** An executor with its parked connections. Dispose it to end them. */
export interface AcpExecutor extends TurnExecutor, AsyncDisposable {}

export function acpExecutor(options: AcpExecutorOptions): AcpExecutor {
  const parked = new Map<string, AcpExecutorSession>();
  const open = new Set<AcpExecutorSession>();
  return {
    command: options.command.join(" "),
    isContained: false,
    parked(session) {
      const found = parked.get(session) ?? null;
      parked.delete(session);
      found?.unpark();
      return found;
    },
    async connect({ session, cwd, id, signal }) {
      const found = parked.get(session);
      parked.delete(session);
      if (found !== undefined) {
        found.unpark();
        return found;
      }
      const made = await AcpExecutorSession.start(
        options,
        { cwd, id, signal },
        {
          parked: (one) => void parked.set(session, one),
          closed: (one) => {
            open.delete(one);
            if (parked.get(session) === one) parked.delete(session);
          },
        },
      );
      open.add(made);
      return made;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...open].map((one) => one.close()));
    },
  };
}

interface Places {
  readonly parked: (session: AcpExecutorSession) => void;
  readonly closed: (session: AcpExecutorSession) => void;
}

class AcpExecutorSession implements ExecutorSession {
  readonly id: string;
  readonly isResumed: boolean;
  readonly #options: AcpExecutorOptions;
  readonly #child: PipedChild;
  readonly #connection: RpcConnection;
  readonly #events: ExecutorEvents;
  readonly #places: Places;
  #parking: AbortController | null = null;
  #isClosed = false;

  private constructor(given: {
    readonly options: AcpExecutorOptions;
    readonly child: PipedChild;
    readonly connection: RpcConnection;
    readonly events: ExecutorEvents;
    readonly places: Places;
    readonly begun: { readonly id: string; readonly isResumed: boolean };
  }) {
    this.#options = given.options;
    this.#child = given.child;
    this.#connection = given.connection;
    this.#events = given.events;
    this.#places = given.places;
    this.id = given.begun.id;
    this.isResumed = given.begun.isResumed;
  }

  static async start(
    options: AcpExecutorOptions,
    { cwd, id, signal }: { readonly cwd: string; readonly id: string | null; readonly signal: AbortSignal },
    places: Places,
  ): Promise<AcpExecutorSession> {
    const { world, command } = options;
    const child = await world
      .spawnPiped(command, { cwd, env: environmentOf(options) })
      .catch((cause: unknown) => {
        throw new SkeinError("unavailable", `${command[0]} cannot be started: ${errorText(cause)}`, {
          hint: "install it, or correct its command in the configuration; Skein downloads nothing",
          cause,
        });
      });
    const events = new ExecutorEvents();
    const complaint = readComplaint(child.stderr);
    const connection = makeRpc({
      input: child.stdout,
      write: (line) => child.write(line),
      lineBytesMax,
      requests: { "session/request_permission": (params) => events.permission(params) },
      notifications: { "session/update": (params) => events.update(params) },
      toError: (error) => new RpcError(rpcCode.internal, errorText(error)),
    });
    void connection
      .serve()
      .catch(() => undefined)
      .then(() => events.lost(`the agent ended${complaint()}`));
    const late = new AbortController();
    const timer = world.sleep(options.startMs ?? startMsDefault, late.signal).then(() => late.abort());
    try {
      const both = AbortSignal.any([signal, late.signal]);
      const begun = await begin(connection, { cwd, id, model: options.model }, both);
      events.begin(begun.id);
      return new AcpExecutorSession({ options, child, connection, events, places, begun });
    } catch (error) {
      child.kill();
      signal.throwIfAborted();
      const reason = late.signal.aborted ? "it did not answer in time" : errorText(error);
      // An agent that answers says what is wrong; one that does not may have printed it.
      const printed = error instanceof RpcError && !late.signal.aborted ? "" : complaint();
      throw new SkeinError("unavailable", `the agent does not start a session: ${reason}${printed}`, {
        hint: loginHint(options),
        cause: error,
      });
    } finally {
      late.abort();
      await timer;
    }
  }

  get isWorking(): boolean {
    return this.#events.isWorking;
  }

  get asking() {
    return this.#events.asking;
  }

  send(prompt: string): void {
    this.#events.prompted();
    const params = { sessionId: this.id, prompt: [{ type: "text", text: prompt }] };
    const answered = this.#connection.request("session/prompt", params);
    answered.then(
      (result) => this.#events.ended((result as { stopReason?: unknown } | null)?.stopReason),
      (error: unknown) => {
        const isLocked = error instanceof RpcError && error.code === rpcCode.authRequired;
        const hint = isLocked ? ` (${loginHint(this.#options)})` : "";
        this.#events.lost(`${errorText(error)}${hint}`, isLocked);
      },
    );
  }

  next(signal: AbortSignal) {
    return this.#events.next(signal);
  }

  decide(call: string, answer: "allow" | "reject"): void {
    this.#events.decide(call, answer);
  }

  async cancel() {
    this.#events.cancelAsking();
    await this.#connection.notify("session/cancel", { sessionId: this.id }).catch(() => undefined);
    const late = new AbortController();
    const { world, cancelMs = cancelMsDefault } = this.#options;
    const timer = world.sleep(cancelMs, late.signal).then(() => late.abort());
    const rest = await this.#events.rest(late.signal);
    const isLate = late.signal.aborted;
    late.abort();
    await timer;
    if (isLate) await this.close();
    return rest;
  }

  park(): void {
    const parking = new AbortController();
    this.#parking = parking;
    this.#places.parked(this);
    const { world, parkMs = parkMsDefault } = this.#options;
    void world.sleep(parkMs, parking.signal).then(() => (parking.signal.aborted ? undefined : this.close()));
  }

  unpark(): void {
    this.#parking?.abort();
    this.#parking = null;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.unpark();
    this.#places.closed(this);
    this.#child.end();
    this.#child.kill();
    await this.#child.exited.catch(() => undefined);
  }
}

/** Resumes or loads the session, if the agent can; else opens a new one. */
async function begin(
  connection: RpcConnection,
  {
    cwd,
    id,
    model,
  }: { readonly cwd: string; readonly id: string | null; readonly model: string | undefined },
  signal: AbortSignal,
): Promise<{ readonly id: string; readonly isResumed: boolean }> {
  const hello = (await connection.request(
    "initialize",
    {
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      clientInfo: { name: "skein", version },
    },
    signal,
  )) as { protocolVersion?: unknown; agentCapabilities?: Capabilities } | null;
  if (hello?.protocolVersion !== 1)
    throw new RpcError(
      rpcCode.internal,
      `protocol version: expected 1, got ${JSON.stringify(hello?.protocolVersion)}`,
    );
  const place = { cwd, mcpServers: [] };
  const { loadSession, sessionCapabilities } = hello.agentCapabilities ?? {};
  const canResume = sessionCapabilities?.resume !== undefined && sessionCapabilities.resume !== null;
  const method = canResume ? "session/resume" : loadSession === true ? "session/load" : null;
  if (id !== null && method !== null) {
    try {
      // The replay of a load is not of this prompt: events before `begin` are dropped.
      await connection.request(method, { sessionId: id, ...place }, signal);
      return { id, isResumed: true };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
    }
  }
  const made = (await connection.request("session/new", place, signal)) as {
    sessionId?: unknown;
    configOptions?: readonly { id?: unknown; category?: unknown }[] | null;
  } | null;
  if (typeof made?.sessionId !== "string")
    throw new RpcError(rpcCode.internal, "session/new returned no sessionId");
  const option = made.configOptions?.find(({ category }) => category === "model");
  if (model !== undefined && option !== undefined) {
    const set = { sessionId: made.sessionId, configId: option.id, value: model };
    await connection.request("session/set_config_option", set, signal);
  }
  return { id: made.sessionId, isResumed: false };
}

interface Capabilities {
  readonly loadSession?: unknown;
  readonly sessionCapabilities?: { readonly resume?: unknown };
}

/** Agents log in by a command of their own, or take a key that the operator passes on. */
function loginHint({ command: [program], env = [] }: AcpExecutorOptions): string {
  const keys =
    env.length === 0 ? 'name the variable of its key under "env" of the executor' : `set ${env.join(" or ")}`;
  return `log in with the command line of ${program}'s vendor, or ${keys}`;
}

/** Little: nothing else of this process is visible to the agent. */
function environmentOf({ world, env = [] }: AcpExecutorOptions): Record<string, string> {
  const names = ["PATH", "HOME", "LANG", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", ...env];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = world.secret(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Keeps the end of what the agent prints for people. */
function readComplaint(stderr: AsyncIterable<Uint8Array>): () => string {
  let text = "";
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of stderr)
      text = (text + decoder.decode(bytes, { stream: true })).slice(-stderrCharsMax);
  };
  read().catch(() => undefined);
  return () => (text.trim() === "" ? "" : `: ${text.trim().slice(-500)}`);
}
