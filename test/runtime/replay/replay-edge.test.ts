/** Replay of what is seldom: messages, long outputs, images, agents, rewinds, forks, other sessions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { limit } from "../../../src/core/limit.ts";
import type { ReplayReport } from "../../../src/core/turn/run-comparison.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { ModelError } from "../../../src/model/port.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { ToolOutput, type OuterTool } from "../../../src/tool/port.ts";
import { all } from "../place.ts";
import { engineWith, say, scripted, use, type Line } from "../turn/scripted.ts";

/** A tool that does this, once. */
function onceTool(name: string, give: () => unknown): OuterTool {
  let ran = 0;
  return defineTool({
    name,
    description: "Gives.",
    input: z.looseObject({}),
    run: () => {
      assert.equal(++ran, 1, `${name} ran in a replay`);
      return give();
    },
  });
}

const twice = (lines: readonly Line[]): readonly Line[] => [...lines, ...lines];

const lastOf = async (engine: Engine, { fork }: ReplayReport, type: string) => {
  const [event] = await all((await engine.session(fork)).events({ types: [type], reverse: true }));
  return event!;
};

test("results come back as they were: errors, long texts, images, details, JSON", async () => {
  const long = "x".repeat(limit.toolOutputCharsMax + 5_000);
  const bytes = new Uint8Array([0x89, 0x50, 0x4e, 0x47]);
  const tools = [
    onceTool("fails", () => {
      throw new Error("no luck");
    }),
    onceTool("long", () => long),
    onceTool(
      "rich",
      () => new ToolOutput("seen", { images: [{ bytes, mediaType: "image/png" }], detail: 7 }),
    ),
    onceTool("json", () => ({ a: [1] })),
  ];
  const lines: readonly Line[] = [tools.map(({ name }) => use(name, { name })), "done"];
  const engine = engineWith(scripted(twice(lines)), { tools });
  const bind = tools.map(({ name }) => ({ kind: "tool", name }) as const);
  const session = await engine.open({ objective: "o", bind });
  await all(session.ask("go"));
  const report = await session.replay({ from: 1 });
  assert.equal(report.same, true);
  assert.deepEqual(
    report.turns[0]!.replay!.calls.map(({ tool, status }) => [tool, status]),
    [
      ["fails", "error"],
      ["long", "ok"],
      ["rich", "ok"],
      ["json", "ok"],
    ],
  );
  const results = async (id: string) => {
    const events = await all((await engine.session(id)).events({ types: ["tool.settled"] }));
    const contents = events.toSorted((a, b) => a.cause! - b.cause!).map(({ content }) => content);
    // Where the rest of a long text can be read differs from log to log.
    return JSON.parse(JSON.stringify(contents).replaceAll(/fromSeq \d+/g, "fromSeq N")) as unknown;
  };
  assert.deepEqual(await results(report.fork), await results(session.id));
  assert.equal((await (await engine.session(report.fork)).replay()).ok, true);
  await engine.close();
});

test("nothing is sent or forked a second time, and received messages are repeated", async () => {
  const engine = engineWith(
    scripted(
      (() => {
        const lines: Line[] = [
          () => [use("send", { to: other.id, text: "hello" }), use("fork", { objective: "try" })],
          "sent",
          "heard",
        ];
        return [...lines, ...lines];
      })(),
    ),
  );
  const other = await engine.open({ objective: "other" });
  const session = await engine.open({ objective: "o" });
  await all(session.ask("send"));
  await other.send(session.id, "an answer", { topic: "re" });
  await session.run();
  const forks = (await session.lineage()).nodes.length;
  const head = await other.head();
  const report = await session.replay({ from: 1 });
  assert.deepEqual([report.same, report.unrecorded, report.stopped], [true, 0, null]);
  assert.deepEqual(
    report.turns.map(({ original, replay }) => [original?.inputs, replay?.inputs]),
    [
      [["send"], ["send"]],
      [["an answer"], ["an answer"]],
    ],
  );
  assert.deepEqual(await other.head(), head);
  assert.equal((await session.lineage()).nodes.length, forks + 1);
  const received = await lastOf(engine, report, "message.received");
  assert.deepEqual((received.body as { topic: string }).topic, "re");
  await engine.close();
});

test("the instructions of an agent are replaced; all else of it stays", async () => {
  const script = scripted(["one", "two"]);
  const engine = engineWith(script);
  await engine.addAgent({ name: "coder", instructions: "Be kind.", temperature: 0.5, tools: ["record"] });
  const session = await engine.open({ objective: "o", agent: "coder" });
  await all(session.ask("go"));
  const report = await session.replay({ from: 1, instructions: "Be brief." });
  const [before, after] = script.calls.map(({ parts }) => parts);
  const others = (parts: typeof before) => parts!.filter(({ part }) => part !== "system");
  assert.deepEqual(others(after), others(before));
  assert.deepEqual(
    after!.filter(({ part }) => part === "system").map((part) => "text" in part && part.text),
    ["Be brief.", "Objective of this session:\no"],
  );
  assert.equal((await (await engine.session(report.fork)).state()).agent?.name, "coder-replay");
  // The workspace knows no such agent, and the session is as it was.
  assert.deepEqual(
    (await engine.agents()).map(({ name }) => name),
    ["coder"],
  );
  assert.equal((await session.state()).agent?.name, "coder");
  await engine.close();
});

test("a rewound range is not replayed, and a fork can be replayed from its shared part", async () => {
  const engine = engineWith(scripted(["a", "b", "c", "d", "a", "c", "d"]));
  const session = await engine.open({ objective: "o" });
  await all(session.ask("one"));
  const { seq } = await session.head();
  await all(session.ask("two"));
  await session.rewind(seq);
  await all(session.ask("three"));
  const fork = await session.fork();
  await all(fork.ask("four"));
  const report = await fork.replay({ from: 1 });
  assert.deepEqual(
    report.turns.map(({ match, original, replay }) => [match, original?.inputs[0], replay?.answer]),
    [
      ["same", "one", "a"],
      ["same", "three", "c"],
      ["same", "four", "d"],
    ],
  );
  await engine.close();
});

test("a session that changed its model changes it again", async () => {
  const engine = engineWith(scripted(["a", "b", "a", "b"]));
  const session = await engine.open({ objective: "o", model: "test/one" });
  await all(session.ask("first"));
  await session.migrate({ model: "test/two" });
  await all(session.ask("second"));
  const report = await session.replay({ from: 1 });
  const fork = await engine.session(report.fork);
  const asked = await all(fork.events({ types: ["model.requested"], fromSeq: report.from + 1 }));
  assert.deepEqual(
    asked.map(({ body }) => (body as { model: string }).model),
    ["test/one", "test/two"],
  );
  assert.deepEqual([report.same, (await fork.replay()).ok], [true, true]);
  await engine.close();
});

test("a replay stopped by an error reports it, and leaves no turn that could run for real", async () => {
  const engine = engineWith(scripted(["a", new ModelError("auth", "no key")]));
  const session = await engine.open({ objective: "o" });
  await all(session.ask("first"));
  const report = await session.replay({ from: 1 });
  assert.equal(report.stopped?.by, "error");
  assert.match(report.stopped?.reason ?? "", /no key/);
  assert.equal((await (await engine.session(report.fork)).state()).turn, null);
  await engine.close();
});

test("a turn that another harness drove is run again by this one, with no tools as there", async () => {
  const engine = engineWith(scripted(["one"]));
  const session = await engine.open({ objective: "o" });
  const drive = await session.drive();
  await drive.begin();
  await drive.request({ model: "test/scripted" });
  await drive.respond({
    finish: "stop",
    usage: { inputTokens: 1, outputTokens: 1 },
    costNanoUsd: null,
    blocks: [say("by hand")],
  });
  await drive.end();
  await drive[Symbol.asyncDispose]();
  const report = await session.replay({ from: 1 });
  assert.deepEqual(
    report.turns.map(({ match, original, replay }) => [match, original?.answer, replay?.answer]),
    [["different", "by hand", "one"]],
    "also where nothing was said to it",
  );
  assert.deepEqual([report.totals.original.unpriced, report.totals.replay.unpriced], [1, 0]);
  await engine.close();
});
