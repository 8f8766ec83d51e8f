/** docs/undo.md is true: each row is done and undone, and the session is as it was. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine, type Engine, type Session } from "../../src/index.ts";
import { root } from "../repo/source.ts";

const model = "offline/offline";

/** What a person would compare before and after. */
async function seen(engine: Engine, session: Session): Promise<object> {
  const {
    status,
    items,
    scratch,
    labels,
    name,
    priority,
    bindings,
    permissions,
    budget,
    model: using,
    holds,
  } = await session.state();
  return {
    status,
    items: items.map(({ kind, key, value }) => [kind, key, value]),
    pinned: [...(await session.fold()).mind.pins.keys()],
    scratch,
    labels,
    name,
    priority,
    bindings: bindings.map((one) => one.name),
    permissions: permissions.map(({ tool, rule }) => [tool, rule]),
    limits: budget.limits,
    using,
    holds,
    triggers: (await session.triggers()).map((one) => one.name),
    contracts: (await session.contracts()).filter(({ schema }) => schema !== true),
    memory: (await engine.memory()).map(({ kind, key }) => [kind, key]),
    approvals: await engine.approvals(),
    hooks: await engine.hooks(),
    policies: (await engine.policies()).map((one) => one.name),
    tokens: (await engine.tokens()).length,
  };
}

type Step = (engine: Engine, session: Session) => Promise<unknown>;

const rows: Readonly<Record<string, readonly [done: Step, undone: Step]>> = {
  "`record KIND KEY`": [(_, s) => s.record("fact", "x", 2), (_, s) => s.record("fact", "x", 1)],
  "`retract KIND KEY`": [(_, s) => s.retract("fact", "x"), (_, s) => s.record("fact", "x", 1)],
  "`pin`": [(_, s) => s.pin("fact", "x"), (_, s) => s.unpin("fact", "x")],
  "`scratch KEY VALUE`": [(_, s) => s.scratch("k", 1), (_, s) => s.scratch("k")],
  "`suspend`, `sleep`": [
    async (_, s) => {
      await s.suspend({ reason: "wait" });
      await s.activate();
      await s.sleep({});
    },
    (_, s) => s.activate(),
  ],
  "`close`, `cancel`, `archive`": [
    async (_, s) => {
      await s.cancel();
      await s.reopen();
      await s.close();
      await s.archive();
    },
    (_, s) => s.reopen(),
  ],
  "`bind`; `grant`; `hold`": [
    async (_, s) => {
      await s.bind({ kind: "shell" });
      await s.grant({ tool: "shell", rule: "ask" });
      await s.hold("court");
    },
    async (_, s) => {
      await s.lift("court");
      await s.grant({ tool: "shell", rule: "none" });
      await s.unbind("shell");
    },
  ],
  "`budget`; `label`; `rename`; `prioritize`": [
    async (_, s) => {
      await s.budget({ turns: 3 });
      await s.label({ team: "web" });
      await s.rename("new");
      await s.prioritize(1);
    },
    async (_, s) => {
      await s.budget({});
      await s.label({}, { remove: ["team"] });
      await s.rename("first");
      await s.prioritize(5);
    },
  ],
  "`trigger add`; `contract --schema`": [
    async (_, s) => {
      await s.trigger("t", { kind: "every", everyMs: 3_600_000 });
      await s.contract("rates", { type: "object" });
    },
    async (_, s) => {
      await s.untrigger("t");
      await s.contract("rates", true);
    },
  ],
  "`memory remember`, `promote`": [
    async (engine) => engine.remember({ scope: "workspace", kind: "fact", key: "m", value: 1 }),
    async (engine) => engine.forget({ scope: "workspace", kind: "fact", key: "m" }),
  ],
  "`policy set`; `hooks add`; `tokens add`": [
    async (engine) => {
      await engine.setPolicy("old", { do: "pack", after: "1d", match: { labels: { team: "x" } } });
      await engine.setHook("h", "https://example.org/", { events: ["turn.ended"], secret: "HOOK_SECRET" });
      await engine.addToken({ name: "ci", scopes: ["read"] });
    },
    async (engine) => {
      await engine.removePolicy("old");
      await engine.removeHook("h");
      const [token] = (await engine.tokens()).filter(({ name }) => name === "ci");
      await engine.revokeToken(token!.id);
    },
  ],
};

test("what each row says undoes it", async () => {
  const page = readFileSync(join(root, "docs/undo.md"), "utf8");
  await using engine = await openEngine({ store: "memory:" });
  for (const [name, [done, undone]] of Object.entries(rows)) {
    const isIn = (row: string): boolean => page.includes(`| ${row} |`);
    // What is tried together may be one row of the page, or one each.
    assert.ok(isIn(name) || name.split(/[;,] /).every(isIn), `docs/undo.md has no row ${name}`);
    const session = await engine.open({ objective: "Undo", name: "first", model });
    await session.record("fact", "x", 1);
    const before = await seen(engine, session);
    await done(engine, session);
    assert.notDeepEqual(await seen(engine, session), before, `${name} changes something`);
    await undone(engine, session);
    assert.deepEqual(await seen(engine, session), before, name);
  }
});

test("a rewind takes back items, pins, merges and compactions, and another takes it back", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const session = await engine.open({ objective: "Undo", model });
  await session.record("fact", "x", 1);
  const fork = await session.fork();
  await fork.record("fact", "x", 2);
  const before = await seen(engine, session);
  const { seq } = await session.head();
  await session.pin("fact", "x");
  await session.scratch("k", 1);
  await session.merge({ from: fork.id });
  await session.ask("remember y is 3").result;
  const after = await seen(engine, session);
  const last = (await session.head()).seq;
  await session.rewind(seq);
  assert.deepEqual(await seen(engine, session), before);
  await session.rewind(last);
  assert.deepEqual(await seen(engine, session), after);
  await session.rewind(seq);
  assert.equal((await session.merge({ from: fork.id })).taken.length, 1, "merging again brings the same");
});

test("a fork before a queued input does not have it", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const session = await engine.open({ objective: "Undo", model });
  const { seq } = await session.head();
  await session.input("remember wrong is 1");
  const fork = await session.fork({ atSeq: seq });
  await session.close();
  await fork.run();
  assert.deepEqual(await fork.items(), []);
});

test("a session moves to another store and back", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-undo-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const [one, two] = [join(folder, "one.db"), join(folder, "two.db")];
  await using engine = await openEngine({ store: one });
  const session = await engine.open({ objective: "Undo", model });
  await session.migrate({ to: two });
  await using other = await openEngine({ store: two });
  await (await other.session(session.id)).migrate({ to: one });
  assert.equal((await session.state()).status, "open");
});
