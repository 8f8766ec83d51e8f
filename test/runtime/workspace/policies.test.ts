/** Policies of a workspace: set, replaced, removed and listed; what is wrong with one is told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { startOfTime } from "../made-world.ts";
import { inMemory } from "../place.ts";
import { writeRaw } from "../raw.ts";

test("policies are set, replaced, removed and listed, and the default comes back", async () => {
  await using place = inMemory();
  const { engine, store } = place;
  const match = { agent: "a" };
  const set = await engine.setPolicy("b", { do: "delete", after: "1d", match });
  assert.deepEqual(
    [set.name, set.policy, set.everything, set.at],
    ["b", { do: "delete", after: "1d", match }, false, startOfTime],
  );
  const { seq } = (await store.head(store.workspace))!;
  await engine.setPolicy("b", { do: "delete", after: "1d", match });
  assert.equal((await store.head(store.workspace))!.seq, seq);
  await engine.setPolicy("default", { do: "pack", after: "1d" });
  const names = async () =>
    (await engine.policies()).map(({ name, policy, at }) => [name, policy?.after, at !== null]);
  assert.deepEqual(await names(), [
    ["b", "1d", true],
    ["default", "1d", true],
  ]);
  await engine.removePolicy("default");
  await engine.removePolicy("b");
  assert.deepEqual(await names(), [["default", "7d", false]]);
  await assert.rejects(engine.removePolicy("b"), { code: "not-found" });
  await assert.rejects(engine.removePolicy("default"), { code: "not-found" });
});

test("an invalid policy or option is refused, and leaves no trace", async () => {
  await using place = inMemory();
  const { engine, store } = place;
  const bad: readonly [() => Promise<unknown>, string][] = [
    [() => engine.setPolicy("p", { do: "delete", aftr: "1d" } as never), 'policy "p": unknown field "aftr"'],
    [
      () => engine.setPolicy("p", { do: "delete", after: "-1d" }),
      'policy "p": after: expected a number and a unit, such as 12h, 90d or 4w',
    ],
    [() => engine.setPolicy("", { do: "pack" }), 'policy: name: expected a policy name, got ""'],
    [
      () => engine.setPolicy("p", { do: "pack" }, { evrything: true } as never),
      'setPolicy: unknown option "evrything"',
    ],
    [() => engine.retain({ dryrun: true } as never), 'retain: unknown option "dryrun"'],
  ];
  for (const [work, message] of bad) await assert.rejects(work, { code: "invalid", message });
  assert.equal(await store.head(store.workspace), undefined);
  for (let n = 0; n < limit.policiesMax; n++) await engine.setPolicy(`p${n}`, { do: "pack" });
  await assert.rejects(engine.setPolicy("one more", { do: "pack" }), { code: "refused" });
  await engine.setPolicy("p0", { do: "pack", after: "1d" });
});

test("a policy that only a newer program understands is listed and not followed", async () => {
  await using place = inMemory();
  const { engine, store, world } = place;
  const session = await engine.open({ objective: "o" });
  await session.close();
  await engine.setPolicy("a", { do: "pack" });
  const policy = { do: "delete", after: "1d", match: { weekday: "monday" } };
  await writeRaw(place, store.workspace, [
    { type: "policy.set", body: { name: "new" }, content: { policy } },
  ]);
  world.pass(9 * 86_400_000);
  const listed = (await engine.policies()).find(({ name }) => name === "new");
  assert.deepEqual([listed?.policy, listed?.everything], [null, false]);
  const { done } = await engine.retain();
  assert.deepEqual(
    done.map((one) => [one.session, one.do]),
    [[session.id, "pack"]],
  );
});
