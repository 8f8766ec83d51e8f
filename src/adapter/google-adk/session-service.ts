/**
 * A session service of the Agent Development Kit. A drawer: its sessions and events are kept verbatim, one
 * session here for each of its sessions; state of an app or a user is in separate sessions.
 */
import { SkeinError } from "../../core/error.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { makeDrawers, type Drawer } from "../drawer.ts";
import { listPage, type ListOptions, type SessionsList } from "./list-page.ts";
import {
  foldEvents,
  mergeStates,
  recentEvents,
  splitState,
  storedEvent,
  toJson,
  type AdkState,
} from "./state.ts";

/** An event of the kit: what this service reads of it. All its fields are kept. */
export interface AdkEvent {
  readonly id: string;
  readonly timestamp: number;
  readonly partial?: boolean | undefined;
  readonly actions?: { readonly stateDelta?: AdkState };
}

/** A session of the kit. `appendEvent` changes the caller's. */
export interface AdkSession {
  readonly id: string;
  readonly appName: string;
  readonly userId: string;
  readonly state: AdkState;
  readonly events: readonly AdkEvent[];
  lastUpdateTime: number;
}

/** The class `BaseSessionService` of `@google/adk`. */
export type AdkClass<T extends object> = abstract new () => T;

interface SessionKey {
  readonly appName: string;
  readonly userId: string;
  readonly sessionId: string;
}

interface Append {
  readonly session: AdkSession;
  readonly event: AdkEvent;
}

/** The part of the base class that is used here: it changes the caller's session. */
type Kit = new () => { appendEvent(request: Append): Promise<AdkEvent> };

/**
 * Makes a session service for a `Runner` of `@google/adk`, from its class `BaseSessionService`.
 */
export function keepAdkSessions<T extends object>(kitClass: AdkClass<T>, engine: Engine): T {
  const store = makeStore(engine);
  class SkeinSessions extends (kitClass as unknown as Kit) {
    createSession = store.create;
    getSession = store.get;
    listSessions = store.list;
    deleteSession = store.delete;

    /** The event is durable before the caller's session changes. */
    override async appendEvent({ session, event }: Append): Promise<AdkEvent> {
      if (event.partial === true) return event;
      await store.append(session, event);
      const appended = await super.appendEvent({ session, event });
      session.lastUpdateTime = event.timestamp;
      return appended;
    }
  }
  return new SkeinSessions() as unknown as T;
}

const adapter = "google-adk";

function makeStore(engine: Engine) {
  const sessions = makeDrawers(engine, {
    adapter,
    kind: "session",
    nouns: ["created", "event"],
    objective: () => "A session of the Agent Development Kit.",
  });
  const scopes = makeDrawers(engine, {
    adapter,
    kind: "scope",
    nouns: ["state"],
    objective: () => "State of an app or a user of the Agent Development Kit.",
  });

  async function readScope(scope: readonly string[]): Promise<AdkState> {
    const drawer = await scopes.find(JSON.stringify(scope));
    if (drawer === null) return {};
    const deltas: AdkState[] = [];
    for await (const { value } of drawer.read(1)) deltas.push((value ?? {}) as AdkState);
    return mergeStates(...deltas);
  }

  /** Before the event: a caller that repeats a failed append sets the same values again. */
  async function writeScope(scope: readonly string[], delta: AdkState): Promise<void> {
    if (Object.keys(delta).length === 0) return;
    await (await scopes.open(JSON.stringify(scope))).append([{ noun: "state", value: delta }]);
  }

  async function withScopes({ appName, userId }: SessionKey, own: AdkState): Promise<AdkState> {
    const prefixed = (prefix: string, state: AdkState): AdkState =>
      mergeStates(Object.fromEntries(Object.entries(state).map(([key, value]) => [prefix + key, value])));
    const [app, user] = [await readScope([appName]), await readScope([appName, userId])];
    return mergeStates(own, prefixed("app:", app), prefixed("user:", user));
  }

  async function splitAndWrite({ appName, userId }: SessionKey, delta: AdkState): Promise<AdkState> {
    const { app, user, own } = splitState(delta);
    await writeScope([appName], app);
    await writeScope([appName, userId], user);
    return own;
  }

  return {
    async create({
      appName,
      userId,
      state = {},
      sessionId,
    }: Omit<SessionKey, "sessionId"> & {
      readonly state?: AdkState;
      readonly sessionId?: string;
    }): Promise<AdkSession> {
      const id = sessionId === undefined || sessionId === "" ? newId(engine) : sessionId;
      const key = { appName, userId, sessionId: id };
      if ((await find(key)) !== null) throw exists(id);
      const own = await splitAndWrite(key, toJson(state));
      const drawer = await sessions.open(outerOf(key));
      const { duplicate } = await drawer.append([{ noun: "created", value: own }], { key: "created" });
      const found = duplicate ? null : await readSession(drawer);
      if (found === null) throw exists(id);
      return { ...found.session, state: await withScopes(key, found.session.state) };
    },
    async get({
      config = {},
      ...key
    }: SessionKey & { readonly config?: Parameters<typeof recentEvents>[1] }): Promise<
      AdkSession | undefined
    > {
      const found = await find(key);
      if (found === null) return undefined;
      const { session } = found;
      const state = await withScopes(key, session.state);
      return { ...session, state, events: recentEvents(session.events, config) };
    },
    async list({
      appName,
      userId,
      ...options
    }: ListOptions & {
      readonly appName: string;
      readonly userId?: string;
    }): Promise<SessionsList<AdkSession>> {
      const all: StoredSession[] = [];
      for await (const drawer of sessions.list()) {
        const [app, user] = JSON.parse(drawer.outer) as readonly [string, string];
        if (app !== appName || (userId !== undefined && user !== userId)) continue;
        const found = await readSession(drawer);
        if (found === null) continue;
        all.push({ ...found, session: { ...found.session, state: {}, events: [] } });
      }
      const ordered = all.toSorted((a, b) => a.createdAt - b.createdAt).map(({ session }) => session);
      return listPage(ordered, options);
    },
    async delete(key: SessionKey): Promise<void> {
      await sessions.delete(outerOf(key));
    },
    async append({ appName, userId, id }: AdkSession, event: AdkEvent): Promise<void> {
      const key = { appName, userId, sessionId: id };
      const drawer = await sessions.find(outerOf(key));
      if (drawer === null || (await find(key)) === null) {
        throw new SkeinError("not-found", `google-adk: there is no session ${JSON.stringify(id)}`, {
          hint: "create it with createSession first",
        });
      }
      const value = storedEvent(event);
      await splitAndWrite(key, value.actions?.stateDelta ?? {});
      await drawer.append([{ noun: "event", value }]);
    },
  };

  async function find(key: SessionKey): Promise<StoredSession | null> {
    const drawer = await sessions.find(outerOf(key));
    return drawer === null ? null : readSession(drawer);
  }
}

interface StoredSession {
  readonly session: AdkSession;
  readonly createdAt: number;
}

/** A session as its log has it, without the state of its app and user; null before it was created. */
async function readSession(drawer: Drawer): Promise<StoredSession | null> {
  const [appName = "", userId = "", id = ""] = JSON.parse(drawer.outer) as readonly string[];
  let created: { readonly at: number; readonly state: AdkState } | null = null;
  const events: AdkEvent[] = [];
  for await (const { noun, at, value, erased } of drawer.read(1)) {
    if (noun === "created") created ??= { at, state: (value ?? {}) as AdkState };
    else if (!erased) events.push(value as AdkEvent);
  }
  if (created === null) return null;
  const folded = foldEvents(created.state, events);
  const lastUpdateTime = events.at(-1)?.timestamp ?? created.at;
  return { session: { id, appName, userId, ...folded, lastUpdateTime }, createdAt: created.at };
}

const outerOf = ({ appName, userId, sessionId }: SessionKey): string =>
  JSON.stringify([appName, userId, sessionId]);

const exists = (id: string): SkeinError =>
  new SkeinError("conflict", `google-adk: the session ${JSON.stringify(id)} exists`, {
    hint: "read it with getSession or getOrCreateSession",
  });

const newId = (engine: Engine): string => Buffer.from(internalsOf(engine).world.random(16)).toString("hex");
