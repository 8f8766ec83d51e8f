/** The session service: the kit's contract as a table; in the long tests, the kit's own service beside it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import {
  keepAdkSessions,
  type AdkEvent,
  type AdkSession,
} from "../../../src/adapter/google-adk/google-adk.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { memoryStore } from "../../../src/store/memory/store.ts";
import { workspace } from "../../runtime/place.ts";
import { engineWith, scripted } from "../../runtime/turn/scripted.ts";
import { longOnly, sliced } from "../../slice.ts";

type State = Record<string, unknown>;
interface Key {
  readonly appName: string;
  readonly userId: string;
}

/** The kit's base class, as its documentation has it: `appendEvent` changes the caller's session. */
abstract class Kit {
  abstract createSession(request: Key & { state?: State; sessionId?: string }): Promise<AdkSession>;
  abstract getSession(
    request: Key & { sessionId: string; config?: { numRecentEvents?: number; afterTimestamp?: number } },
  ): Promise<AdkSession | undefined>;
  abstract listSessions(
    request: Partial<Key> & {
      appName: string;
      limit?: number;
      offset?: number;
      page?: number;
      order?: string;
    },
  ): Promise<{ sessions: AdkSession[]; page: number; limit: number; totalItems: number; totalPages: number }>;
  abstract deleteSession(request: Key & { sessionId: string }): Promise<void>;
  async appendEvent({ session, event }: { session: AdkSession; event: AdkEvent }): Promise<AdkEvent> {
    const delta = Object.entries(event.actions?.stateDelta ?? {}).filter(([key]) => !key.startsWith("temp:"));
    Object.assign(session.state, Object.fromEntries(delta));
    (session.events as AdkEvent[]).push(event);
    return event;
  }
}

const plain = (value: unknown): unknown => (value === undefined ? null : JSON.parse(JSON.stringify(value)));
const event = (id: string, timestamp: number, stateDelta: State = {}, more: object = {}): AdkEvent => ({
  id,
  timestamp,
  actions: { stateDelta },
  ...more,
});
const key = { appName: "app", userId: "ann", sessionId: "s" };

function place() {
  const world = realWorld();
  const store = memoryStore({ world, workspace });
  const engine = engineWith(scripted([]), { store, world });
  /** The same store, as another process has it. */
  const again = () => engineWith(scripted([]), { store, world, holder: "other" });
  return {
    engine,
    again,
    service: keepAdkSessions(Kit, engine),
    [Symbol.asyncDispose]: () => engine.close(),
  };
}

test("events and state come back equal, in another process too", async () => {
  await using at = place();
  const created = await at.service.createSession({ ...key, state: { a: 1, "temp:x": 2, "user:lang": "en" } });
  assert.deepEqual(plain(created.state), { a: 1, "user:lang": "en" });
  const hostile = { text: "sk-ant-api03-abcdefgh \0 \ud800", deep: { stateDelta: { "temp:kept": 1 } } };
  const first = event("e1", 5, { a: 2, "app:n": 1, "temp:y": 1 }, { content: hostile, author: "m" });
  const appended = await at.service.appendEvent({ session: created, event: first });
  assert.equal(appended, first);
  assert.deepEqual([created.lastUpdateTime, created.events.length, created.state["a"]], [5, 1, 2]);
  const proto = JSON.parse('{"__proto__":{"polluted":true}}') as State;
  await at.service.appendEvent({ session: created, event: event("e2", 6, proto) });
  const other = at.again();
  const service = keepAdkSessions(Kit, other);
  const read = await service.getSession(key);
  assert.deepEqual(
    plain(read?.events[0]),
    plain({ ...first, actions: { stateDelta: { a: 2, "app:n": 1 } } }),
  );
  assert.deepEqual(Object.keys(read?.state ?? {}).toSorted(), ["__proto__", "a", "app:n", "user:lang"]);
  assert.equal(({} as State)["polluted"], undefined);
  assert.equal(read?.lastUpdateTime, 6);
  await other.close();
});

test("state of an app and a user is shared, and outlives the session", async () => {
  await using at = place();
  const { service } = at;
  const one = await service.createSession(key);
  await service.appendEvent({ session: one, event: event("e", 1, { "app:a": 1, "user:u": 2, own: 3 }) });
  const state = async (userId: string, sessionId: string): Promise<unknown> =>
    plain((await service.createSession({ appName: "app", userId, sessionId })).state);
  assert.deepEqual(await state("ann", "s2"), { "app:a": 1, "user:u": 2 });
  assert.deepEqual(await state("bob", "s"), { "app:a": 1 });
  await service.deleteSession(key);
  await service.deleteSession(key);
  assert.equal(await service.getSession(key), undefined);
  assert.deepEqual(await state("ann", "s"), { "app:a": 1, "user:u": 2 });
});

test("partial events are not stored, an event of the same id replaces, and options select", async () => {
  await using at = place();
  const { service } = at;
  const session = await service.createSession(key);
  for (const one of [
    event("a", 1),
    event("p", 2, {}, { partial: true }),
    event("b", 3),
    event("c", 3),
    event("b", 3, {}, { author: "again" }),
  ])
    await service.appendEvent({ session, event: one });
  const ids = async (config = {}): Promise<string[]> =>
    ((await service.getSession({ ...key, config }))?.events ?? []).map(({ id }) => id);
  assert.deepEqual(await ids(), ["a", "b", "c"]);
  assert.deepEqual(await ids({ numRecentEvents: 2 }), ["b", "c"]);
  assert.deepEqual(await ids({ afterTimestamp: 3 }), ["b", "c"]);
  assert.deepEqual(await ids({ afterTimestamp: 9 }), []);
});

test("lists count pages; a session that exists, or does not, is an error", async () => {
  await using at = place();
  const { service } = at;
  for (const [n, sessionId] of (["c", "a", "b"] as const).entries()) {
    const session = await service.createSession({ ...key, sessionId });
    await service.appendEvent({ session, event: event("e", n === 2 ? 1 : 5) });
  }
  await service.createSession({ appName: "app", userId: "bob" });
  await service.createSession({ appName: "other", userId: "ann" });
  const list = async (options: object): Promise<unknown> => {
    const { sessions, ...counts } = await service.listSessions({ ...key, ...options });
    return [sessions.map(({ id }) => id).join(""), ...Object.values(counts)];
  };
  assert.deepEqual(await list({ order: "asc" }), ["bac", 1, 3, 3, 1]);
  assert.deepEqual(await list({ order: "desc", limit: 2 }), ["ac", 1, 2, 3, 2]);
  assert.deepEqual(await list({ order: "desc", limit: 2, page: 2, offset: 0 }), ["b", 2, 2, 3, 2]);
  assert.deepEqual(await list({ userId: "nobody" }), ["", 1, 0, 0, 0]);
  assert.equal((await service.listSessions({ appName: "app" })).totalItems, 4);
  await assert.rejects(service.createSession({ ...key, sessionId: "a" }), /the session "a" exists/);
  const twice = await Promise.allSettled(
    [1, 2].map(() => service.createSession({ ...key, sessionId: "twice" })),
  );
  assert.deepEqual(twice.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
  assert.equal((await service.listSessions({ appName: "app" })).totalItems, 5);
  const gone = { ...key, id: "none", state: {}, events: [], lastUpdateTime: 0 };
  await assert.rejects(service.appendEvent({ session: gone, event: event("e", 1) }), /there is no session/);
});

const vendor = "@google/adk@2.0.0";

/** The kit is large: it is installed for the long tests, into a folder that later runs find again. */
async function loadKit(): Promise<Record<"BaseSessionService" | "InMemorySessionService", typeof Kit>> {
  const folder = join(tmpdir(), "skein-vendors", vendor.replaceAll(/[^a-z0-9.-]/g, "-"));
  if (!existsSync(join(folder, "installed"))) {
    mkdirSync(folder, { recursive: true });
    const words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"];
    const done = spawnSync("npm", [...words, "--prefix", folder, vendor], {
      encoding: "utf8",
      timeout: 480_000,
    });
    assert.equal(done.status, 0, done.stderr);
    mkdirSync(join(folder, "installed"));
  }
  const path = join(folder, "node_modules/@google/adk/dist/esm/index.js");
  return (await import(pathToFileURL(path).href)) as never;
}

const name = fc.constantFrom("a", "b");
const delta = fc.dictionary(fc.constantFrom("k", "l", "app:k", "user:k", "temp:k"), fc.jsonValue(), {
  maxKeys: 3,
});
const step = fc.record({
  do: fc.constantFrom("create", "append", "append", "append", "get", "list", "delete"),
  userId: name,
  sessionId: name,
  id: fc.constantFrom("e1", "e2", "e3", "e4"),
  timestamp: fc.integer({ min: 1, max: 4 }),
  delta,
  partial: fc.boolean(),
  config: fc.record({
    numRecentEvents: fc.option(fc.nat(3), { nil: undefined }),
    afterTimestamp: fc.option(fc.nat(4), { nil: undefined }),
  } as const),
  page: fc.record({ limit: fc.nat(3), page: fc.integer({ min: 1, max: 2 }) }),
});

test("random calls return the same as the kit's own service", { skip: longOnly }, async () => {
  const { BaseSessionService, InMemorySessionService } = await loadKit();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      await using at = place();
      const services = [
        keepAdkSessions(BaseSessionService, at.engine),
        new (InMemorySessionService as unknown as new () => Kit)(),
      ];
      for (const one of steps) {
        const results = [];
        for (const service of services) results.push(await run(service, one));
        assert.deepEqual(results[0], results[1], one.do);
      }
    }),
    { numRuns: sliced(5, 150) },
  );
});

/**
 * Pinned: a session that exists is an error here, and replaced there; one that does not is a warning there;
 * and there a partial event sets the time of the last update, and the state of its app and user.
 */
async function run(
  service: Kit,
  one: typeof step extends fc.Arbitrary<infer T> ? T : never,
): Promise<unknown> {
  const at = { appName: "app", userId: one.userId, sessionId: one.sessionId };
  const found = await service.getSession(at);
  if (one.do === "create") return found === undefined ? plain((await service.createSession(at)).state) : null;
  if (one.do === "append") {
    if (found === undefined) return null;
    const given = event(one.id, one.timestamp, one.partial ? {} : structuredClone(one.delta), {
      partial: one.partial,
    });
    const returned = await service.appendEvent({ session: found, event: given });
    return plain(one.partial ? [returned, found.events] : [returned, found]);
  }
  if (one.do === "delete") return plain(await service.deleteSession(at));
  if (one.do === "get")
    return plain((await service.getSession({ ...at, config: one.config } as never))?.events);
  const { sessions, ...counts } = await service.listSessions({ appName: "app", ...one.page });
  return [sessions.length, counts];
}
