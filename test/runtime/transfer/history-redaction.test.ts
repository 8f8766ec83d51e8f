/**
 * Secrets in transcripts: no byte of them reaches the store, every one is reported with its range in the
 * source, and `verbatim` keeps all.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, test } from "node:test";
import { zstdDecompressSync } from "node:zlib";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { importTranscripts, type ImportedTranscript } from "../../../src/transcripts/transcripts.ts";
import { unreferredMs } from "../../../src/store/blob-pieces.ts";
import { all, inFile, type FilePlace } from "../place.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-redaction-"));
after(() => rmSync(folder, { recursive: true }));

const id = "0b6f9f5e-3a0c-4e0a-9d5e-222222222222";
/** Each is recognizable by its looks; the letter makes them distinct. */
const token = (letter: string): string => `ghp_${`${letter}1B2c3D4e5`.repeat(4)}`;
const registered = 'corr"ect-horse battery ünï';
const word = "plainwordsecret";
const letters = "abcdefghijkl".split("");

function lines(): (string | Buffer)[] {
  const records: object[] = [];
  let parentUuid: string | null = null;
  const add = (type: string, more: object): void => {
    const uuid = `u${records.length}`;
    records.push({
      type,
      uuid,
      parentUuid,
      sessionId: id,
      timestamp: "2026-01-02T03:04:05Z",
      cwd: "/p",
      ...more,
    });
    parentUuid = uuid;
  };
  const answer = (msg: string, model: string, content: object[]): void =>
    add("assistant", {
      message: { id: msg, role: "assistant", model, content, usage: { input_tokens: 1, output_tokens: 1 } },
    });
  // The list shows 80 characters of it: the token lies across the cut.
  add("user", { message: { role: "user", content: `${"title ".repeat(12)}${token("a")} is it` } });
  answer("m1", `model/${token("b")}`, [
    { type: "text", text: `\n${token("c")}\n"é${registered}"` },
    {
      type: "tool_use",
      id: "t1",
      name: `tool:${token("d")}`,
      input: { password: word, command: `x ${token("e")}` },
    },
    {
      type: "tool_use",
      id: "t2",
      name: "TodoWrite",
      input: { todos: [{ id: token("f"), content: token("f") }] },
    },
  ]);
  const image = Buffer.concat([
    Buffer.from([0x89, 0x50, 0, 1]),
    Buffer.from(registered),
    Buffer.from([0, 2]),
  ]);
  add("user", {
    message: {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "t1",
          content: `${"x".repeat(65_519)} ${token("g")} ${"y ".repeat(50_000)}`,
        },
        { type: "tool_result", tool_use_id: "t2", content: "ok" },
        {
          type: "image",
          source: { type: "base64", media_type: "image/png", data: image.toString("base64") },
        },
      ],
    },
    toolUseResult: { stdout: token("h"), large: "z ".repeat(70_000) + token("i") },
  });
  add("progress", { data: { text: token("j") } });
  answer("m2", "claude", [
    { type: "text", text: `${"w".repeat(65_500)} ${token("k")} ${"v ".repeat(90_000)}` },
  ]);
  const torn = Buffer.concat([
    Buffer.from([0xff, 0xfe, 0]),
    Buffer.from(`{"torn":"${token("l")} ${registered}`),
  ]);
  return [...records.map((one) => JSON.stringify(one)), torn];
}

function sourceFile(): { readonly path: string; readonly bytes: Buffer } {
  const path = join(folder, `${id}.jsonl`);
  const bytes = Buffer.concat(lines().flatMap((line) => [Buffer.from(line as string), Buffer.from("\n")]));
  writeFileSync(path, bytes);
  return { path, bytes };
}

async function importFile(place: FilePlace, path: string, verbatim?: boolean): Promise<ImportedTranscript> {
  const engine = new Engine({ store: place.store, world: place.world, secrets: { DB_PASSWORD: registered } });
  const machine = { home: folder, env: {}, nowMs: Date.now() };
  const results = await all(
    importTranscripts(engine, {
      tool: "claude-code",
      path,
      machine,
      ...(verbatim === true ? { verbatim } : {}),
    }),
  );
  assert.equal(results.length, 1);
  assert.equal(results[0]!.reason, null);
  return results[0]!;
}

/** All that the store has on the disk. */
function storedBytes({ path }: FilePlace): Buffer {
  const names = readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)));
  return Buffer.concat(names.map((name) => readFileSync(join(dirname(path), name))));
}

async function originalOf(place: FilePlace, session: string): Promise<Buffer> {
  const events = await all((await place.engine.session(session)).events({ types: ["source.imported"] }));
  const { blocks } = events.at(-1)!.content as { blocks: { blob: string }[] };
  const pieces = await Promise.all(blocks.map(({ blob }) => place.engine.blob(blob)));
  return Buffer.concat(pieces.map((piece) => zstdDecompressSync(piece)));
}

const needles = [...letters.map(token), ...letters.map((one) => token(one).slice(0, 16)), registered, word];

test("no byte of a secret reaches the store, and each is reported with its range", async () => {
  await using place = await inFile();
  const { path, bytes } = sourceFile();
  const { redactions, session } = await importFile(place, path);
  const found = redactions!.listed.map(({ from, to, kind }) => [
    bytes.subarray(from, to).toString("utf8"),
    kind,
  ]);
  for (const letter of letters)
    assert.ok(
      found.some(([text]) => text === token(letter)),
      `the token ${letter} is not reported: ${JSON.stringify(found)}`,
    );
  assert.ok(found.some(([text, kind]) => text === word && kind === "password"));
  assert.ok(found.filter(([, kind]) => kind === "DB_PASSWORD").length >= 3);
  assert.equal(redactions!.count, redactions!.listed.length);
  assert.equal(
    Object.values(redactions!.kinds).reduce((sum, one) => sum + one, 0),
    redactions!.count,
  );
  const [event] = (
    await all((await place.engine.session(session!)).events({ types: ["source.imported"] }))
  ).slice(-1);
  const { body, content } = event as unknown as {
    body: { redacted: number };
    content: { redactions: unknown };
  };
  assert.deepEqual([body.redacted, content.redactions], [redactions!.count, redactions!.listed]);
  // The original is JSON lines still, and outlives the sweep of blobs that nothing refers to.
  place.world.pass(unreferredMs * 2);
  await place.store.sweep();
  const original = await originalOf(place, session!);
  const rows = original.toString("latin1").trim().split("\n");
  assert.equal(rows.filter((row) => row.startsWith("{")).map((row) => JSON.parse(row) as object).length, 5);
  const stored = storedBytes(place);
  for (const needle of needles) {
    assert.equal(stored.includes(needle), false, `${needle} is in the store`);
    assert.equal(original.includes(needle), false, `${needle} is in the original`);
  }
  assert.equal(stored.includes(Buffer.from(registered).toString("base64").slice(4, -4)), false);
  assert.equal((await place.engine.verify()).ok, true);
});

test("verbatim keeps the original byte for byte, and says so", async () => {
  await using place = await inFile();
  const { path, bytes } = sourceFile();
  const { redactions, session } = await importFile(place, path, true);
  assert.equal(redactions, null);
  assert.ok((await originalOf(place, session!)).equals(bytes));
  const [event] = (
    await all((await place.engine.session(session!)).events({ types: ["source.imported"] }))
  ).slice(-1);
  assert.equal((event!.body as { verbatim?: boolean }).verbatim, true);
  assert.ok(storedBytes(place).includes(token("c")));
  const engine = new Engine({ store: place.store, world: place.world, secrets: { DB_PASSWORD: registered } });
  const { findings } = await engine.scan({ session: session! });
  assert.ok(findings.some(({ where, type }) => where === "blob" && type === "source.imported"));
});

test("a source that has grown stores its last pieces only", async () => {
  await using place = await inFile();
  const { path, bytes } = sourceFile();
  const filler = { type: "progress", uuid: "x", parentUuid: null, sessionId: id, data: "d".repeat(5_000) };
  const record = `${JSON.stringify(filler)}\n`;
  const big = Buffer.concat([bytes, Buffer.from(record.repeat(3_000))]);
  writeFileSync(path, big);
  const first = await importFile(place, path);
  const piecesOf = async (): Promise<readonly string[]> => {
    const events = await all(
      (await place.engine.session(first.session!)).events({ types: ["source.imported"] }),
    );
    return (events.at(-1)!.content as { blocks: { blob: string }[] }).blocks.map(({ blob }) => blob);
  };
  const before = await piecesOf();
  const more = {
    type: "user",
    uuid: "more",
    parentUuid: "u4",
    sessionId: id,
    message: { role: "user", content: "more" },
  };
  writeFileSync(path, Buffer.concat([big, Buffer.from(`${JSON.stringify(more)}\n`)]));
  assert.equal((await importFile(place, path)).status, "grown");
  const now = await piecesOf();
  assert.ok(before.length > 3);
  assert.deepEqual(now.slice(0, before.length - 1), before.slice(0, -1));
});
