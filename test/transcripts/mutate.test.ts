/** Mutated and truncated transcripts: none crashes a reader, each ends with a plan and a report. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { SkeinError } from "../../src/core/error.ts";
import {
  findTranscripts,
  readTranscript,
  SourceFolder,
  writeTranscript,
} from "../../src/transcripts/transcripts.ts";
import type { ForeignEntry } from "../../src/transcripts/transcripts.ts";
import { makeRandom } from "../crash/random.ts";
import { goldenFiles } from "./golden.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-mutate-"));
after(() => rmSync(folder, { recursive: true }));
const cases = process.env["SKEIN_TEST_LONG"] === "1" ? 10_000 : 300;
const seed = Number(process.env["SKEIN_TEST_SEED"] ?? 1);

test(`${cases} mutated transcripts end with a report`, async (t) => {
  t.diagnostic(`seed ${seed}`);
  const { below } = makeRandom(seed);
  let read = 0;
  let entries = 0;
  for (let number = 0; number < cases; number++) {
    const golden = goldenFiles[number % goldenFiles.length]!;
    const bytes = mutate(Buffer.from(golden.text), below);
    const path = join(folder, golden.file);
    writeFileSync(path, bytes);
    try {
      entries += await readEverything(golden.format, path);
      read += 1;
    } catch (error) {
      writeFileSync(join(tmpdir(), "skein-mutated-failure"), bytes);
      assert.ok(
        error instanceof SkeinError,
        `case ${number} of seed ${seed}, ${golden.file}: ${String(error)}`,
      );
    }
  }
  t.diagnostic(`${read} read, ${entries} entries`);
  assert.ok(entries > cases, "most of the content is still read");
});

async function readEverything(format: string, path: string): Promise<number> {
  await using source = new SourceFolder(path);
  let count = 0;
  for (const found of await findTranscripts(format, source)) {
    const session = await readTranscript(source, found);
    const { plan } = session;
    const planned = [...plan.entries, ...plan.branches.flatMap((one) => one.entries)];
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
