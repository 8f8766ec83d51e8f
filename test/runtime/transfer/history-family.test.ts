/**
 * Files of one family: an answer that stands in several of them counts once, whichever is imported first;
 * subagents inside a file become children; tokens of no answer count too.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { importTranscripts, type ImportedTranscript } from "../../../src/transcripts/transcripts.ts";
import { tokensOfFamily } from "../../transcripts/second-reader.ts";
import { all, inMemory } from "../place.ts";

const root = mkdtempSync(join(tmpdir(), "skein-family-"));
after(() => rmSync(root, { recursive: true }));

type Line = Record<string, unknown>;

const id = (number: number): string => `0b6f9f5e-3a0c-4e0a-9d5e-${String(number).padStart(12, "0")}`;

/** Turns of a conversation: each with a prompt and an answer in two records that repeat the usage. */
function turns(session: number, from: number, to: number): Line[] {
  const lines: Line[] = [];
  let parentUuid = from === 0 ? null : `s${session}-b${from - 1}`;
  const add = (uuid: string, type: string, message: object): void => {
    lines.push({
      type,
      uuid,
      parentUuid,
      sessionId: id(session),
      timestamp: "2026-01-02T03:04:05Z",
      message,
    });
    parentUuid = uuid;
  };
  for (let turn = from; turn < to; turn++) {
    add(`s${session}-u${turn}`, "user", { role: "user", content: `turn ${turn}` });
    for (const [part, output] of [
      ["a", 3],
      ["b", 7 + turn],
    ] as const)
      add(`s${session}-${part}${turn}`, "assistant", {
        id: `msg_${session >= 100 && turn >= 2 ? `new${session}` : "shared"}_${turn}`,
        role: "assistant",
        model: "claude",
        content: [{ type: "text", text: `${part}${turn}` }],
        usage: { input_tokens: 10 + turn, cache_read_input_tokens: 100, output_tokens: output },
      });
  }
  return lines;
}

const text = (lines: readonly Line[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

function put(name: string, lines: readonly Line[]): string {
  const path = join(root, name);
  writeFileSync(path, text(lines));
  return path;
}

async function importPath(engine: Engine, path: string, tool = "claude-code"): Promise<ImportedTranscript[]> {
  const machine = { home: root, env: {}, nowMs: Date.now() + 1e9 };
  const results = await all(importTranscripts(engine, { tool, path, machine }));
  for (const { reason } of results) assert.equal(reason, null);
  return results;
}

async function sums(engine: Engine): Promise<{ input: number; output: number; calls: number }> {
  const sum = { input: 0, output: 0, calls: 0 };
  for (const { session } of (await engine.sessions({ limit: 200 })).rows) {
    const { imported } = (await (await engine.session(session)).fold()).standing;
    sum.input += imported.inputTokens;
    sum.output += imported.outputTokens;
    sum.calls += imported.calls;
  }
  return sum;
}

test("an answer in a session, in its fork and in a resumed copy counts once, in any order", async () => {
  const files = [
    put(`${id(1)}.jsonl`, turns(1, 0, 4)),
    put(
      `${id(100)}.jsonl`,
      turns(100, 0, 5).map((line) => ({ ...line, forkedFrom: { sessionId: id(1) } })),
    ),
    put(`${id(101)}.jsonl`, turns(101, 0, 3)),
  ];
  const expected = tokensOfFamily(files);
  for (const order of [files, files.toReversed(), [files[1]!, files[0]!, files[2]!]]) {
    await using place = inMemory();
    for (const file of order) await importPath(place.engine, file);
    const { input, output, calls } = await sums(place.engine);
    assert.deepEqual({ input, output, calls }, { ...expected, calls: 4 + 3 + 1 });
    // Nothing new, and a session that grows after its copy was imported counts what only it has.
    for (const file of order) assert.equal((await importPath(place.engine, file))[0]?.status, "same");
    assert.equal((await sums(place.engine)).calls, 8);
    assert.equal((await place.engine.verify()).ok, true);
  }
  await using place = inMemory();
  const [original = "", fork = ""] = files;
  writeFileSync(original, text(turns(1, 0, 1)));
  await importPath(place.engine, original);
  await importPath(place.engine, fork);
  writeFileSync(original, text(turns(1, 0, 4)));
  assert.equal((await importPath(place.engine, original))[0]?.status, "grown");
  const { input, output } = await sums(place.engine);
  assert.deepEqual({ input, output }, tokensOfFamily([original, fork]));
});

test("subagents of old versions, inside the session's file, become children of their calls", async () => {
  const main = turns(7, 0, 2);
  const call = {
    type: "assistant",
    uuid: "call",
    parentUuid: "s7-b1",
    sessionId: id(7),
    message: {
      id: "msg_call",
      role: "assistant",
      content: [{ type: "tool_use", id: "toolu_task", name: "Task", input: { prompt: "look around" } }],
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  };
  const result = {
    type: "user",
    uuid: "result",
    parentUuid: "call",
    sessionId: id(7),
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_task", content: "seen" }] },
  };
  const side = [
    { type: "user", uuid: "x1", parentUuid: null, message: { role: "user", content: "look around" } },
    {
      type: "assistant",
      uuid: "x2",
      parentUuid: "x1",
      message: {
        id: "msg_side",
        role: "assistant",
        content: [{ type: "text", text: "seen" }],
        usage: { input_tokens: 50, output_tokens: 5 },
      },
    },
  ].map((line) => ({ ...line, isSidechain: true, sessionId: id(7) }));
  const path = put(`${id(7)}.jsonl`, [...main, call, ...side, result]);
  await using place = inMemory();
  const { engine } = place;
  const [imported] = await importPath(engine, path);
  assert.equal(imported!.children.length, 1);
  const child = await engine.session(imported!.children[0]!);
  const { standing } = await child.fold();
  assert.equal(standing.parent?.session, imported!.session);
  assert.deepEqual([standing.imported.inputTokens, standing.imported.calls], [50, 1]);
  assert.deepEqual([standing.status, standing.unreviewed], ["suspended", true]);
  const [started] = await all(
    (await engine.session(imported!.session!)).events({
      fromSeq: standing.parent.seq,
      toSeq: standing.parent.seq,
    }),
  );
  assert.equal((started!.content as { id: string }).id, "toolu_task");
  const { input, output } = await sums(engine);
  assert.deepEqual({ input, output }, tokensOfFamily([path]));
  assert.deepEqual((await importPath(engine, path))[0]?.children, imported!.children);
});

test("tokens of no answer count in the imported sum, and only their growth does", async () => {
  const usage = (input: number): Line => ({ input, output: 2, cost: { total: 0.5 } });
  const head = { type: "session", version: 3, id: "pi-1", timestamp: "2026-01-02T03:04:05Z", cwd: "/p" };
  const entry = (name: string, parentId: string | null, more: object): Line => ({
    id: name,
    parentId,
    timestamp: "2026-01-02T03:04:05Z",
    ...more,
  });
  const said = (name: string, parent: string | null): Line =>
    entry(name, parent, { type: "message", message: { role: "user", content: name } });
  const answer = (name: string, parent: string): Line =>
    entry(name, parent, {
      type: "message",
      message: { role: "assistant", content: [{ type: "text", text: "a" }], model: "m", usage: usage(10) },
    });
  const title = (name: string, parent: string): Line =>
    entry(name, parent, { type: "usage", kind: "title", usage: usage(100) });
  const lines = [head, said("1", null), answer("2", "1"), title("3", "2")];
  const path = put("pi-1.jsonl", lines);
  await using place = inMemory();
  const [first] = await importPath(place.engine, path, "pi");
  const sum = async (): Promise<object> =>
    (await (await place.engine.session(first!.session!)).fold()).standing.imported;
  assert.deepEqual(await sum(), { calls: 1, inputTokens: 110, outputTokens: 4, nanoUsd: 1e9, unpriced: 0 });
  writeFileSync(path, text([...lines, said("4", "3"), answer("5", "4"), title("6", "5")]));
  assert.equal((await importPath(place.engine, path, "pi"))[0]?.status, "grown");
  assert.deepEqual(await sum(), { calls: 2, inputTokens: 220, outputTokens: 8, nanoUsd: 2e9, unpriced: 0 });
});

test("a file that its tool rewrites while it is imported is read again", async () => {
  const path = put(`${id(9)}.jsonl`, turns(9, 0, 2_000));
  await using place = inMemory();
  const machine = { home: root, env: {}, nowMs: Date.now() + 1e9 };
  let isRewritten = false;
  const progress = ({ entries }: { readonly entries: number }): void => {
    if (entries === 0 || isRewritten) return;
    isRewritten = true;
    writeFileSync(path, text(turns(9, 0, 1_500)));
  };
  const results = await all(
    importTranscripts(place.engine, { tool: "claude-code", path, machine, progress }),
  );
  assert.ok(isRewritten);
  assert.deepEqual([results[0]?.status, results[0]?.reason], ["grown", null]);
  const { entries } = (await (await place.engine.session(results[0]!.session!)).fold()).standing.source!;
  assert.equal(entries, 3_000);
});
