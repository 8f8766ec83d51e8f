/** A process is killed while its model saves, sets a trigger, rewinds and hands off: each is done once. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { SkeinError } from "../../src/core/error.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { all } from "../runtime/place.ts";
import { sliced } from "../slice.ts";
import { engineAt, type ControlOrder } from "./control-runner.ts";
import { newPlace } from "./store-place.ts";

/** Runs the program; true when it was killed. */
function dies(order: ControlOrder): boolean {
  const program = join(import.meta.dirname, "control-runner.ts");
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const ended = spawnSync(process.execPath, [program, JSON.stringify(order)], { env, encoding: "utf8" });
  assert.ok(ended.signal === "SIGKILL" || ended.status === 0, ended.stderr);
  return ended.signal === "SIGKILL";
}

/** Waits for the lease of a dead process to expire. */
async function runPatiently(session: Session) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await session.run();
    } catch (error) {
      if (!(error instanceof SkeinError) || error.code !== "conflict" || attempt > 50) throw error;
      await sleep(200);
    }
  }
}

const names = ["save", "rewind", "handoff", "trigger"] as const;

async function killedAfter(dieAfter: number, folder: string): Promise<boolean> {
  const path = await newPlace(folder, `${dieAfter}.db`);
  await using engine = await engineAt(path);
  const bind = names.map((name) => ({ kind: "tool" as const, name }));
  const session = await engine.open({ objective: "Choose a way", bind });
  await session.input("Choose");
  const killed = dies({ path, session: session.id, dieAfter });
  assert.equal((await runPatiently(session)).status, "open");
  const types = ["checkpoint.saved", "trigger.set", "session.rewound", "handoff.written", "input.received"];
  const found = (await all(session.events({ types }))).map(({ type }) => type);
  const counts = types.map((type) => found.filter((one) => one === type).length);
  assert.deepEqual(counts, [1, 1, 1, 1, 2], `after append ${dieAfter}: ${found.join(" ")}`);
  assert.deepEqual(
    (await session.items()).map(({ key, value }) => [key, value]),
    [["way", "queue"]],
  );
  assert.deepEqual((await session.fold()).standing.inbox.waiting, []);
  for (const { seq } of await all(session.events({ types: ["model.requested"] })))
    assert.equal((await session.context({ atSeq: seq })).matches, true, `request ${seq}`);
  assert.equal((await engine.verify()).ok, true);
  return killed;
}

test("a process killed after any append of its model's own calls leaves each done once", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "skein-control-"));
  try {
    let appends = 1;
    let kills = 0;
    while (await killedAfter(appends, folder)) {
      appends += sliced(3, 1);
      kills += 1;
    }
    context.diagnostic(`${kills} kills in ${appends} appends`);
    assert.ok(appends > 10, `only ${appends} appends`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
