/**
 * Another process takes up an input and is killed after each of its appends: what was remembered meanwhile is
 * carried once, the model is told before the input, and every context is rebuilt.
 */
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
import { scripted } from "../runtime/turn/scripted.ts";
import { engineAt, type MemoryOrder } from "./memory-runner.ts";
import { newPlace } from "./store-place.ts";

/** Runs the program; true when it was killed. */
function dies(order: MemoryOrder): boolean {
  const program = join(import.meta.dirname, "memory-runner.ts");
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

async function killedAfter(dieAfter: number, directory: string): Promise<boolean> {
  const path = await newPlace(directory);
  const script = scripted(["Fine."]);
  await using engine = await engineAt(path, script);
  // The place is one for all: each has memory of its own.
  const agent = `writer-${dieAfter}`;
  await engine.addAgent({ name: agent, instructions: "Write." });
  const session = await engine.open({ objective: "Write headlines", agent });
  await session.ask("Begin.").result;
  const entry = { scope: "agent", owner: agent, kind: "constraint" } as const;
  await engine.remember({ ...entry, key: "brand-voice", value: "Warm, short sentences" });
  await engine.remember({ ...entry, kind: "fact", key: "harbour-rent", value: "Due on the third" });
  await session.input("When is the harbour rent due?");
  const killed = dies({ path, session: session.id, dieAfter });
  assert.equal((await runPatiently(session)).status, "open");
  const events = await all(session.events({ types: ["memory.carried"] }));
  assert.deepEqual(
    events.map(({ content }) => (content as { items: { key: string }[] }).items.map(({ key }) => key)),
    [["brand-voice", "harbour-rent"]],
  );
  await session.ask("And now?").result;
  const shown = JSON.stringify(script.calls.at(-1)?.parts);
  assert.ok(shown.indexOf("brand-voice: Warm") > 0);
  assert.ok(shown.indexOf("brand-voice: Warm") < shown.indexOf("When is the harbour rent due?"));
  assert.equal(shown.split("brand-voice: Warm").length, 2);
  for (const { seq } of await all(session.events({ types: ["model.requested"] })))
    assert.equal((await session.context({ atSeq: seq })).matches, true, `request ${seq}`);
  assert.equal((await engine.verify()).ok, true);
  return killed;
}

test("a process killed after any append of its turn leaves memory carried once", async () => {
  const directory = await mkdtemp(join(tmpdir(), "skein-memory-"));
  try {
    let appends = 1;
    while (await killedAfter(appends, directory)) appends += 1;
    assert.ok(appends > 2, `only ${appends - 1} appends`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
