/** Signals of a strained context in whole sessions, also under a worker, which acts on them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { realWorld } from "../../../src/runtime/world.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { ask, isPrompt, lastText, small } from "./outgrown.ts";
import { engineWith, say, use, type Line } from "./scripted.ts";

test("a call that fails again and again strains a session under a worker, which acts", async () => {
  let number = 0;
  const fetch = defineTool({
    name: "fetch",
    description: "Fetches a page.",
    input: z.object({ url: z.string() }),
    effect: "read",
    run: async () => {
      throw new Error("503 Service Unavailable");
    },
  });
  const script = small((call): Line => {
    if (isPrompt(call)) return "Nothing was fetched.";
    number += 1;
    return number > 5
      ? [say("It is down.")]
      : [use("fetch", { url: "https://shop.example/rates" }, `f${number}`)];
  }, 200_000);
  await using engine = engineWith(script, { tools: [fetch] });
  const zones = { strained: { actions: ["tell-model", "suspend"] } } as const;
  await engine.addAgent({ name: "watched", instructions: "Fetch.", zones });
  const bind = [{ kind: "tool", name: "fetch" }] as const;
  const session = await engine.open({ objective: "Fetch the rates", agent: "watched", bind });
  await session.input("Fetch the rates");
  const worker = await engine.work({ concurrency: 1 });
  const { now, sleep } = realWorld();
  for (const end = now() + 20_000; now() < end && (await session.state()).status !== "suspended";)
    await sleep(5);
  await worker.stop();
  const { status, why, zoneCauses, zoneActions } = await session.state();
  assert.deepEqual([status, why?.by], ["suspended", "zone"]);
  assert.deepEqual([zoneCauses, zoneActions], [["repeated-failure"], ["tell-model", "suspend"]]);
  assert.equal(number, 4, "three failures, and the answer after them");
});

test("answers that take three times as long, and a context of two weeks, strain a session", async () => {
  let [atMs, takesMs] = [1_700_000_000_000, 1_000];
  const real = realWorld();
  const world = { ...real, now: () => atMs };
  const script = small((call): Line => {
    atMs += takesMs;
    return lastText(call) === "" ? "Done." : "The rates were read, and nothing has changed since yesterday.";
  }, 200_000);
  await using engine = engineWith(script, { world });
  const slow = await engine.open({ objective: "Read rates" });
  for (let turn = 1; turn <= 40; turn++) await ask(slow, `Read the rates of day ${turn}`);
  assert.deepEqual((await slow.state()).zoneCauses, []);
  takesMs = 9_000;
  for (let turn = 41; turn <= 60; turn++) await ask(slow, `Read the rates of day ${turn}`);
  assert.deepEqual((await slow.state()).zoneCauses, ["latency"]);
  takesMs = 1_000;
  const old = await engine.open({ objective: "Read rates" });
  await ask(old, "Read the rates");
  assert.deepEqual((await old.state()).zoneCauses, []);
  atMs += 15 * 86_400_000;
  await ask(old, "Read the rates");
  assert.deepEqual((await old.state()).zoneCauses, ["age"]);
});
