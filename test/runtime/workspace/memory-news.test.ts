/** What is remembered while a session is open: told at its next turn, right before the input. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { compactionPromptLine } from "../../../src/core/compaction/plan.ts";
import type { ContextPart } from "../../../src/core/context/part.ts";
import type { EventOf } from "../../../src/core/event.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { AgentDefinition } from "../../../src/core/workspace/agent.ts";
import { kind } from "../../kind.ts";
import { all, workspace } from "../place.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";

const writer: AgentDefinition = { name: "writer", instructions: "Write for the shop." };
const voice = { scope: "agent", owner: "writer", kind: "constraint", key: "brand-voice" } as const;

type Carried = EventOf<"memory.carried">;

async function carriedBy(session: Session): Promise<readonly Carried[]> {
  return (await all(session.events({ types: ["memory.carried"] }))) as Carried[];
}

/** Keys that came, and those that were withdrawn, of each event. */
const keysOf = (events: readonly Carried[]): unknown =>
  events.map(({ content }) => [
    content?.items.map(({ key }) => key),
    (content?.withdrawn ?? []).map(({ key, why }) => `${key}: ${why}`),
  ]);

const lastText = (parts: readonly ContextPart[] = []): string => {
  const last = parts.at(-1);
  if (last?.part !== "message") return "";
  return last.content.flatMap((block) => ("text" in block ? [block.text] : [])).join("\n");
};

const ask = async (session: Session, text: string): Promise<void> => {
  await session.ask(text).result;
};

/** Every request of the session is rebuilt to its digest. */
async function assertRebuilt(session: Session): Promise<void> {
  const requests = await all(session.events({ types: ["model.requested"] }));
  assert.ok(requests.length > 0);
  for (const { seq } of requests)
    assert.equal((await session.context({ atSeq: seq })).matches, true, `request ${seq}`);
}

suite("memory that arrives while a session is open", () => {
  test("stands right before the next input, once, and nothing sent before moves", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent(writer);
    const session = await engine.open({ objective: "Write headlines", agent: "writer" });
    await ask(session, "Begin.");
    await engine.remember({ ...voice, value: "Warm, short sentences" });
    await ask(session, "Go on.");
    await ask(session, "And on.");
    assert.deepEqual(keysOf(await carriedBy(session)), [[["brand-voice"], []]]);
    const types = (await all(session.events())).map(({ type }) => type);
    const place = types.indexOf("memory.carried");
    assert.deepEqual(types.slice(place, place + 2), ["memory.carried", "turn.started"]);
    const [first, second, third] = script.calls.map(({ parts }) => parts);
    assert.match(
      lastText(second),
      /^\[Remembered mean.*\n- constraint brand-voice: Warm, short sentences \(this agent's\)\n\]\nGo on\.$/,
    );
    const before = (first ?? []).map((part) => JSON.stringify(part));
    assert.deepEqual(
      (second ?? []).slice(0, before.length).map((part) => JSON.stringify(part)),
      before,
    );
    assert.equal(lastText(third), "And on.");
    await assertRebuilt(session);
  });

  test("a change replaces, forgetting withdraws, and a boundary shows what holds", async () => {
    const long = "A headline of which there are many more to come. ".repeat(60);
    const script = scripted([
      ({ parts }) => (lastText(parts).includes(compactionPromptLine) ? "Much was said." : long),
    ]);
    await using engine = engineWith(script);
    await engine.addAgent(writer);
    await engine.remember({ ...voice, value: "Warm" });
    await engine.remember({ ...voice, key: "length", value: "Sixty words" });
    const session = await engine.open({ objective: "Write headlines", agent: "writer" });
    await ask(session, "Begin.");
    await engine.remember({ ...voice, value: "Cool" });
    await ask(session, "Go on.");
    assert.match(lastText(script.calls.at(-1)?.parts), /brand-voice: Cool \(this agent's, changed\)/);
    await engine.forget({ ...voice, key: "length" });
    await ask(session, "And on.");
    assert.match(
      lastText(script.calls.at(-1)?.parts),
      /- no longer holds: constraint length \(it was forgotten\)/,
    );
    // Remembered again with the value it had, it holds again.
    await engine.forget(voice);
    await engine.remember({ ...voice, value: "Cool" });
    await ask(session, "Still?");
    assert.deepEqual(keysOf((await carriedBy(session)).slice(1)), [
      [["brand-voice"], []],
      [[], ["length: forgotten"]],
    ]);
    assert.equal((await session.compress()).compacted, true);
    await ask(session, "After it.");
    const shown = JSON.stringify(script.calls.at(-1)?.parts);
    assert.match(shown, /brand-voice: Cool/);
    assert.doesNotMatch(shown, /Warm|Sixty words|and 1 more/);
    await assertRebuilt(session);
  });

  test("entries that are neither standing nor relevant are not brought in", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent(writer);
    const session = await engine.open({ objective: "Write headlines for bicycles", agent: "writer" });
    const remember = (scope: "agent" | "workspace" | "user", kindOf: string, key: string, value: string) =>
      engine.remember({ scope, ...(scope === "agent" ? { owner: "writer" } : {}), kind: kindOf, key, value });
    await remember("workspace", "fact", "payroll-date", "Salaries are paid on the 25th");
    await remember("agent", "decision", "bicycle-headlines", "Headlines for bicycles name the price");
    await remember("user", "fact", "time-zone", "Lisbon");
    await engine.remember({ ...voice, owner: "other", value: "Not this agent's" });
    await ask(session, "Begin.");
    const [carried] = await carriedBy(session);
    assert.deepEqual(
      carried?.content?.items.map(({ key, why }) => `${key}: ${why}`),
      ["bicycle-headlines: this agent's, on headlines, bicycles", "time-zone: the user's preference"],
    );
    // What its input is about, retrieval brings in.
    await remember("workspace", "fact", "refund-period", "Refunds take thirty days");
    await ask(session, "How long do refunds take?");
    assert.deepEqual(keysOf((await carriedBy(session)).slice(1)), [[["refund-period"], []]]);
  });

  test("a session without memory gets none, nor do its forks, nor where the agent carries none", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent(writer);
    await engine.addAgent({ ...writer, name: "lonely", memory: { carry: false } });
    const without = await engine.open({ objective: "Write", agent: "writer", memory: false });
    const fork = await without.fork();
    const lonely = await engine.open({ objective: "Write", agent: "lonely" });
    const open = await engine.open({ objective: "Write", agent: "writer" });
    const closed = await open.fork({ objective: "Another", memory: false });
    await engine.remember({ ...voice, value: "Warm" });
    await engine.remember({ ...voice, owner: "lonely", value: "Warm" });
    for (const session of [without, fork, lonely, open, closed]) await ask(session, "Begin.");
    const seen = script.calls.map(({ parts }) => JSON.stringify(parts).includes("brand-voice"));
    assert.deepEqual(seen, [false, false, false, true, false]);
    for (const session of [without, fork, lonely, open, closed]) await assertRebuilt(session);
  });

  test("a session is not notified of its own items, only of those of its fork", async () => {
    const record = use("record", { kind: "constraint", key: "length", value: "Sixty words" }, "r1");
    const script = scripted([[record], "Noted.", "Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent(writer);
    const session = await engine.open({ objective: "Write headlines", agent: "writer" });
    const fork = await session.fork();
    await ask(session, "At most sixty words.");
    assert.equal((await engine.memory()).length, 1);
    await ask(session, "Go on.");
    assert.deepEqual(await carriedBy(session), []);
    await ask(fork, "Begin.");
    assert.deepEqual(keysOf(await carriedBy(fork)), [[["length"], []]]);
    const later = await session.fork();
    await ask(later, "Begin.");
    assert.deepEqual(await carriedBy(later), []);
  });

  test("after a rewind it is notified again; a replay gets what its recording got", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent(writer);
    const session = await engine.open({ objective: "Write headlines", agent: "writer" });
    await ask(session, "Begin.");
    const { seq } = await session.state();
    await engine.remember({ ...voice, value: "Warm" });
    await ask(session, "Go on.");
    await engine.remember({ ...voice, key: "later", value: "After the recording" });
    const report = await session.replay({ from: seq, model: "test/other" });
    const replay = await engine.session(report.session);
    assert.deepEqual(keysOf(await carriedBy(replay)), [[["brand-voice"], []]]);
    await session.rewind(seq);
    await ask(session, "Once more.");
    assert.deepEqual(keysOf((await carriedBy(session)).slice(1)), [[["later", "brand-voice"], []]]);
    await assertRebuilt(session);
    await assertRebuilt(replay);
  });

  test("it stays under the agent's share, and says how many did not fit", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent({ ...writer, memory: { carry: { tokensMax: 200 } } });
    const session = await engine.open({ objective: "Write headlines", agent: "writer" });
    await ask(session, "Begin.");
    const value = "A rule of some length, which says what holds. ".repeat(3);
    for (let place = 0; place < 20; place++) await engine.remember({ ...voice, key: `rule-${place}`, value });
    await ask(session, "Go on.");
    const [carried] = await carriedBy(session);
    const { count = 0, tokens = 0, left = 0 } = carried?.body ?? {};
    assert.ok(tokens <= 200 && count > 0 && count + left === 12, `${count} ${tokens} ${left}`);
    assert.match(lastText(script.calls.at(-1)?.parts), new RegExp(`and ${left} more that did not fit`));
  });

  test("a look over many records is recorded, so that none is read again", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    const session = await engine.open({ objective: "Write headlines" });
    await ask(session, "Begin.");
    for (let place = 0; place < 200; place++)
      await engine.remember({ ...voice, owner: "other", key: `rule-${place}`, value: "Of another agent" });
    await ask(session, "Go on.");
    await ask(session, "And on.");
    const events = await carriedBy(session);
    assert.deepEqual(
      events.map(({ body }) => [body.count, body.upTo, body.workspace]),
      [[0, 200, workspace]],
    );
    assert.doesNotMatch(lastText(script.calls[1]?.parts), /Remembered/);
    await assertRebuilt(session);
  });

  test("erased memory is a gap in old contexts, and withdrawn from the next", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent(writer);
    const session = await engine.open({ objective: "Write headlines", agent: "writer" });
    await ask(session, "Begin.");
    await engine.remember({ ...voice, value: "fortytwo words" });
    await ask(session, "Go on.");
    const [carried] = await carriedBy(session);
    const { erasure } = await engine.forget({ ...voice, erase: true });
    assert.deepEqual(
      erasure?.copies.map((one) => [one.session, one.seq]),
      [[session.id, carried?.seq]],
    );
    await session.erase({ ranges: [[carried?.seq ?? 0, carried?.seq ?? 0]] });
    await ask(session, "And on.");
    const shown = JSON.stringify(script.calls.at(-1)?.parts);
    assert.match(shown, /\[erased: what other sessions remembered meanwhile\]/);
    assert.doesNotMatch(shown, /fortytwo/);
    assert.doesNotMatch(JSON.stringify(await all(session.events())), /fortytwo/);
  });

  test("a session from another workspace looks at this one's log from its beginning", async () => {
    const script = scripted(["Fine."]);
    const other = `${workspace.slice(0, -1)}z` as typeof workspace;
    const world = realWorld();
    await using here = engineWith(script);
    await using there = new Engine({
      store: kind().store({ world, workspace: other }),
      world,
      models: async () => script.models,
    });
    const session = await here.open({ objective: "Write headlines", agent: "writer" });
    for (let place = 0; place < 5; place++)
      await here.remember({ ...voice, key: `rule-${place}`, value: "Old" });
    await ask(session, "Begin.");
    await there.remember({ ...voice, value: "Warm" });
    const { session: arrived } = await there.import(here.export(session.id));
    const again = await (await there.session(arrived)).fork();
    if ((await again.state()).status === "suspended") await again.activate();
    await ask(again, "Go on.");
    assert.deepEqual(keysOf((await carriedBy(again)).slice(1)), [[["brand-voice"], []]]);
    await assertRebuilt(again);
  });
});

test("contexts keep their prefix while memory arrives every third turn", async (t) => {
  const script = scripted(["Fine."]);
  await using engine = engineWith(script);
  await engine.addAgent(writer);
  const session = await engine.open({ objective: "Write headlines", agent: "writer" });
  const value = "What must hold for every headline that we write from here on";
  for (let turn = 0; turn < 60; turn++) {
    if (turn % 3 === 1) await engine.remember({ ...voice, key: `rule-${turn}`, value });
    if (turn % 9 === 8) await engine.forget({ ...voice, key: `rule-${turn - 1}` });
    await ask(session, `Turn ${turn}: ${"say more ".repeat(40)}`);
  }
  const sent = script.calls.map(({ parts }) => parts.map((part) => JSON.stringify(part)));
  let [whole, cached] = [0, 0];
  for (const [place, parts] of sent.entries()) {
    const before = sent[place - 1] ?? [];
    const same = parts.findIndex((part, at) => part !== before[at]);
    // Everything of the request before is the beginning of this one.
    assert.equal(same, before.length, `request ${place}`);
    cached += before.join("").length;
    whole += parts.join("").length;
  }
  assert.ok((await carriedBy(session)).length >= 20);
  t.diagnostic(`cached prefix: ${((cached / whole) * 100).toFixed(1)} % over ${sent.length} requests`);
  await assertRebuilt(session);
});

suite("memory that an input is about", () => {
  const facts = [
    ["refund-period", "Refunds take thirty days after the goods came back"],
    ["harbour-rent", "The rent of the Harbour Street shop is due on the third"],
    ["payroll-date", "Salaries are paid on the 25th of each month"],
  ] as const;
  const remember = async (engine: Engine): Promise<void> => {
    for (const [key, value] of facts) await engine.remember({ scope: "workspace", kind: "fact", key, value });
  };
  const brought = async (session: Session) =>
    (await all(session.events({ types: ["context.retrieved"] }))) as EventOf<"context.retrieved">[];

  test("is carried in the append that takes it, once, with its score and reason", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await remember(engine);
    const session = await engine.open({ objective: "Keep the books" });
    await ask(session, "Begin.");
    assert.deepEqual(await carriedBy(session), []);
    await ask(session, "How long do refunds take?");
    await ask(session, "And the refunds for goods that came back?");
    const [carried, ...more] = await carriedBy(session);
    assert.deepEqual([keysOf([carried!]), more], [[[["refund-period"], []]], []]);
    const [event] = await brought(session);
    const [entry] = event?.body.entries ?? [];
    assert.deepEqual(
      [entry?.kind, entry?.seq, entry?.number, entry?.why],
      ["memory", carried?.seq, 1, "words"],
    );
    const types = (await all(session.events())).map(({ type }) => type);
    const place = types.indexOf("memory.carried");
    assert.deepEqual(types.slice(place, place + 3), ["memory.carried", "context.retrieved", "turn.started"]);
    assert.match(
      lastText(script.calls[1]?.parts),
      /^\[Rem.*\n- fact refund-period: .*\(the workspace's, on refunds\)\n\]\nHow long do refunds take\?$/,
    );
    assert.equal(lastText(script.calls[2]?.parts), "And the refunds for goods that came back?");
    const { reasons } = await session.context();
    const told = reasons.flatMap(({ brought: parts = [] }) => parts);
    assert.deepEqual(
      told.map(({ kind: what, seq, number }) => [what, seq, number]),
      [["memory", carried?.seq, 1]],
    );
    await assertRebuilt(session);
  });

  test("arrives with news, each with its own number", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent(writer);
    await remember(engine);
    const session = await engine.open({ objective: "Keep the books", agent: "writer" });
    await ask(session, "Begin.");
    await engine.remember({ ...voice, value: "Warm" });
    await ask(session, "When is the rent of Harbour Street due?");
    assert.deepEqual(keysOf(await carriedBy(session)), [[["brand-voice", "harbour-rent"], []]]);
    const [event] = await brought(session);
    assert.deepEqual(
      event?.body.entries.map(({ number }) => number),
      [2],
    );
    await ask(session, "And the rent of Harbour Street again?");
    assert.equal((await brought(session)).length, 1);
    await assertRebuilt(session);
  });

  test("stands before the input if it did not fit the plan", async () => {
    const long = "of no interest to anybody who reads it in the evening ".repeat(16);
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent({
      ...writer,
      context: { shares: { memory: { share: 0.001, floorTokens: 0, ceilingTokens: 100 } } },
    });
    await remember(engine);
    await engine.remember({ ...voice, kind: "fact", key: "warehouse", value: `Crates of oranges, ${long}` });
    const rich = await engine.open({
      objective: "Count crates of oranges in the warehouse",
      agent: "writer",
    });
    await ask(rich, "Begin.");
    assert.doesNotMatch(JSON.stringify(script.calls.at(-1)?.parts), /fact warehouse/);
    await ask(rich, "How many crates of oranges?");
    assert.match(lastText(script.calls[1]?.parts), /\[Brought in .*\n- fact warehouse: Crates of oranges/);
    await assertRebuilt(rich);
  });

  test("of another user or agent, or outside the scopes, never comes", async () => {
    const script = scripted(["Fine."]);
    await using engine = engineWith(script);
    await engine.addAgent({ ...writer, memory: { carry: { scopes: ["agent"] } } });
    const about = { kind: "fact", key: "refund-period", value: "Refunds take thirty days" };
    await engine.remember({ scope: "agent", owner: "other", ...about });
    await engine.remember({ scope: "user", owner: "prn_01hf7yat00000000000000000w", ...about });
    await engine.remember({ scope: "workspace", ...about });
    const session = await engine.open({ objective: "Refunds", agent: "writer" });
    await ask(session, "How long do refunds take?");
    assert.deepEqual([await carriedBy(session), await brought(session)], [[], []]);
    const plain = await engine.open({ objective: "Books" });
    await ask(plain, "How long do refunds take?");
    assert.equal((await brought(plain))[0]?.body.entries.length, 1);
  });
});
