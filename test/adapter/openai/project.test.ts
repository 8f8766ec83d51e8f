/** The projection of a response: live deltas change nothing but the time at which an event is known. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ResponseProjection } from "../../../src/adapter/openai/project.ts";
import type { StreamEvent } from "../../../src/adapter/openai/answer.ts";
import { cutPieces } from "../../../src/adapter/openai/pieces.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { LiveDelta } from "../../../src/runtime/turn/live.ts";

const session = "ses_0000000000000000000000000a";
const record = {
  session,
  seq: 3,
  at: 1_000,
  body: { items: 1, inputs: 1, continues: false },
  content: { model: "a/b" },
};

const said = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1 }),
  fc.constantFrom("data: [DONE]\n\n", " \n ", "😀".repeat(70), "word ".repeat(40), "\u2028</script>"),
);
const block = fc.record({
  type: fc.constantFrom("text" as const, "reasoning" as const, "tool-call" as const),
  text: said,
});
const step = fc.record({
  partial: fc.option(said),
  blocks: fc.array(block, { maxLength: 5 }),
  calls: fc.array(fc.record({ isExternal: fc.boolean(), input: fc.jsonValue(), isOk: fc.boolean() }), {
    maxLength: 2,
  }),
  cuts: fc.array(fc.nat({ max: 40 }), { maxLength: 6 }),
});
const plan = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  end: fc.constantFrom("completed", "interrupted", "failed", "refused", "length", "tool", "error", "rewound"),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

interface Update {
  readonly event?: SessionEvent;
  readonly delta?: LiveDelta;
}

/** Deltas of a text, cut at these places. */
function deltasOf(
  requestSeq: number,
  type: "text" | "reasoning",
  text: string,
  cuts: readonly number[],
): Update[] {
  const places = [0, ...cuts.filter((at) => at < text.length).toSorted((a, b) => a - b), text.length];
  return places.slice(1).map((to, n): Update => {
    const delta = { type, text: text.slice(places[n], to) };
    return { delta: { type: "delta", requestSeq, delta } };
  });
}

function updatesOf({ steps, end }: Plan): Update[] {
  const updates: Update[] = [];
  let seq = record.seq + 2;
  const add = (type: string, body: object, more: { content?: unknown; cause?: number } = {}): number => {
    seq += 1;
    const event = {
      session,
      seq,
      at: seq,
      type,
      body,
      erased: false,
      cause: null,
      content: undefined,
      ...more,
    };
    updates.push({ event: event as unknown as SessionEvent });
    return seq;
  };
  add("turn.started", { inputs: [[record.seq + 2, 1]] });
  const usage = { inputTokens: 2, outputTokens: 3 };
  for (const { partial, blocks, calls, cuts } of steps) {
    if (partial !== null) {
      const cause = add("model.requested", { model: "a/b", inputs: [], attempt: 1 });
      updates.push(...deltasOf(cause, "text", partial, cuts));
      const body = { model: "a/b", error: "overloaded", retryable: true, partialChars: partial.length };
      add("model.failed", body, { cause, content: { message: "no", partial } });
    }
    const cause = add("model.requested", { model: "a/b", inputs: [], attempt: 1 });
    for (const { type, text } of blocks) {
      if (type === "tool-call")
        updates.push({ delta: { type: "delta", requestSeq: cause, delta: { type, tool: "t" } } });
      else updates.push(...deltasOf(cause, type, text, cuts));
    }
    const content = {
      blocks: blocks.map((one) =>
        one.type === "tool-call" ? { type: one.type, call: "c", tool: "t" } : one,
      ),
    };
    add("model.responded", { model: "a/b", finish: "stop", usage, costNanoUsd: 0 }, { cause, content });
    for (const { isExternal, input, isOk } of calls) {
      const external = isExternal ? { external: { deadlineMs: 1 } } : {};
      const call = { call: `c${seq}`, tool: "t", effect: "read", ...external };
      const asked = add("tool.requested", call, { content: { input } });
      const status = isOk ? "ok" : "error";
      if (!isExternal)
        add("tool.settled", { call: call.call, status }, { cause: asked, content: { output: input } });
    }
  }
  if (end === "tool" || end === "error") add("session.suspended", { by: end });
  else if (end === "rewound") add("session.rewound", { toSeq: 1 });
  else add("turn.ended", { outcome: end, steps: 1 });
  return updates;
}

function run(updates: readonly Update[], hears: (place: number) => boolean) {
  const projection = new ResponseProjection(record);
  const events: StreamEvent[] = [...projection.start()];
  let place = 0;
  for (const { event, delta } of updates) {
    if (event !== undefined) events.push(...projection.event(event));
    if (delta !== undefined && hears(place++)) events.push(...projection.delta(delta));
  }
  return { events, response: projection.response, isOver: projection.isOver };
}

test("with all live deltas, none, or only the first ones, a stream has the same events and numbers", () => {
  fc.assert(
    fc.property(plan, fc.nat({ max: 12 }), (given, count) => {
      const updates = updatesOf(given);
      const plain = run(updates, () => false);
      assert.ok(plain.isOver);
      assert.deepEqual(
        run(updates, () => true),
        plain,
      );
      // A subscriber that hears no more deltas of the first answer.
      const first = updates.find(({ delta }) => delta !== undefined)?.delta?.requestSeq;
      const some = updates.filter(
        ({ delta }, n) => delta === undefined || (delta.requestSeq === first && n < count),
      );
      assert.deepEqual(
        run(some, () => true),
        plain,
      );
      const numbers = plain.events.map(({ sequence_number: number }) => number);
      assert.deepEqual(
        numbers,
        [...new Set(numbers)].toSorted((a, b) => a - b),
      );
    }),
    { numRuns: 300 },
  );
});

test("every item that is added is done, its deltas are its text, and the response has it", () => {
  fc.assert(
    fc.property(plan, (given) => {
      const { events, response } = run(updatesOf(given), () => true);
      const open = new Set<unknown>();
      const texts = new Map<unknown, string>();
      for (const event of events) {
        const { type, output_index: index, delta, text } = event;
        if (type === "response.output_item.added") open.add(index);
        if (type.endsWith(".delta")) texts.set(index, (texts.get(index) ?? "") + String(delta));
        if (type.endsWith("_text.done")) assert.equal(texts.get(index), text);
        if (type === "response.function_call_arguments.done")
          assert.equal(texts.get(index), event["arguments"]);
        if (type === "response.output_item.done") assert.ok(open.delete(index));
      }
      assert.deepEqual([...open], []);
      const done = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
      const kept = done.filter((item) => (item as { status?: string }).status !== "incomplete");
      assert.deepEqual(response["output"], kept);
      assert.deepEqual(events.at(-1)?.["response"], response);
    }),
    { numRuns: 200 },
  );
});

test("pieces depend on the text alone and never split a pair", () => {
  fc.assert(
    fc.property(fc.array(said, { maxLength: 6 }), (parts) => {
      const text = parts.join("");
      const whole = cutPieces(text, true).pieces;
      assert.equal(whole.join(""), text);
      let rest = "";
      const pieces: string[] = [];
      for (const part of parts) {
        const cut = cutPieces(rest + part, false);
        pieces.push(...cut.pieces);
        ({ rest } = cut);
      }
      assert.deepEqual([...pieces, ...cutPieces(rest, true).pieces], whole);
      for (const piece of whole.slice(1)) assert.ok(!/^[\uDC00-\uDFFF]/.test(piece));
    }),
  );
});
