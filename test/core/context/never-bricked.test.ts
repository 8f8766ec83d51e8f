/** Never bricked: whatever a session went through, what is sent to a provider is well formed. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nextContext } from "../../../src/runtime/context/context-reader.ts";
import { flawsOnWire } from "../../model/checker/wire-body.ts";
import { live, models, moves, worldOf } from "./life.ts";

const numRuns = Number(process.env["SKEIN_CONTEXT_RUNS"] ?? 150);

test("every request of an arbitrary life is one that its provider accepts", async () => {
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(moves(60), async (given) => {
      const life = await live(given);
      for (const { seq, parts, settings } of life.requests) {
        assert.deepEqual(await flawsOnWire(parts, settings.model), [], `when it was made, at ${seq}`);
        seen.set(settings.model, (seen.get(settings.model) ?? 0) + 1);
      }
    }),
    { numRuns },
  );
  for (const model of models) assert.ok((seen.get(model) ?? 0) > numRuns / 20, JSON.stringify([...seen]));
});

test("at any point of any history, whatever was erased, every model can be called next", async () => {
  await fc.assert(
    fc.asyncProperty(moves(60), fc.nat(), async (given, pick) => {
      const life = await live(given);
      const atSeq = 1 + (pick % life.records.length);
      for (const model of models) {
        const settings = { model, images: pick % 2 === 0 };
        const asked = { state: life.states[atSeq]!, settings, inputs: [] };
        const { parts } = await nextContext(worldOf(life), life.session, asked);
        assert.deepEqual(await flawsOnWire(parts, model), [], `${model} at ${atSeq}`);
      }
    }),
    { numRuns },
  );
});
