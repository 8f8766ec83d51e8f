/** Tools with which a model directs its own session: they exist only where they are bound. */
import { estimateTokens } from "../../../src/core/context/token-count.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelCall } from "../../../src/model/port.ts";
import type { Session } from "../../../src/index.ts";
import { all } from "../place.ts";
import { isPrompt, lastText, small } from "./outgrown.ts";
import { engineWith, scripted, use, type Line } from "./scripted.ts";

const names = ["save", "rewind", "merge", "handoff", "trigger", "compress"] as const;
const bind = names.map((name) => ({ kind: "tool" as const, name }));

const record = (key: string, value: unknown, call = `r-${key}`) =>
  use("record", { kind: "fact", key, value }, call);

const outputs = async (session: Session): Promise<string[]> =>
  (await all(session.events({ types: ["tool.settled"] }))).map(({ body, content }) => {
    const { output, blocks } = (content ?? {}) as { output?: unknown; blocks?: { text?: string }[] };
    const text = typeof output === "string" ? output : (blocks?.[0]?.text ?? JSON.stringify(output));
    return `${(body as { status: string }).status}: ${text}`;
  });

const offered = ({ parts }: ModelCall): string[] =>
  parts.flatMap((part) => (part.part === "tools" ? part.tools.map(({ name }) => name) : []));

test("they are offered only where they are bound, and rules hold for them", async () => {
  const script = scripted(["Done."]);
  await using engine = engineWith(script);
  const plain = await engine.open({ objective: "Work" });
  await plain.ask("Go").result;
  assert.deepEqual(
    offered(script.calls[0]!).filter((name) => names.some((one) => one === name)),
    [],
  );
  const able = await engine.open({ objective: "Work", bind });
  await able.ask("Go").result;
  assert.deepEqual(
    offered(script.calls[1]!)
      .filter((name) => names.some((one) => one === name))
      .toSorted(),
    [...names].toSorted(),
  );
  const held = scripted([[use("save", { name: "here" })], "Done."]);
  await using other = engineWith(held);
  const asks = await other.open({ objective: "Work", bind, grant: [{ tool: "save", rule: "ask" }] });
  assert.deepEqual(await asks.ask("Go").result.then(({ status, by }) => [status, by]), [
    "suspended",
    "approval",
  ]);
  await asks.answer({ allow: true });
  await asks.run();
  assert.equal((await asks.fold()).standing.checkpoints.size, 1);
});

test("a model goes back to what it saved, is told why, and does not know the rest any more", async () => {
  const lines: Line[] = [
    [use("save", { name: "start", note: "nothing done" })],
    [record("way", "lock")],
    [use("rewind", { to: "start", because: "The lock deadlocks. Use a queue." })],
    [record("way", "queue", "r-2")],
    "Done.",
  ];
  const script = scripted(lines);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Work", bind, budget: { steps: 20 } });
  const ended = await session.ask("Choose a way").result;
  assert.equal(ended.status, "open");
  assert.equal((await session.items())[0]?.value, "queue");
  const after = JSON.stringify(script.calls[3]?.parts);
  assert.match(after, /Choose a way/);
  assert.match(after, /You went back to start .*The lock deadlocks/);
  assert.doesNotMatch(after, /\\"lock\\"|"value":"lock"/);
  const types = (await all(session.events())).map(({ type }) => type);
  assert.equal(types.filter((type) => type === "session.rewound").length, 1);
  const { standing } = await session.fold();
  assert.equal(standing.used.steps, 5, "what it has used stays used");
  assert.equal(standing.inbox.waiting.length, 0);
  for (const { seq } of await all(session.events({ types: ["model.requested"] })))
    assert.equal((await session.context({ atSeq: seq })).matches, true, `request ${seq}`);
  assert.equal((await engine.verify()).ok, true);
});

test("a rewind that cannot be is an error to the model, and the turn goes on", async () => {
  const lines: Line[] = [
    [use("rewind", { to: "nowhere", because: "try again" })],
    [use("save", { name: "a" }, "s"), use("rewind", { to: "a", because: "at once" }, "w")],
    [use("rewind", { to: "a", because: " " }, "x"), record("k", 1)],
    [use("rewind", { to: "a", because: "twice" }, "y"), record("k", 2, "r-2"), record("l", 2)],
    "Done.",
  ];
  await using engine = engineWith(scripted(lines));
  const session = await engine.open({ objective: "Work", bind });
  assert.equal((await session.ask("Go").result).status, "open");
  const said = await outputs(session);
  assert.match(said[0] ?? "", /^error: .*no saved point "nowhere"; nothing is saved/);
  assert.ok(said.some((line) => /^error: .*expected a reason/.test(line)));
  assert.ok(said.some((line) => /^error: .*other calls of this step are open; call it alone/.test(line)));
});

test("what a fork found out is merged back by the model that made it, and nobody else's", async () => {
  let fork = "";
  let stranger = "";
  const lines: Line[] = [
    [record("way", "lock")],
    [use("fork", { objective: "Try a queue" })],
    "Waiting.",
    // The fork.
    [record("way", "queue"), record("speed", "fast")],
    "It is faster.",
    // The session again.
    () => [record("way", "timer", "r-3"), use("merge", { from: stranger }, "m-0")],
    () => [use("merge", { from: fork }, "m-1")],
    () => [use("merge", { from: fork, resolve: { "fact/way": "theirs" } }, "m-2")],
    "Merged.",
  ];
  await using engine = engineWith(scripted(lines));
  const session = await engine.open({ objective: "Choose", bind });
  stranger = (await engine.open({ objective: "Elsewhere" })).id;
  await session.ask("Choose a way").result;
  fork =
    (await engine.sessions()).rows.find(({ session: id }) => id !== session.id && id !== stranger)?.session ??
    "";
  await (await engine.session(fork)).run();
  await session.ask("Go on").result;
  const said = await outputs(session);
  assert.ok(
    said.some((line) => /^error: .*is not a fork or child of this session/.test(line)),
    said.join("\n"),
  );
  assert.ok(
    said.some((line) => /conflicts.*fact\/way/.test(line)),
    said.join("\n"),
  );
  const items = Object.fromEntries((await session.items()).map(({ key, value }) => [key, value]));
  assert.deepEqual(items, { way: "queue", speed: "fast" });
  assert.equal((await all(session.events({ types: ["session.merged"] }))).length, 1);
  assert.equal((await engine.verify()).ok, true);
});

test("triggers of its own, a handoff, and a summary before the next step", async () => {
  const lines: Line[] = [
    [
      use("trigger", { name: "morning", cron: "0 9 * * 1" }, "t-1"),
      use("trigger", { name: "soon", everySeconds: 60 }, "t-2"),
      use("trigger", { name: "theirs", everySeconds: 60 }, "t-3"),
      use("trigger", { name: "often", everySeconds: 5 }, "t-4"),
    ],
    [use("trigger", { name: "soon" }, "t-5"), use("handoff", {}, "h-1"), record("k", "v")],
    "Done.",
  ];
  await using engine = engineWith(scripted(lines));
  const session = await engine.open({ objective: "Watch", bind });
  await session.trigger("theirs", { kind: "every", everyMs: 3_600_000 });
  await session.ask("Go").result;
  assert.deepEqual((await session.triggers()).map(({ name }) => name).toSorted(), ["morning", "theirs"]);
  const said = await outputs(session);
  assert.ok(
    said.some((line) => /^error: .*"theirs" was not set by this tool/.test(line)),
    said.join("\n"),
  );
  assert.ok(said.some((line) => line.includes("# Handoff of")));
  assert.equal((await all(session.events({ types: ["handoff.written"] }))).length, 1);
});

test("compress makes room before the next step", async () => {
  const long = "The report says many things at length. ".repeat(600);
  const script = small((call) => {
    if (isPrompt(call)) return "A summary of what was said.";
    const last = lastText(call);
    if (last.startsWith("Read")) return long;
    return last === "Go on" ? [use("compress", { instructions: "Keep the numbers" }, "c-1")] : "Done.";
  }, 200_000);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "Read", bind });
  for (const name of ["first", "second", "third"]) await session.ask(`Read the ${name} one`).result;
  assert.equal((await session.ask("Go on").result).status, "open");
  const asked = script.calls.find(isPrompt);
  assert.match(JSON.stringify(asked?.parts), /Keep the numbers/);
  assert.equal((await all(session.events({ types: ["transcript.compacted"] }))).length, 1);
  assert.ok(estimateTokens(script.calls.at(-1)?.parts ?? []) < estimateTokens(asked?.parts ?? []) / 2);
  assert.equal((await engine.verify()).ok, true);
});
