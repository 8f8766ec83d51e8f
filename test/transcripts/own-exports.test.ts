/** Files that Skein wrote for another tool: not imported again, continued as a fork when the tool adds. */
import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { importTranscripts, type ImportedTranscript } from "../../src/transcripts/transcripts.ts";
import { all, inMemory } from "../runtime/place.ts";
import { answered, said, sourceOf } from "../runtime/transfer/foreign-source.ts";

const folder = mkdtempSync(join(tmpdir(), "skein-own-exports-"));
after(() => rmSync(folder, { recursive: true }));
const machine = { home: folder, env: {}, nowMs: Date.UTC(2030, 0, 1) };
let count = 0;

const entries = [
  said("u1", "Which rate?"),
  answered("a1", "I look.", 1),
  said("u2", "So?"),
  answered("a2", "4.1."),
];

type Tool = "claude-code" | "codex" | "opencode" | "pi";
type Line = Record<string, unknown>;

/** An imported session with a name of its own, exported for a tool. */
async function exported(engine: Engine, format: Tool) {
  const { session } = await engine.importTranscript(sourceOf({ entries }));
  const made = await (await engine.session(session)).exportTranscript({ format });
  const path = join(folder, String(count++), made.path);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, made.text);
  return { session, path, id: made.sessionId ?? "", text: made.text };
}

async function importPath(engine: Engine, tool: string, path: string): Promise<ImportedTranscript> {
  const [one] = await all(importTranscripts(engine, { tool, path, machine }));
  assert.equal(one?.status === "failed" ? one.reason : null, null);
  return one!;
}

const linesOf = (text: string): Line[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
const textOf = (lines: readonly Line[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

const timestamp = "2026-11-18T10:00:00.000Z";
const questionOf = (turn: number): string => `More ${turn}?`;
const wordsOf = (turn: number): string => `More ${turn}.`;

/** One more turn, as the tool writes it below the last message. */
const turnOf = (tool: Tool, text: string, turn: number): string => adders[tool](text, turn);

const adders: Readonly<Record<Tool, (text: string, turn: number) => string>> = {
  opencode(text, turn) {
    const document = JSON.parse(text) as { info: Line; messages: { info: Line; parts: Line[] }[] };
    const time = { created: 1_890_000_000_000 + turn * 10, completed: 1_890_000_000_001 + turn * 10 };
    const add = (role: string, words: string, more: Line): void => {
      const id = `msg_ffff${turn}${role}`;
      const part = { id: `prt_${id}`, messageID: id, type: "text", text: words };
      document.messages.push({ info: { id, role, time, ...more }, parts: [part] });
    };
    const tokens = { input: 10, output: 1, reasoning: 0, cache: { read: 0, write: 0 } };
    add("user", questionOf(turn), {});
    add("assistant", wordsOf(turn), { modelID: "m", cost: 0.5, tokens });
    return JSON.stringify(document);
  },
  "claude-code"(text, turn) {
    const { sessionId, uuid } = linesOf(text).findLast((line) => "uuid" in line) ?? {};
    const place = { sessionId, timestamp, cwd: "/home/ann/payroll", version: "2.1.325", isSidechain: false };
    const usage = { input_tokens: 10, output_tokens: 1 };
    const content = [{ type: "text", text: wordsOf(turn) }];
    const answer = { id: `msg_tool_${turn}`, role: "assistant", model: "m", content, usage };
    const question = { role: "user", content: questionOf(turn) };
    return text.concat(
      textOf([
        { ...place, type: "user", uuid: `n${turn}`, parentUuid: uuid, message: question },
        { ...place, type: "assistant", uuid: `m${turn}`, parentUuid: `n${turn}`, message: answer },
      ]),
    );
  },
  pi(text, turn) {
    const { id: parentId } = linesOf(text).at(-1) ?? {};
    const usage = { input: 10, output: 1, cost: { total: 0.5 } };
    const content = [{ type: "text", text: wordsOf(turn) }];
    const answer = { role: "assistant", content, model: "m", usage };
    const question = { role: "user", content: questionOf(turn) };
    return text.concat(
      textOf([
        { type: "message", id: `n${turn}`, parentId, timestamp, message: question },
        { type: "message", id: `m${turn}`, parentId: `n${turn}`, timestamp, message: answer },
      ]),
    );
  },
  codex(text, turn) {
    const counted = linesOf(text).findLast(({ payload }) => (payload as Line)["type"] === "token_count");
    assert.ok(counted !== undefined);
    const { info } = counted["payload"] as {
      info: { total_token_usage: { input_tokens: number; output_tokens: number } };
    };
    const { input_tokens: input, output_tokens: output } = info.total_token_usage;
    const usage = (more: number, less: number) => ({ input_tokens: more, output_tokens: less });
    const item = (role: string, type: string, words: string): Line => ({
      timestamp,
      type: "response_item",
      payload: { type: "message", role, content: [{ type, text: words }] },
    });
    const event = (payload: Line): Line => ({ timestamp, type: "event_msg", payload });
    const totals = { total_token_usage: usage(input + 10, output + 1), last_token_usage: usage(10, 1) };
    return text.concat(
      textOf([
        event({ type: "task_started", turn_id: `01a1f08c-0000-7000-8000-00000000000${turn}` }),
        event({ type: "user_message", message: questionOf(turn) }),
        item("user", "input_text", questionOf(turn)),
        item("assistant", "output_text", wordsOf(turn)),
        event({ type: "token_count", info: totals }),
        event({ type: "task_complete" }),
      ]),
    );
  },
};

async function tokens(engine: Engine): Promise<number[]> {
  const { rows } = await engine.sessions({ limit: 100 });
  const sum = [0, 0];
  for (const { session } of rows) {
    const { imported } = (await (await engine.session(session)).fold()).standing;
    sum[0]! += imported.inputTokens;
    sum[1]! += imported.outputTokens;
  }
  return sum;
}

/** What a model would be shown of the conversation. */
async function spoken(engine: Engine, session: SessionId): Promise<string[]> {
  const events = await all(
    (await engine.session(session)).events({ types: ["input.imported", "answer.imported"] }),
  );
  return events.flatMap(({ content }) =>
    ((content as { blocks?: { type: string; text?: string }[] }).blocks ?? []).flatMap((block) =>
      block.type === "text" ? (block.text ?? "") : [],
    ),
  );
}

for (const tool of ["claude-code", "codex", "opencode", "pi"] as const)
  test(`${tool}: an export is recognized, and continued as a fork that counts what is new`, async () => {
    await using place = inMemory();
    const { engine } = place;
    const { session, path, text } = await exported(engine, tool);
    const before = await tokens(engine);
    const first = await importPath(engine, tool, path);
    assert.deepEqual([first.status, first.session, first.origin], ["exported", session, session]);
    assert.match(first.reason ?? "", /Skein exported it from ses_/);
    assert.equal((await engine.sessions()).rows.length, 1);
    // Continued here, too: the fork leaves where it was exported.
    await (await engine.session(session)).activate({ reason: "reviewed" });
    await (await engine.session(session)).input("Here");
    await (await engine.session(session)).bind({ kind: "directory", path: folder });
    const grown = turnOf(tool, text, 1);
    writeFileSync(path, grown);
    const second = await importPath(engine, tool, path);
    assert.deepEqual([second.status, second.added, second.origin], ["new", 2, session]);
    const fork = await engine.session(second.session!);
    const { standing } = await fork.fold();
    assert.equal(standing.fork?.parent, session);
    assert.deepEqual([standing.status, standing.unreviewed, standing.bindings.size], ["suspended", true, 0]);
    const words = ["Which rate?", "I look.", "So?", "4.1.", "More 1?", "More 1."];
    assert.deepEqual(await spoken(engine, fork.id), words);
    writeFileSync(path, turnOf(tool, grown, 2));
    const third = await importPath(engine, tool, path);
    assert.deepEqual([third.status, third.session, third.added], ["grown", fork.id, 2]);
    assert.deepEqual(await spoken(engine, fork.id), [...words, "More 2?", "More 2."]);
    assert.deepEqual(await tokens(engine), [before[0]! + 20, before[1]! + 2]);
    assert.equal((await importPath(engine, tool, path)).status, "same");
    assert.equal((await engine.verify()).ok, true);
    // In a store without the session it is a transcript like any other.
    await using other = inMemory();
    const there = await importPath(other.engine, tool, path);
    assert.deepEqual([there.status, there.origin, there.added], ["new", null, 8]);
  });

test("claude-code: going back into the written part gives a session that counts only new turns", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { session, path, text } = await exported(engine, "claude-code");
  const before = await tokens(engine);
  const [first] = linesOf(text);
  const rewound = textOf(linesOf(turnOf("claude-code", textOf([first!]), 1)).slice(1));
  appendFileSync(path, rewound);
  const one = await importPath(engine, "claude-code", path);
  assert.deepEqual([one.status, one.origin], ["new", session]);
  assert.notEqual(one.session, session);
  assert.deepEqual(await tokens(engine), [before[0]! + 10, before[1]! + 1]);
  assert.equal((await importPath(engine, "claude-code", path)).status, "same");
  assert.equal((await engine.verify()).ok, true);
});

test("a fork by Codex of an export is recognized, and one of a rollout counts its tokens once", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { session, path, text, id } = await exported(engine, "codex");
  const forkOf = (lines: readonly Line[], own: string, from: string): string =>
    textOf([
      { type: "session_meta", payload: { id: own, forked_from_id: from, cwd: "/p" } },
      // Items are copied with new times and ids.
      ...lines.map((line) => {
        const payload = line["payload"] as Line;
        return {
          ...line,
          timestamp: "2026-11-19T00:00:00Z",
          payload: { ...payload, ...(line["type"] === "response_item" ? { id: `x${own}` } : {}) },
        };
      }),
    ]);
  const write = (name: string, body: string): string => {
    const target = join(dirname(path), `rollout-2026-11-18T00-00-00-${name}.jsonl`);
    writeFileSync(target, body);
    return target;
  };
  const [a, b, c] = [1, 2, 3].map((at) => `01a1f08c-e160-7272-84b8-00000000000${at}`) as [
    string,
    string,
    string,
  ];
  const copy = write(a, forkOf(linesOf(text), a, id));
  const first = await importPath(engine, "codex", copy);
  assert.deepEqual([first.status, first.session], ["exported", session]);
  const before = await tokens(engine);
  const grown = turnOf("codex", text, 1);
  writeFileSync(path, grown);
  const continued = write(b, turnOf("codex", forkOf(linesOf(grown), b, id), 2));
  // The fork first: what both hold counts there.
  assert.equal((await importPath(engine, "codex", continued)).added, 4);
  assert.equal((await importPath(engine, "codex", path)).added, 2);
  assert.deepEqual(await tokens(engine), [before[0]! + 20, before[1]! + 2]);
  // Neither is of Skein: the second fork is of a fork.
  await using other = inMemory();
  const plain = textOf(
    linesOf(grown).map((line, at) => (at === 0 ? { ...line, payload: { id, cwd: "/p" } } : line)),
  );
  const inner = forkOf(linesOf(plain), b, id);
  const files = [
    write(id, plain),
    write(b, turnOf("codex", inner, 2)),
    write(c, turnOf("codex", forkOf(linesOf(inner), c, b), 3)),
  ];
  for (const file of files) assert.equal((await importPath(other.engine, "codex", file)).status, "new");
  const [input = 0] = await tokens(other.engine);
  assert.equal(input, 200 + 10 + 10 + 10);
  assert.equal(readFileSync(copy, "utf8").includes(id), true);
});

test("a mark that names no position of a session here is ignored", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { session, path, text } = await exported(engine, "claude-code");
  const { seq } = await (await engine.session(session)).head();
  const marks = [
    `${session}@${seq + 1}`,
    `${session}@0`,
    `${session}@-1`,
    `${session}@1e9`,
    `ses_${"0".repeat(26)}@1`,
    "ses_",
    7,
    {},
    null,
  ];
  const mark = /"skein":"[^"]*"/g;
  for (const [at, wrong] of marks.entries()) {
    const id = `0b6f9f5e-3a0c-4e0a-9d5e-${String(at).padStart(12, "0")}`;
    const target = join(dirname(path), `${id}.jsonl`);
    const lines = linesOf(text.replaceAll(mark, `"skein":${JSON.stringify(wrong)}`));
    writeFileSync(target, textOf(lines.map((line) => ({ ...line, sessionId: id }))));
    const one = await importPath(engine, "claude-code", target);
    assert.deepEqual([one.status, one.origin], ["new", null], JSON.stringify(wrong));
  }
  assert.equal((await engine.verify()).ok, true);
});
