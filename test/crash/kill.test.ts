/** Nothing lost: many kills of processes that write to one store, and an audit after each round. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startChild, writerCommand } from "./child.ts";
import { crash } from "./kill.ts";
import { freshSeed } from "./random.ts";
import { sliced } from "../slice.ts";

const kills = sliced(20, 200);

test(`after ${kills} kills every acknowledged write is there, and every other whole or absent`, async (t) => {
  const seed = freshSeed();
  t.diagnostic(`seed ${seed}`);
  const report = await crash({ kills, seed });
  const { problems, kept, ...counts } = report;
  t.diagnostic(JSON.stringify(counts));
  assert.deepEqual(problems.slice(0, 20), [], `seed ${seed}; the stores are kept in ${kept}`);
  assert.equal(counts.duplicates, 0);
  assert.ok(counts.kills >= kills, "there were as many kills as were asked for");
  // A loop that killed writers before they wrote anything would pass without having tried anything.
  assert.ok(counts.acknowledged >= kills, `only ${counts.acknowledged} writes were acknowledged`);
  assert.ok(counts.found + counts.absent >= kills / 10, "hardly anybody was killed in the middle of a write");
});

test("a writer that has deleted every session it knows opens another one", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-crash-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const child = startChild(writerCommand);
  const steps = { count: 6, verbs: ["delete", "input", "delete", "records", "fact", "delete"] } as const;
  child.order({ do: "write", path: join(folder, "s.db"), writer: "w1", seed: 1, steps });
  await child.ended;
  const tries = child.lines.filter((line) => line.startsWith("try ")).map((line) => line.split(" ")[2]);
  assert.deepEqual(tries, ["open", "input", "delete", "open", "fact", "delete"]);
  assert.equal(child.lines.at(-1), "closed");
});
