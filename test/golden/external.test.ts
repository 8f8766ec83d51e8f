/** A golden log with an external call: requests and suspensions of version 2 open in every later version. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import type { StoredRecord } from "../../src/core/chain.ts";
import { readEvent } from "../../src/core/event.ts";
import { fold } from "../../src/core/fold.ts";
import { emptyState, type State } from "../../src/core/state.ts";
import { defineTool } from "../../src/tool/define.ts";
import { madeWorld } from "../runtime/made-world.ts";
import { all } from "../runtime/place.ts";
import { engineWith, scripted, use } from "../runtime/turn/scripted.ts";
import { verifyExport } from "./verifier.ts";

const file = join(import.meta.dirname, "external-1", "session.jsonl");

/** Writes the log if it is not there. It is never written again. */
async function written(): Promise<string> {
  if (existsSync(file)) return readFileSync(file, "utf8");
  const order = defineTool({
    name: "order",
    description: "Orders an article.",
    input: z.object({ article: z.string() }),
  });
  const lines = [[use("order", { article: "pen" })], "Done."];
  await using engine = engineWith(scripted(lines), { tools: [order], world: madeWorld("golden") });
  const session = await engine.open({ objective: "Shop", bind: [{ kind: "tool", name: "order" }] });
  await session.ask("Order a pen.").result;
  const [open] = (await session.state()).calls;
  await session.settle(open?.call ?? "", { output: { number: 7 } });
  await session.run();
  const records = await all(session.records());
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(""), { flag: "wx" });
  return readFileSync(file, "utf8");
}

test("a golden log with an external call verifies, and every position folds to its state", async () => {
  const text = await written();
  assert.deepEqual(verifyExport(text).problems, []);
  const records = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as StoredRecord);
  const states: State[] = [emptyState];
  for (const record of records)
    states.push(fold(states.at(-1) ?? emptyState, readEvent(record, true), () => emptyState.mind));
  const at = (type: string): number => records.findIndex((record) => record.type === type) + 1;
  const requested = records[at("tool.requested") - 1];
  assert.deepEqual([requested?.v, records[at("session.suspended") - 1]?.v], [2, 2]);
  const waiting = states[at("session.suspended")];
  assert.equal(waiting?.standing.status, "suspended");
  const [[id, call] = []] = [...(waiting?.mind.calls.entries() ?? [])];
  assert.match(id ?? "", /-at\d+/);
  assert.deepEqual([call?.tool, typeof call?.deadlineMs], ["order", "number"]);
  assert.equal(states[at("tool.settled")]?.mind.calls.size, 0);
  assert.equal(states.at(-1)?.standing.status, "open");
});
