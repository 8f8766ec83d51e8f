/**
 * Canaries: texts that nobody else would write come in through every door, are erased or deleted, and then
 * every file of the store is searched for them: raw, and what is packed in it as it was before.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import type { Store } from "../../../src/store/port.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { bytesOfStore, foundIn } from "../../store/canary.ts";
import { bundleOf, inPieces } from "../transfer/bundled.ts";
import { isPrompt } from "../turn/outgrown.ts";
import { all, workspace } from "../place.ts";
import { engineWith, say, scripted, use } from "../turn/scripted.ts";
import { twoInMemory } from "../two-stores.ts";

const planted = new Map<string, string>();

/** A text of 24 letters and digits that stands for a door. */
function canary(door: string): string {
  const text = createHash("sha256").update(`canary ${door}`).digest("hex").slice(0, 24);
  planted.set(door, text);
  return text;
}

/** The doors whose canaries are still in the files: of the store, and of anything beside it. */
function doorsIn(path: string): string[] {
  const beside = readdirSync(dirname(path)).filter((name) => !name.startsWith("skein.db") && name !== "work");
  assert.deepEqual(beside, [], "something lies beside the store that is not searched");
  const found = new Set(foundIn(bytesOfStore(path), [...planted.values()]));
  return [...planted].flatMap(([door, text]) => (found.has(text) ? [door] : [])).toSorted();
}

interface Aviary extends AsyncDisposable {
  readonly path: string;
  readonly store: Store;
  readonly engine: Engine;
  readonly session: Session;
  readonly others: readonly Session[];
}

/** Opens every door. */
async function plant(): Promise<Aviary> {
  const folder = mkdtempSync(join(tmpdir(), "skein-canary-"));
  const work = join(folder, "work");
  mkdirSync(work);
  writeFileSync(join(work, "old.txt"), canary("file version before"));
  const world = realWorld();
  const path = join(folder, "skein.db");
  const store = await sqliteStore({ path, world, workspace, durability: "process" });
  const engine = engineWith(model(), { store, world, tools: [report] });
  const session = await livedThrough(engine, work);
  const others = await copied(engine, session);
  await engine.search("anything");
  return {
    path,
    store,
    engine,
    session,
    others,
    async [Symbol.asyncDispose]() {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const report = defineTool({
  name: "report",
  description: "A long report.",
  effect: "read",
  input: z.object({ about: z.string() }),
  run: () => `${"page ".repeat(8_000)} ${canary("long tool result")} ${"page ".repeat(8_000)}`,
});

const model = () => {
  const lines = [
    [say(canary("answer")), use("report", { about: canary("tool argument") }, "a")],
    [
      use(
        "edit_file",
        { path: "old.txt", find: canary("file version before"), replace: canary("file version") },
        "b",
      ),
    ],
    [use("read_file", { path: "old.txt" }, "c")],
    [use("record", { kind: "fact", key: "by-tool", value: canary("fact by tool") }, "d")],
    "Done.",
  ];
  let turn = 0;
  return scripted([
    (call) => (isPrompt(call) ? `It is about ${canary("summary")}.` : (lines[turn++] ?? "Done.")),
  ]);
};

async function livedThrough(engine: Engine, work: string): Promise<Session> {
  await engine.addAgent({ name: "keeper", instructions: `Keep ${canary("agent")}.` });
  const session = await engine.open({
    objective: `Find ${canary("objective")}`,
    name: canary("name"),
    agent: "keeper",
    instructions: canary("instructions"),
    constraints: [canary("constraint")],
    bind: [
      { kind: "directory", path: work, name: "work", mode: "write" },
      { kind: "tool", name: "report" },
    ],
    grant: [{ tool: "*", rule: "allow", reason: canary("reason of a rule") }],
  });
  await session.append({ type: "x.note", body: { n: 1 }, content: { text: canary("foreign record") } });
  const blob = await engine.putBlob(Buffer.from(`a file ${canary("blob of an input")}`));
  await session.input([
    { type: "text", text: canary("input") },
    { type: "file", blob, mediaType: "text/plain", name: "f" },
  ]);
  await session.input(`${"long ".repeat(20_000)}${canary("long input")}`);
  await all(session.watch());
  await session.record("fact", "rate", canary("fact"), { because: canary("because") });
  await session.record("decision", "way", { deep: [canary("decision")] }, { because: "it is shorter" });
  await session.record("artifact", "page", canary("artifact"));
  await session.scratch("step", canary("scratch"));
  await session.save("here", { note: canary("note of a checkpoint") });
  await session.score("good", 1, { because: canary("reason of a score") });
  await session.hold("case", { reason: canary("reason of a hold") });
  await session.lift("case");
  await session.compress({ strategy: "summarize" });
  await session.suspend({ reason: canary("reason") });
  await session.activate();
  await session.rename(canary("second name"));
  return session;
}

/** What comes of it elsewhere. */
async function copied(engine: Engine, session: Session): Promise<Session[]> {
  const other = await engine.open({ objective: "another" });
  await session.send(other.id, canary("message out"));
  await other.send(session.id, canary("message in"));
  await session.promote("fact", "rate", { scope: "workspace", because: canary("reason to remember") });
  const carrier = await engine.open({ objective: "rate: what is the rate?" });
  const merging = await engine.open({ objective: "a third" });
  await merging.merge({ from: session.id, summary: canary("summary of a merge") });
  await session.handoff();
  const next = await engine.open({ from: session.id });
  const fork = await session.fork({ objective: "a fork" });
  return [other, carrier, merging, next, fork];
}

/** Comes in as a bundle, and lives here from then on. */
async function imported(engine: Engine): Promise<Session> {
  await using homes = twoInMemory();
  const away = await homes.a.engine.open({ objective: canary("imported objective") });
  await away.append(canary("imported input"));
  await away.append(`${"long ".repeat(20_000)}${canary("imported long input")}`);
  const bundle = await bundleOf(homes.a, away.id, { move: true });
  await engine.import(inPieces(bundle));
  return await engine.session(away.id);
}

/** Contents that are gone from all logs, and how long they were. */
async function erasedInFeed(engine: Engine): Promise<{ erased: number; erasedBytes: number }> {
  let [erased, erasedBytes, after] = [0, 0, ""];
  for (;;) {
    const { events, position } = await engine.feed(after === "" ? {} : { after });
    if (events.length === 0) return { erased, erasedBytes };
    for (const event of events.filter((one) => one.erased)) {
      erased += 1;
      erasedBytes += event.contentBytes ?? 0;
    }
    after = position;
  }
}

/** What must be as before: usage, money, lineage. */
async function counted(engine: Engine, session: Session): Promise<unknown> {
  const { nodes } = await engine.lineage(session.id);
  const { used, limits, lastTurn } = (await session.fold()).standing;
  const { rows } = await engine.query(
    "SELECT session, seq, input_tokens, nano_usd FROM costs ORDER BY session, seq",
  );
  const lineage = nodes.map(({ session: id, parent, merged, depth }) => ({ id, parent, merged, depth }));
  return { used, limits, lastTurn, rows, lineage };
}

test("content erased with its copies is in no file of the store, and verify counts it", async () => {
  await using aviary = await plant();
  const { path, store, engine, session, others } = aviary;
  const bundled = await imported(engine);
  assert.deepEqual(doorsIn(path), [...planted.keys()].toSorted());
  await store.pack(session.id, 12);
  await store.pack(bundled.id, 2);
  await store.pack(others[0]?.id ?? session.id, 2);
  assert.deepEqual(doorsIn(path), [...planted.keys()].toSorted(), "also where it is packed");
  const before = await counted(engine, session);
  const report = await session.erase({ copies: true, reason: "asked for" });
  assert.equal(report.scrubbed, true);
  assert.deepEqual(doorsIn(path), ["agent", "imported input", "imported long input", "imported objective"]);
  await bundled.erase();
  await session.erase({ match: canary("agent"), copies: true });
  assert.deepEqual(doorsIn(path), []);
  assert.deepEqual(await counted(engine, session), before);
  const { problems, erased, erasedBytes } = await engine.verify();
  assert.deepEqual([problems, { erased, erasedBytes }], [[], await erasedInFeed(engine)]);
  await engine.rebuild();
  await engine.search("anything");
  assert.deepEqual(doorsIn(path), []);
  await engine.close();
  assert.deepEqual(doorsIn(path), []);
});

test("deleted content is in no file of the store", async () => {
  await using aviary = await plant();
  const { path, store, engine, session, others } = aviary;
  const bundled = await imported(engine);
  await store.pack(session.id, 12);
  // What is remembered and defined is the workspace's own, and outlives the sessions.
  const left = ["agent", "because", "decision", "fact", "reason to remember"];
  const [fork] = others.slice(-1);
  for (const one of [session, bundled, ...others.slice(0, -1)])
    await engine.delete(one.id, { reason: "asked for" });
  assert.ok(doorsIn(path).includes("input"), "the fork keeps what it shares");
  await engine.delete(fork?.id ?? "");
  assert.deepEqual(
    doorsIn(path).filter((door) => !left.includes(door)),
    [],
  );
  assert.deepEqual((await engine.verify()).problems, []);
  assert.match(readFileSync(path, "latin1"), /session\.deleted/);
});
