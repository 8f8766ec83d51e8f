/**
 * Access is denied on every route: without a token, with a wrong, expired or revoked one, with too narrow a
 * scope, and with ids of another tenant. No refusal reveals whether something exists.
 */
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { scopes } from "../../src/core/workspace/access-token.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { operationIds, operationOf, type OperationId } from "../../src/call/operations.ts";
import { encodeQuery } from "../../src/protocol/query.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { newToken } from "../../src/runtime/workspace/tokens.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeAuthorizer } from "../../src/server/auth/authorize.ts";
import { serve, type RunningServer, type CompletedRequest } from "../../src/server/http/server.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { madeWorld } from "../runtime/made-world.ts";
import { workspace } from "../runtime/place.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

const unknown = "ses_00000000000000000000000000";
const dayMs = 86_400_000;
type Params = Readonly<Record<string, unknown>>;

/** Something right to ask for with each operation on a session: what is wrong then is the session alone. */
const rightly: Readonly<Record<string, Params>> = {
  "session.exportTranscript": { format: "codex" },
  "session.append": { records: "hello" },
  "session.input": { input: "hello" },
  "session.ask": { input: "hello" },
  "session.answer": { allow: true },
  "session.settle": { call: "call-1-at12", output: "done" },
  "session.send": { to: unknown, message: "hello" },
  "session.contract": { topic: "orders", schema: { type: "object" } },
  "session.record": { kind: "fact", key: "k", value: 1 },
  "session.pin": { kind: "fact", key: "k" },
  "session.unpin": { kind: "fact", key: "k" },
  "session.retract": { kind: "fact", key: "k" },
  "session.promote": { kind: "fact", key: "k", scope: "workspace" },
  "session.scratch": { key: "k", value: 1 },
  "session.setChecks": { checks: [] },
  "session.explore": { alternatives: ["A", "B"] },
  "session.uncompress": {},
  "session.compress": { strategy: "prune" },
  "session.amend": { objective: "o", because: "b" },
  "session.onChange": { source: "s", react: "mark" },
  "session.score": { name: "good", value: 1 },
  "session.save": { name: "here" },
  "session.load": { place: 1 },
  "session.rewind": { place: 1 },
  "session.merge": { from: unknown },
  "session.migrate": { model: "acme/other" },
  "session.rename": { name: "mine" },
  "session.label": { set: { a: "b" } },
  "session.prioritize": { priority: 1 },
  "session.bind": { kind: "shell" },
  "session.unbind": { name: "shell" },
  "session.grant": { tool: "shell", rule: "allow" },
  "session.budget": { limits: { usd: 1 } },
  "session.trigger": { name: "t", spec: { kind: "every", everyMs: 1_000 } },
  "session.untrigger": { name: "t" },
  "session.fire": { name: "t" },
  "session.hold": { name: "legal" },
  "session.lift": { name: "legal" },
  "session.erase": { ranges: [[1, 1]] },
  "session.diff": { from: 1 },
};

const onSession = operationIds.filter((id) => operationOf(id).path.includes("{id}"));

/** Calls that name a session otherwise than by their address. */
const naming = (session: string): readonly (readonly [OperationId, Params])[] => [
  ["engine.lineage", { session }],
  ["engine.search", { text: "ours", session }],
  ["engine.scan", { session }],
  ["engine.send", { to: session, message: "hello" }],
  ["engine.open", { from: session }],
  ["engine.setHook", { name: "h", url: "https://a.example/", events: ["*"], secret: "S", session }],
  ["session.merge", { from: session }],
  ["session.diff", { from: { session } }],
];

suite("behind a server with two tenants", () => {
  const world = madeWorld();
  const told: CompletedRequest[] = [];
  const engines = new Map<string, Engine>();
  let server: RunningServer;
  let ours: SessionId;
  let theirs: SessionId;
  let fetched = 0;

  const engineOf = (tenant: string): Engine => engines.get(tenant)!;
  const tokenOf = async (tenant: string, ...given: readonly (typeof scopes)[number][]): Promise<string> =>
    (await engineOf(tenant).addToken({ scopes: given })).token;

  before(async () => {
    for (const tenant of ["default", "acme"]) {
      const store = memoryStore({ world: madeWorld(tenant), workspace });
      engines.set(tenant, new Engine({ store, world, tenant }));
    }
    ours = (await engineOf("default").open({ objective: "Ours alone." })).id;
    theirs = (await engineOf("acme").open({ objective: "Theirs." })).id;
    const often = { perSecond: 1e9, burst: 1e9 };
    const tenants = async (tenant: string) => engines.get(tenant) ?? null;
    server = await serve({
      world: realWorld(),
      version: "0.0.0",
      // No more than a hundred at once may come without a token from one address: the clock goes on.
      authorizer: (bound) => {
        const { steady: _, ...made } = world;
        const clock = { ...made, steady: () => (fetched += 100) };
        return makeAuthorizer({ ...bound, world: clock, rate: often, tenants });
      },
      onRequest: (one) => told.push(one),
    });
  });
  after(async () => {
    await server.stop();
    for (const engine of engines.values()) await engine.close();
  });

  /** An operation, asked for by whoever has this token. */
  async function ask(
    id: OperationId,
    { token, session = ours, params = rightly[id] ?? {}, accept = "" }: Asking,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const operation = operationOf(id);
    const path = operation.path.replace("{id}", session);
    const isJson = operation.takes === "json";
    const response = await fetch(`${server.url}${path}${isJson ? "" : encodeQuery(operation, params)}`, {
      method: operation.method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(isJson ? { "content-type": "application/json" } : {}),
        ...(accept === "" ? {} : { accept }),
      },
      ...(isJson ? { body: JSON.stringify(params) } : {}),
    });
    return { status: response.status, text: await response.text() };
  }

  const statuses = async (): Promise<unknown> =>
    Promise.all(
      [...engines.values()].map(async (engine) => {
        const { store } = internalsOf(engine);
        return [await store.head(store.workspace), (await engine.sessions()).rows];
      }),
    );

  test("no route accepts an invalid token, and all give the same refusal", async () => {
    const engine = engineOf("default");
    const expired = await engine.addToken({ scopes: ["admin"], expiresAt: world.now() + dayMs });
    const revoked = await engine.addToken({ scopes: ["admin"] });
    await engine.revokeToken(revoked.id);
    world.pass(dayMs);
    const tokens = [
      null,
      newToken(world, "default"),
      newToken(world, "nobody"),
      expired.token,
      revoked.token,
    ];
    const is = await statuses();
    const answers = new Set<string>();
    for (const id of operationIds) {
      const all = await Promise.all(tokens.map((token) => ask(id, { token })));
      for (const { status, text } of all) {
        assert.equal(status, 401, id);
        answers.add(text);
      }
    }
    assert.equal(answers.size, 1);
    assert.ok(operationIds.length > 70);
    assert.deepEqual(await statuses(), is);
  });

  test("every route refuses a token without its scope, whether the target exists or not", async () => {
    const tokens = new Map(
      await Promise.all(
        scopes.map(async (scope) => {
          const others = scopes.filter((one) => one !== scope && one !== "admin");
          return [scope, await tokenOf("default", ...others)] as const;
        }),
      ),
    );
    const is = await statuses();
    for (const id of operationIds) {
      const token = tokens.get(operationOf(id).scope)!;
      const there = await ask(id, { token });
      assert.equal(there.status, 403, id);
      assert.deepEqual(await ask(id, { token, session: unknown }), there, id);
    }
    assert.deepEqual(await statuses(), is);
  });

  test("data of another tenant is not found, by any route", async () => {
    const token = await tokenOf("acme", "admin");
    const is = await statuses();
    assert.ok(onSession.length > 40);
    for (const id of onSession) {
      for (const [session, nowhere] of [
        [ours, unknown],
        [ours.slice(-8), "zzzzzzzz"],
      ] as const) {
        const there = await ask(id, { token, session });
        assert.equal(there.status, 404, `${id}: ${there.text}`);
        const { status, text } = await ask(id, { token, session: nowhere });
        const same = (said: string): string => said.replaceAll(nowhere, "ID").replaceAll(session, "ID");
        assert.deepEqual({ status, text: same(text) }, { status: there.status, text: same(there.text) }, id);
      }
    }
    for (const id of onSession.filter((one) => operationOf(one).streams)) {
      const accept = "text/event-stream";
      assert.equal((await ask(id, { token, accept })).status, 404, id);
    }
    assert.deepEqual(await statuses(), is);
  });

  test("no call reaches what belongs to another tenant", async () => {
    const token = await tokenOf("acme", "admin");
    const is = await statuses();
    const elsewhere = naming(unknown);
    for (const [place, [id, params]] of naming(ours).entries()) {
      const there = await ask(id, { token, session: theirs, params });
      assert.equal(there.status, 404, `${id}: ${there.text}`);
      const { status, text } = await ask(id, { token, session: theirs, params: elsewhere[place]![1] });
      assert.deepEqual({ status, text: text.replaceAll(unknown, ours) }, there, id);
    }
    const reads: OperationId[] = ["engine.sessions", "engine.feed", "engine.search", "engine.tokens"];
    for (const id of reads) {
      const params = id === "engine.search" ? { text: "ours" } : {};
      const { status, text } = await ask(id, { token, params });
      assert.equal(status, 200, id);
      assert.ok(!text.includes(ours) && !text.includes("Ours alone"), id);
    }
    assert.deepEqual(await statuses(), is);
  });

  test("logs and metrics of requests hold no token, wherever it was sent", async () => {
    const token = await tokenOf("default", "admin");
    const secret = token.slice(-43);
    const texts = [
      await ask("session.state", { token, session: token }),
      await ask("engine.lineage", { token, params: { session: `x${token}`.slice(0, 64) } }),
      await ask("engine.revokeToken", { token, params: { token: token.slice(0, 64) } }),
      await ask("engine.sessions", { token, params: { cursor: token } }),
    ].map(({ text }) => text);
    assert.ok(told.length > 300 && texts.every((text) => text.includes("urn:skein:problem:")));
    for (const text of [...texts, JSON.stringify(told)]) {
      assert.ok(!text.includes(secret.slice(0, 8)), text.slice(0, 300));
    }
    assert.ok(!`${process.title} ${process.argv.join(" ")}`.includes(secret));
  });
});

interface Asking {
  readonly token: string | null;
  readonly session?: string;
  readonly params?: Params;
  readonly accept?: string;
}
