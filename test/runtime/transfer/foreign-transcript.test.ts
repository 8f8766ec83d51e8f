/** Exports for other tools: the current path of a session, native or imported, and what does not map. */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as z from "zod";
import { exportFormats } from "../../../src/call/field.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { transcriptTargets } from "../../../src/transcripts/transcripts.ts";
import { answered, said, sourceOf } from "./foreign-source.ts";
import { all, inMemory } from "../place.ts";
import { engineWith, say, scripted, use } from "../turn/scripted.ts";

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.object({ to: z.string() }),
  run: async ({ to }) => (to === "eve" ? Promise.reject(new Error("no account")) : { paid: to }),
});

interface Message {
  readonly role: string;
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

const messagesOf = (text: string): Message[] => JSON.parse(text) as Message[];

interface ClaudeRecord {
  readonly cwd?: string;
  readonly message?: {
    readonly model?: string;
    readonly content: readonly { readonly is_error?: boolean }[];
  };
}

const linesOf = <T>(text: string): T[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as T);

test("a native session: inputs, answers and calls with results, without rewound ranges", async () => {
  const script = scripted([
    [say("Paying."), use("pay", { to: "ann" }, "a"), use("pay", { to: "eve" }, "b")],
    "Ann is paid.",
    "A wrong turn.",
    "The right turn.",
  ]);
  await using engine = engineWith(script, { tools: [pay] });
  const session = await engine.open({ objective: "Pay", bind: [{ kind: "tool", name: "pay" }] });
  await session.record("fact", "rate", "4.1");
  await session.record("task", "t1", "pay bob", { status: "open" });
  await all(session.ask("Pay both"));
  const { seq } = await session.head();
  await all(session.ask("Left?"));
  await session.rewind(seq);
  await all(session.ask("Right?"));
  const { text, left, entries, session: id } = await session.exportTranscript({ format: "openai" });
  assert.deepEqual([id, entries], [session.id, 5]);
  const messages = messagesOf(text);
  assert.deepEqual(
    messages.map(({ role }) => role),
    ["user", "assistant", "tool", "tool", "assistant", "user", "assistant"],
  );
  assert.deepEqual(
    messages.map(({ content }) => content),
    ["Pay both", "Paying.", '{"paid":"ann"}', "no account", "Ann is paid.", "Right?", "The right turn."],
  );
  assert.deepEqual(
    messages[1]?.tool_calls?.map((call) => [call.function.name, call.function.arguments]),
    [
      ["pay", '{"to":"ann"}'],
      ["pay", '{"to":"eve"}'],
    ],
  );
  for (const line of ["1 × fact", "1 × resource binding", "1 × task of the to-do list"])
    assert.ok(left.includes(line), `${line} is missing in ${left.join(", ")}`);
  const claude = await session.exportTranscript({ format: "claude-code", cwd: "/work/pay" });
  const records = linesOf<ClaudeRecord>(claude.text);
  assert.deepEqual([records[0]?.cwd, records[1]?.message?.model], ["/work/pay", "scripted"]);
  assert.equal(records.filter(({ message }) => message?.content[0]?.is_error === true).length, 1);
  assert.match(claude.path, /^projects\/-work-pay\/[0-9a-f-]{36}\.jsonl$/);
});

test("a session that has grown is another file; an unchanged one the same", async () => {
  const script = scripted(["One.", "Two."]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Count" });
  await assert.rejects(session.exportTranscript({ format: "codex" }), { code: "refused" });
  await all(session.ask("One?"));
  const first = await session.exportTranscript({ format: "codex" });
  await session.rename("Numbers");
  await engine.send(session.id, "queued");
  const same = await session.exportTranscript({ format: "codex" });
  assert.equal(same.sessionId, first.sessionId);
  assert.ok(same.left.includes("1 × queued input"), same.left.join(", "));
  await session.run();
  assert.notEqual((await session.exportTranscript({ format: "codex" })).sessionId, first.sessionId);
});

test("an imported session that continued here has both parts; a fork has its own id", async () => {
  await using place = inMemory();
  const library = new Engine({ store: place.store, world: place.world });
  const entries = [said("u1", "Which rate?"), answered("a1", "I look.", 2), said("u2", "Thanks")];
  const { session: id } = await library.importTranscript(sourceOf({ entries }));
  const script = scripted(["It is 4.1."]);
  await using engine = engineWith(script, { store: place.store, world: place.world });
  const session = await engine.session(id);
  await session.activate();
  const fork = await session.fork();
  await all(session.ask("And now?"));
  const messages = messagesOf((await session.exportTranscript({ format: "openai" })).text);
  assert.deepEqual(
    messages.map(({ role, content }) => [role, content]),
    [
      ["user", "Which rate?"],
      ["assistant", "I look."],
      ["tool", "base: 4.1"],
      ["tool", "The session ended before this call had a result."],
      ["user", "Thanks"],
      ["user", "And now?"],
      ["assistant", "It is 4.1."],
    ],
  );
  assert.equal(messages[1]?.tool_calls?.[0]?.function.name, "Read File!");
  const [one, other] = [
    await session.exportTranscript({ format: "claude-code" }),
    await fork.exportTranscript({ format: "claude-code" }),
  ];
  assert.notEqual(one.sessionId, other.sessionId);
  assert.equal(one.cwd, "/home/ann/payroll");
  const bad = { format: "word" } as never;
  await assert.rejects(session.exportTranscript(bad), { code: "invalid" });
});

test("large texts are joined, and a compaction names the kept part", async () => {
  await using place = inMemory();
  const long = "x".repeat(300_000);
  const big = answered("a1", long, 1);
  assert.ok(big.kind === "answer");
  const calls = big.calls.map((call) => ({
    ...call,
    input: { text: long },
    output: [{ type: "text" as const, text: `${long}!` }],
  }));
  const compaction = {
    kind: "compaction" as const,
    id: "c1",
    atMs: null,
    source: [],
    summary: "So far.",
    keptFrom: "u2",
    tokensBefore: 900,
  };
  const entries = [
    said("u1", long),
    { ...big, calls },
    said("u2", "kept"),
    compaction,
    answered("a2", "Then."),
  ];
  const { session: id } = await new Engine({ store: place.store, world: place.world }).importTranscript(
    sourceOf({ entries }),
  );
  const session = await place.engine.session(id);
  const messages = messagesOf((await session.exportTranscript({ format: "openai" })).text);
  assert.deepEqual(
    messages.map(({ content }) => content?.length),
    [300_000, 300_000, 300_001, 4, 7, 5],
  );
  assert.equal(messages[1]?.tool_calls?.[0]?.function.arguments, JSON.stringify({ text: long }));
  const lines = linesOf<Record<string, unknown>>((await session.exportTranscript({ format: "pi" })).text);
  const kept = lines.find(
    (line) => line["id"] === lines.find(({ type }) => type === "compaction")?.["firstKeptEntryId"],
  );
  assert.match(JSON.stringify(kept), /"kept"/);
});

test("every format of the call is a target of the writers", () => {
  for (const format of exportFormats) assert.ok(transcriptTargets.includes(format), format);
});
