/** Recall in pages: whatever a session holds can be read to its end, in results that are not cut. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { SkeinError } from "../../../src/core/error.ts";
import type { ModelCall } from "../../../src/model/port.ts";
import { all } from "../place.ts";
import { engineWith, scripted, use, type Line } from "../turn/scripted.ts";

interface Page {
  readonly text?: string;
  readonly nextChar?: number;
  readonly readOn?: string;
  readonly sections?: readonly string[];
}

const stepsMax = 60;

/** Calls recall with what `next` makes of the results so far, until that is nothing. */
async function reading(
  next: (results: readonly string[]) => Readonly<Record<string, unknown>> | null,
  begin: (engine: Engine) => Promise<Session>,
): Promise<readonly string[]> {
  let results: string[] = [];
  const line: Line = (call: ModelCall) => {
    results = call.parts.flatMap((part) =>
      part.part === "message" && part.role === "tool" ? part.content.map(({ text }) => text) : [],
    );
    const input = results.length < stepsMax ? next(results) : null;
    return input === null ? "Read." : [use("recall", input, `r${results.length}`)];
  };
  const script = scripted([line]);
  await using engine = engineWith(script);
  const session = await begin(engine);
  await all(session.ask("Read it."));
  for (const result of results) {
    assert.ok(result.length <= limit.toolOutputCharsMax, `${result.length}`);
    assert.doesNotMatch(result, /characters are left out/);
  }
  return results;
}

const page = (result: string | undefined): Page => {
  const value = JSON.parse(result ?? "{}") as Page | [Page];
  return Array.isArray(value) ? value[0] : value;
};

/** Reads a text to its end, by its place and the character that each page names. */
const toItsEnd =
  (place: Readonly<Record<string, unknown>>) =>
  (results: readonly string[]): Readonly<Record<string, unknown>> | null => {
    if (results.length === 0) return { ...place };
    const { nextChar } = page(results.at(-1));
    return nextChar === undefined ? null : { ...place, fromChar: nextChar };
  };

const joined = (results: readonly string[]): string => results.map((one) => page(one).text ?? "").join("");

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-recall-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

const filler = "Nothing of what stands here matters to readers of today. ".repeat(40);
const book = Array.from(
  { length: 500 },
  (_, place) => `## ${place + 1} Chapter of ${place}\n\n${filler}\n`,
).join("");

/** The position of the document in a session that was opened with it. */
const documentSeq = 2;

test("a document of 500 pages is read by its outline, a section, and to its end", async (t) => {
  const path = join(folderOf(t), "book.md");
  writeFileSync(path, book);
  assert.ok(book.length > 1_100_000);
  const begin = (engine: Engine): Promise<Session> => engine.open({ objective: "Read", files: [path] });
  const outlines = await reading((results) => {
    if (results.length === 0) return { fromSeq: documentSeq, outline: true };
    const more = /outline and fromChar (\d+) lists more/.exec(page(results.at(-1)).readOn ?? "")?.[1];
    return more === undefined ? null : { fromSeq: documentSeq, outline: true, fromChar: Number(more) };
  }, begin);
  const lines = outlines.flatMap((one) => page(one).sections ?? []);
  assert.equal(lines.length, 500);
  assert.match(lines[321] ?? "", /- 322 Chapter of 321 \[322-chapter-of-321\] 23\d\d$/);

  for (const section of ["322-chapter-of-321", "322 chapter OF 321", "322"]) {
    const [one] = await reading(toItsEnd({ fromSeq: documentSeq, section }), begin);
    assert.equal(page(one).text, `## 322 Chapter of 321\n\n${filler}\n`);
  }
  const [plain] = await reading((results) => (results.length === 0 ? { fromSeq: documentSeq } : null), begin);
  assert.match(page(plain).readOn ?? "", /^recall with fromSeq 2 and fromChar \d+ reads on; with outline/);
  const pages = await reading(toItsEnd({ fromSeq: documentSeq, fromChar: 0 }), begin);
  assert.equal(joined(pages), book);
});

test("a text of odd characters is read to its end, each page within its limit", async () => {
  const odd = '\u0001"\\\n\u{1F600}é'.repeat(9_000);
  const begin = async (engine: Engine): Promise<Session> => {
    const session = await engine.open({ objective: "Read" });
    await session.record("fact", "odd", odd);
    return session;
  };
  const wanted = [
    { kind: "fact", key: "odd", fromChar: 0 },
    { fromSeq: 2, fromChar: 0 },
  ];
  for (const place of wanted) assert.equal(joined(await reading(toItsEnd(place), begin)), odd);
});

test("records, items and matches that do not fit into one result are read on", async () => {
  const begin = async (engine: Engine): Promise<Session> => {
    const session = await engine.open({ objective: "Read" });
    for (let place = 0; place < 60; place++)
      await session.record("fact", `key-${String(place).padStart(2, "0")}`, `needle ${"long ".repeat(300)}`);
    await session.record("fact", "zz", "w".repeat(100_000));
    return session;
  };
  const listed = await reading((results) => {
    const after = /after "([^"]+)" lists them/.exec(results.at(-1)?.replaceAll("\\", "") ?? "")?.[1];
    if (results.length > 0 && after === undefined) return null;
    return { kind: "fact", ...(after === undefined ? {} : { after }) };
  }, begin);
  const keys = listed.flatMap((one) =>
    (JSON.parse(one) as { key?: string }[]).flatMap(({ key }) => key ?? []),
  );
  assert.equal(keys.length, 61);
  assert.equal(new Set(keys).size, 61);
  assert.match(listed.at(-1) ?? "", /"readOn":"recall with kind fact and key reads it"/);

  const span = await reading((results) => {
    const from = /recall with fromSeq (\d+) and toSeq 62 reads on/.exec(results.at(-1) ?? "")?.[1];
    return results.length > 0 && from === undefined ? null : { fromSeq: Number(from ?? 1), toSeq: 62 };
  }, begin);
  const seqs = span.flatMap((one) => (JSON.parse(one) as { seq?: number }[]).flatMap(({ seq }) => seq ?? []));
  assert.deepEqual(
    seqs,
    Array.from({ length: 62 }, (_, place) => place + 1),
  );

  const [found] = await reading((results) => (results.length === 0 ? { text: "needle" } : null), begin);
  assert.equal((JSON.parse(found ?? "") as unknown[]).length, 21);
  assert.match(found ?? "", /more than 20 records have these words/);
});

test("a missing entry is refused with a way to find others", async (t) => {
  const path = join(folderOf(t), "a.md");
  writeFileSync(path, "# Rates\nx\n# Terms\ny\n");
  const asked = [
    { fromSeq: documentSeq, section: "rate" },
    { fromSeq: documentSeq, fromChar: 500 },
    { fromSeq: documentSeq, section: "terms", fromChar: 2 },
    { fromSeq: 900, outline: true },
    { kind: "fact", key: "none" },
  ];
  const results = await reading(
    (done) => asked[done.length] ?? null,
    (engine) => engine.open({ objective: "Read", files: [path] }),
  );
  const [section, char, below, beyond, item] = results;
  assert.match(section ?? "", /no section "rate"; did you mean "rates"\? recall with fromSeq 2 and outline/);
  assert.match(char ?? "", /fromChar: expected less than 20, got 500; recall with fromSeq 2 and outline/);
  assert.match(below ?? "", /fromChar: expected at least 10, got 2/);
  assert.match(beyond ?? "", /fromSeq: expected at most \d+, got 900/);
  assert.match(item ?? "", /there is no fact "none"/);
});

test("a document of a gigabyte is refused by its size, without being read", async (t) => {
  const path = join(folderOf(t), "big.md");
  writeFileSync(path, "");
  truncateSync(path, 1_073_741_824);
  const script = scripted(["Hi."]);
  await using engine = engineWith(script);
  const before = process.memoryUsage().rss;
  await assert.rejects(engine.open({ objective: "Read", files: [path] }), (error: unknown) => {
    assert.ok(error instanceof SkeinError);
    assert.match(error.message, /expected at most 16777216 bytes, got 1073741824/);
    assert.match(error.hint ?? "", /bind the file instead/);
    return true;
  });
  assert.ok(process.memoryUsage().rss - before < 200_000_000);
});
