/** A golden log of a session with an executor: requests of version 2 open in every later version. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { StoredRecord } from "../../src/core/chain.ts";
import { readEvent } from "../../src/core/event.ts";
import { fold } from "../../src/core/fold.ts";
import { emptyState, type State } from "../../src/core/state.ts";
import type { ExecutorEvent, ExecutorSession, TurnExecutor } from "../../src/core/turn/executor.ts";
import { executorModel } from "../../src/adapter/acp/executor-model.ts";
import { madeWorld } from "../runtime/made-world.ts";
import { all } from "../runtime/place.ts";
import { engineWith } from "../runtime/turn/scripted.ts";
import { verifyExport } from "./verifier.ts";

const file = join(import.meta.dirname, "executor-1", "session.jsonl");

/** An executor that says these events. */
function scriptedExecutor(events: ExecutorEvent[]): TurnExecutor {
  const session: ExecutorSession = {
    id: "outer-1",
    isResumed: false,
    get isWorking() {
      return events.length > 0 && events.length < 4;
    },
    asking: [],
    send: () => undefined,
    next: async () => events.shift() ?? { type: "lost", message: "it has no more events" },
    decide: () => undefined,
    cancel: async () => [],
    park: () => undefined,
    close: async () => undefined,
  };
  return { command: "outer", isContained: true, parked: () => null, connect: async () => session };
}

/** Writes the log if it is not there. It is never written again. */
async function written(): Promise<string> {
  if (existsSync(file)) return readFileSync(file, "utf8");
  const call = { id: "c1", tool: "edit", effect: "unsafe", input: { path: "a" }, output: "done" } as const;
  const executor = scriptedExecutor([
    { type: "text", text: "I edit." },
    { type: "call", call: { ...call, status: "running" } },
    { type: "call", call: { ...call, status: "ok" } },
    { type: "text", text: "Done." },
    { type: "ended", reason: "completed" },
  ]);
  const model = executorModel("outer", executor);
  const models = { byDefault: "acp/outer", model: async () => model, list: () => [] };
  await using engine = engineWith({ calls: [], models }, { world: madeWorld("golden") });
  const session = await engine.open({ objective: "Edit", bind: [{ kind: "directory", path: "/usr" }] });
  await session.ask("Edit a file.").result;
  const records = await all(session.records());
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(""), { flag: "wx" });
  return readFileSync(file, "utf8");
}

test("a golden log with an executor verifies, and every position folds to its state", async () => {
  const text = await written();
  assert.deepEqual(verifyExport(text).problems, []);
  const records = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as StoredRecord);
  const states: State[] = [emptyState];
  for (const record of records)
    states.push(fold(states.at(-1) ?? emptyState, readEvent(record, true), () => emptyState.mind));
  const requests = records.filter(({ type }) => type === "model.requested");
  assert.deepEqual(
    requests.map(({ v, body }) => [v, (JSON.parse(body) as { outside?: unknown }).outside]),
    [
      [2, true],
      [2, true],
    ],
  );
  assert.equal(records.filter(({ type }) => type === "tool.settled").length, 1);
  assert.equal(states.at(-1)?.standing.status, "open");
  assert.equal(states.at(-1)?.standing.turn, null);
});
