/** Each format with its traps, from small sessions that the tests make. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { findTranscripts, SourceFolder } from "../../src/transcripts/transcripts.ts";
import type { ForeignEntry } from "../../src/transcripts/transcripts.ts";
import { countEntries, readAll } from "./count.ts";
import * as golden from "./golden.ts";
import { zipOf } from "./packed.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-formats-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

const shape = (entries: readonly ForeignEntry[]): string[] =>
  entries.map((entry) => {
    if (entry.kind === "compaction") return `compaction ${entry.summary} from ${entry.keptFrom ?? "none"}`;
    const texts = entry.blocks.flatMap((block) => (block.type === "text" ? block.text : [])).join("|");
    if (entry.kind === "input") return `${entry.from} ${texts}`;
    const calls = entry.calls.map(({ id, status }) => ` ${id}:${status}`).join("");
    return `answer ${texts}${calls}`.trim().replace("  ", " ");
  });

test("Claude Code: parallel calls have results, an edit is a branch, a compaction is crossed", async () => {
  const path = file("claude/11111111-1111-4111-8111-111111111111.jsonl", golden.claudeCode);
  const { entries, plan, counted, all } = await readAll("claude-code", path);
  assert.deepEqual(shape(entries), [
    "user first",
    "answer t1:ok t2:ok",
    "answer done",
    "user right turn",
    "compaction summary from none",
    "answer t3:unknown",
  ]);
  assert.deepEqual(shape(all.slice(entries.length)), ["user wrong turn", "answer left behind"]);
  assert.equal(plan.branches[0]?.after, "a4");
  assert.deepEqual([plan.header.title, plan.header.cwd, plan.report.unpairedCalls], ["A title", "/tmp/p", 1]);
  // msg1 repeats its usage on three lines: one input, the greatest output.
  assert.deepEqual([counted.inputTokens, counted.outputTokens], [64, 7 + 4 + 2 + 6]);
  assert.equal(plan.report.timesOutOfOrder, 1);
});

test("Codex: usage is the total's growth, a rollback is a branch, broken arguments stay text", async () => {
  const path = file("codex.jsonl", golden.codex);
  const { entries, plan, all } = await readAll("codex", path);
  assert.deepEqual(shape(entries), [
    "context rules",
    "context <environment_context>x</environment_context>",
    "user first",
    "answer c1:ok c2:error",
    "answer done",
    "compaction summary from none",
    "user second",
    "answer c3:unknown",
  ]);
  assert.deepEqual(shape(all.slice(entries.length)), ["user wrong turn", "answer left behind"]);
  const usage = entries.flatMap((entry) => (entry.kind === "answer" ? (entry.usage ?? []) : []));
  assert.deepEqual(
    usage.map((one) => [one.inputTokens, one.outputTokens]),
    [
      [100, 10],
      [150, 15],
    ],
  );
  const [first] = entries.flatMap((entry) => (entry.kind === "answer" ? entry.calls : []));
  assert.equal(first?.input, "{broken");
  assert.equal(plan.report.unpairedCalls, 1);
});

test("Codex: a cold rollout is read from its zstd file", async () => {
  const name = "cold/rollout-2026-01-02T03-04-01-22222222-2222-4222-8222-222222222222.jsonl.zst";
  file(name, zstdCompressSync(Buffer.from(golden.codex)));
  const { counted } = await readAll("codex", join(folder, "cold"));
  assert.equal(counted.calls, 3);
});

test("pi: format 3 has branches, kept tails and its own usage; format 1 is a list", async () => {
  const three = await readAll("pi", file("pi3.jsonl", golden.piThree));
  assert.deepEqual(shape(three.entries), [
    "user first",
    "answer c1:ok",
    "user second",
    "compaction sum from 00000005",
  ]);
  assert.equal(three.plan.branches.length, 1);
  assert.equal(three.plan.otherUsage?.inputTokens, 13);
  assert.deepEqual(three.plan.report.unknownTypes, { invented_tomorrow: 1 });
  const one = await readAll("pi", file("pi1.jsonl", golden.piOne));
  assert.deepEqual(shape(one.entries), ["user first", "answer hi"]);
});

test("Gemini: a known id replaces, a rewind is a branch, the old document reads the same", async () => {
  const { entries, plan, counted } = await readAll("gemini", file("session-1.jsonl", golden.geminiLines));
  assert.deepEqual(shape(entries), ["user first", "answer hi c1:ok", "user second"]);
  assert.equal(plan.branches[0]?.after, "m2");
  assert.equal(plan.header.title, "A title");
  assert.deepEqual([counted.inputTokens, counted.outputTokens], [10, 3]);
  const old = await readAll("gemini", file("session-0.json", golden.geminiDocument));
  assert.deepEqual(shape(old.entries), ["user first", "answer hi"]);
});

test("opencode: export, folder and database give the same session", async () => {
  const { entries, plan } = await readAll("opencode", file("export.json", golden.opencodeExport));
  const expected = ["user first", "answer c1:ok c2:unknown", "user ", "compaction summary from msg_2"];
  assert.deepEqual(shape(entries), expected);
  assert.deepEqual(
    plan.branches.map(({ after }) => after),
    ["msg_4"],
  );
  const { info, messages } = JSON.parse(golden.opencodeExport) as {
    info: { id: string };
    messages: { info: { id: string }; parts: { id: string }[] }[];
  };
  file("oc/storage/session/p/ses_1.json", JSON.stringify(info));
  for (const message of messages) {
    file(`oc/storage/message/ses_1/${message.info.id}.json`, JSON.stringify(message.info));
    for (const part of message.parts) {
      const whole = JSON.stringify({ ...part, sessionID: "ses_1", messageID: message.info.id });
      file(`oc/storage/part/${message.info.id}/${part.id}.json`, whole);
    }
  }
  assert.deepEqual(shape((await readAll("opencode", join(folder, "oc"))).entries), expected);
  mkdirSync(join(folder, "db"));
  const database = new DatabaseSync(join(folder, "db", "opencode.db"));
  database.exec(
    "PRAGMA journal_mode = WAL;" +
      "CREATE TABLE session (id TEXT, title TEXT, directory TEXT, revert TEXT, time_created INT);" +
      "CREATE TABLE message (id TEXT, session_id TEXT, time_created INT, data TEXT);" +
      "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)",
  );
  database.prepare("INSERT INTO session VALUES ('ses_1', 'T', '/tmp', '{\"messageID\":\"msg_5\"}', 1)").run();
  for (const {
    info: { id, ...rest },
    parts,
  } of messages) {
    database.prepare("INSERT INTO message VALUES (?, 'ses_1', 1, ?)").run(id, JSON.stringify(rest));
    for (const { id: part, ...content } of parts)
      database.prepare("INSERT INTO part VALUES (?, ?, 'ses_1', ?)").run(part, id, JSON.stringify(content));
  }
  // The writer is still open: the rows are in the write-ahead log.
  assert.deepEqual(shape((await readAll("opencode", join(folder, "db"))).entries), expected);
  database.close();
});

test("ChatGPT and Claude.ai: directly and in a zip, branches and missing assets", async () => {
  const expected = ["user look", "answer a1:ok", "answer done"];
  const { entries, plan } = await readAll("chatgpt", file("gpt/conversations.json", golden.chatgpt), "c-1");
  assert.deepEqual(shape(entries), expected);
  assert.deepEqual([plan.branches.length, plan.report.missingAttachments], [1, 1]);
  assert.equal(plan.header.title, "A title, with ] and } in it");
  const zip = file("gpt.zip", zipOf({ "conversations-000.json": golden.chatgpt, "../evil.json": "[]" }));
  assert.deepEqual(shape((await readAll("chatgpt", zip, "c-1")).entries), expected);
  const claude = await readAll("claude-ai", file("ai/conversations.json", golden.claudeAi));
  assert.deepEqual(shape(claude.entries), ["user first", "answer done x1#1:ok"]);
  assert.equal(claude.plan.report.missingAttachments, 1);
});

test("no path outside the root is read, links and archive entries included", async () => {
  const outside = file("outside.jsonl", golden.piOne);
  mkdirSync(join(folder, "fenced"));
  symlinkSync(outside, join(folder, "fenced", "link.jsonl"));
  await using source = new SourceFolder(join(folder, "fenced"));
  assert.deepEqual(await findTranscripts("pi", source), []);
  assert.deepEqual(source.refused, ["link.jsonl"]);
  await assert.rejects(source.read({ file: "link.jsonl", from: 0, to: 9 }), { code: "refused" });
  await assert.rejects(source.read({ file: "../outside.jsonl", from: 0, to: 9 }), { code: "refused" });
  await using archive = new SourceFolder(file("evil.zip", zipOf({ "../evil.json": "[]", "ok.json": "[]" })));
  assert.deepEqual(
    (await archive.list()).map(({ path }) => path).filter((path) => path.includes("evil.zip/")),
    ["evil.zip/ok.json"],
  );
});

test("a damaged archive and one that unpacks to more than it says are refused", async () => {
  await using cut = new SourceFolder(file("cut.zip", Buffer.from("PK no archive")));
  await assert.rejects(cut.list(), { code: "corrupt" });
  const bomb = zipOf({ "conversations.json": "[]".padEnd(100_000) }, { declared: 10 });
  await using source = new SourceFolder(file("bomb.zip", bomb));
  await assert.rejects(findTranscripts("chatgpt", source), { code: "corrupt" });
});

test("what both readers count is what the entries hold", async () => {
  const { entries, counted } = await readAll("pi", file("pi.jsonl", golden.piOne));
  assert.deepEqual(countEntries(entries), counted);
});
