/** Workers are killed between a crossing of the zone and what the agent's policy wants there. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine, Session } from "../../src/index.ts";
import { all } from "../runtime/place.ts";
import { newPlace } from "./store-place.ts";
import { engineAt, witnessed, type ZoneOrder } from "./zone-runner.ts";

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

for (const [dieAfter, dieBefore] of [
  ["zone.crossed", false],
  ["session.continued", true],
  ["session.continued", false],
  // The record of the decision and the successor are one append.
  ['"action":"rollover"', false],
  ["lease.released", true],
] as const) {
  const when = `${dieBefore ? "before" : "after"} ${dieAfter}`;
  test(`a rollover, killed ${when}: one successor each, no call twice`, async () => {
    const directory = await mkdtemp(join(tmpdir(), "skein-zone-kill-"));
    const witness = join(directory, "witness");
    try {
      const path = await newPlace(directory);
      await using engine = await engineAt(path, { witness });
      const zones = { strained: { tokens: 10_000, actions: ["rollover", "suspend"] } } as const;
      await engine.addAgent({ name: "watched", instructions: "Fetch.", zones });
      const bind = [{ kind: "tool", name: "report" }] as const;
      const grant = [{ tool: "report", rule: "allow" }] as const;
      const first = await engine.open({ objective: "Fetch reports", agent: "watched", bind, grant });
      await first.input("Fetch sixteen reports");
      // Three times, the second and third time in a later session.
      for (let times = 0; times < 3; times++)
        assert.ok(dies({ path, dieAfter, dieBefore, witness }), "the worker was killed there");
      const worker = await engine.work({ concurrency: 1, leaseMs: 1_000 });
      let chain = [first];
      for (let tries = 0; tries < 300; tries++) {
        chain = await chainOf(engine, first);
        const { status, turn, inbox } = await (chain.at(-1) ?? first).state();
        if (status === "open" && turn === null && inbox.count === 0) break;
        await sleep(100);
      }
      await worker.stop();
      assert.ok(chain.length >= 3, `${chain.length} sessions`);
      assert.equal((await engine.sessions()).rows.length, chain.length, "each has one successor");
      assert.deepEqual(
        witnessed(witness),
        Array.from({ length: 16 }, (_, number) => String(number + 1)),
      );
      for (const session of chain.slice(0, -1)) {
        const acted = await all(session.events({ types: ["zone.acted"] }));
        assert.deepEqual(
          acted.map(({ body }) => (body as { action: string }).action),
          ["rollover"],
        );
        const { status, turn, lease } = (await session.fold()).standing;
        assert.deepEqual([status, turn, lease.held], ["closed", null, false]);
      }
      assert.equal((await engine.verify()).ok, true);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
}

/** By the logs alone, and each session in it once. */
async function chainOf(engine: Engine, first: Session): Promise<Session[]> {
  const chain = [first];
  for (let at = first; ;) {
    let next: string | null = null;
    for (const { body } of await all(at.events({ types: ["session.continued"], limit: 1 })))
      next = (body as { readonly to: string }).to;
    if (next === null) return chain;
    at = await engine.session(next);
    chain.push(at);
  }
}

const isStrained = (body: unknown): boolean => (body as { zone: string }).zone === "strained";
