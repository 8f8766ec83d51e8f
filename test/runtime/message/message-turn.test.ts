/** Messages of models: a request that is replied to with the tool, what is refused, and what has no reply. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kind } from "../../kind.ts";
import { madeWorld } from "../made-world.ts";
import { all, workspace } from "../place.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";

const until = async (given: AsyncIterable<unknown>): Promise<void> => void (await all(given));

test("a model sends a request to another, which replies by its id", async () => {
  let other = "";
  const shown: string[] = [];
  const script = scripted([
    () => [use("send", { to: other, text: "Which rate?", replyWithinSeconds: 60 })],
    "I wait.",
    ({ parts }) => {
      const text = JSON.stringify(parts);
      shown.push(text);
      const [, id = ""] = /\[request (msg_\w+): reply with the send tool/.exec(text) ?? [];
      return [use("send", { replyTo: id, text: "4.1" })];
    },
    "Replied.",
    ({ parts }) => {
      shown.push(JSON.stringify(parts));
      return "Thanks.";
    },
  ]);
  const world = madeWorld();
  await using engine = engineWith(script, { world, store: kind().store({ world, workspace }) });
  const asks = await engine.open({ objective: "Ask" });
  const replies = await engine.open({ objective: "Know" });
  other = replies.id;
  await until(asks.ask("Go"));
  const [{ message } = { message: "" }] = (await asks.state()).requests;
  assert.equal((await replies.run()).status, "open");
  assert.equal((await asks.run()).status, "open");
  assert.match(shown[0]!, /a message from session/);
  assert.match(shown[1]!, new RegExp(`4\\.1.*\\[this is the reply to ${message}\\]`));
  assert.deepEqual([(await asks.state()).requests, (await replies.state()).asked], [[], []]);
  assert.equal((await engine.verify()).ok, true);
});

test("the model gets the refusal, and nothing is left behind", async () => {
  let other = "";
  const script = scripted([
    () => [
      use("send", { to: other, text: "four", topic: "rates" }, "breaks"),
      use("send", { replyTo: "msg_none", text: "x" }, "nothing"),
      use("send", { text: "x" }, "nobody"),
    ],
    "Well.",
  ]);
  const world = madeWorld();
  await using engine = engineWith(script, { world, store: kind().store({ world, workspace }) });
  const session = await engine.open({ objective: "Talk" });
  const strict = await engine.open({ objective: "Strict" });
  other = strict.id;
  await strict.contract("rates", { type: "number" });
  await until(session.ask("Go"));
  const settled = await all(session.events({ types: ["tool.settled"] }));
  const said = settled.map(({ body, content }) => JSON.stringify([body, content])).join("\n");
  assert.match(said, /violates the contract for/);
  assert.match(said, /there is no request/);
  assert.match(said, /required, unless this is a reply/);
  assert.deepEqual((await all(session.events({ types: ["message.sent"] }))).length, 0);
});

test("a run starts by timing out overdue requests, and the model gets a note", async () => {
  const told: string[] = [];
  const script = scripted([
    ({ parts }) => {
      told.push(JSON.stringify(parts));
      return "So be it.";
    },
  ]);
  const world = madeWorld();
  await using engine = engineWith(script, { world, store: kind().store({ world, workspace }) });
  const session = await engine.open({ objective: "Ask" });
  const other = await engine.open({ objective: "Silent" });
  const { message } = await session.send(other.id, "Which?", { withinMs: 1_000 });
  await session.run();
  assert.deepEqual(told, []);
  world.pass(1_001);
  await session.run();
  assert.match(told[0]!, new RegExp(`Your request ${message} to ${other.id} had no reply by`));
});
