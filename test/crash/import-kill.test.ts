/**
 * Imports are killed at random moments and started again: in the end the store holds what an import without a
 * kill gives. Sessions, entries, forks, children, sums and originals, and nothing twice.
 */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { SessionEvent } from "../../src/core/event.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { all, newPath, workspace } from "../runtime/place.ts";
import { sliced } from "../slice.ts";
import { freshSeed, makeRandom } from "./random.ts";

const kills = sliced(3, 20);
const folder = mkdtempSync(join(tmpdir(), "skein-import-kill-"));
after(() => rmSync(folder, { recursive: true }));

const id = (number: number): string => `0b6f9f5e-3a0c-4e0a-9d5e-${String(number).padStart(12, "0")}`;
type Line = Record<string, unknown>;

/** A conversation with calls, a branch every 50 turns, and a subagent in the same file every 100. */
function conversation(session: number, turns: number): Line[] {
  const lines: Line[] = [];
  let parentUuid: string | null = null;
  const add = (uuid: string, type: string, message: object, more: Line = {}): void => {
    const name = `${session}-${uuid}`;
    lines.push({ type, uuid: name, parentUuid, sessionId: id(session), message, ...more });
    parentUuid = name;
  };
  const usage = { input_tokens: 10, output_tokens: 3 };
  const answer = (name: string, content: object): object => ({
    id: `msg_${name}`,
    role: "assistant",
    model: "m",
    usage,
    content: [content],
  });
  for (let turn = 0; turn < turns; turn++) {
    const from: string | null = parentUuid;
    const aside = (after: string | null, uuid: string, more: Line = {}): void => {
      parentUuid = after;
      add(`${uuid}p`, "user", { role: "user", content: `${uuid} ${turn}` }, more);
      add(`${uuid}a`, "assistant", answer(`${session}${uuid}`, { type: "text", text: "aside" }), more);
      parentUuid = from;
    };
    if (turn % 50 === 10) aside(from, `branch${turn}`);
    if (turn % 100 === 20) aside(null, `side${turn}`, { isSidechain: true });
    add(`u${turn}`, "user", { role: "user", content: `turn ${turn} ghp_${"a1B2c3D4e5".repeat(4)}` });
    const call = {
      type: "tool_use",
      id: `t${session}-${turn}`,
      name: "Bash",
      input: { command: "x".repeat(500) },
    };
    add(`c${turn}`, "assistant", answer(`shared_${turn}c`, call));
    const result = { type: "tool_result", tool_use_id: call.id, content: "y".repeat(1_500) };
    add(`r${turn}`, "user", { role: "user", content: [result] });
    add(`a${turn}`, "assistant", answer(`shared_${turn}a`, { type: "text", text: `said ${turn}` }));
  }
  return lines;
}

function makeFiles(): void {
  const put = (name: string, lines: readonly Line[]): void =>
    writeFileSync(join(folder, name), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  put(`${id(1)}.jsonl`, conversation(1, sliced(450, 900)));
  // A fork of it, with the same answers, and a subagent with a file of its own.
  put(`${id(2)}.jsonl`, conversation(2, 300));
  mkdirSync(join(folder, id(1), "subagents"), { recursive: true });
  const agent = conversation(3, 5).map((line) => ({
    ...line,
    sessionId: id(1),
    agentId: "x1",
    isSidechain: true,
  }));
  put(`${id(1)}/subagents/agent-x1.jsonl`, agent);
}

function start(path: string): ChildProcess {
  const file = fileURLToPath(new URL("./importer.ts", import.meta.url));
  return spawn(process.execPath, [file, path, folder], { stdio: ["ignore", "pipe", "inherit"] });
}

async function ready(child: ChildProcess): Promise<void> {
  const [line] = (await once(child.stdout ?? child, "data")) as [Buffer];
  assert.equal(String(line), "ready\n");
}

function storePath(): string {
  const { path, remove } = newPath();
  after(remove);
  return path;
}

async function runWhole(path: string): Promise<number> {
  const child = start(path);
  await ready(child);
  const begun = performance.now();
  const [code] = (await once(child, "exit")) as [number | null];
  assert.equal(code, 0);
  return performance.now() - begun;
}

const nameOf = (event: SessionEvent | undefined): string => {
  const { id: name = "", blocks = [] } = (event?.content ?? {}) as {
    id?: string;
    blocks?: { text?: string }[];
  };
  return `${event?.type ?? "none"} ${name} ${blocks.map(({ text }) => text).join("|")}`;
};

/** What a store holds, without the positions and times at which it was written. */
async function contentOf(path: string): Promise<object> {
  const world = realWorld();
  const engine = new Engine({ store: await sqliteStore({ path, world, workspace }), world });
  try {
    assert.equal((await engine.verify()).ok, true);
    const { rows } = await engine.sessions({ limit: 200 });
    const told = await Promise.all(rows.map(({ session }) => sessionContent(engine, session)));
    return Object.fromEntries(told.toSorted((a, b) => (a[0] < b[0] ? -1 : 1)));
  } finally {
    await engine.close();
  }
}

async function sessionContent(engine: Engine, id: SessionId): Promise<readonly [string, object]> {
  const session = await engine.session(id);
  const { standing } = await session.fold();
  const events = await all(session.events());
  const entries = events.filter(({ type }) => /^(input|answer|call)\.imported$/.test(type));
  const last = events.findLast(({ type }) => type === "source.imported");
  const { blocks = [] } = (last?.content ?? {}) as { blocks?: { blob: string }[] };
  const at = async (
    place: { readonly seq: number } | null,
    of: string | undefined,
  ): Promise<string | null> => {
    if (place === null || of === undefined) return null;
    const range = { fromSeq: place.seq, toSeq: place.seq };
    return `${of} ${nameOf((await all((await engine.session(of)).events(range)))[0])}`;
  };
  return [
    id,
    {
      entries: entries.map(nameOf),
      usage: entries.map(({ body }) => (body as { usage?: unknown; copied?: boolean }).usage ?? null),
      imported: standing.imported,
      parent: await at(standing.parent, standing.parent?.session),
      fork: await at(standing.fork, standing.fork?.parent),
      status: [standing.status, standing.unreviewed],
      source: [standing.source?.entries, standing.source?.ids],
      original: blocks.map(({ blob }) => blob),
    },
  ];
}

test(`an import killed ${kills} times ends as one that was not`, async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const { next } = makeRandom(seed);
  makeFiles();
  const whole = storePath();
  const wholeMs = await runWhole(whole);
  const expected = await contentOf(whole);
  let path = storePath();
  let finished = 0;
  for (let kill = 0; kill < kills; kill++) {
    const child = start(path);
    await ready(child);
    await sleep(next() * wholeMs * 0.8);
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    if (child.exitCode === null) continue;
    // It was faster: the next one begins anew.
    finished += 1;
    assert.deepEqual(await contentOf(path), expected);
    path = storePath();
  }
  t.diagnostic(
    `${wholeMs.toFixed(0)} ms without a kill; ${finished} of ${kills} ended before they were killed`,
  );
  await runWhole(path);
  assert.deepEqual(await contentOf(path), expected);
  await runWhole(path);
  assert.deepEqual(await contentOf(path), expected);
});
