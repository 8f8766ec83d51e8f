/** Where a range of the transcript may end, and what a model's summary says. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import {
  compactionPromptLine,
  cutsOf,
  isOverfull,
  planPrune,
  planRange,
  type Cut,
  type PlanMark,
  type Weight,
} from "../../src/core/compaction/plan.ts";
import { compactionPrompt, readSummary } from "../../src/core/compaction/prompt.ts";
import { plainSummary, withInputs, withoutInputs } from "../../src/core/compaction/summary.ts";
import type { MessagePart } from "../../src/core/context/part.ts";

const runs = { numRuns: Number(process.env["SKEIN_RUNS"] ?? 400), verbose: true };

interface Step {
  /** Attempts that failed before it was answered. */
  readonly failed: number;
  readonly calls: number;
  readonly tokens: number;
  /** In another program's log the first call may be settled after the next request, or the turn's end. */
  readonly isLate: boolean;
}

interface Life {
  readonly marks: readonly PlanMark[];
  readonly weights: readonly Weight[];
}

const steps: fc.Arbitrary<Step> = fc.record({
  failed: fc.integer({ min: 0, max: 2 }),
  calls: fc.integer({ min: 0, max: 3 }),
  tokens: fc.integer({ min: 1, max: 500 }),
  isLate: fc.boolean(),
});

/** Turns of steps; the last turn may still be in progress, before, between or after its steps. */
const lives: fc.Arbitrary<Life> = fc
  .record({
    turns: fc.array(fc.array(steps, { maxLength: 5 }), { maxLength: 6 }),
    isOver: fc.boolean(),
    isAsking: fc.boolean(),
    openCalls: fc.integer({ min: 0, max: 2 }),
  })
  .map(({ turns, isOver, isAsking, openCalls }) => {
    const marks: PlanMark[] = [];
    const weights: Weight[] = [];
    let seq = 1;
    const mark = (type: PlanMark["type"], more: Partial<PlanMark> = {}): number => {
      seq += 1 + (seq % 3);
      marks.push({ type, seq, ...more });
      return seq;
    };
    const late: string[] = [];
    const settle = (call: string, tokens: number): void =>
      void weights.push({ toSeq: mark("tool.settled", { call }), tokens });
    const catchUp = (): void => late.splice(0).forEach((call) => settle(call, 5));
    for (const [place, turn] of turns.entries()) {
      const isLast = place === turns.length - 1;
      weights.push({ toSeq: mark("turn.started"), tokens: 20 });
      for (const [number, { failed, calls, tokens, isLate }] of turn.entries()) {
        for (let attempt = 1; attempt <= failed + 1; attempt++) mark("model.requested", { attempt });
        catchUp();
        weights.push({ toSeq: mark("model.responded"), tokens });
        const ids = Array.from({ length: calls }, (_, one) => `call-${place}-${number}-${one}`);
        for (const call of ids) mark("tool.requested", { call });
        const isStuck = isLast && number === turn.length - 1 && !isOver;
        const settled = isStuck ? ids.slice(openCalls) : ids;
        if (isLate) late.push(...settled.splice(0, 1));
        for (const call of settled.toReversed()) settle(call, tokens);
      }
      if (!isLast || isOver) mark("turn.ended");
      else if (isAsking) mark("model.requested", { attempt: 1 });
      catchUp();
    }
    return { marks, weights };
  });

const options = fc.record({
  keepTokens: fc.integer({ min: 0, max: 3_000 }),
  boundaryTokens: fc.integer({ min: 0, max: 300 }),
  gainTokensMin: fc.integer({ min: 0, max: 400 }),
  fitTokens: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.constant(Infinity)),
});

suite("a range", () => {
  test("never parts a call from its result", () => {
    fc.assert(
      fc.property(lives, ({ marks, weights }) => {
        for (const { toSeq } of cutsOf(marks, weights)) {
          const open = new Set<string>();
          for (const { type, seq, call = "" } of marks.filter((mark) => mark.seq <= toSeq)) {
            if (type === "tool.requested") open.add(call);
            if (type === "tool.settled") open.delete(call);
            assert.ok(seq <= toSeq);
          }
          assert.deepEqual([...open], []);
        }
      }),
      runs,
    );
  });

  test("keeps the last answered step whole, with later inputs", () => {
    fc.assert(
      fc.property(lives, ({ marks, weights }) => {
        const answered = marks.findLastIndex(({ type }) => type === "model.responded");
        for (const { toSeq } of cutsOf(marks, weights)) {
          const request = marks
            .slice(0, answered)
            .findLast(({ type, attempt }) => type === "model.requested" && attempt === 1);
          assert.ok(toSeq < (request?.seq ?? 0));
        }
      }),
      runs,
    );
  });

  test("never starts the kept part between an input and its first answer, or between two attempts", () => {
    fc.assert(
      fc.property(lives, ({ marks, weights }) => {
        for (const { toSeq, endsTurn } of cutsOf(marks, weights)) {
          const before = marks.findLast(({ seq }) => seq <= toSeq);
          const after = marks.find(({ seq }) => seq > toSeq);
          if (endsTurn) assert.equal(before?.type, "turn.ended");
          else {
            assert.ok(before?.type === "model.responded" || before?.type === "tool.settled");
            assert.deepEqual([after?.type, after?.attempt], ["model.requested", 1]);
          }
        }
      }),
      runs,
    );
  });

  test("keeps every input that nothing has answered yet", () => {
    fc.assert(
      fc.property(lives, ({ marks, weights }) => {
        const started = marks.findLast(({ type }) => type === "turn.started");
        const hasAnswer = marks.some(
          ({ type, seq }) => type === "model.responded" && seq > (started?.seq ?? 0),
        );
        if (started === undefined || hasAnswer) return;
        for (const { toSeq } of cutsOf(marks, weights)) assert.ok(toSeq < started.seq);
      }),
      runs,
    );
  });

  test("makes the context smaller than the range it replaces, or is left out", () => {
    fc.assert(
      fc.property(lives, options, ({ marks, weights }, given) => {
        const cuts = cutsOf(marks, weights);
        const total = weights.reduce((sum, { tokens }) => sum + tokens, 0);
        for (const { goneTokens, keptTokens } of cuts) assert.equal(goneTokens + keptTokens, total);
        const plan = planRange(cuts, given);
        const worth = (cut: Cut): boolean =>
          cut.goneTokens - given.boundaryTokens >= Math.max(1, given.gainTokensMin);
        assert.equal(plan === null, !cuts.some(worth));
        if (plan === null) return;
        assert.ok(worth(plan.cut));
        assert.equal(plan.fits, plan.cut.goneTokens <= given.fitTokens);
        // Nobody who can read all of it is given a piece.
        if (given.fitTokens === Infinity) assert.deepEqual([plan.fits, plan.isWhole], [true, true]);
        const more = cuts.some((cut) => worth(cut) && cut.keptTokens <= given.keepTokens);
        if (plan.isWhole && more) assert.ok(plan.cut.keptTokens <= given.keepTokens);
      }),
      runs,
    );
  });

  test("ends where a turn ended rather than within one, if that keeps about as much", () => {
    const cut = (toSeq: number, keptTokens: number, endsTurn: boolean): Cut => ({
      toSeq,
      endsTurn,
      goneTokens: 1_000 - keptTokens,
      keptTokens,
    });
    const given = { boundaryTokens: 0, gainTokensMin: 1, fitTokens: Infinity };
    const cuts = [cut(10, 500, true), cut(20, 240, false), cut(30, 200, true), cut(40, 50, false)];
    assert.equal(planRange(cuts, { ...given, keepTokens: 250 })?.cut.toSeq, 30);
    assert.equal(planRange(cuts, { ...given, keepTokens: 100 })?.cut.toSeq, 40);
    // What came last is longer than its share: it stays all the same.
    assert.equal(planRange(cuts, { ...given, keepTokens: 10 })?.cut.toSeq, 40);
  });

  test("is cut to what can be read at once", () => {
    const cuts = [1, 2, 3, 4].map((number) => ({
      toSeq: number * 10,
      endsTurn: false,
      goneTokens: number * 100,
      keptTokens: 400 - number * 100,
    }));
    const given = { keepTokens: 0, boundaryTokens: 0, gainTokensMin: 1 };
    const planned = (fitTokens: number) => {
      const plan = planRange(cuts, { ...given, fitTokens });
      return [plan?.cut.toSeq, plan?.fits, plan?.isWhole];
    };
    assert.deepEqual(planned(400), [40, true, true]);
    assert.deepEqual(planned(250), [20, true, false]);
    assert.deepEqual(planned(50), [10, false, false]);
  });
});

test("a context is compacted from its share of the window on, and always when no answer fits", () => {
  const rules = { auto: true, atShare: 0.8 };
  assert.equal(isOverfull(7_999, 10_000, rules), false);
  assert.equal(isOverfull(8_000, 10_000, rules), true);
  assert.equal(isOverfull(8_000, 10_000, { ...rules, auto: false }), false);
  assert.equal(isOverfull(9_375, 10_000, { ...rules, auto: false }), false);
  assert.equal(isOverfull(9_376, 10_000, { ...rules, auto: false }), true);
});

test("outputs are left out that are large and old, if that is worth it", () => {
  const outputs = [
    { seq: 5, tokens: 1_000 },
    { seq: 6, tokens: 100 },
    { seq: 9, tokens: 800 },
  ];
  const given = { toSeq: 8, tokensMin: 200, gainTokensMin: 500 };
  assert.deepEqual(planPrune(outputs, given), { seqs: [5], gainTokens: 970 });
  assert.deepEqual(planPrune(outputs, { ...given, toSeq: 9 })?.seqs, [5, 9]);
  assert.equal(planPrune(outputs, { ...given, gainTokensMin: 971 }), null);
  assert.equal(planPrune(outputs, { ...given, toSeq: 4 }), null);
  // What was left out already is not worth leaving out again.
  assert.equal(planPrune([{ seq: 5, tokens: 30 }], { ...given, tokensMin: 0, gainTokensMin: 0 }), null);
});

suite("a summary's answer", () => {
  const items = [
    { kind: "fact", key: "base-rate", value: 4.1 },
    { kind: "decision", key: "rounding", value: "half to even", because: "the auditor said so" },
    { kind: "task", key: "report", value: "Send it", status: "open" },
  ] as const;
  const json = JSON.stringify({ items });

  test("finds items and text wherever the JSON is", () => {
    const forms = [
      `\`\`\`json\n${json}\n\`\`\`\nAll is well.`,
      `\`\`\`\n${json}\n\`\`\`\nAll is well.`,
      `${json}\n\nAll is well.`,
      `All is well.\n\n${json}`,
      `All is well.\n\`\`\`json\n${JSON.stringify(items)}\n\`\`\``,
      `\`\`\`json\n${JSON.stringify({ items }, null, 2)}\n\`\`\`\nAll is well.`,
      `\`\`\`json\n${JSON.stringify({
        facts: [{ key: "base-rate", value: 4.1 }],
        decisions: [{ key: "rounding", value: "half to even", reason: "the auditor said so" }],
        tasks: [{ key: "report", value: "Send it", status: "open" }],
      })}\n\`\`\`\nAll is well.`,
    ];
    for (const form of forms) assert.deepEqual(readSummary(form), { summary: "All is well.", items });
  });

  test("gives the whole items of JSON that breaks off", () => {
    const broken = `\`\`\`json\n${json.slice(0, json.indexOf('{"kind":"task"') + 20)}`;
    assert.deepEqual(readSummary(broken).items, items.slice(0, 2));
  });

  test("is a summary only, when it has no JSON or invalid JSON", () => {
    const plain = 'Use {curly} and [square] braces; "quotes" too.';
    assert.deepEqual(readSummary(plain), { summary: plain, items: [] });
    const bad = '```json\n{"items": [{kind: fact}]}\n```\nAll is well.';
    assert.deepEqual(readSummary(bad).items, []);
    assert.match(readSummary(bad).summary, /All is well\./);
  });

  test("gives no item that could not be recorded", () => {
    const odd = [
      { kind: "rumor", key: "a", value: 1 },
      { kind: "fact", key: "", value: 1 },
      { kind: "fact", key: "b", value: null },
      { kind: "fact", key: "two\nlines", value: "nul \0 and half \ud800", status: "open" },
      { kind: "fact", key: "x".repeat(500), value: { deep: true } },
      { kind: "fact", key: "again", value: 1 },
      { kind: "fact", key: "again", value: 2 },
    ];
    assert.deepEqual(readSummary(JSON.stringify(odd)).items, [
      { kind: "fact", key: "two lines", value: "nul \uFFFD and half \uFFFD" },
      { kind: "fact", key: "x".repeat(200), value: { deep: true } },
      { kind: "fact", key: "again", value: 2 },
    ]);
  });

  test("is read whatever it says, and soon", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
        const { summary, items: found } = readSummary(text);
        assert.equal(typeof summary, "string");
        assert.ok(Array.isArray(found));
      }),
      runs,
    );
    assert.deepEqual(readSummary("{[".repeat(20_000)).items, []);
  });
});

test("the prompt begins with its line, and names what must be preserved", () => {
  const prompt = compactionPrompt({
    strategy: "extract",
    words: 200,
    instructions: "the totals",
    unanswered: ["Where is the file?"],
    tasks: ["send-report"],
  });
  assert.equal(prompt.split("\n")[0], compactionPromptLine);
  for (const words of ["```json", "200 words", "the totals", "- Where is the file?", "- send-report"]) {
    assert.ok(prompt.includes(words), words);
  }
  const plain = compactionPrompt({ strategy: "summarize", words: 100, unanswered: [], tasks: [] });
  assert.equal(plain.includes("json"), false);
});

suite("a summary by rule", () => {
  const messages: MessagePart[] = [
    { part: "message", role: "user", content: [{ type: "text", text: "Read rates.json" }] },
    {
      part: "message",
      role: "assistant",
      content: [{ type: "tool-call", call: "call_7", tool: "read_file", input: { path: "rates.json" } }],
    },
    {
      part: "message",
      role: "tool",
      content: [{ type: "tool-result", call: "call_7", tool: "read_file", status: "ok", text: "4.1" }],
    },
    { part: "message", role: "assistant", content: [{ type: "text", text: "It is 4.1." }] },
  ];

  test("says that no model wrote it, and has a line for every entry", () => {
    const summary = plainSummary(messages, { earlier: "It began well.", charsMax: 2_000 });
    assert.deepEqual(summary.split("\n"), [
      "[This summary was put together without a model: the beginning of each message, the latest last.]",
      "It began well.",
      "- input: Read rates.json",
      '- call of read_file: {"path":"rates.json"}',
      "- read_file (ok): 4.1",
      "- answer: It is 4.1.",
    ]);
    // The next one does not say it twice.
    assert.equal(
      plainSummary(messages, { earlier: summary, charsMax: 2_000 }).match(/without a model/g)?.length,
      1,
    );
  });

  test("keeps the latest when not all of it fits, and says how much is missing", () => {
    const many = Array.from({ length: 50 }, () => messages).flat();
    const summary = plainSummary(many, { earlier: "e".repeat(5_000), charsMax: 1_000 });
    assert.ok(summary.length <= 1_200, `${summary.length}`);
    assert.match(summary, /earlier lines left out/);
    assert.match(summary, /It is 4\.1\.$/);
  });

  test("carries inputs along word for word, and long ones with beginning and end", () => {
    const carried = withInputs("Sum.", [{ seq: 4, text: "Go on with 4,1" }], 1_000);
    assert.match(carried, /^Sum\.\n\n.*word for word:\n\[input at 4\]\nGo on with 4,1$/);
    assert.equal(withoutInputs(carried), "Sum.");
    assert.equal(withInputs("Sum.", [], 1_000), "Sum.");
    const long = withInputs("Sum.", [{ seq: 4, text: `A${"b".repeat(10_000)}C` }], 1_000);
    assert.ok(long.length < 1_200);
    assert.match(long, /\nAb+\n\[… \d+ characters left out; recall with fromSeq 4 reads it …\]\nb+C$/);
  });
});
