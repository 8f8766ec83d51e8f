/** The cost of generated lives: every surface gives the amounts that the fold gives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { spendOf, spendText, type Spend } from "../../../src/core/budget/money.ts";
import { live, moves, total } from "./cost-lives.ts";
import { inFile } from "../place.ts";

test("cost, state and every grouping give the amounts of the fold, to the nano-dollar", async () => {
  const seed = Number(process.env["SKEIN_COST_SEED"] ?? 20_261_117);
  console.log(`seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(moves, async (ways) => {
      await using place = await inFile();
      const { engine } = place;
      const sessions = await live(engine, ways);
      const folded = new Map<string, Spend>();
      for (const one of sessions) folded.set(one.id, spendOf(await one.fold()));
      const bySession = await engine.cost({ by: "session" });
      for (const { group, ...row } of bySession) assert.deepEqual(row, folded.get(group ?? ""));
      for (const one of sessions) {
        assert.deepEqual((await one.state()).cost, folded.get(one.id));
        const own = total(await engine.cost({ session: one.id }));
        assert.deepEqual(own, { ...folded.get(one.id) });
      }
      const all = total([...folded.values()]);
      for (const by of ["agent", "model", "day", "user", "label:team", "label:2026"])
        assert.deepEqual(strip(total(await engine.cost({ by }))), strip(all), by);
      // Forks and successors of one session are one family.
      const family = total(await engine.cost({ session: sessions.at(-1)?.id ?? "", family: true }));
      assert.deepEqual(strip(family), strip(all));
      assert.equal(spendText(family), spendText(all));
    }),
    { numRuns: 4, seed },
  );
});

const strip = ({ calls, inputTokens, outputTokens, nanoUsd, unpriced, unconfirmedNanoUsd }: Spend) => ({
  calls,
  inputTokens,
  outputTokens,
  nanoUsd,
  unpriced,
  unconfirmedNanoUsd,
});
