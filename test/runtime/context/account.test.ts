/**
 * Generated sessions: every context that was sent, and the next one, has a reason for each part, its tokens
 * are the sum over parts and over tiers, no planned tier exceeds its room, and each request is rebuilt to its
 * digest.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { compactionPromptLine } from "../../../src/core/compaction/plan.ts";
import { present } from "../../../src/core/present.ts";
import { SkeinError } from "../../../src/core/error.ts";
import type { Models } from "../../../src/model/port.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";
import { all } from "../place.ts";

const kinds = ["fact", "decision", "constraint", "task", "preference"] as const;
const key = fc.constantFrom("alpha", "beta", "gamma delta", "epsilon-7");
const words = fc
  .array(fc.constantFrom("rate", "payroll", "ERR_4711", "Überfahrt", "倉庫", "71.5", "boat"), {
    minLength: 1,
    maxLength: 60,
  })
  .map((some) => some.join(" "));
const step = fc.oneof(
  fc.record({ do: fc.constant("record" as const), kind: fc.constantFrom(...kinds), key, value: words }),
  fc.record({ do: fc.constant("pin" as const), kind: fc.constantFrom(...kinds), key }),
  fc.record({ do: fc.constant("unpin" as const), kind: fc.constantFrom(...kinds), key }),
  fc.record({ do: fc.constant("retract" as const), kind: fc.constantFrom(...kinds), key }),
  fc.record({ do: fc.constant("remember" as const), kind: fc.constantFrom(...kinds), key, value: words }),
  fc.record({ do: fc.constant("ask" as const), text: words }),
  fc.record({ do: fc.constant("ask" as const), text: words }),
  fc.record({ do: fc.constant("compress" as const) }),
  fc.record({ do: fc.constant("migrate" as const), window: fc.constantFrom(6_000, 40_000, 400_000) }),
  fc.record({ do: fc.constant("rewind" as const), back: fc.integer({ min: 1, max: 30 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function windowed() {
  const script = scripted([
    ({ parts }) => {
      const said = JSON.stringify(parts.at(-1));
      if (said.includes(compactionPromptLine)) return "Much was said.";
      const isTold = said.includes("boat") && said.includes('"role":"user"');
      return isTold
        ? [use("record", { kind: "fact", key: "boat", value: "It floats" })]
        : "Well, ".repeat(90);
    },
  ]);
  const model: Models["model"] = async (name) => {
    const made = await script.models.model(name);
    const windowTokens = Number(/\d+$/.exec(name)?.[0] ?? 40_000);
    return { ...made, facts: { ...made.facts, windowTokens } };
  };
  return { ...script, models: { ...script.models, byDefault: "test/w40000", model } };
}

async function take(
  engine: ReturnType<typeof engineWith>,
  session: Session,
  one: Step,
  next: { turn: number },
): Promise<void> {
  if (one.do === "record") await session.record(one.kind, one.key, one.value);
  if (one.do === "pin") await session.pin(one.kind, one.key);
  if (one.do === "unpin") await session.unpin(one.kind, one.key);
  if (one.do === "retract") await session.retract(one.kind, one.key);
  if (one.do === "remember") {
    const { kind, value } = one;
    await engine.remember({ scope: "agent", owner: "keeper", kind, key: one.key, value });
  }
  // Each input says something new, so that a call of the model has an id of its own.
  if (one.do === "ask") await session.ask(`${next.turn++}: ${one.text}`).result;
  if (one.do === "compress") await session.compress();
  if (one.do === "migrate") await session.migrate({ model: `test/w${one.window}` });
  if (one.do === "rewind") {
    const { seq } = await session.state();
    await session.rewind(Math.max(1, seq - one.back));
  }
}

async function assertAccounted(session: Session, atSeq?: number): Promise<void> {
  const context = await session.context({ ...present({ atSeq }) });
  const { parts, reasons, tiers, tokens, matches } = context;
  assert.equal(reasons.length, parts.length);
  const sum = (some: readonly { readonly tokens: number }[]) =>
    some.reduce((all, one) => all + one.tokens, 0);
  assert.equal(sum(reasons), tokens, "parts");
  assert.equal(sum(tiers.map(({ usedTokens }) => ({ tokens: usedTokens }))), tokens, "tiers");
  for (const [place, part] of parts.entries())
    assert.ok(part.part === "settings" || (reasons[place]?.tokens ?? 0) > 0, `part ${place}`);
  if (atSeq !== undefined) assert.equal(matches, true, `request ${atSeq}`);
}

test("explain accounts for every token of generated sessions, and each request is rebuilt", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-account-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "notes.md");
  writeFileSync(
    file,
    Array.from({ length: 90 }, (_, at) => `# Note ${at}\n\n${"dry ".repeat(120)}`).join("\n\n"),
  );
  const steps = fc.array(step, { minLength: 3, maxLength: 16 });
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (some, hasFile) => {
      await using engine = engineWith(windowed());
      await engine.addAgent({ name: "keeper", instructions: "Keep it." });
      const files = hasFile ? [file] : [];
      const session = await engine.open({ objective: "Payroll", agent: "keeper", files });
      const next = { turn: 1 };
      for (const one of [...some, { do: "ask", text: "And now?" } as const])
        await take(engine, session, one, next).catch((error: unknown) => {
          // What does not fit the state, such as a pin of nothing, is refused.
          if (!(error instanceof SkeinError)) throw error;
        });
      const requests = await all(session.events({ types: ["model.requested"] }));
      assert.ok(requests.length > 0);
      for (const { seq, body } of requests)
        if ((body as { purpose?: string }).purpose !== "compaction") await assertAccounted(session, seq);
      await assertAccounted(session);
    }),
    { numRuns: 25 },
  );
});
