/** A tax rule changes from 20 to 25 % while workers are killed: the session reacts to it once. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { all } from "../runtime/place.ts";
import { engineAt, type ReactOrder } from "./react-runner.ts";
import { newPlace } from "./store-place.ts";

function dies(order: ReactOrder): boolean {
  const program = join(import.meta.dirname, "react-runner.ts");
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { env, encoding: "utf8", timeout: 60_000, killSignal: "SIGTERM" } as const;
  return spawnSync(process.execPath, [program, JSON.stringify(order)], options).signal === "SIGKILL";
}

const rule = (rate: number): string => `# Tax\n\nThe rate is ${rate} %.\n`;

for (const [dieAt, isBefore] of [
  ["trigger.fired", true],
  ["trigger.fired", false],
  ["turn.started", false],
  ["model.requested", false],
  ["model.responded", true],
  ["turn.ended", false],
] as const)
  test(`killed ${isBefore ? "before" : "after"} ${dieAt}: another worker reacts, once`, async () => {
    const directory = await mkdtemp(join(tmpdir(), "skein-react-kill-"));
    try {
      const path = await newPlace(directory);
      const tax = join(directory, "tax.md");
      await writeFile(tax, rule(20));
      await using engine = await engineAt(path);
      const session = await engine.open({ objective: "Payroll", files: [tax] });
      await session.ask("What is the rate?").result;
      await session.onChange(tax, "wake", { debounceMs: 50 });
      await session.sleep();
      await writeFile(tax, rule(25));
      assert.ok(dies({ path, dieAt, isBefore }), "the worker was killed there");
      const workers = [await engine.work({ leaseMs: 1_000 }), await engine.work({ leaseMs: 1_000 })];
      for (let tries = 0; tries < 300; tries++) {
        const { status, turn, inbox } = await session.state();
        if (status === "open" && turn === null && inbox.count === 0) break;
        await sleep(100);
      }
      // What would be a second reaction has time to come.
      await sleep(700);
      for (const worker of workers) await worker.stop();
      const events = await all(session.events());
      const count = (type: string): number => events.filter((event) => event.type === type).length;
      assert.deepEqual(
        ["trigger.fired", "session.woken", "turn.ended"].map(count),
        [1, 1, 2],
        "one firing, one waking, and one turn besides the first",
      );
      const reloaded = events.filter(
        ({ body }) => (body as { supersedes?: string }).supersedes !== undefined,
      );
      assert.equal(reloaded.length, 1);
      const { diff = "" } = (reloaded[0]?.content ?? {}) as { diff?: string };
      assert.match(diff, /-The rate is 20 %\.\n\+The rate is 25 %/);
      assert.equal((await session.fold()).mind.documents.size, 1);
      assert.equal((await engine.verify()).ok, true);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
