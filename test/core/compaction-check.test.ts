/** What a summary leaves out: decisions, open tasks, paths, identifiers and numbers of the range. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { missingAfter, missingMax, withMissing } from "../../src/core/compaction/check.ts";
import type { MessagePart } from "../../src/core/context/part.ts";

const user = (text: string): MessagePart => ({
  part: "message",
  role: "user",
  content: [{ type: "text", text }],
});
const model = (text: string): MessagePart => ({
  part: "message",
  role: "assistant",
  content: [{ type: "text", text }],
});
const call = (tool: string, input: Record<string, unknown>): MessagePart => ({
  part: "message",
  role: "assistant",
  content: [{ type: "tool-call", call: "call_1", tool, input }],
});
const check = (messages: MessagePart[], kept: string[] = [], earlier: string | null = null) =>
  missingAfter(messages, { earlier, kept }).map(({ kind, text }) => [kind, text]);

test("each kind is found with its words around it, the most important kind first", () => {
  const said =
    "The crash is in src/render/glyph-cache.ts at line 2187: the handle GX_77f31 is freed twice. " +
    "We decided to free it in the owner. It remains to add a test for it.";
  assert.deepEqual(check([model(said)]), [
    ["decision", "We decided to free it in the owner."],
    ["task", "It remains to add a test for it."],
    ["path", "src/render/glyph-cache.ts"],
    ["identifier", "the handle GX_77f31 is"],
    ["number", "at line 2187: the"],
  ]);
});

test("what the summary or an item says is not missing", () => {
  const said = model("We decided on argon2id with 64 MiB in src/auth/hash.ts, cost 4.1 percent.");
  const kept = [
    "Passwords: decided on argon2id with 64 MiB, see SRC/auth/hash.ts",
    "- fact cost: 4.1 percent",
  ];
  assert.deepEqual(check([said], kept), []);
  // A number inside of another one is not kept.
  assert.deepEqual(check([user("Port 218 it is")], ["line 2187"]), [["number", "Port 218 it"]]);
});

test("ordinary prose, small counts, notes and the arguments of session tools are not values", () => {
  const prose = "Go on and/or wait, e.g. until 3 of 5 are done; he said so. Node and JavaScript are fine.";
  const note = user("[recorded: fact limit: 900 calls a minute]");
  const recorded = call("record", { kind: "fact", key: "limit", value: "src/limit.ts has 900" });
  assert.deepEqual(check([user(prose), note, recorded]), []);
  assert.deepEqual(check([call("read", { path: "docs/plan.md", line: 4_000 })]), [["path", "docs/plan.md"]]);
});

test("what was missing before is still missing after the next compaction, without growing", () => {
  const first = missingAfter([model("The certificate has order 7741-QX at Actalis.")], {
    earlier: null,
    kept: ["Certificates."],
  });
  let summary = withMissing("Certificates.", first, 1_000).text;
  for (let round = 0; round < 10; round++) {
    const missing = missingAfter([user("Go on.")], { earlier: summary, kept: ["Going on."] });
    assert.deepEqual(missing, [{ kind: "identifier", text: "has order 7741-QX at" }], String(round));
    summary = withMissing("Going on.", missing, 1_000).text;
  }
  assert.match(summary, /^Going on\.\n\nNot in the summary above.*\n- identifier: has order 7741-QX at$/);
});

test("the list keeps to its room, and the record to its number", () => {
  const many = Array.from({ length: 400 }, (_, place) => `see src/part/file-${place}.ts`).join("; ");
  const missing = missingAfter([user(many)], { earlier: null, kept: [] });
  assert.equal(missing.length, missingMax);
  const { text, added } = withMissing("Short.", missing, 400);
  assert.ok(text.length <= 410 && added > 5, `${text.length} characters, ${added} lines`);
  assert.deepEqual(withMissing("Short.", missing, 10), { text: "Short.", added: 0 });
  assert.deepEqual(withMissing("Short.", [], 400), { text: "Short.", added: 0 });
});

test("hostile text takes a bounded time", () => {
  const texts = ["a".repeat(2_000_000), "1,".repeat(500_000), "/".repeat(500_000), "a_".repeat(500_000)];
  const words = Array.from({ length: 200_000 }, (_, place) => `x${place}`).join(" ");
  const begun = performance.now();
  for (const text of [...texts, words, "decided ".repeat(100_000)]) {
    assert.ok(check([user(text), model(text)], [text.slice(0, 1_000)]).length <= missingMax);
  }
  const ms = performance.now() - begun;
  assert.ok(ms < 5_000, `${ms} ms`);
});
