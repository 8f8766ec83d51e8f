/**
 * Skein as an agent of the Agent Client Protocol, wire version 1: an editor opens, loads and prompts sessions
 * over one connection. Everything that matters is in the log, so the process may end at any time.
 */
import { SkeinError } from "../../core/error.ts";
import { errorText } from "../../core/first-error.ts";
import type { OpenOptions } from "../../core/session/commands.ts";
import { unsafeDefault } from "../../core/tool/permission.ts";
import { version } from "../../core/version.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { bindingsOf, boundDirectories, openedHere, rebind, type BindingOptions } from "./agent-bindings.ts";
import { params, parseParams, type SessionPlace } from "./agent-params.ts";
import { AttachedSession } from "./agent-session.ts";
import { makeRpc, RpcError, rpcCode, type RpcConnection, type RpcHandler } from "./json-rpc.ts";
import { inputOf } from "./prompt.ts";
import { setMode, settingsOf, settingsUpdates, type ChoosableModel } from "./settings.ts";

/** The wire version that Skein speaks. */
const protocolVersion = 1;
/** The longest message: an image in base64 is one line. */
const lineBytesMax = 67_108_864;
const pageSize = 25;
/** How many sessions one page of a list looks at. */
const scannedMax = 200;

export interface AcpAgentOptions extends BindingOptions {
  readonly engine: () => Promise<Engine>;
  readonly input: AsyncIterable<Uint8Array>;
  readonly write: (line: string) => Promise<void>;
  /** What new sessions are opened with: agent, model, budget, bindings, rules. */
  readonly open: Omit<OpenOptions, "objective" | "from">;
  readonly models: () => Promise<{ readonly byDefault: string; readonly list: readonly ChoosableModel[] }>;
  /** For people: a line on standard error. */
  readonly note: (text: string) => void;
}

/** Serves one connection until the editor closes it. */
export async function serveAcp(options: AcpAgentOptions): Promise<void> {
  const agent = new AcpAgent(options);
  await agent.serve();
}

class AcpAgent {
  readonly #given: AcpAgentOptions;
  readonly #attached = new Map<string, AttachedSession>();
  readonly #connection: RpcConnection;
  #isReady = false;

  constructor(given: AcpAgentOptions) {
    this.#given = given;
    this.#connection = makeRpc({
      input: given.input,
      write: given.write,
      lineBytesMax,
      requests: this.#requests(),
      notifications: {
        "session/cancel": (sent) => {
          const parsed = params.session.safeParse(sent);
          if (parsed.success) this.#attached.get(parsed.data.sessionId)?.cancel();
        },
      },
      toError: rpcError,
    });
  }

  async serve(): Promise<void> {
    try {
      await this.#connection.serve();
    } finally {
      for (const one of this.#attached.values()) one.detach();
    }
  }

  #requests(): Record<string, RpcHandler> {
    const ready =
      (handle: RpcHandler): RpcHandler =>
      async (sent) => {
        if (!this.#isReady) throw new RpcError(rpcCode.invalidRequest, "expected initialize first");
        return handle(sent);
      };
    return {
      initialize: (sent) => this.#initialize(sent),
      authenticate: ready(async () => ({})),
      "session/new": ready((sent) => this.#new(parseParams(params.newSession, sent))),
      "session/load": ready((sent) => this.#open(parseParams(params.openSession, sent), { replay: true })),
      "session/resume": ready((sent) => this.#open(parseParams(params.openSession, sent), { replay: false })),
      "session/list": ready((sent) => this.#list(parseParams(params.list, sent))),
      "session/prompt": ready(async (sent) => {
        const { sessionId, prompt } = parseParams(params.prompt, sent);
        const attached = this.#attachedTo(sessionId);
        return attached.prompt(await inputOf(await this.#given.engine(), prompt));
      }),
      "session/set_mode": ready(async (sent) => {
        const { sessionId, modeId } = parseParams(params.setMode, sent);
        this.#attachedTo(sessionId);
        await setMode(await this.#find(sessionId), modeId);
        return {};
      }),
      "session/set_config_option": ready((sent) => this.#configure(parseParams(params.setConfig, sent))),
      "session/close": ready((sent) => this.#close(parseParams(params.session, sent).sessionId)),
      "session/delete": ready((sent) => this.#delete(parseParams(params.session, sent).sessionId)),
    };
  }

  /** Asked for another version, it answers with its own: the editor decides. */
  async #initialize(sent: unknown): Promise<unknown> {
    const { clientInfo } = parseParams(params.initialize, sent);
    this.#isReady = true;
    this.#given.note(`connected: ${clientInfo?.name ?? "an editor"}`);
    return {
      protocolVersion,
      agentInfo: { name: "skein", title: "Skein", version },
      authMethods: [],
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, audio: false, embeddedContext: true },
        mcpCapabilities: { http: true, sse: false },
        sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, additionalDirectories: {} },
      },
    };
  }

  async #new(place: SessionPlace): Promise<unknown> {
    const engine = await this.#given.engine();
    const { open } = this.#given;
    const session = await engine.open({
      ...open,
      objective: `Help the user with the work in ${place.cwd}`,
      labels: { ...open.labels, ...openedHere },
      bind: [...bindingsOf(place, this.#given), ...(open.bind ?? [])],
      grant: open.grant ?? [unsafeDefault("ask", "unsafe tools ask by default")],
    });
    await this.#attach(session, { replay: false });
    return { sessionId: session.id, ...(await this.#settings(session)) };
  }

  async #open(
    given: SessionPlace & { readonly sessionId: string },
    { replay }: { readonly replay: boolean },
  ): Promise<unknown> {
    const session = await this.#find(given.sessionId);
    await rebind(session, given, this.#given);
    this.#attached.get(session.id)?.detach();
    const attached = await this.#attach(session, { replay });
    const settings = await this.#settings(session);
    // After the answer: what the session was in the middle of.
    this.#connection
      .notify("session/update", titleUpdate(session.id, await nameOf(session)))
      .catch(() => undefined);
    queueMicrotask(() => attached.resume());
    return settings;
  }

  async #attach(session: Session, how: { readonly replay: boolean }): Promise<AttachedSession> {
    const attached = new AttachedSession({
      engine: await this.#given.engine(),
      session,
      connection: this.#connection,
      settings: async (one) => settingsUpdates(await this.#settings(one)),
      failed: (error) => this.#given.note(`session ${session.id}: ${errorText(error)}`),
    });
    await attached.attach(how);
    this.#attached.set(session.id, attached);
    return attached;
  }

  async #settings(session: Session): ReturnType<typeof settingsOf> {
    const { byDefault, list } = await this.#given.models();
    return settingsOf(session, { models: list, byDefault });
  }

  async #configure(given: {
    sessionId: string;
    configId: string;
    value: string | boolean;
  }): Promise<unknown> {
    const { sessionId, configId, value } = given;
    this.#attachedTo(sessionId);
    if (configId !== "model" || typeof value !== "string")
      throw new RpcError(rpcCode.invalidParams, `configId: expected model, got ${JSON.stringify(configId)}`);
    const session = await this.#find(sessionId);
    if ((await session.fold()).standing.model !== value) await session.migrate({ model: value });
    const { configOptions } = await this.#settings(session);
    return { configOptions };
  }

  /** Sessions with a folder, the most recently active first; closed ones are left out. */
  async #list({
    cwd,
    cursor,
  }: {
    cwd?: string | null | undefined;
    cursor?: string | null | undefined;
  }): Promise<unknown> {
    const engine = await this.#given.engine();
    const sessions: object[] = [];
    let next = cursor ?? undefined;
    for (let scanned = 0; scanned < scannedMax && sessions.length < pageSize;) {
      const status = ["open", "running", "suspended", "sleeping"] as const;
      const page = await engine.sessions({
        status,
        limit: pageSize,
        ...(next === undefined ? {} : { cursor: next }),
      });
      scanned += pageSize;
      for (const { session: id, name, objective, activeAt } of page.rows) {
        const [first, ...others] = await boundDirectories(await engine.session(id));
        if (first === undefined || (typeof cwd === "string" && first.path !== cwd)) continue;
        const title = name ?? objective ?? undefined;
        const additionalDirectories = others.map(({ path }) => path);
        const updatedAt = new Date(activeAt).toISOString();
        sessions.push({ sessionId: id, cwd: first.path, additionalDirectories, title, updatedAt });
      }
      next = page.cursor ?? undefined;
      if (next === undefined) break;
    }
    return { sessions, ...(next === undefined ? {} : { nextCursor: next }) };
  }

  /** Cancels what runs and lets go; the session stays in the list. */
  async #close(sessionId: string): Promise<unknown> {
    const attached = this.#attachedTo(sessionId);
    attached.cancel();
    await attached.settled();
    attached.detach();
    this.#attached.delete(sessionId);
    return {};
  }

  /** Archives the session: gone from the list, and kept until it is deleted in Skein. */
  async #delete(sessionId: string): Promise<unknown> {
    const session = await this.#find(sessionId);
    if (this.#attached.has(sessionId)) await this.#close(sessionId);
    await session.interrupt().catch(() => undefined);
    const { status } = (await session.fold()).standing;
    if (status !== "closed" && status !== "archived")
      await session.cancel({ reason: "deleted in the editor" });
    if (status !== "archived") await session.archive({ reason: "deleted in the editor" });
    return {};
  }

  #attachedTo(sessionId: string): AttachedSession {
    const attached = this.#attached.get(sessionId);
    if (attached !== undefined) return attached;
    throw new RpcError(rpcCode.notFound, `session ${sessionId} is not open in this connection`, {
      sessionId,
    });
  }

  /** By its whole id: the editor compares it with the ids of updates. */
  async #find(sessionId: string): Promise<Session> {
    const session = await (await this.#given.engine()).session(sessionId);
    if (session.id === sessionId) return session;
    throw new RpcError(rpcCode.notFound, `there is no session ${sessionId}`, { sessionId });
  }
}

const nameOf = async (session: Session): Promise<string | null> => {
  const { name, objective } = await session.state();
  return name ?? objective;
};

const titleUpdate = (sessionId: string, title: string | null): object => ({
  sessionId,
  update: { sessionUpdate: "session_info_update", title },
});

/** What the engine throws, as the protocol has it. The hint goes with it: a person reads it. */
function rpcError(error: unknown): RpcError {
  if (!(error instanceof SkeinError)) return new RpcError(rpcCode.internal, errorText(error));
  const { code, message, hint } = error;
  const number =
    code === "not-found" ? rpcCode.notFound : code === "invalid" ? rpcCode.invalidParams : rpcCode.internal;
  const text = hint === undefined || code === "not-found" ? message : `${message} (${hint})`;
  return new RpcError(number, text, { code, ...(hint === undefined ? {} : { hint }) });
}
