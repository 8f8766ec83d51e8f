/** Keeps docs/views.md true: its columns are those of the views, and its queries have something to answer. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import { makeWorkspaceId } from "../../src/core/ids.ts";
import type { DraftEvent } from "../../src/core/decision.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { seal } from "../../src/runtime/log/seal.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { viewNames } from "../../src/store/sql/query-result.ts";
import type { Store } from "../../src/store/port.ts";
import { postgresStore } from "../../src/store/postgres/store.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { noPostgres, postgresDriver } from "../postgres/place.ts";
import { blocksOf } from "../repo/markdown.ts";
import { root } from "../repo/source.ts";

const world = realWorld();
const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
const text = readFileSync(join(root, "docs/views.md"), "utf8");
const queries = blocksOf({ path: "docs/views.md", text }).filter(({ marks }) => marks[0] === "sql");

/** Stores with views, each with why it is passed over. */
const kinds = [
  {
    name: "SQLite",
    skip: false as const,
    async open() {
      const folder = mkdtempSync(join(tmpdir(), "skein-views-"));
      const store = await sqliteStore({ path: join(folder, "skein.db"), world, workspace });
      return { store, done: async () => rmSync(folder, { recursive: true }) };
    },
  },
  {
    name: "PostgreSQL",
    skip: await noPostgres(),
    async open() {
      const { url, done } = await postgresDriver();
      return { store: await postgresStore({ url, world, workspace }), done };
    },
  },
];

test("docs/views.md describes every view and no other", () => {
  const told = [...text.matchAll(/^## (\S+)$/gm)].map((match) => match[1]);
  assert.deepEqual(new Set(told), new Set(viewNames));
});

for (const { name, skip, open } of kinds) {
  suite(`docs/views.md on ${name}`, { skip }, () => {
    let engine: Engine;
    let done: () => Promise<void>;
    before(async () => {
      const place = await open();
      ({ done } = place);
      engine = await fill(place.store);
    });
    after(async () => {
      await engine.close();
      await done();
    });

    for (const view of viewNames) {
      test(`has the columns of ${view}, and their types`, async () => {
        const documented = columnsOf(view);
        const { columns, rows } = await engine.query(`SELECT * FROM ${view}`);
        assert.deepEqual(
          columns,
          documented.map(({ name }) => name),
        );
        assert.notDeepEqual(rows, []);
        for (const [place, { name, type }] of documented.entries()) {
          const found = rows.map((row) => row[place]).filter((value) => value !== null);
          const jsType = type === "integer" ? "number" : "string";
          assert.ok(
            found.every((value) => typeof value === jsType),
            `${view}.${name} is not always ${type}`,
          );
        }
      });
    }

    test("has queries", () => {
      assert.ok(queries.length >= viewNames.length);
    });

    for (const { line, code } of queries) {
      test(`the query in line ${line} answers`, async () => {
        const { rows } = await engine.query(code);
        assert.notDeepEqual(rows, []);
      });
    }
  });
}

/** The rows of the table under the view's heading. */
function columnsOf(view: string): { readonly name: string; readonly type: string }[] {
  const section = text.split(`## ${view}\n`)[1]?.split("\n## ")[0] ?? "";
  return [...section.matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, name = "", type = ""]) => ({
    name,
    type,
  }));
}

/** A store with something in every view. Prices known and unknown are wanted, so calls go past the engine. */
async function fill(store: Store): Promise<Engine> {
  const engine = new Engine({ store, world });
  const session = await engine.open({ objective: "Fix login", agent: "fixer", labels: { team: "web" } });
  await session.append("Users are logged out.");
  await session.record("fact", "timeout", "5 min");
  await session.record("task", "ask-users", "Ask three of them");
  await session.record("decision", "use-wal", true, { because: "readers do not block" });
  const { project } = await engine.openProject({ objective: "Move the shop" });
  await engine.open({ objective: "Write the adapter", project });
  const fork = await session.fork({ name: "another way" });
  await fork.record("fact", "timeout", "30 min");
  const events: readonly DraftEvent[] = [
    requested("call-1"),
    requested("call-2"),
    { type: "tool.settled", body: { call: "call-1", status: "ok", ms: 12 }, content: { output: "done" } },
    responded(1_500_000),
    responded(null),
  ];
  const { drafts } = seal(world, events, { actor: "agent:fixer@1", key: null });
  const outcome = await store.append([{ session: session.id, expect: "exists", drafts }]);
  assert.equal(outcome.kind, "ok");
  return engine;
}

const requested = (call: string): DraftEvent => ({
  type: "tool.requested",
  body: { call, tool: "shell", effect: "unsafe" },
  content: { input: { command: "ls" } },
});

const responded = (costNanoUsd: number | null): DraftEvent => ({
  type: "model.responded",
  body: { model: "acme/one", finish: "stop", usage: { inputTokens: 10, outputTokens: 5 }, costNanoUsd },
  content: { blocks: [{ type: "text", text: "Done." }] },
});
