/** Sums over imported sessions: by tool, project, model and week, each conversation once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { ForeignEntry } from "../../../src/transcripts/model.ts";
import { answered, said, sourceOf } from "../transfer/foreign-source.ts";
import { inFile } from "../place.ts";

const monday = Date.UTC(2026, 10, 16);
const minuteMs = 60_000;

const at = (entry: ForeignEntry, atMs: number | null, model?: string): ForeignEntry =>
  entry.kind === "answer" ? { ...entry, atMs, model: model ?? entry.model } : { ...entry, atMs };

const priced = (entry: ForeignEntry, costUsd: number): ForeignEntry =>
  entry.kind === "answer" && entry.usage !== null ? { ...entry, usage: { ...entry.usage, costUsd } } : entry;

test("a store without imported sessions has empty sums", async () => {
  await using place = await inFile();
  const { imported } = await place.engine.stats({ imported: true });
  assert.deepEqual(imported?.tools, []);
  assert.deepEqual([imported?.total.sessions, imported?.total.nanoUsd], [0, 0]);
  assert.equal((await place.engine.stats()).imported, undefined);
});

test("sums by tool, project, model and week count a branch once and leave out pauses", async () => {
  await using place = await inFile();
  const library = new Engine({ store: place.store, world: place.world });
  const entries = [
    at(said("u1", "Which rate?"), null),
    at(answered("a1", "I look."), monday - 10 * minuteMs, "large"),
    at(said("u2", "And then?"), monday - 5 * minuteMs),
    priced(at(answered("a2", "Done."), monday + minuteMs, "small"), 0.25),
    // A night later.
    at(said("u3", "Again"), monday + 600 * minuteMs),
    priced(at(answered("a3", "Again done."), monday + 601 * minuteMs, "small"), 0.5),
  ];
  const branch = [
    at(said("u4", "What if?"), monday),
    at(answered("a4", "Then."), monday + minuteMs, "small"),
  ];
  await library.importTranscript(sourceOf({ entries, branch, after: "a1" }));
  const header = { tool: "codex", sourceId: "other", cwd: null };
  await library.importTranscript(sourceOf({ entries: [at(answered("b1", "Hm"), monday, "large")], header }));
  const { imported } = await place.engine.stats({ imported: true });
  assert.ok(imported);
  const sum = (sessions: number, answers: number, nanoUsd: number, unpriced: number, minutes: number) => ({
    sessions,
    answers,
    inputTokens: answers * 100,
    outputTokens: answers * 20,
    nanoUsd,
    unpriced,
    activeMs: minutes * minuteMs,
  });
  assert.deepEqual(imported.total, sum(2, 5, 750_000_000, 3, 13));
  assert.deepEqual(imported.tools, [
    { group: "claude-code", ...sum(1, 4, 750_000_000, 2, 13) },
    { group: "codex", ...sum(1, 1, 0, 1, 0) },
  ]);
  assert.deepEqual(
    imported.projects.map(({ group }) => group),
    ["/home/ann/payroll", null],
  );
  assert.deepEqual(imported.models, [
    { group: "small", ...sum(1, 3, 750_000_000, 1, 8) },
    { group: "large", ...sum(2, 2, 0, 2, 5) },
  ]);
  assert.deepEqual(imported.weeks, [
    { group: "2026-11-16", ...sum(2, 4, 750_000_000, 2, 8) },
    { group: "2026-11-09", ...sum(1, 1, 0, 1, 5) },
  ]);
});

test("turns that a tool added to an exported session count for that tool", async () => {
  await using place = await inFile();
  const library = new Engine({ store: place.store, world: place.world });
  const native = await library.open({ objective: "Rates" });
  const { session: imported } = await library.importTranscript(sourceOf({ entries: [said("u1", "Which?")] }));
  for (const [origin, sourceId] of [
    [native.id, "x"],
    [imported, "y"],
  ] as const) {
    const header = { tool: "codex", sourceId };
    const source = sourceOf({ entries: [said("w1", "Written"), answered(`n-${sourceId}`, "New.")], header });
    const written = { session: origin, seq: 1, holds: ({ id }: { readonly id: string }) => id === "w1" };
    const report = await library.importTranscript({ ...source, plan: { ...source.plan, written } });
    assert.deepEqual([report.status, report.origin, report.added], ["new", origin, 1]);
  }
  const { imported: sums } = await place.engine.stats({ imported: true });
  assert.deepEqual(
    sums?.tools.map(({ group, sessions, answers }) => [group, sessions, answers]),
    [
      ["codex", 2, 2],
      ["claude-code", 1, 0],
    ],
  );
});

test("the total is the sum of the states: copied answers count once, tokens of no answer too", async () => {
  await using place = await inFile();
  const library = new Engine({ store: place.store, world: place.world });
  const usage = {
    inputTokens: 7,
    outputTokens: 3,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costUsd: 0.125,
  };
  const sources = ["one", "two"].map((sourceId) => {
    const source = sourceOf({ entries: [said("u1", "Hm"), answered("a1", "Same.")], header: { sourceId } });
    return { ...source, plan: { ...source.plan, otherUsage: usage } };
  });
  const sum = { calls: 0, inputTokens: 0, outputTokens: 0, nanoUsd: 0, unpriced: 0 };
  for (const source of sources) {
    const { session } = await library.importTranscript(source);
    const { imported } = await (await library.session(session)).state();
    for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += imported[key];
  }
  const { calls: answers, ...rest } = sum;
  const { total } = (await place.engine.stats({ imported: true })).imported!;
  assert.deepEqual(total, { ...rest, answers, sessions: 2, activeMs: total.activeMs });
  assert.equal(answers, 1);
});
