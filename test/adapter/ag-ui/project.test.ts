/** The projection, on random logs: the client verifies its events and ends with the messages of the log. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { HttpAgent, type Message } from "@ag-ui/client";
import fc from "fast-check";
import type { RunEvent } from "../../../src/adapter/ag-ui/answer.ts";
import { MessageList } from "../../../src/adapter/ag-ui/messages.ts";
import { RunProjection } from "../../../src/adapter/ag-ui/project.ts";
import { eventFrame } from "../../../src/adapter/ag-ui/stream.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { SessionUpdate } from "../../../src/runtime/turn/ask.ts";
import { sliced } from "../../slice.ts";
import { makeTurn, session, turnPlan } from "../ai-sdk/logs.ts";

const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const messagesOf = (log: readonly SessionEvent[], toSeq = Infinity): unknown[] => {
  const list = new MessageList(session);
  for (const event of log) if (event.seq <= toSeq) list.add(event);
  return [...list.messages({ queued: toSeq === Infinity })];
};

function eventsOf(updates: readonly SessionUpdate[], log: readonly SessionEvent[]): RunEvent[] {
  const projection = new RunProjection({ session, threadId: "t", runId: "r" });
  const events = [
    ...projection.start(),
    ...updates.flatMap((update) => ("delta" in update ? projection.delta(update) : projection.event(update))),
  ];
  const all = projection.isOver ? events : [...events, ...projection.pause()];
  return all.map((event) =>
    event.type === "resync"
      ? { type: "MESSAGES_SNAPSHOT", messages: messagesOf(log, Number(event["toSeq"])) }
      : event,
  );
}

/** What the unmodified client has after the events. It rejects when their order is wrong. */
async function clientOf(events: readonly RunEvent[]): Promise<HttpAgent> {
  const body = events.map((event) => eventFrame(event)).join("");
  const agent = new HttpAgent({
    url: "http://skein.test/ag-ui",
    threadId: "t",
    fetch: async () => new Response(body, { headers: { "content-type": "text/event-stream" } }),
  });
  agent.agentId = "a";
  let failure: string | null = null;
  await agent.runAgent(
    { runId: "r" },
    {
      onRunErrorEvent: ({ event }) => {
        failure = event.message;
      },
    },
  );
  const last = events.at(-1);
  assert.equal(failure, last?.type === "RUN_ERROR" ? last["message"] : null);
  return agent;
}

/** The client never drops reasoning for a snapshot that has none: that of a failed attempt may stay. */
function confirmed(messages: readonly Message[], expected: readonly Message[]): Message[] {
  const ids = new Set(expected.map(({ id }) => id));
  return plain(messages.filter(({ id, role }) => role !== "reasoning" || ids.has(id)));
}

test("the client verifies every run, and its messages depend on the log alone", async () => {
  await fc.assert(
    fc.asyncProperty(turnPlan, async (plan) => {
      const { updates, log } = makeTurn(plan);
      const live = eventsOf(updates, log);
      const expected = plain(messagesOf(log)) as Message[];
      assert.deepEqual(confirmed((await clientOf(live)).messages, expected), expected);
      assert.deepEqual(plain((await clientOf(eventsOf(log, log))).messages), expected);
    }),
    { numRuns: sliced(120, 2_000) },
  );
});

test("a run that waits ends with interrupts, or with the calls of the client", () => {
  const at = { session, at: 1, v: 1, actor: "system", turn: 1, cause: null, key: null, erased: false };
  const log = (calls: readonly object[], by: string): SessionEvent[] =>
    [
      { type: "turn.started", body: { inputs: [] } },
      { type: "model.requested", body: { inputs: [], attempt: 1 } },
      ...calls.map((body) => ({ type: "tool.requested", body: { tool: "t", ...body } })),
      { type: "session.suspended", body: { by } },
    ].map((event, place) => ({ ...at, ...event, seq: place + 1 }) as unknown as SessionEvent);
  const outcome = (events: readonly SessionEvent[]) => eventsOf(events, events).at(-1)?.["outcome"];
  const external = { external: { deadlineMs: 1 } };
  assert.deepEqual(outcome(log([external, external], "tool")), {
    type: "success",
    pendingToolCallIds: ["call_3", "call_4"],
  });
  const asked = outcome(log([external, { ask: true }], "approval")) as { interrupts: { id: string }[] };
  assert.deepEqual(
    asked.interrupts.map(({ id }) => id),
    ["call_4"],
  );
  assert.deepEqual(outcome(log([], "budget")), {
    type: "interrupt",
    interrupts: [{ id: "wait_3", reason: "budget", message: "The budget is used up." }],
  });
});
