/**
 * Processes that keep sessions of Google's kit, and transcripts of the Claude Agent SDK, are killed at each
 * append of the store. The next process goes on: nothing is lost, and nothing is there twice. And two
 * processes that write to one thread at once.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { openEngine } from "../../src/index.ts";
import { freshSeed } from "../crash/random.ts";
import { slicedEvery } from "../slice.ts";
import { pointsOf, runProgram } from "./dying.ts";

const seed = freshSeed();
const runner = join(import.meta.dirname, "kill-runner.ts");

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-drawer-kill-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

interface Run {
  readonly result: unknown;
  readonly appends: number;
}

async function run(...args: readonly string[]): Promise<Run> {
  return JSON.parse((await runProgram(runner, args)).output) as Run;
}

const ids = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);

const cases: readonly (readonly [what: string, appends: number, result: unknown])[] = [
  ["adk", 19, { events: ["e1", "e2", "e3", "e4"], state: { n: 4, "app:n": 4, "user:n": 4 } }],
  ["claude", 6, { main: ["1", "2", "3"], agent: [...ids("a", 1_200), "last"], sub: ["subagents/agent-1"] }],
  ["claudeDelete", 10, { main: [{ type: "user", uuid: "1", text: "a\0b" }], agent: null, after: null }],
];

for (const [what, appends, result] of cases) {
  test(`${what}: a process is killed at each append, and the next one goes on`, async (t) => {
    const folder = folderOf(t);
    assert.deepEqual(await run(what, join(folder, "whole.db")), { result, appends });
    for (const [at, when] of slicedEvery(pointsOf(appends), 10, seed)) {
      const path = join(folder, `${at}-${when}.db`);
      const label = `${when} append ${at}, seed ${seed}`;
      assert.equal((await runProgram(runner, [what, path, String(at), when])).signal, "SIGKILL", label);
      const next = await run(what, path);
      // What was deleted as a whole is written and deleted again.
      if (what !== "claudeDelete" || at < appends) assert.deepEqual(next.result, result, label);
      await using engine = await openEngine({ store: path });
      assert.equal((await engine.verify()).ok, true, label);
      if (what === "claudeDelete")
        for (const file of [path, `${path}-wal`])
          assert.ok(!readFileSync(file, "latin1").includes("canary-of-the-agent"), label);
    }
  });
}

test("adk: two processes on one session lose no event, and no state", async (t) => {
  const path = join(folderOf(t), "two.db");
  await Promise.all([run("adk", path, "0", "", "a-"), run("adk", path, "0", "", "b-")]);
  const { events, state } = (await run("adk", path, "0", "", "a-")).result as {
    readonly events: readonly string[];
    readonly state: object;
  };
  for (const name of ["a-", "b-"])
    assert.deepEqual(
      events.filter((id) => id.startsWith(name)),
      ["1", "2", "3", "4"].map((n) => `${name}e${n}`),
    );
  assert.equal(events.length, 8);
  assert.deepEqual(state, { n: 4, "app:a-n": 4, "app:b-n": 4, "user:n": 4 });
  await using engine = await openEngine({ store: path });
  // The session, and the state of the app and of the user.
  assert.equal((await engine.sessions()).rows.length, 3);
});

test("claude: two processes that mirror one session lose no entry, and keep their order", async (t) => {
  const path = join(folderOf(t), "two.db");
  const names = ["a-", "b-"];
  await Promise.all(names.map((name) => run("claude", path, "0", "", name)));
  const { main, agent } = (await run("claude", path, "0", "", "a-")).result as Record<string, string[]>;
  for (const name of names) {
    const own = (all: readonly string[] = []) => all.filter((id) => id.startsWith(name));
    assert.deepEqual(
      own(main),
      ["1", "2", "3"].map((n) => `${name}${n}`),
    );
    assert.deepEqual(own(agent), [...ids(`${name}a`, 1_200), `${name}last`]);
  }
  assert.deepEqual([main?.length, agent?.length], [6, 2_402]);
});
