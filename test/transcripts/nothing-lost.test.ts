/** Records that do not fit the order of a transcript are read or counted, never dropped. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { findTranscripts, importTranscripts, SourceFolder } from "../../src/transcripts/transcripts.ts";
import { all, inMemory } from "../runtime/place.ts";
import { readAll } from "./count.ts";

const root = mkdtempSync(join(tmpdir(), "skein-nothing-lost-"));
after(() => rmSync(root, { recursive: true }));
const machine = { home: root, env: {}, nowMs: Date.UTC(2030, 0, 1) };

const own = "0b6f9f5e-3a0c-4e0a-9d5e-777777777777";
const other = "0b6f9f5e-3a0c-4e0a-9d5e-888888888888";

function write(path: string, lines: readonly object[]): string {
  const target = join(root, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return target;
}

interface Place {
  readonly uuid: string;
  readonly parentUuid: string | null;
  readonly sessionId?: string;
  readonly agentId?: string;
  readonly isSidechain?: boolean;
}

const timestamp = "2026-01-02T03:04:05.000Z";
const user = ({ sessionId = own, ...place }: Place, content: unknown): object => {
  const message = { role: "user", content };
  return { type: "user", timestamp, sessionId, cwd: "/p", version: "2.1.80", ...place, message };
};
const answer = ({ sessionId = own, ...place }: Place, ...content: object[]): object => {
  const usage = { input_tokens: 10, output_tokens: 2 };
  const message = { id: `msg_${place.uuid}`, role: "assistant", model: "m", content, usage };
  return { type: "assistant", timestamp, sessionId, cwd: "/p", ...place, message };
};
const text = (words: string): object => ({ type: "text", text: words });

const talk = (sessions: readonly string[]): object[] =>
  sessions.map((sessionId, at) => {
    const place = { uuid: `u${at}`, parentUuid: at === 0 ? null : `u${at - 1}`, sessionId };
    return at % 2 === 0 ? user(place, `question ${at}`) : answer(place, text(`answer ${at}`));
  });

for (const [which, sessions] of [
  ["first", [other, other, own, own]],
  ["last", [own, own, own, other]],
  ["all but the last", [other, other, other, own]],
] as const)
  test(`Claude Code: the ${which} records may name another session`, async () => {
    const { plan, entries } = await readAll("claude-code", write(`named/${own}.jsonl`, talk(sessions)));
    assert.equal(entries.length, 4);
    assert.deepEqual([plan.header.sourceId, plan.branches.length], [own, 0]);
    const unnamed = await readAll("claude-code", write("named/copy.jsonl", talk(sessions)));
    assert.equal(unnamed.entries.length, 4);
  });

test("Claude Code: a session grows by a record that names another session", async () => {
  await using place = inMemory();
  const { engine } = place;
  const path = write(`grown/${own}.jsonl`, talk([own, own, own]));
  const options = { tool: "claude-code", path, machine };
  const [first] = await all(importTranscripts(engine, options));
  write(`grown/${own}.jsonl`, talk([own, own, own, other]));
  const [second] = await all(importTranscripts(engine, options));
  assert.deepEqual([first?.status, second?.status, second?.added], ["new", "grown", 1]);
  assert.equal(second?.session, first?.session);
  // The name of the file decides, whatever the first records say.
  const copied = write(`copied/${own}.jsonl`, talk([other, other, other]));
  const [third] = await all(importTranscripts(engine, { ...options, path: copied, again: true }));
  write(`copied/${own}.jsonl`, talk([other, other, other, own]));
  const [fourth] = await all(importTranscripts(engine, { ...options, path: copied }));
  assert.deepEqual([fourth?.status, fourth?.session], ["grown", third?.session]);
});

test("Claude Code: the run of a compaction is a child whose tokens count", async () => {
  write(`compacted/${own}.jsonl`, talk([own, own]));
  const place = { agentId: "acompact-1", isSidechain: true };
  write(`compacted/${own}/subagents/agent-acompact-1.jsonl`, [
    user({ uuid: "c1", parentUuid: "u1", ...place }, "Summarize"),
    answer({ uuid: "c2", parentUuid: "c1", ...place }, text("It was short.")),
  ]);
  const child = await readAll("claude-code", join(root, "compacted"), `${own}:acompact-1`);
  assert.deepEqual([child.plan.header.parentId, child.counted.inputTokens], [own, 10]);
});

const samples = ["../../../shared/samples", "/work/shared/samples"]
  .map((path) => join(path.startsWith("/") ? "" : import.meta.dirname, path, "claude-code"))
  .find((path) => existsSync(path));

test("Claude Code: the tokens of all samples count", { skip: samples === undefined }, async () => {
  const path = samples ?? "";
  await using folder = new SourceFolder(path);
  const tokens = [0, 0];
  for (const { sourceId } of await findTranscripts("claude-code", folder)) {
    const { counted } = await readAll("claude-code", path, sourceId);
    tokens[0] = (tokens[0] ?? 0) + counted.inputTokens;
    tokens[1] = (tokens[1] ?? 0) + counted.outputTokens;
  }
  assert.deepEqual(tokens, [17_567_069, 51_298]);
});

const use = (id: string): object => ({ type: "tool_use", id, name: "Bash", input: {} });
const result = (id: string, content: string): object => ({ type: "tool_result", tool_use_id: id, content });
const outputs = ({ all: entries }: Awaited<ReturnType<typeof readAll>>): unknown[] =>
  entries.map((entry) =>
    entry.kind === "answer"
      ? entry.calls.map(({ output }) =>
          output.map((block) => (block.type === "text" ? block.text : "")).join(),
        )
      : entry.kind === "input"
        ? entry.blocks.map((block) => (block.type === "text" ? block.text : "")).join()
        : "",
  );

test("Claude Code: calls that share an id have their own results; an orphan is context", async () => {
  const inOne = write("calls/one.jsonl", [
    user({ uuid: "a", parentUuid: null }, "go"),
    answer({ uuid: "b", parentUuid: "a" }, use("t"), use("t")),
    user({ uuid: "c", parentUuid: "b" }, [result("t", "r1"), result("t", "r2"), result("x", "lost")]),
  ]);
  assert.deepEqual(outputs(await readAll("claude-code", inOne)), ["go", ["r1", "r2"], "lost"]);
  const inTwo = write("calls/two.jsonl", [
    user({ uuid: "a", parentUuid: null }, "go"),
    answer({ uuid: "b", parentUuid: "a" }, use("t")),
    user({ uuid: "c", parentUuid: "b" }, [result("t", "r1")]),
    answer({ uuid: "d", parentUuid: "c" }, use("t")),
    user({ uuid: "e", parentUuid: "d" }, [result("t", "r2")]),
    user({ uuid: "f", parentUuid: "e" }, [result("t", "r3")]),
  ]);
  assert.deepEqual(outputs(await readAll("claude-code", inTwo)), ["go", ["r1"], ["r2"], "r3"]);
});

test("Codex and pi: calls that share an id have their own results; an orphan is context", async () => {
  const item = (type: string, fields: object): object => ({
    timestamp,
    type: "response_item",
    payload: { type, ...fields },
  });
  const call = item("function_call", { name: "exec", arguments: "{}", call_id: "t" });
  const codexLines = [call, call];
  for (const [call_id, output] of [
    ["t", "r1"],
    ["t", "r2"],
    ["x", "lost"],
  ])
    codexLines.push(item("function_call_output", { call_id, output }));
  const codex = await readAll("codex", write("calls/rollout-a.jsonl", codexLines));
  assert.deepEqual(outputs(codex), [["r1", "r2"], "lost"]);

  const piCall = { type: "toolCall", id: "t", name: "bash", arguments: {} };
  const entry = (id: string, parentId: string | null, message: object): object => {
    return { type: "message", id, parentId, timestamp, message };
  };
  const piResult = (toolCallId: string, words: string): object => {
    return { role: "toolResult", toolCallId, content: [text(words)] };
  };
  const pi = await readAll(
    "pi",
    write("calls/pi.jsonl", [
      { type: "session", version: 3, id: "p", timestamp, cwd: "/p" },
      entry("1", null, { role: "assistant", content: [piCall, piCall] }),
      entry("2", "1", piResult("t", "r1")),
      entry("3", "2", piResult("t", "r2")),
      entry("4", "3", piResult("x", "lost")),
    ]),
  );
  assert.deepEqual(outputs(pi), [["r1", "r2"], "lost"]);
});

test("Claude Code: records whose links go round are read in file order", async () => {
  const around = [
    user({ uuid: "u0", parentUuid: "a1" }, "question"),
    answer({ uuid: "a1", parentUuid: "u0" }, text("answer")),
  ];
  const alone = await readAll("claude-code", write(`cycle/${own}.jsonl`, around));
  assert.deepEqual(
    alone.entries.map(({ id }) => id),
    ["u0", "a1"],
  );
  assert.equal(alone.plan.report.gaps, 1);
  const lines = [user({ uuid: "r0", parentUuid: null }, "another question"), ...around];
  const beside = await readAll("claude-code", write(`cycle/${other}.jsonl`, lines));
  assert.deepEqual(
    [beside.entries, ...beside.plan.branches.map(({ entries }) => [...entries])].map((all) =>
      all.map(({ id }) => id),
    ),
    [["r0"], ["u0", "a1"]],
  );
});

test("ChatGPT: messages whose links go round are a branch", async () => {
  const node = (id: string, parent: string | null, role: string): object => {
    const message = { id, author: { role }, content: { content_type: "text", parts: [`says ${id}`] } };
    return { id, parent, children: [], message };
  };
  const mapping = {
    r: node("r", null, "user"),
    x: node("x", "r", "assistant"),
    a: node("a", "b", "user"),
    b: node("b", "a", "assistant"),
  };
  const path = join(root, "round", "conversations.json");
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify([{ id: "c", title: "t", mapping, current_node: "x" }]));
  const { plan, entries } = await readAll("chatgpt", path);
  assert.deepEqual(
    [entries, ...plan.branches.map(({ entries: own }) => [...own])].map((all) => all.map(({ id }) => id)),
    [
      ["r", "x"],
      ["a", "b"],
    ],
  );
  assert.equal(plan.report.gaps, 1);
});

test("Codex: a session whose turns were all taken back is still imported", async () => {
  const id = "019c8a70-0000-7f33-98ea-00000000000c";
  const item = (role: string, type: string, words: string): object => ({
    timestamp,
    type: "response_item",
    payload: { type: "message", role, content: [{ type, text: words }] },
  });
  const path = write(`codex/rollout-2026-01-02T03-04-05-${id}.jsonl`, [
    { timestamp, type: "session_meta", payload: { id, cwd: "/p" } },
    item("user", "input_text", "question"),
    item("assistant", "output_text", "answer"),
    { timestamp, type: "event_msg", payload: { type: "thread_rolled_back", num_turns: 9 } },
  ]);
  const { plan, entries } = await readAll("codex", path);
  assert.deepEqual(
    entries.map(({ kind }) => kind),
    ["input", "answer"],
  );
  assert.deepEqual(plan.branches, []);
});

test("a cut export: the conversations before the cut are imported, the cut is a failure", async () => {
  const path = join(root, "cut", "conversations.json");
  mkdirSync(dirname(path), { recursive: true });
  const message = { id: "m", author: { role: "user" }, content: { content_type: "text", parts: ["hello"] } };
  const mapping = { m: { id: "m", parent: null, children: [], message } };
  const whole = JSON.stringify([
    { id: "one", title: "One", mapping, current_node: "m" },
    { id: "two", title: "Two", mapping, current_node: "m" },
  ]);
  writeFileSync(path, whole.slice(0, -20));
  await using place = inMemory();
  const results = await all(importTranscripts(place.engine, { tool: "auto", path: dirname(path), machine }));
  assert.deepEqual(
    results.map(({ status }) => status),
    ["failed", "new"],
  );
  assert.match(
    results[0]?.reason ?? "",
    /^"conversations.json": a part is damaged, bytes \d+–\d+: the document ends/,
  );
});
