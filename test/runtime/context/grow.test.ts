/** What a request and a plan cost: they follow what is new, and what is shown, not the length of the log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../../src/store/port.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import { sliced } from "../../slice.ts";
import { workspace } from "../place.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

/** A world that counts the characters it hashes, and a store that counts the records it reads. */
function counting() {
  const counted = { hashed: 0, records: 0 };
  const plain = realWorld();
  const world = {
    ...plain,
    digest: (salt: string, text: string): string => {
      counted.hashed += text.length;
      return plain.digest(salt, text);
    },
  };
  const inner = kind().store({ world: plain, workspace });
  const store: Store = {
    ...inner,
    async read(session, range) {
      const records = await inner.read(session, range);
      counted.records += records.length;
      return records;
    },
  };
  return { counted, world, store };
}

test("a request hashes and reads what is new, however long the context is", async () => {
  const { counted, world, store } = counting();
  await using engine = engineWith(scripted(["unused"]), { world, store });
  const session = await engine.open({ objective: "Grow", model: "test/scripted" });
  await using drive = await session.drive();
  const said = "word ".repeat(200);
  const costs: { hashed: number; records: number }[] = [];
  for (let turn = 0; turn < 120; turn++) {
    await session.append(`${turn} ${said}`);
    await drive.begin();
    Object.assign(counted, { hashed: 0, records: 0 });
    const { parts } = await drive.request({ model: "test/scripted" });
    costs.push({ ...counted });
    assert.ok(parts.length > turn);
    const usage = { inputTokens: 1, outputTokens: 1 };
    const blocks = [{ type: "text" as const, text: `${turn} ${said}` }];
    await drive.respond({ finish: "stop", usage, costNanoUsd: 0, blocks });
    await drive.end();
  }
  const [early, late] = [costs[10]!, costs.at(-1)!];
  assert.ok(late.hashed < early.hashed * 1.2, `${early.hashed} characters, then ${late.hashed}`);
  assert.ok(late.records <= early.records, `${early.records} records, then ${late.records}`);
});

test("a plan reads as much of a long log as of a short one", async () => {
  const planned: { hashed: number; records: number }[] = [];
  for (const events of [1_000, sliced(20_000, 100_000)]) {
    const { counted, world, store } = counting();
    await using engine = engineWith(scripted(["Hello.", "Hello.", "The work began."]), { world, store });
    const session = await engine.open({ objective: "Plan" });
    for (let number = 0; number < 50; number++) await session.record("fact", `k${number}`, number);
    const notes = Array.from({ length: 500 }, (_, number) => ({ type: "x.note" as const, body: { number } }));
    while ((await session.head()).seq < events) await session.append(notes);
    for (const _ of [1, 2]) await session.ask("word ".repeat(400)).result;
    assert.equal((await session.compress()).compacted, true);
    await session.context();
    Object.assign(counted, { hashed: 0, records: 0 });
    const { parts } = await session.context();
    assert.match(JSON.stringify(parts), /fact k49: 49/);
    planned.push({ ...counted });
  }
  const [short, long] = [planned[0]!, planned[1]!];
  assert.ok(long.records <= short.records * 1.2, `${short.records} records, then ${long.records}`);
  assert.ok(long.hashed <= short.hashed * 1.2, `${short.hashed} characters, then ${long.hashed}`);
});

test("contexts share their prefix, and each token and omission has its tier", async (t) => {
  const script = scripted(["Hello."], { windowTokens: 20_000 });
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "A long session" });
  await session.record("decision", "production", "never delete the production database");
  for (let number = 0; number < 230; number++) await session.record("fact", `f${number}`, "word ".repeat(25));
  for (let turn = 0; turn < 60; turn++) {
    if (turn % 20 === 10) await session.pin("fact", `f${turn}`);
    if (turn % 9 === 5) await session.record("fact", `late${turn}`, "known later");
    await session.ask(`Turn ${turn}: ${"say more ".repeat(40)}`).result;
  }
  const sent = script.calls.map(({ parts }) => parts.map((part) => JSON.stringify(part)));
  let [all, cached] = [0, 0];
  for (const [place, parts] of sent.entries()) {
    const before = sent[place - 1] ?? [];
    const first = parts.findIndex((part, at) => part !== before[at]);
    const same = first === -1 ? parts : parts.slice(0, first);
    cached += same.join("").length;
    all += parts.join("").length;
  }
  t.diagnostic(`cached prefix: ${((cached / all) * 100).toFixed(1)} % over ${sent.length} requests`);
  assert.ok(cached / all > 0.85, `${cached} of ${all}`);
  await session.compress();
  const { parts, tiers, tokens } = await session.context();
  assert.match(JSON.stringify(parts), /never delete the production database/);
  assert.equal(
    tiers.reduce((sum, { usedTokens }) => sum + usedTokens, 0),
    tokens,
  );
  const items = tiers.find(({ tier }) => tier === "items");
  assert.ok(items !== undefined && items.leftOut.length > 0 && items.usedTokens > 0);
  assert.match(items.leftOut[0]?.name ?? "", /^fact f\d+$/);
});
