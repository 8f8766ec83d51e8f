/** LangGraph's own validation suite for checkpointers, on `SkeinSaver`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import { SkeinSaver } from "../../../src/adapter/langgraph/langgraph.ts";
import { sliced } from "../../slice.ts";
import { setSuiteGlobals } from "./suite-globals.ts";

const seed = Number(process.env["SKEIN_TEST_SEED"] ?? 0);
const step = sliced(13, 1);
const counts = setSuiteGlobals({ step, offset: seed % step });
const { deltaChannelHistoryTests, validate } = await import("@langchain/langgraph-checkpoint-validation");

const engines = new Map<SkeinSaver, AsyncDisposable>();
const initializer = {
  checkpointerName: "SkeinSaver",
  async createCheckpointer() {
    const engine = await openEngine({ store: "memory:" });
    const saver = new SkeinSaver(engine);
    engines.set(saver, engine);
    return saver;
  },
  async destroyCheckpointer(saver: SkeinSaver) {
    await engines.get(saver)?.[Symbol.asyncDispose]();
    engines.delete(saver);
  },
};
validate(initializer);
deltaChannelHistoryTests(initializer);

test("the suite has 718 cases and 8 more, of which these ran", (t) => {
  t.diagnostic(`${counts.run} of ${counts.cases} cases ran`);
  assert.equal(counts.cases, 718 + 8);
  assert.ok(counts.run >= Math.floor(counts.cases / step));
});
