/**
 * Mutated and truncated transcripts of all formats, databases and archives included: none crashes or hangs a
 * reader or an import, each ends with a plan and a report, or with an error that says why.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { SkeinError } from "../../src/core/error.ts";
import {
  findTranscripts,
  importTranscripts,
  readTranscript,
  SourceFolder,
  writeTranscript,
} from "../../src/transcripts/transcripts.ts";
import type { ForeignEntry } from "../../src/transcripts/transcripts.ts";
import { zstdCompressSync } from "node:zlib";
import { freshSeed, makeRandom } from "../crash/random.ts";
import { sliced } from "../slice.ts";
import { inMemory } from "../runtime/place.ts";
import { chatgpt, codex, goldenFiles } from "./golden.ts";
import { opencodeDatabase, zipOf } from "./packed.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-mutate-"));
after(() => rmSync(folder, { recursive: true }));
const cases = sliced(300, 10_000);
const seed = freshSeed();
/** Shares no factor with the number of sources: each is imported. */
const importedEvery = 7;

const sources = [
  ...goldenFiles.map(({ format, file, text }) => ({ format, file, bytes: Buffer.from(text) })),
  { format: "opencode", file: "opencode.db", bytes: opencodeDatabase(folder) },
  { format: "chatgpt", file: "export.zip", bytes: zipOf({ "conversations.json": chatgpt }) },
  {
    format: "codex",
    file: "rollout-2026-01-02T03-04-01-22222222-2222-4222-8222-222222222222.jsonl.zst",
    bytes: zstdCompressSync(Buffer.from(codex)),
  },
];

/** Whatever it holds becomes sessions, or a reason. */
async function importOne(tool: string, path: string): Promise<void> {
  await using place = inMemory();
  const machine = { home: folder, env: {}, nowMs: Date.now() + 1e9 };
  for await (const one of importTranscripts(place.engine, { tool, path, machine }))
    assert.ok(one.status === "new" || (one.status === "failed" && one.reason !== null), one.status);
  assert.equal((await place.engine.verify()).ok, true);
}

/** Each test takes a part, so that none runs into the time limit of one. */
const parts = sliced(1, 20);
for (let part = 0; part < parts; part++)
  test(`${cases / parts} mutated transcripts end with a report, part ${part + 1} of ${parts}`, (t) =>
    mutateMany(t, seed + part, cases / parts));

async function mutateMany(t: TestContext, seed: number, cases: number): Promise<void> {
  t.diagnostic(`seed ${seed}`);
  const { below } = makeRandom(seed);
  let read = 0;
  let entries = 0;
  const reasons = new Set<string>();
  for (let number = 0; number < cases; number++) {
    const golden = sources[number % sources.length]!;
    const bytes = mutate(golden.bytes, below);
    const path = join(folder, golden.file);
    writeFileSync(path, bytes);
    const begun = performance.now();
    try {
      entries += await readEverything(golden.format, path);
      if (number % importedEvery === 0) await importOne(golden.format, path);
      read += 1;
    } catch (error) {
      writeFileSync(join(tmpdir(), "skein-mutated-failure"), bytes);
      assert.ok(
        error instanceof SkeinError,
        `case ${number} of seed ${seed}, ${golden.file}: ${String(error)}`,
      );
      assert.ok(error.message.length > 10, `case ${number} of seed ${seed}: ${error.message}`);
      reasons.add(error.message.replaceAll(/"[^"]*"|\d+/g, "…"));
    }
    const seconds = (performance.now() - begun) / 1e3;
    assert.ok(seconds < 30, `case ${number} of seed ${seed}, ${golden.file}: ${seconds} s`);
  }
  t.diagnostic(`${read} read, ${entries} entries; others: ${[...reasons].join("; ")}`);
  assert.ok(entries > cases, "most of the content is still read");
}

async function readEverything(format: string, path: string): Promise<number> {
  await using source = new SourceFolder(path);
  let count = 0;
  for (const found of await findTranscripts(format, source)) {
    const session = await readTranscript(source, found);
    const { plan } = session;
    const beside = [...plan.branches, ...plan.children].flatMap((one) => [...one.entries]);
    const planned = [...plan.entries, ...beside];
    const entries: ForeignEntry[] = [];
    for (const one of planned) entries.push(await session.entry(one));
    assert.equal(typeof plan.report.damagedCount, "number");
    for (const target of ["claude-code", "codex", "opencode", "pi", "html", "anthropic"])
      writeTranscript(target, { header: plan.header, entries, tasks: plan.tasks });
    count += entries.length;
  }
  return count;
}

/** One to four changes: cuts, splices, NUL runs, flipped bytes, values of another type, doubled lines. */
function mutate(bytes: Buffer, below: (most: number) => number): Buffer {
  let changed = bytes;
  for (let left = 1 + below(4); left > 0; left--) changed = mutateOnce(changed, below);
  return changed;
}

function mutateOnce(bytes: Buffer, below: (most: number) => number): Buffer {
  const from = below(bytes.length);
  const to = Math.min(bytes.length, from + 1 + below(200));
  const kind = below(9);
  const text = bytes.toString("utf8");
  if (kind === 0) return bytes.subarray(0, from);
  if (kind === 1) return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  if (kind === 2)
    return Buffer.concat([bytes.subarray(0, from), Buffer.alloc(to - from), bytes.subarray(from)]);
  if (kind === 3) return Buffer.from(text.replace("}\n{", "}{"));
  if (kind === 4) return Buffer.from(text.replaceAll("\n", "\r\n"));
  if (kind === 5) {
    const flipped = Buffer.from(bytes);
    for (let at = from; at < Math.min(to, from + 4); at++) flipped[at] = below(256);
    return flipped;
  }
  if (kind === 6) {
    const values = ["null", "[]", "{}", '""', "-1", "1e308", "true", '"u1"', '{"__proto__":{}}', "[[[[]]]]"];
    const spots = [...text.matchAll(/:("[^"\\]*"|\d+|null|\[\])/g)];
    const spot = spots[below(spots.length)];
    if (spot === undefined) return bytes;
    const value = values[below(values.length)] ?? "null";
    return Buffer.from(`${text.slice(0, spot.index)}:${value}${text.slice(spot.index + spot[0].length)}`);
  }
  if (kind === 7) return Buffer.concat([bytes, bytes.subarray(from, to)]);
  const rows = text.split("\n");
  const [row = ""] = rows.splice(below(rows.length), 1);
  rows.splice(below(rows.length + 1), 0, row, ...(below(2) === 0 ? [row] : []));
  return Buffer.from(rows.join("\n"));
}
