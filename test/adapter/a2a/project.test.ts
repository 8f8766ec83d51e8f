/** The projection, on random logs: wherever a client joins, it ends with the task that the log has. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StreamResponse, Task } from "@a2a-js/sdk";
import fc from "fast-check";
import { TaskProjection } from "../../../src/adapter/a2a/project.ts";
import type { SessionUpdate } from "../../../src/runtime/turn/ask.ts";
import { sliced } from "../../slice.ts";
import { makeTurn, session, turnPlan } from "../ai-sdk/logs.ts";
import { gather, textsOf } from "./clients.ts";

/** What a client gets that joins at a place, as JSON that its own code reads. */
async function* streamFrom(updates: readonly SessionUpdate[], place: number): AsyncGenerator<StreamResponse> {
  const projection = new TaskProjection(session, 1);
  for (const [at, update] of updates.entries()) {
    if (at === place) yield StreamResponse.fromJSON({ task: projection.task() });
    const responses = "delta" in update ? projection.delta(update) : projection.event(update);
    if (at >= place)
      for (const one of responses) yield StreamResponse.fromJSON(JSON.parse(JSON.stringify(one)));
  }
  if (place === updates.length) yield StreamResponse.fromJSON({ task: projection.task() });
}

const outcomeOf = ({ status, artifacts }: Task): unknown => ({
  state: status?.state,
  asks: textsOf(status?.message?.parts),
  artifacts: artifacts
    .map(({ artifactId, parts }) => `${artifactId}: ${textsOf(parts)}`)
    // A text that was taken back is empty.
    .filter((line) => !line.endsWith(": ")),
});

test("wherever a client joins a task, it ends with the same result, from the log alone", async () => {
  await fc.assert(
    fc.asyncProperty(turnPlan, fc.nat(), async (plan, at) => {
      const { updates, log } = makeTurn(plan);
      const projection = new TaskProjection(session, 1);
      for (const event of log) projection.event(event);
      const expected = outcomeOf(Task.fromJSON(JSON.parse(JSON.stringify(projection.task()))));
      const place = 1 + (at % updates.length);
      assert.deepEqual(outcomeOf((await gather(streamFrom(updates, place))).task), expected);
      assert.equal(projection.isOver, plan.outcome !== null);
    }),
    { numRuns: sliced(150, 3_000) },
  );
});

test("a rewind cancels a task, or queues its input again; a finished task stays as it was", () => {
  const at = { session, at: 1, v: 1, actor: "system", turn: 1, cause: null, key: null, erased: false };
  const stateAfter = (...events: readonly object[]): string => {
    const projection = new TaskProjection(session, 1);
    const input = { type: "input.received", body: { input: 1 }, content: { blocks: [] } };
    const all = [input, { type: "turn.started", body: { inputs: [[1, 1]] } }, ...events];
    for (const [place, event] of all.entries())
      projection.event({ ...at, seq: place + 1, ...event } as unknown as Parameters<
        typeof projection.event
      >[0]);
    return projection.state.replace("TASK_STATE_", "");
  };
  const rewound = (toSeq: number, requeued: boolean) => ({
    type: "session.rewound",
    body: { toSeq, requeued },
  });
  const ended = { type: "turn.ended", body: { outcome: "completed" } };
  assert.equal(stateAfter(), "WORKING");
  assert.equal(stateAfter(rewound(2, false)), "WORKING");
  assert.equal(stateAfter(rewound(1, false)), "CANCELED");
  assert.equal(stateAfter(rewound(1, true)), "SUBMITTED");
  assert.equal(stateAfter(rewound(1, true), { type: "turn.started", body: { inputs: [[1, 1]] } }), "WORKING");
  assert.equal(stateAfter(ended, rewound(1, false)), "COMPLETED");
});
