/** Golden logs and stores: what an earlier version wrote must open, fold, verify and go on in later ones. */
import { fold } from "../../src/core/fold.ts";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { eventTypes } from "../../src/core/catalog.ts";
import type { StoredRecord } from "../../src/core/chain.ts";
import { readEvent } from "../../src/core/event.ts";
import { emptyState, mindHash, type State } from "../../src/core/state.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { VerifyProblem } from "../../src/runtime/govern/verify.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { numbersFrom } from "../flip/chance.ts";
import { digest } from "../core/digest.ts";
import { plain } from "../core/given.ts";
import { all, workspace } from "../runtime/place.ts";
import { verifyExport } from "./verifier.ts";
import { writeGolden, type Expected } from "./write.ts";
import { freshSeed } from "../crash/random.ts";

const here = import.meta.dirname;
const scratch = mkdtempSync(join(tmpdir(), "skein-golden-"));
after(() => rmSync(scratch, { recursive: true }));

const versions = readdirSync(here)
  .filter((name) => /^\d+\.\d+\.\d+$/.test(name))
  .toSorted();
const logsOf = (version: string): readonly string[] =>
  // Projects are there since 0.5.0.
  ["everything", "workspace", "project", "parent", "fork", "leaf"].filter(
    (name) => name !== "project" || version >= "0.5.0",
  );
const isSession = (name: string): boolean => name !== "workspace" && name !== "project";

const textOf = (version: string, name: string): string =>
  readFileSync(join(here, version, `${name}.jsonl`), "utf8");
const recordsOf = (text: string): StoredRecord[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as StoredRecord);
const expectedOf = (version: string): Readonly<Record<string, Expected>> =>
  JSON.parse(readFileSync(join(here, version, "expected.json"), "utf8")) as Record<string, Expected>;

/** All that was expected is there; what a later program knows besides does not matter. */
function assertHolds(actual: unknown, expected: unknown, where: string): void {
  if (typeof expected !== "object" || expected === null) return assert.deepEqual(actual, expected, where);
  if (Array.isArray(expected)) assert.equal((actual as unknown[]).length, expected.length, where);
  for (const [name, value] of Object.entries(expected)) {
    assertHolds((actual as Record<string, unknown>)[name], value, `${where}.${name}`);
  }
}

function foldAll(records: readonly StoredRecord[]): State {
  const states = [emptyState];
  for (const record of records) {
    states.push(fold(states.at(-1)!, readEvent(record, true), (seq) => states[seq]!.mind));
  }
  return states.at(-1)!;
}

/** Before anything could be erased, contents were taken away from golden logs by hand, and 1 was not. */
function unsaidIn(version: string): readonly VerifyProblem[] {
  if (version !== "0.1.0" && version !== "0.2.0") return [];
  const undone = "its content is still there, though the log says that it was erased";
  const unsaid = "its content is missing, and nothing says that it was erased";
  return recordsOf(textOf(version, "everything")).flatMap(({ session, seq, content, contentHash }) => {
    if (seq === 1) return [{ session, seq, problem: undone }];
    return contentHash !== null && content === null ? [{ session, seq, problem: unsaid }] : [];
  });
}

test("there are golden versions, and together they hold every event type", () => {
  assert.ok(versions.length > 0);
  const texts = versions.flatMap((version) => logsOf(version).map((name) => textOf(version, name)));
  const types = new Set(texts.flatMap((text) => recordsOf(text).map(({ type }) => type)));
  assert.deepEqual(
    eventTypes.filter((type) => !types.has(type)),
    [],
  );
  assert.ok(types.has("x.other-program"));
});

for (const version of versions) {
  for (const name of logsOf(version)) {
    test(`${name} of ${version} folds to its recorded state, and the independent verifier agrees`, () => {
      const { state, mindHash: hash, mindForm: form, ...counts } = expectedOf(version)[name]!;
      const text = textOf(version, name);
      assert.deepEqual(verifyExport(text), { ...counts, problems: [] });
      if (hash === null) return;
      const folded = foldAll(recordsOf(text));
      assertHolds(plain(folded), state, name);
      assert.deepEqual([form, mindHash(digest, folded.mind)], [1, hash]);
    });
  }

  test(`the store of ${version} opens, verifies, folds, rebuilds and continues`, async () => {
    const path = join(scratch, `${version}.skein`);
    writeFileSync(path, gunzipSync(readFileSync(join(here, version, "store.skein.gz"))));
    const world = realWorld();
    const store = await sqliteStore({ path, world, workspace, create: false });
    assert.equal(store.workspace, workspace);
    const engine = new Engine({ store, world });
    const expected = expectedOf(version);
    const check = async (): Promise<void> => {
      const report = await engine.verify();
      assert.deepEqual([report.problems, report.sessions], [unsaidIn(version), 4]);
      for (const name of logsOf(version).filter(isSession)) {
        const records = recordsOf(textOf(version, name));
        const session = await engine.session(records.at(-1)!.session);
        assert.deepEqual(await all(session.records()), records);
        assertHolds(plain(await session.fold()), expected[name]!.state, name);
        assert.equal((await session.state()).mindHash, expected[name]!.mindHash);
      }
    };
    await check();
    await engine.rebuild();
    await check();
    assert.ok((await engine.search("payroll")).length > 0);
    const { rows } = await engine.sessions({ text: "BASE rate" });
    assert.deepEqual(
      rows.map(({ objective }) => objective),
      ["What is the base rate?"],
    );
    const leaf = await engine.session(recordsOf(textOf(version, "leaf")).at(-1)!.session);
    assert.equal((await leaf.append("still here")).duplicate, false);
    assert.deepEqual((await engine.verify()).problems, unsaidIn(version));
    await engine.close();
  });
}

test("today's records equal the newest golden version; others need another version", async () => {
  const newest = versions.at(-1)!;
  const folder = join(scratch, "today");
  await writeGolden(folder);
  for (const name of logsOf(newest)) {
    assert.equal(readFileSync(join(folder, `${name}.jsonl`), "utf8"), textOf(newest, name), name);
  }
  await assert.rejects(writeGolden(folder), /never written again/);
});

test("the outside verifier finds any bit that is flipped in an export", (context) => {
  const seed = Number(process.env["SKEIN_FLIP_SEED"] ?? freshSeed());
  context.diagnostic(`seed ${seed}`);
  const next = numbersFrom(seed);
  for (const name of ["fork", "everything"]) {
    const bytes = readFileSync(join(here, versions.at(-1)!, `${name}.jsonl`));
    for (let count = 0; count < 300; count++) {
      const bit = next(bytes.length * 8);
      const flipped = Buffer.from(bytes).fill(bytes[bit >> 3]! ^ (1 << (bit & 7)), bit >> 3, (bit >> 3) + 1);
      const { problems } = verifyExport(flipped.toString("utf8"));
      assert.ok(problems.length > 0, `seed ${seed}: bit ${bit} of ${name}`);
    }
  }
});

test("the outside verifier finds missing, swapped and added records", () => {
  const lines = textOf(versions.at(-1)!, "fork").trimEnd().split("\n");
  const wrong = [
    lines.toSpliced(1, 1),
    lines.toSpliced(1, 2, lines[2]!, lines[1]!),
    lines.toSpliced(1, 0, lines[0]!),
    lines.slice(1),
    [...lines, ...textOf(versions.at(-1)!, "parent").trimEnd().split("\n").slice(-1)],
  ];
  for (const some of wrong) assert.ok(verifyExport(some.join("\n")).problems.length > 0);
  // A missing tail leaves no trace in the rest; that is what a noted head is for.
  const cut = verifyExport(lines.slice(0, -1).join("\n"));
  assert.deepEqual([cut.problems, cut.head.seq], [[], lines.length - 1]);
});

const folders = (process.env["PATH"] ?? "").split(":");
const python = folders.map((folder) => join(folder, "python3")).find((file) => existsSync(file));

test(
  "a verifier in another language comes to the same",
  { skip: python === undefined && process.env["CI"] !== "true" ? "there is no python3 here" : false },
  () => {
    const verify = (file: string): string => {
      try {
        const args = [join(here, "verify.py"), file];
        return execFileSync(python ?? "python3", args, { encoding: "utf8" }).trim();
      } catch (error) {
        return String((error as { stdout?: unknown }).stdout).trim();
      }
    };
    const newest = versions.at(-1)!;
    for (const name of logsOf(newest)) assert.equal(verify(join(here, newest, `${name}.jsonl`)), "ok");
    const broken = join(scratch, "broken.jsonl");
    writeFileSync(broken, textOf(versions.at(-1)!, "fork").replace("What if", "What of"));
    assert.match(verify(broken), /^record \d+: the content does not match its hash$/);
  },
);

/** The records that a page spells out in tables of field and value. */
function recordsIn(page: string): StoredRecord[] {
  const rows = [...page.matchAll(/^\| `(\w+)` \| (?:null|`(.*)`) \|$/gm)];
  const records: Record<string, unknown>[] = [];
  for (const [, name = "", value] of rows) {
    if (name === "session") records.push({});
    const isNumber = ["seq", "at", "v", "turn", "cause", "contentBytes"].includes(name);
    records.at(-1)![name] = value === undefined ? null : isNumber ? Number(value) : value;
  }
  return records as unknown as StoredRecord[];
}

test("the worked example in the documentation is true", () => {
  const page = readFileSync(join(here, "../../docs/log-format.md"), "utf8");
  const records = recordsIn(page.slice(page.indexOf("## A worked example")));
  const verdict = verifyExport(records.map((record) => JSON.stringify(record)).join("\n"));
  assert.deepEqual([verdict.problems, verdict.records, verdict.contents], [[], 3, 2]);
  const header = /so the header is\n\n```text\n([\s\S]*?)\n```/.exec(page)?.[1] ?? "";
  assert.equal(digest("00".repeat(32), header), records[0]?.hash);
  assert.match(page, new RegExp(`32 zero bytes and these ${Buffer.byteLength(header)} bytes`));
});
