/** What a window is filled with, and how the parts of a context are shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sharesOf } from "../../src/console/ui/window-share.ts";
import { shownPart } from "../../src/console/view/time/context-part.ts";
import { partKinds } from "../../src/core/context/source.ts";

const zones = { strainedTokens: 600, fullTokens: 850 };

test("the context window is divided by parts, and the rest is free", () => {
  const reasons = [
    { kind: "settings", tokens: 0 },
    { kind: "instructions", tokens: 50 },
    { kind: "transcript", tokens: 100 },
    { kind: "transcript", tokens: 50 },
  ] as const;
  assert.deepEqual(sharesOf({ reasons, tokens: 200, windowTokens: 1_000, zones }), {
    shares: [
      { kind: "instructions", name: "Instructions", tokens: 50, percent: 5 },
      { kind: "transcript", name: "Transcript", tokens: 150, percent: 15 },
    ],
    free: 800,
    marks: [
      { zone: "strained", percent: 60 },
      { zone: "full", percent: 85 },
    ],
  });
});

test("an unknown context window is as wide as its content, with nothing free", () => {
  const reasons = [{ kind: "transcript", tokens: 10 }] as const;
  const { shares, free, marks } = sharesOf({ reasons, tokens: 10, windowTokens: null, zones });
  assert.deepEqual([shares[0]?.percent, free, marks], [100, null, []]);
});

test("whatever is in it, the shares never fill more than the bar", () => {
  const reason = fc.record({ kind: fc.constantFrom(...partKinds), tokens: fc.nat(100_000) });
  fc.assert(
    fc.property(fc.array(reason), fc.option(fc.nat(200_000)), (reasons, windowTokens) => {
      const tokens = reasons.reduce((sum, one) => sum + one.tokens, 0);
      const { shares, free } = sharesOf({ reasons, tokens, windowTokens, zones });
      assert.ok(shares.reduce((sum, { percent }) => sum + percent, 0) <= 100.000_1);
      assert.equal(free, windowTokens === null ? null : Math.max(0, windowTokens - tokens));
    }),
  );
});

test("a part has a title, a line and its pieces; erased ones are named", () => {
  const part = {
    part: "message",
    role: "tool",
    content: [
      {
        type: "tool-result",
        call: "call_7",
        tool: "shell",
        status: "ok",
        text: "[erased: what this call gave back]",
      },
    ],
  } as const;
  assert.deepEqual(shownPart(part), {
    title: "Tool results",
    line: "Result of shell: ok [erased: what this call gave back]",
    pieces: [{ title: "Result of shell: ok", text: "[erased: what this call gave back]", isCode: true }],
    gaps: ["what this call gave back"],
  });
});

test("every kind of part has a title and a line, on one line", () => {
  const parts = [
    { part: "settings", settings: { model: "offline/offline", images: false } },
    { part: "tools", tools: [{ name: "record", description: "Keeps", input: {} }] },
    { part: "system", text: "Be\nbrief\u202e." },
    { part: "message", role: "user", content: [{ type: "image", blob: "ab", mediaType: "image/png" }] },
    {
      part: "message",
      role: "assistant",
      content: [{ type: "tool-call", call: "c", tool: "ls", input: { a: 1 } }],
    },
    { part: "message", role: "user", content: [] },
  ] as const;
  assert.deepEqual(
    parts.map((part) => [shownPart(part).title, shownPart(part).line]),
    [
      ["Settings", '{ "model": "offline/offline", "images": false }'],
      ["1 tool", "record"],
      ["Instructions", "Be brief⟨U+202E⟩."],
      ["Input", "Image image/png, ab"],
      ["Model", 'Call of ls { "a": 1 }'],
      ["Input", ""],
    ],
  );
});
