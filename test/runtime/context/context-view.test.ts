/** What a window is filled with, and where its zones begin, as whoever looks at a context is told. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inMemory } from "../place.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

const instructions = "Be exact.";

test("each part has a label, and the tokens are the sum of the parts", async () => {
  await using engine = engineWith(scripted(["done"]));
  const session = await engine.open({ objective: "Fix login", instructions });
  await session.input("Begin.");
  await session.run();
  const { reasons, tokens, tiers, windowTokens, zones } = await session.context();
  assert.equal(
    tiers.reduce((sum, { usedTokens }) => sum + usedTokens, 0),
    tokens,
  );
  assert.deepEqual(
    reasons.filter(({ kind }) => kind !== "tools").map(({ kind, why }) => [kind, why]),
    [
      ["settings", "model settings"],
      ["instructions", "the session's instructions"],
      ["instructions", "the session's objective"],
      ["transcript", "input"],
      ["transcript", "answer"],
      ["transcript", "added: a request must end with input"],
    ],
  );
  assert.equal(
    reasons.reduce((sum, reason) => sum + reason.tokens, 0),
    tokens,
  );
  assert.deepEqual(
    { windowTokens, zones },
    {
      windowTokens: 100_000,
      zones: { strainedTokens: 60_000, fullTokens: 85_000 },
    },
  );
});

test("zones are those of the agent as the session pinned it, also when it has a newer version", async () => {
  await using engine = engineWith(scripted(["done"]));
  const zones = { strained: { share: 0.5, tokens: 20_000 }, full: { share: 0.7 } };
  await engine.addAgent({ name: "payroll", instructions, zones });
  const session = await engine.open({ objective: "o", agent: "payroll" });
  await engine.addAgent({ name: "payroll", instructions, zones: { full: { share: 0.9 } } });
  const later = await engine.open({ objective: "o", agent: "payroll" });
  assert.deepEqual((await session.context()).zones, { strainedTokens: 20_000, fullTokens: 70_000 });
  assert.deepEqual((await later.context()).zones, { strainedTokens: 60_000, fullTokens: 90_000 });
});

test("for an unknown model only zone limits in tokens apply", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const { windowTokens, zones } = await session.context();
  assert.deepEqual(
    { windowTokens, zones },
    {
      windowTokens: null,
      zones: { strainedTokens: 100_000, fullTokens: null },
    },
  );
});
