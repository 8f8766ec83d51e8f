/** Processes that run, or settle, an external call are killed after each of their appends. */
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
import { engineAt, settleCall, type ExternalOrder } from "./external-runner.ts";
import { newPlace } from "./store-place.ts";

/** Runs the program; true when it was killed. */
function dies(order: ExternalOrder): boolean {
  const program = join(import.meta.dirname, "external-runner.ts");
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

const count = async (session: Session, type: string): Promise<number> =>
  (await all(session.events({ types: [type] }))).length;

async function killedIn(what: "run" | "settle", dieAfter: number, directory: string): Promise<boolean> {
  const path = await newPlace(directory);
  await using engine = await engineAt(path);
  const session = await engine.open({ objective: "Shop", bind: [{ kind: "tool", name: "order" }] });
  await session.input("Order a pen.");
  if (what === "settle") assert.equal((await session.run()).by, "tool");
  const killed = dies({ path, session: session.id, do: what, dieAfter });
  if (what === "run") {
    const ran = await runPatiently(session);
    assert.deepEqual([ran.status, ran.by], ["suspended", "tool"]);
  }
  const settled = await settleCall(engine, session.id);
  assert.equal(settled === null, what === "settle");
  assert.equal((await runPatiently(session)).status, "open");
  assert.equal(await count(session, "tool.requested"), 1);
  assert.equal(await count(session, "tool.started"), 1);
  assert.equal(await count(session, "tool.settled"), 1);
  assert.equal((await engine.verify()).ok, true);
  return killed;
}

for (const what of ["run", "settle"] as const) {
  test(`a process killed after any append of its ${what} leaves one call with one outcome`, async () => {
    const directory = await mkdtemp(join(tmpdir(), "skein-external-"));
    try {
      let appends = 1;
      while (await killedIn(what, appends, directory)) appends += 1;
      assert.ok(appends > (what === "run" ? 4 : 1), `only ${appends - 1} appends`);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
}
