/** Workers are killed between a crossing of the zone and what the agent's policy wants there. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { all } from "../runtime/place.ts";
import { newPlace } from "./store-place.ts";
import { engineAt, type ZoneOrder } from "./zone-runner.ts";

function dies(order: ZoneOrder): boolean {
  const program = join(import.meta.dirname, "zone-runner.ts");
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const options = { env, encoding: "utf8", timeout: 60_000, killSignal: "SIGTERM" } as const;
  return spawnSync(process.execPath, [program, JSON.stringify(order)], options).signal === "SIGKILL";
}

const points = ["zone.crossed", '"action":"tell-model"', '"purpose":"compaction"', "transcript.compacted"];

for (const dieAfter of points) {
  test(`killed after ${dieAfter}: another worker does the rest, and nothing twice`, async () => {
    const directory = await mkdtemp(join(tmpdir(), "skein-zone-kill-"));
    try {
      const path = await newPlace(directory);
      await using engine = await engineAt(path);
      const zones = { strained: { tokens: 10_000, actions: ["tell-model", "compress"] } } as const;
      await engine.addAgent({ name: "watched", instructions: "Fetch.", zones });
      const bind = [{ kind: "tool", name: "report" }] as const;
      const session = await engine.open({ objective: "Fetch five reports", agent: "watched", bind });
      await session.append("Fetch five reports");
      assert.ok(dies({ path, dieAfter }), "the worker was killed there");
      const worker = await engine.work({ concurrency: 1, leaseMs: 1_000 });
      for (let tries = 0; tries < 300; tries++) {
        const { status, turn, inbox } = await session.state();
        if (status === "open" && turn === null && inbox.count === 0) break;
        await sleep(100);
      }
      await worker.stop();
      const found = await all(session.events({ types: ["zone.crossed", "zone.acted", "turn.ended"] }));
      assert.equal(found.filter(({ type }) => type === "turn.ended").length, 1);
      const rises = found.filter(({ type, body }) => type === "zone.crossed" && isStrained(body));
      assert.ok(rises.length >= 1);
      for (const { seq } of rises) {
        const acted = found.filter(({ type, cause }) => type === "zone.acted" && cause === seq);
        const done = acted.map(({ body }) => (body as { action: string }).action);
        assert.deepEqual(done, ["tell-model", "compress"], `after ${seq}`);
      }
      const compactions = await all(session.events({ types: ["transcript.compacted"] }));
      assert.equal(compactions.length, rises.length);
      assert.equal((await engine.verify()).ok, true);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
}

const isStrained = (body: unknown): boolean => (body as { zone: string }).zone === "strained";
