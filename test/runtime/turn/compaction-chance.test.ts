/** Compaction by chance: windows, inputs, outputs and models of all sizes and moods. None gets stuck. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { SkeinError } from "../../../src/core/error.ts";
import { estimateTokens, roughTokens } from "../../../src/core/context/token-count.ts";
import { ModelError, type ModelAnswer, type AnswerBlock, type ModelCall } from "../../../src/model/port.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { makeRandom, type Random } from "../../crash/random.ts";
import { ask, assertPaired, assertRebuilt, bound, compactionsOf, isPrompt } from "./outgrown.ts";
import { engineWith, say, scripted, use } from "./scripted.ts";
import { sliced } from "../../slice.ts";

const seedsMax = Number(process.env["SKEIN_COMPACTION_SEEDS"] ?? sliced(4, 12));
const first = Number(process.env["SKEIN_COMPACTION_SEED"] ?? 1);

test("with any input and any summarizer, turns end and contexts can be rebuilt", async (t) => {
  let compactions = 0;
  for (let seed = first; seed < first + seedsMax; seed++) {
    try {
      compactions += await live(makeRandom(seed));
    } catch (error) {
      t.diagnostic(`repeat with SKEIN_COMPACTION_SEED=${seed} SKEIN_COMPACTION_SEEDS=1`);
      throw error;
    }
  }
  t.diagnostic(`seeds ${first} to ${first + seedsMax - 1}: ${compactions} compactions`);
  assert.ok(compactions > seedsMax);
});

const words = (random: Random, count: number): string =>
  Array.from({ length: count }, () => random.pick(["alpha", "beta 12", "日本語", "x{y}", 'quote"'])).join(
    " ",
  );

/** How a model takes it to be asked for a summary. */
const moods = ["good", "good", "refusing", "flaky", "wordy", "silent"] as const;

function summaryBy(mood: (typeof moods)[number], random: Random, call: ModelCall): readonly AnswerBlock[] {
  if (mood === "refusing") throw new ModelError("auth", "no summaries");
  if (mood === "flaky" && random.chance(0.5)) {
    throw new ModelError(random.pick(["overflow", "dropped", "garbled"]), "not now", { retryAfterMs: 1 });
  }
  if (mood === "silent") return random.chance(0.5) ? [] : [use("report", { number: 3 })];
  if (mood === "wordy") return [say(words(random, call.outputTokensMax / 3))];
  const items = [{ kind: "fact", key: `key-${random.below(30)}`, value: "said" }];
  return [say(`\`\`\`json\n${JSON.stringify({ items })}\n\`\`\`\n${words(random, 30)}`)];
}

function stepBy(random: Random): readonly AnswerBlock[] {
  if (random.chance(0.45)) return [say(words(random, 1 + random.below(300)))];
  return Array.from({ length: 1 + random.below(3) }, (_, place) =>
    random.chance(0.2)
      ? use("record", { kind: "fact", key: `tool-${random.below(50)}`, value: words(random, 5) }, `c${place}`)
      : use("report", { number: random.below(random.chance(0.1) ? 6_000 : 800) }, `c${place}`),
  );
}

/** One session of twelve turns; gives how often it was compacted. */
async function live(random: Random): Promise<number> {
  const window = 3_000 + random.below(12_000);
  // What is known of the model may be wrong.
  const windowTokens = random.chance(0.3) ? window * (1 + random.below(4)) : window;
  const mood = random.pick(moods);
  let calls = 0;
  const answer = (call: ModelCall): Partial<ModelAnswer> => {
    calls += 1;
    assert.ok(calls < 1_000, "it asks without end");
    assertPaired(call.parts);
    const inputTokens = estimateTokens(call.parts);
    if (inputTokens > window) throw new ModelError("overflow", `${inputTokens} of ${window}`);
    const blocks = isPrompt(call) ? summaryBy(mood, random, call) : stepBy(random);
    const usage = { inputTokens, outputTokens: roughTokens(JSON.stringify(blocks)) };
    return { blocks, usage: random.chance(0.8) ? usage : null };
  };
  const report = defineTool({
    name: "report",
    description: "Gives a report of so many words.",
    input: z.object({ number: z.number() }),
    effect: "read",
    run: async ({ number }) => words(random, number),
  });
  await using engine = engineWith(scripted([answer], { windowTokens }), { tools: [report] });
  const strategy = random.pick(["prune", "summarize", "extract"] as const);
  const compaction = { strategy, atShare: 0.5 + random.next() * 0.45, auto: random.chance(0.8) };
  await engine.addAgent({ name: "any", instructions: "Go on.", compaction });
  const session = await engine.open({ objective: "By chance", agent: "any", bind: [bound] });
  for (let turn = 1; turn <= 12; turn++) {
    const long = random.chance(0.08) ? 3_000 + random.below(6_000) : random.below(400);
    await ask(session, `Input ${turn} ${words(random, long)}`);
    const { status, why } = await session.state();
    assert.equal(status, "open", why?.reason ?? "");
    if (!random.chance(0.15)) continue;
    const options = random.chance(0.5) ? {} : ({ strategy: "prune" } as const);
    await session.compress(options).catch((error: unknown) => {
      assert.ok(error instanceof SkeinError && error.code === "unavailable", String(error));
    });
  }
  await assertRebuilt(session);
  const compactions = await compactionsOf(session);
  for (const { body } of compactions) assert.ok(body.tokensAfter < body.tokensBefore);
  return compactions.length;
}
