/** Random turns: the events of a log, and the live deltas that a subscriber got of them, or some of them. */
import fc from "fast-check";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { SessionUpdate } from "../../../src/runtime/turn/ask.ts";

export const session = "ses_0000000000000000000000000a";

/** Texts that break what is framed by lines, quotes or markup. */
const hostile = fc.constantFrom(
  "data: [DONE]\n\n",
  "\r\n\r\nevent: end\ndata: {}",
  "\u2028\u2029\u0085",
  '"}\n\ndata: {"type":"finish"}\n\n',
  "</script>",
  "\uFEFF: comment",
  "__proto__",
);
const said = fc.oneof({ weight: 3, arbitrary: fc.string({ unit: "grapheme" }) }, hostile);

interface Block {
  readonly type: "text" | "reasoning" | "tool-call";
  readonly text: string;
}
const block: fc.Arbitrary<Block> = fc.record({
  type: fc.constantFrom("text", "reasoning", "tool-call"),
  text: said,
});
/** Values that a careful client refuses, and whatever else is JSON. */
const json = fc.oneof(
  { weight: 4, arbitrary: fc.jsonValue() },
  fc
    .constantFrom('{"__proto__":{"a":1}}', '[{"constructor":{"prototype":{}}}]', '{"__proto__":null}')
    .map((text): unknown => JSON.parse(text)),
);
const call = fc.record({
  input: json,
  verdict: fc.constantFrom("run", "ask", "approve", "deny", "refuse", "external"),
  status: fc.constantFrom("ok", "error", "unknown", "skipped"),
  output: fc.oneof(said, json),
  image: fc.boolean(),
  late: fc.boolean(),
});
/** What a subscriber got of an answer: all pieces, the first ones, something else, or nothing. */
const heard = fc.constantFrom("all", "some", "other", "none");
const attempt = fc.record({ partial: fc.option(said), heard });
const step = fc.record({
  failed: fc.array(attempt, { maxLength: 2 }),
  steers: fc.boolean(),
  compacts: fc.boolean(),
  blocks: fc.array(block, { maxLength: 5 }),
  heard,
  cut: fc.integer({ min: 1, max: 4 }),
  calls: fc.array(call, { maxLength: 3 }),
  erased: fc.boolean(),
  pauses: fc.constantFrom(null, "error", "person", "budget"),
});
export const turnPlan = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
  broken: fc.option(attempt),
  outcome: fc.constantFrom("completed", "interrupted", "cancelled", "failed", "refused", "length", null),
});
export type TurnPlan = typeof turnPlan extends fc.Arbitrary<infer T> ? T : never;

export interface RandomTurn {
  /** Events and deltas. Without the deltas it is the log. */
  readonly updates: readonly SessionUpdate[];
  readonly log: readonly SessionEvent[];
}

export function makeTurn(plan: TurnPlan): RandomTurn {
  const updates: SessionUpdate[] = [];
  let seq = 0;
  const add = (type: string, body: object = {}, content?: unknown, more: object = {}): number => {
    seq += 1;
    const envelope = { session, seq, at: seq, v: 1, actor: "system", turn: 1, cause: null, key: null };
    const sealed = { contentHash: null, contentBytes: null, hash: "", erased: false };
    updates.push({ ...envelope, ...sealed, type, body, content, ...more } as unknown as SessionEvent);
    return seq;
  };
  const delta = (requestSeq: number, type: "text" | "reasoning", text: string): void => {
    updates.push({ type: "delta", requestSeq, delta: { type, text } });
  };
  const answer = (requestSeq: number, blocks: readonly Block[], how: string, cut: number): void => {
    if (how === "other") delta(requestSeq, "text", "something else");
    if (how === "none" || how === "other") return;
    for (const { type, text } of how === "some" ? blocks.slice(0, 1) : blocks) {
      if (type === "tool-call")
        updates.push({ type: "delta", requestSeq, delta: { type: "tool-call", tool: "t" } });
      else for (let at = 0; at < text.length; at += cut) delta(requestSeq, type, text.slice(at, at + cut));
    }
  };
  const input = add("input.received", { input: 1 }, { blocks: [{ type: "text", text: "hi" }] });
  add("turn.started", { inputs: [[input, 1]] });
  for (const one of plan.steps) addStep(one, { add, answer });
  if (plan.broken !== null) {
    const requestSeq = add("model.requested", { inputs: [], attempt: 1 });
    const { partial, heard: how } = plan.broken;
    answer(requestSeq, [{ type: "text", text: partial ?? "lost" }], how, 2);
    const chars = partial === null ? {} : { partialChars: partial.length };
    const content = { message: "no", ...(partial === null ? {} : { partial }) };
    add("model.failed", { error: "interrupted", costNanoUsd: null, ...chars }, content, {
      cause: requestSeq,
    });
  }
  if (plan.outcome !== null) add("turn.ended", { outcome: plan.outcome });
  const log = updates.filter((update): update is SessionEvent => "seq" in update);
  return { updates, log };
}

interface Writer {
  add(type: string, body?: object, content?: unknown, more?: object): number;
  answer(requestSeq: number, blocks: readonly Block[], how: string, cut: number): void;
}

type StepPlan = TurnPlan["steps"][number];

function addStep(plan: StepPlan, { add, answer }: Writer): void {
  const inputs: [number, number][] = [];
  if (plan.steers) {
    const steer = { blocks: [{ type: "text", text: "no, that" }] };
    inputs.push([add("input.received", { input: 2, mode: "steer" }, steer), 2]);
  }
  if (plan.compacts) {
    const cause = add("model.requested", { purpose: "compaction", inputs: [], attempt: 1 });
    answer(cause, [{ type: "text", text: "a summary" }], "all", 3);
    add("transcript.compacted", { usage: { inputTokens: 1, outputTokens: 2 }, costNanoUsd: 3 });
  }
  let number = 0;
  for (const { partial, heard: how } of plan.failed) {
    const cause = add("model.requested", { inputs: number === 0 ? inputs : [], attempt: ++number });
    answer(cause, [{ type: "text", text: partial ?? "lost" }], how, 2);
    const chars = partial === null ? {} : { partialChars: partial.length };
    const content = { message: "overloaded", ...(partial === null ? {} : { partial }) };
    add("model.failed", { error: "overloaded", costNanoUsd: 1, ...chars }, content, { cause });
  }
  if (plan.pauses !== null) {
    add("session.suspended", { by: plan.pauses });
    add("session.activated");
  }
  const cause = add("model.requested", { inputs: number === 0 ? inputs : [], attempt: number + 1 });
  answer(cause, plan.blocks, plan.heard, plan.cut);
  const stored = plan.blocks.map((one, n) =>
    one.type === "tool-call" ? { type: "tool-call", call: `c${n}`, tool: "t" } : one,
  );
  const usage = { inputTokens: 10, outputTokens: 2, cachedInputTokens: 1 };
  const body = { model: "a/b", finish: "stop", usage, costNanoUsd: 5 };
  const content = plan.erased ? undefined : { blocks: stored };
  add("model.responded", body, content, { cause, erased: plan.erased });
  const calls = plan.calls.map((one, n) => {
    const external = one.verdict === "external" ? { external: { deadlineMs: 1 } } : {};
    const ask = one.verdict === "ask" || one.verdict === "approve" || one.verdict === "refuse";
    const asked = { call: `c${n}`, tool: "t", effect: "unsafe", ...(ask ? { ask } : {}), ...external };
    return { ...one, seq: add("tool.requested", asked, { input: one.input }) };
  });
  if (calls.some(({ verdict }) => verdict === "approve")) {
    add("session.suspended", { by: "approval" });
    add("lease.released");
    add("session.activated");
  }
  for (const one of calls) settleCall(one, add);
}

function settleCall(one: StepPlan["calls"][number] & { readonly seq: number }, add: Writer["add"]): void {
  const more = { cause: one.seq };
  const isDenied = one.verdict === "deny" || one.verdict === "refuse";
  if (isDenied) add("tool.denied", { call: "c" }, { reason: "no" }, more);
  // A call that a rule asks about, and that nobody answered, never runs.
  const isUnanswered = one.verdict === "ask";
  if (one.verdict === "approve") add("tool.approved", { call: "c" }, undefined, more);
  const status = isDenied || isUnanswered ? "skipped" : one.status;
  const image = [{ type: "image", blob: "0".repeat(64), mediaType: "image/png" }];
  const content = { output: one.output, ...(one.image ? { blocks: image } : {}) };
  add("tool.settled", { call: "c", status }, content, more);
  if (one.late) add("tool.settled", { call: "c", status: "ok", late: true }, { output: "late" }, more);
}
