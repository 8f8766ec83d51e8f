/** The same bytes: every context can be rebuilt, and contexts grow at the end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { PartKind } from "../../../src/core/context/source.ts";
import type { ContextPart } from "../../../src/core/context/part.ts";
import { readContext } from "../../../src/runtime/context/context-reader.ts";
import { live, moves, worldOf, type Life } from "./life.ts";

const numRuns = Number(process.env["SKEIN_CONTEXT_RUNS"] ?? 200);
/** What a part of each form may be. */
const kindsOf: Readonly<Record<ContextPart["part"], readonly PartKind[]>> = {
  settings: ["settings"],
  tools: ["tools"],
  system: ["instructions", "document", "memory"],
  message: ["pinned", "summary", "items", "transcript"],
};
const json = (parts: readonly unknown[]): readonly string[] => parts.map((part) => JSON.stringify(part));

test("the context of every request is rebuilt byte for byte, also where it was rewound away", async () => {
  let [requests, kept] = [0, 0];
  await fc.assert(
    fc.asyncProperty(moves(80, ["erase"]), async (given) => {
      const life = await live(given);
      for (const { seq, parts } of life.requests) {
        const again = await readContext(worldOf(life), life.session, { atSeq: seq });
        assert.equal(again.matches, true, `the context at ${seq} differs`);
        assert.deepEqual(again.parts, parts);
        assert.equal(again.reasons.length, parts.length);
        for (const [place, { kind }] of again.reasons.entries())
          assert.ok(
            kindsOf[again.parts[place]!.part].includes(kind),
            `${again.parts[place]!.part} is no ${kind}`,
          );
        assert.equal(again.requestSeq, seq);
        requests += 1;
      }
      kept += life.kept;
    }),
    { numRuns },
  );
  assert.ok(requests > numRuns / 2, `only ${requests} requests were seen`);
  assert.ok(kept > numRuns / 4, `only ${kept} contexts were kept and rendered on`);
});

test("each context starts with the one before, but for a compaction, rewind or migration", async () => {
  const seen = { grown: 0, begun: 0 };
  await fc.assert(
    fc.asyncProperty(moves(80, ["erase"]), async (given) => {
      const life = await live(given);
      for (const [place, after] of life.requests.entries()) {
        const before = life.requests[place - 1];
        if (before === undefined) continue;
        if (isBroken(life, before.seq, after.seq)) {
          seen.begun += 1;
          continue;
        }
        const start = json(after.parts).slice(0, before.parts.length);
        assert.deepEqual(start, json(before.parts), `from ${before.seq} to ${after.seq}`);
        seen.grown += 1;
      }
    }),
    { numRuns },
  );
  assert.ok(seen.grown > numRuns / 4 && seen.begun > numRuns / 20, JSON.stringify(seen));
});

/** After these a context may begin anew. */
const breaks = ["transcript.compacted", "session.rewound", "session.migrated"];
const isBroken = ({ records }: Life, fromSeq: number, toSeq: number): boolean =>
  records.slice(fromSeq, toSeq).some(({ type }) => breaks.includes(type));
