/** Memory: what sessions leave to later ones, and what a new one carries of it. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { AgentDefinition } from "../../../src/core/workspace/agent.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all, inMemory } from "../place.ts";
import { engineWith, scripted, use } from "../turn/scripted.ts";

const agent = (memory: AgentDefinition["memory"], name = "payroll"): AgentDefinition => ({
  name,
  instructions: "Keep the rates.",
  ...(memory === undefined ? {} : { memory }),
});

/** What a session carries, as its log says it. */
async function carriedBy(session: Session) {
  const events = await all(session.events());
  const { content } = events.find(({ type }) => type === "memory.carried") ?? {};
  return (content as { items: { key: string; value: unknown; why: string; scope: string }[] } | undefined)
    ?.items;
}

const keysOf = (items: readonly { readonly key: string }[] | undefined) =>
  (items ?? []).map(({ key }) => key);

suite("by hand", () => {
  test("an item is promoted with its value, reason and origin, and a later session carries it", async () => {
    await using place = inMemory();
    const { engine, store } = place;
    const first = await engine.open({ objective: "Set up payroll" });
    const { seq } = await first.record("decision", "base-rate", 4.1, { because: "the council said so" });
    const entry = await first.promote("decision", "base-rate", { scope: "workspace" });
    assert.deepEqual(entry, {
      scope: "workspace",
      owner: null,
      kind: "decision",
      key: "base-rate",
      seq: 1,
      at: entry.at,
      actor: entry.actor,
      origin: { session: first.id, seq },
      by: "person",
      value: 4.1,
      because: "the council said so",
      erased: false,
    });
    assert.deepEqual(await engine.memory(), [entry]);
    const next = await engine.open({ objective: "Raise the base rate in May" });
    const events = await all(next.events());
    const carried = events.find(({ type }) => type === "memory.carried");
    const { count } = (carried?.body ?? {}) as { count?: number };
    assert.equal(count, 1);
    assert.deepEqual(carried?.content, {
      items: [
        {
          scope: "workspace",
          kind: "decision",
          key: "base-rate",
          value: 4.1,
          why: "the workspace's, on base, rate",
          origin: { session: first.id, seq },
        },
      ],
    });
    const { parts } = await next.context();
    assert.ok(JSON.stringify(parts).includes("decision base-rate: 4.1 (the workspace's, on base, rate)"));
    const other = await engine.open({ objective: "Water the plants" });
    assert.equal(await carriedBy(other), undefined, "what is not relevant leaves no event");
    const without = await engine.open({ objective: "Raise the base rate in May", memory: false });
    assert.deepEqual(await carriedBy(without), []);
    assert.equal((await store.head(store.workspace))?.seq, 1);
  });

  test("promoting again supersedes, and the same again writes nothing", async () => {
    await using place = inMemory();
    const { engine, store } = place;
    const one = await engine.open({ objective: "o" });
    await one.record("fact", "rate", 1);
    await one.promote("fact", "rate", { scope: "workspace" });
    await one.promote("fact", "rate", { scope: "workspace" });
    assert.equal((await store.head(store.workspace))?.seq, 1);
    const two = await engine.open({ objective: "o" });
    await two.record("fact", "rate", 2);
    await two.promote("fact", "rate", { scope: "workspace", because: "measured" });
    const list = await engine.memory();
    assert.deepEqual(
      list.map(({ value, because, origin }) => [value, because, origin?.session]),
      [[2, "measured", two.id]],
    );
  });

  test("a forgotten entry reaches no new session, and stays in those that have it", async () => {
    await using place = inMemory();
    const { engine } = place;
    const name = { scope: "workspace", kind: "fact", key: "login-redirect" } as const;
    await engine.remember({ ...name, value: "goes to /home", because: "seen" });
    const before = await engine.open({ objective: "Fix the login redirect" });
    const gone = await engine.forget({ ...name, reason: "it was moved" });
    assert.equal(gone.value, "goes to /home");
    const after = await engine.open({ objective: "Fix the login redirect" });
    assert.deepEqual(keysOf(await carriedBy(before)), ["login-redirect"]);
    assert.equal(await carriedBy(after), undefined);
    assert.deepEqual(await engine.memory(), []);
    await engine.remember({ ...name, value: "goes to /start" });
    assert.deepEqual(
      (await engine.memory()).map(({ value }) => value),
      ["goes to /start"],
    );
  });

  test("each scope has its owner: another agent's or person's is not carried", async () => {
    await using place = inMemory();
    const { engine } = place;
    const about = { kind: "fact", value: "on the wall" } as const;
    await engine.remember({ ...about, scope: "agent", owner: "web", key: "clock web" });
    await engine.remember({ ...about, scope: "agent", owner: "api", key: "clock api" });
    await engine.remember({ ...about, scope: "user", key: "clock mine" });
    const theirs = `prn_${"0".repeat(26)}`;
    await engine.remember({ ...about, scope: "user", owner: theirs, key: "clock theirs" });
    await engine.remember({ ...about, scope: "workspace", key: "clock all" });
    const carried = await carriedBy(await engine.open({ objective: "Wind the clock", agent: "web" }));
    assert.deepEqual(keysOf(carried), ["clock mine", "clock all", "clock web"]);
    assert.deepEqual(
      (await engine.memory({ scope: "agent", owner: "api" })).map(({ key }) => key),
      ["clock api"],
    );
    assert.deepEqual(keysOf(await engine.memory({ text: "WALL theirs" })), ["clock theirs"]);
  });

  test("preferences come along whatever a session is about, within half of the room", async () => {
    await using place = inMemory();
    const { engine } = place;
    for (let number = 0; number < 30; number++) {
      const value = "is how it is to be done, always and everywhere, unless there is a reason";
      await engine.remember({ scope: "user", kind: "fact", key: `style ${number}`, value });
    }
    await engine.remember({ scope: "workspace", kind: "fact", key: "kiln", value: "is at 900 degrees" });
    const session = await engine.open({ objective: "Heat the kiln" });
    const carried = await carriedBy(session);
    assert.deepEqual(keysOf(carried).slice(0, 2), ["style 29", "style 28"], "the newest first");
    assert.equal(keysOf(carried).length, 13);
    assert.equal(carried?.at(-1)?.key, "kiln");
  });

  test("bad input is refused with a way out, and writes nothing", async () => {
    await using place = inMemory();
    const { engine, store } = place;
    const session = await engine.open({ objective: "o" });
    await session.record("fact", "rate", 1);
    await session.record("fact", "long", "word ".repeat(20_000));
    const fails = (work: Promise<unknown>, code: string, message: RegExp) =>
      assert.rejects(work, { code, message });
    const workspace = { scope: "workspace", kind: "fact", key: "x" } as const;
    await fails(
      session.promote("fact", "rate", { scope: "team" as "user" }),
      "invalid",
      /scope: expected one of .*"team"/,
    );
    await fails(session.promote("fact", "rat", { scope: "workspace" }), "not-found", /no fact "rat" to/);
    await fails(session.promote("ide a", "rate", { scope: "user" }), "invalid", /kind: a kind has up to 32/);
    await fails(session.promote("fact", "long", { scope: "workspace" }), "invalid", /too long/);
    await fails(session.promote("fact", "rate", { scope: "agent" }), "refused", /has no agent/);
    await fails(session.promote("fact", "rate", { scoop: 1 } as never), "invalid", /scoop/);
    await fails(engine.forget(workspace), "not-found", /memory of the workspace has no fact "x"/);
    await fails(engine.remember({ ...workspace, value: undefined }), "invalid", /value: missing/);
    await fails(engine.remember({ ...workspace, owner: "web", value: 1 }), "invalid", /owner: not allowed/);
    await fails(engine.remember({ ...workspace, scope: "agent", value: 1 }), "invalid", /owner: missing/);
    await fails(engine.remember({ ...workspace, key: "a\nb", value: 1 }), "invalid", /one line/);
    await fails(engine.remember({ ...workspace, key: "", value: 1 }), "invalid", /key: .*cannot be empty/);
    const agentOf = (owner: string) => engine.remember({ ...workspace, scope: "agent", owner, value: 1 });
    await fails(
      agentOf("No such agent!"),
      "invalid",
      /owner: expected the name of an agent, got "No such agent!"/,
    );
    await fails(agentOf(""), "invalid", /owner: expected the name of an agent, got ""/);
    await fails(
      engine.remember({ ...workspace, scope: "user", owner: "jane", value: 1 }),
      "invalid",
      /owner: expected a principal, got "jane"/,
    );
    await session.record("task", "file it", "soon", { status: "done" });
    await fails(session.promote("task", "file it", { scope: "workspace" }), "refused", /"file it" is done/);
    await fails(engine.memory({ scope: "all" as "user" }), "invalid", /scope: expected one of .*"all"/);
    await fails(engine.memory({ match: "x" } as never), "invalid", /match/);
    assert.equal(await store.head(store.workspace), undefined);
    const hint = 'did you mean "rate"?';
    await assert.rejects(session.promote("fact", "rats", { scope: "workspace" }), { hint });
  });
});

suite("by rule", () => {
  const rules = {
    promote: [
      { keys: ["rate-*"], scope: "agent" },
      { kinds: ["decision"], scope: "workspace" },
      { keys: ["prefers-*"], scope: "user" },
    ],
  } as const;

  test("a matching item is promoted in the append that records it", async () => {
    await using place = inMemory();
    const { engine, store } = place;
    await engine.addAgent(agent(rules));
    const session = await engine.open({ objective: "o", agent: "payroll" });
    const head = async () => (await store.head(store.workspace))?.seq ?? 0;
    const before = await head();
    await session.record("fact", "other", 1);
    await session.record("task", "rate-task", "later");
    assert.equal(await head(), before);
    const { seq } = await session.record("fact", "rate-base", 4);
    await session.record("decision", "rate-top", 9, { because: "asked" });
    await session.record("fact", "prefers-tea", true);
    const found = (await engine.memory()).map(({ scope, owner, key, value, by, origin }) => ({
      scope,
      key,
      value,
      by,
      owner: owner?.slice(0, 4) ?? null,
      seq: origin?.seq,
    }));
    assert.deepEqual(found, [
      { scope: "user", key: "prefers-tea", value: true, by: "rule", owner: "prn_", seq: seq + 2 },
      { scope: "workspace", key: "rate-top", value: 9, by: "rule", owner: null, seq: seq + 1 },
      { scope: "agent", key: "rate-top", value: 9, by: "rule", owner: "payr", seq: seq + 1 },
      { scope: "agent", key: "rate-base", value: 4, by: "rule", owner: "payr", seq },
    ]);
    const feed = await engine.feed({ limit: 1_000 });
    const order = feed.events.map(({ type }) => type).filter((type) => /^(item|memory)/.test(type));
    // A feed has an order within a log, and none between two.
    assert.deepEqual(order.slice(2, 4).toSorted(), ["item.recorded", "memory.promoted"]);
  });

  test("memory follows the item: a replaced or retracted value never returns", async () => {
    await using place = inMemory();
    const { engine } = place;
    await engine.addAgent(agent(rules));
    const session = await engine.open({ objective: "o", agent: "payroll" });
    await session.record("fact", "rate-base", 4);
    await session.record("fact", "rate-base", 5);
    assert.deepEqual(
      (await engine.memory()).map(({ value }) => value),
      [5],
    );
    await session.retract("fact", "rate-base", { because: "it was a guess" });
    assert.deepEqual(await engine.memory(), []);
    assert.equal(await carriedBy(await engine.open({ objective: "rate base", agent: "payroll" })), undefined);
    await session.record("fact", "rate-base", 6);
    assert.deepEqual(
      (await engine.memory()).map(({ value }) => value),
      [6],
      "a new statement is new",
    );
    await session.record("fact", "by hand", 1);
    await session.promote("fact", "by hand", { scope: "workspace" });
    await session.record("fact", "by hand", 2);
    assert.deepEqual(
      (await engine.memory({ scope: "workspace" })).map(({ value }) => value),
      [2],
    );
    await session.retract("fact", "by hand");
    assert.deepEqual(await engine.memory({ scope: "workspace" }), []);
  });

  test("a task that is done or dropped is forgotten, and no rule brings it back while it is", async () => {
    await using place = inMemory();
    const { engine } = place;
    await engine.addAgent(agent({ promote: [{ kinds: ["task"], scope: "agent" }] }));
    const session = await engine.open({ objective: "o", agent: "payroll" });
    const keys = async () => keysOf(await engine.memory());
    await session.record("task", "file taxes", "soon");
    await session.record("task", "call Jane", "soon");
    await session.promote("task", "call Jane", { scope: "workspace" });
    assert.deepEqual(await keys(), ["call Jane", "call Jane", "file taxes"]);
    await session.record("task", "file taxes", "filed", { status: "done" });
    await session.record("task", "call Jane", "no more", { status: "dropped", because: "she called" });
    assert.deepEqual(await keys(), []);
    await session.record("task", "over at once", "x", { status: "done" });
    assert.deepEqual(await keys(), []);
    await session.record("task", "file taxes", "again");
    assert.deepEqual(await keys(), ["file taxes"]);
    assert.deepEqual(
      keysOf(await carriedBy(await engine.open({ objective: "call Jane", agent: "payroll" }))),
      [],
    );
  });

  test("an entry made by a person keeps its author when it follows its session", async () => {
    await using place = inMemory();
    const { engine } = place;
    const session = await engine.open({ objective: "o" });
    await session.record("fact", "rate", 1);
    await session.promote("fact", "rate", { scope: "workspace", because: "all need it" });
    const said = async () => (await engine.memory()).map(({ value, by, because }) => [value, by, because]);
    await session.record("fact", "rate", 2);
    assert.deepEqual(await said(), [[2, "person", "it followed its session"]]);
    await session.record("fact", "rate", 3, { because: "it was raised" });
    assert.deepEqual(await said(), [[3, "person", "it was raised"]]);
  });

  test("words are found in the text, not in its encoding", async () => {
    await using place = inMemory();
    const { engine } = place;
    const about = { scope: "workspace", kind: "fact" } as const;
    await engine.remember({ ...about, key: "plain", value: "four" });
    await engine.remember({ ...about, key: "quoted", value: 'say "four"' });
    await engine.remember({ ...about, key: "deep", value: { rates: ["a\\b", 4.1, null] } });
    const found = async (text: string) => keysOf(await engine.memory({ text }));
    assert.deepEqual(await found('"'), ["quoted"]);
    assert.deepEqual(await found("\\"), ["deep"]);
    assert.deepEqual(await found("rates 4.1"), ["deep"]);
    assert.deepEqual(await found("{"), []);
  });

  test("another session's item of the same key changes nothing that it did not bring", async () => {
    await using place = inMemory();
    const { engine } = place;
    const one = await engine.open({ objective: "o" });
    await one.record("fact", "k", 1);
    await one.promote("fact", "k", { scope: "workspace" });
    const two = await engine.open({ objective: "o" });
    await two.record("fact", "k", 2);
    await two.retract("fact", "k");
    assert.deepEqual(
      (await engine.memory()).map(({ value }) => value),
      [1],
    );
  });

  test("a rule never restores an entry that a person forgot", async () => {
    await using place = inMemory();
    const { engine } = place;
    await engine.addAgent(agent(rules));
    const session = await engine.open({ objective: "o", agent: "payroll" });
    await session.record("fact", "rate-base", 4);
    await engine.forget({ scope: "agent", owner: "payroll", kind: "fact", key: "rate-base" });
    await session.record("fact", "rate-base", 5);
    const later = await engine.open({ objective: "o", agent: "payroll" });
    await later.record("fact", "rate-base", 6);
    assert.deepEqual(await engine.memory(), []);
    await later.promote("fact", "rate-base", { scope: "agent" });
    assert.deepEqual(
      (await engine.memory()).map(({ value }) => value),
      [6],
    );
  });

  test("a value too long for memory is still recorded, and its old entry forgotten", async () => {
    await using place = inMemory();
    const { engine } = place;
    await engine.addAgent(agent(rules));
    const session = await engine.open({ objective: "o", agent: "payroll" });
    await session.record("fact", "rate-base", 4);
    await session.record("fact", "rate-base", "word ".repeat(20_000));
    assert.deepEqual(await engine.memory(), []);
    assert.equal((await session.items()).length, 1);
  });

  test("a merge is followed too, and a rewind takes nothing back", async () => {
    await using place = inMemory();
    const { engine } = place;
    const session = await engine.open({ objective: "o" });
    await session.record("fact", "a", 1);
    await session.record("fact", "b", 1);
    await session.promote("fact", "a", { scope: "workspace" });
    await session.promote("fact", "b", { scope: "workspace" });
    const branch = await session.fork();
    await branch.record("fact", "a", 2);
    await branch.retract("fact", "b");
    assert.deepEqual(
      (await engine.memory()).map(({ value }) => value),
      [1, 1],
      "a fork is another session",
    );
    await session.merge({ from: branch.id });
    assert.deepEqual(
      (await engine.memory()).map(({ key, value }) => [key, value]),
      [["a", 2]],
    );
    await session.rewind(1);
    assert.deepEqual(
      (await engine.memory()).map(({ key, value }) => [key, value]),
      [["a", 2]],
    );
  });

  test("an agent sets what its sessions carry", async () => {
    await using place = inMemory();
    const { engine } = place;
    await engine.addAgent(agent({ carry: false }, "none"));
    await engine.addAgent(agent({ carry: { scopes: ["agent"], tokensMax: 60 } }, "few"));
    for (let number = 0; number < 9; number++) {
      const value = `clocks of the kind ${number} are wound once a week`;
      await engine.remember({ scope: "agent", owner: "few", kind: "fact", key: `clock ${number}`, value });
      await engine.remember({ scope: "workspace", kind: "fact", key: `clock ${number}`, value });
    }
    const open = (name: string) => engine.open({ objective: "Wind the clock", agent: name });
    assert.equal(await carriedBy(await open("none")), undefined);
    const few = await open("few");
    const { body } = (await all(few.events())).find(({ type }) => type === "memory.carried") ?? {};
    const { tokens, count } = body as { tokens: number; count: number };
    assert.ok(tokens <= 60 && count >= 1, `${count} in ${tokens} tokens`);
    assert.ok((await carriedBy(few))?.every(({ scope }) => scope === "agent"));
  });
});

suite("by tool", () => {
  const memorized = agent({ carry: {} }, "keeper");

  test("a model has an item remembered, in one append with the result", async () => {
    const script = scripted([
      [use("record", { kind: "fact", key: "gate", value: "is at the back" })],
      [use("remember", { kind: "fact", key: "gate", scope: "agent" })],
      [use("remember", { kind: "fact", key: "gaet", scope: "agent" }, "wrong")],
      "done",
    ]);
    await using engine = engineWith(script);
    await engine.addAgent(memorized);
    const session = await engine.open({ objective: "o", agent: "keeper" });
    await all(session.ask("remember the gate"));
    const [entry, ...others] = await engine.memory();
    assert.deepEqual(others, []);
    const { scope, owner, key, value, by, actor } = entry ?? assert.fail();
    assert.deepEqual(
      { scope, owner, key, value, by, actor },
      {
        scope: "agent",
        owner: "keeper",
        key: "gate",
        value: "is at the back",
        by: "tool",
        actor: "tool:remember",
      },
    );
    const settled = (await all(session.events({ types: ["tool.settled"] }))).map(({ content }) =>
      JSON.stringify(content),
    );
    assert.match(settled[1] ?? "", /later sessions will know fact gate/);
    assert.match(settled[2] ?? "", /no fact \\"gaet\\" to promote.*did you mean \\"gate\\"/);
    const feed = (await engine.feed({ limit: 1_000 })).events.map(({ type }) => type);
    const place = feed.indexOf("memory.promoted");
    const beside = [feed[place - 1], feed[place + 1]];
    assert.ok(beside.includes("tool.settled"), `something comes between the two: ${beside.join(", ")}`);
    const next = await engine.open({ objective: "Paint the gate", agent: "keeper" });
    assert.deepEqual(keysOf(await carriedBy(next)), ["gate"]);
  });

  test("rules promote items recorded by a tool, and a retraction forgets them", async () => {
    const script = scripted([
      [use("record", { kind: "fact", key: "gate", value: "is open" })],
      [use("record", { kind: "fact", key: "door", value: "is shut" })],
      [use("retract", { kind: "fact", key: "door" })],
      "done",
    ]);
    await using engine = engineWith(script);
    await engine.addAgent(agent({ promote: [{ scope: "workspace" }] }, "keeper"));
    const session = await engine.open({ objective: "o", agent: "keeper" });
    await all(session.ask("look around"));
    const found = await engine.memory();
    assert.deepEqual(
      found.map(({ key, value, by, actor }) => [key, value, by, actor]),
      [["gate", "is open", "rule", "tool:record"]],
    );
  });
});
