/**
 * The session handle: states at any position, checkpoints, forks, rewinds, clear, delete; in memory and in
 * a file.
 */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { noFile } from "../../kind.ts";
import type { Place } from "../place.ts";
import { all, inFile, inMemory } from "../place.ts";
import { startOfTime } from "../made-world.ts";
import { writeRaw } from "../raw.ts";

const makers = { memory: async (): Promise<Place> => inMemory(), sqlite: inFile } as const;

const noImport = { calls: 0, inputTokens: 0, outputTokens: 0, nanoUsd: 0, unpriced: 0 };
const noUse = { tokens: 0, nanoUsd: 0, steps: 0, turns: 0, toolCalls: 0, wallMs: 0 };
const noCost = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  nanoUsd: 0,
  unpriced: 0,
  estimated: 0,
  unconfirmedTokens: 0,
  unconfirmedNanoUsd: 0,
};

const smart = { zone: "smart", zoneCauses: [], zoneActions: [] };

const nothingSet = { checks: [], contracts: [], stale: {} };

test("a state shows the session with its existing contents", async () => {
  await using place = inMemory();
  const session = await place.engine.open({
    objective: "Fix login",
    name: "login",
    agent: "fixer",
    model: "acme/large",
    labels: { team: "web" },
    priority: 2,
    bind: [{ kind: "file", path: "a.txt" }],
    grant: [{ tool: "shell", rule: "ask" }],
    budget: { usd: 2, steps: 40 },
  });
  place.world.pass(5);
  await session.record("task", "t", { any: "thing" }, { because: "b" });
  await session.scratch("k", [1]);
  await session.append("hi");
  await session.save("here");
  await session.suspend({ reason: "lunch" });
  const { mindHash, next, ...state } = await session.state();
  assert.match(`${next} ${mindHash}`, /^null [0-9a-f]{64}$/);
  assert.deepEqual(state, {
    session: session.id,
    seq: 9,
    at: startOfTime + 5,
    status: "suspended",
    why: { by: "person", seq: 9, reason: "lunch" },
    name: "login",
    objective: "Fix login",
    agent: { name: "fixer", version: 0 },
    model: "acme/large",
    labels: { team: "web" },
    priority: 2,
    openedAt: startOfTime,
    fork: null,
    items: [
      {
        kind: "task",
        key: "t",
        value: { any: "thing" },
        because: "b",
        status: "open",
        seq: 5,
        at: startOfTime + 5,
        erased: false,
      },
    ],
    scratch: { k: [1] },
    transcript: { ranges: [], compactions: 0, openCalls: 0 },
    calls: [],
    inbox: { count: 1, full: false },
    outbox: [],
    requests: [],
    asked: [],
    ...nothingSet,
    cost: noCost,
    imported: noImport,
    turn: null,
    lease: null,
    bindings: [{ name: "a.txt", kind: "file", mode: "read" }],
    permissions: [{ name: "shell", tool: "shell", rule: "ask" }],
    budget: { limits: { steps: 40, nanoUsd: 2_000_000_000 }, used: noUse, unpriced: 0 },
    checkpoints: { here: 7 },
    scores: {},
    ...smart,
    holds: [],
    erased: { records: 0, bytes: 0 },
    newer: null,
  });
});

for (const [name, make] of Object.entries(makers)) {
  test(`a position past the end, or none at all, is not found (${name})`, async () => {
    await using place = await make();
    const session = await place.engine.open({ objective: "o" });
    const missing = {
      code: "not-found",
      message: /position .* does not exist in .* which ends at 1/,
      hint: /from 1 to 1/,
    };
    for (const atSeq of [0, -1, 2, 1.5, Number.NaN]) {
      // An option that can be no position is invalid in any session.
      const wrong = atSeq === 2 ? missing : { code: "invalid", message: /: atSeq: expected / };
      await assert.rejects(session.state({ atSeq }), wrong);
      await assert.rejects(session.fork({ atSeq }), wrong);
      await assert.rejects(session.rewind(atSeq), missing);
      await assert.rejects(session.load(atSeq), missing);
    }
  });

  test(`a checkpoint is loaded by name, and forked or rewound from (${name})`, async () => {
    await using place = await make();
    const session = await place.engine.open({ objective: "o" });
    await session.record("fact", "k", 1);
    await session.save("good", { note: "it worked" });
    await session.record("fact", "k", 2);
    await session.save("first", { atSeq: 1 });
    const good = await session.load("good");
    assert.equal(good.seq, 2);
    assert.deepEqual(
      (await good.items()).map(({ value }) => value),
      [1],
    );
    assert.deepEqual((await good.state()).seq, 2);
    assert.equal((await all(good.events())).length, 2);
    assert.equal((await all(good.events({ toSeq: 9 }))).length, 2);
    const fork = await good.fork({ objective: "another way" });
    assert.deepEqual(
      (await fork.items()).map(({ value }) => value),
      [1],
    );
    await good.rewind({ reason: "back" });
    assert.deepEqual(
      (await session.items()).map(({ value }) => value),
      [1],
    );
    assert.deepEqual(await (await session.load("first")).items(), []);
    const hint = /^checkpoints: first, good; or a time, such as/;
    await assert.rejects(session.load("bad"), { code: "not-found", message: /no checkpoint "bad"/, hint });
  });

  test(`a rewind changes the mind, keeps the log and the standing, and can be undone (${name})`, async () => {
    await using place = await make();
    const session = await place.engine.open({ objective: "o", labels: { a: "b" } });
    await session.record("fact", "k", 1);
    await session.record("fact", "k", 2);
    await session.label({ a: "c" });
    const before = await session.state();
    assert.equal((await session.rewind(2)).seq, 5);
    const after = await session.state();
    assert.deepEqual(
      after.items.map(({ value }) => value),
      [1],
    );
    assert.deepEqual(after.labels, { a: "c" });
    assert.equal(after.mindHash, (await session.state({ atSeq: 2 })).mindHash);
    await session.rewind(3);
    const redone = await session.state();
    assert.deepEqual([redone.items, redone.mindHash], [before.items, before.mindHash]);
    assert.equal((await all(session.events())).length, 6);
    assert.equal((await session.verify()).ok, true);
  });

  test(`a fork shares what came before and goes its own way (${name})`, async () => {
    await using place = await make();
    const parent = await place.engine.open({ objective: "o", name: "n", agent: "a", budget: { steps: 5 } });
    await parent.record("fact", "k", 1);
    await parent.append("only here");
    const fork = await parent.fork({ atSeq: 3, objective: "what if", labels: { try: "1" } });
    await fork.record("fact", "k", 2);
    await parent.record("fact", "k", 3);
    const [theirs, ours] = [await fork.state(), await parent.state()];
    assert.deepEqual(theirs.fork, { parent: parent.id, seq: 3 });
    assert.deepEqual([theirs.objective, theirs.name, theirs.agent?.name], ["what if", "n", "a"]);
    assert.deepEqual(
      [theirs.inbox.count, theirs.labels, theirs.budget.limits],
      [0, { try: "1" }, { steps: 5 }],
    );
    assert.deepEqual([theirs.items[0]?.value, ours.items[0]?.value], [2, 3]);
    const events = await all(fork.events());
    assert.deepEqual(
      events.map(({ session }) => session),
      [...Array<string>(3).fill(parent.id), ...Array<string>(4).fill(fork.id)],
    );
    const deep = await fork.fork({ atSeq: 2 });
    assert.deepEqual((await deep.state()).fork, { parent: fork.id, seq: 2 });
    for (const session of [parent, fork, deep]) assert.equal((await session.verify()).ok, true);
    assert.equal((await place.engine.verify()).ok, true);
  });

  test(`a fork can be rewound to before its beginning (${name})`, async () => {
    await using place = await make();
    const parent = await place.engine.open({ objective: "o" });
    await parent.append("one");
    await parent.record("fact", "k", 1);
    await writeRaw(place, parent.id, [{ type: "turn.started", body: { inputs: [[2, 1]] } }]);
    const fork = await parent.fork();
    await fork.append("two");
    for (const toSeq of [1, 2, 3, 4]) {
      await fork.rewind(toSeq, { requeue: true });
      const [now, then] = [await fork.state(), await fork.state({ atSeq: toSeq })];
      assert.equal(now.mindHash, then.mindHash);
      assert.equal(now.inbox.count, 1);
    }
  });

  test(`clearing closes a session and opens the next, in one append (${name})`, async () => {
    await using place = await make();
    const first = await place.engine.open({
      objective: "o",
      agent: "a",
      labels: { l: "v" },
      priority: 1,
      bind: [{ kind: "mcp", name: "git", url: "http://x", options: { deep: 1 } }],
      grant: [{ tool: "shell", rule: "allow", pattern: "git *" }],
    });
    await first.append("said");
    const next = await first.clear({ reason: "too long" });
    const [old, fresh] = [await first.state(), await next.state()];
    assert.deepEqual([old.status, old.why?.reason], ["closed", "too long"]);
    assert.deepEqual(
      [fresh.status, fresh.objective, fresh.agent?.name, fresh.labels, fresh.priority, fresh.inbox.count],
      ["open", "o", "a", { l: "v" }, 1, 1],
    );
    const bound = await all(next.events({ types: ["resource.bound", "permission.set"] }));
    assert.deepEqual(
      bound.map(({ content }) => content),
      [{ url: "http://x", options: { deep: 1 } }, { pattern: "git *" }],
    );
    const [opened] = await all(next.events({ limit: 1 }));
    assert.equal((opened?.body as { from?: string } | undefined)?.from, first.id);
    await assert.rejects(first.clear(), { code: "refused", hint: /reopen it first/ });
    await next.bind({ kind: "mcp", name: "large", url: "http://y", options: { text: "x".repeat(100_000) } });
    const other = await next.clear({ objective: "p", name: "q" });
    assert.equal((await other.verify()).ok, true);
    const [large] = await all(other.events({ types: ["resource.bound"], limit: 1, reverse: true }));
    assert.equal(JSON.stringify(large?.content).length, 100_040);
    assert.deepEqual([(await other.state()).objective, (await other.state()).name], ["p", "q"]);
  });

  test(`a fork never gets back what its parent lost (${name})`, async () => {
    await using place = await make();
    const parent = await place.engine.open({
      objective: "o",
      bind: ["kept", "taken", "moved"].map((one) => ({ kind: "file" as const, name: one, path: one })),
      grant: [
        { tool: "same", rule: "allow", pattern: "a *" },
        { tool: "stricter", rule: "allow" },
        { tool: "laxer", rule: "deny" },
        { tool: "gone", rule: "allow" },
        { tool: "narrower", rule: "allow", pattern: "git *" },
      ],
    });
    const { seq } = await parent.head();
    await parent.unbind("taken");
    await parent.bind({ kind: "file", name: "moved", path: "elsewhere" });
    await parent.grant({ tool: "stricter", rule: "ask", reason: "it writes" });
    await parent.grant({ tool: "laxer", rule: "allow" });
    await parent.grant({ tool: "gone", rule: "none" });
    await parent.grant({ tool: "narrower", rule: "allow", pattern: "git status" });
    await parent.grant({ tool: "new", rule: "deny" });
    await parent.grant({ tool: "newly-allowed", rule: "allow" });
    const fork = await parent.fork({ atSeq: seq });
    const { bindings, permissions } = await fork.state();
    assert.deepEqual(
      bindings.map((one) => one.name),
      ["kept"],
    );
    assert.deepEqual(
      permissions.map(({ tool, rule }) => `${tool} ${rule}`),
      ["laxer deny", "narrower allow", "new deny", "same allow", "stricter ask"],
    );
    const set = await all(fork.events({ types: ["permission.set"], fromSeq: seq + 1 }));
    const patterns = set.map(({ body, content }) => [(body as { tool: string }).tool, content]);
    assert.deepEqual(Object.fromEntries(patterns), {
      gone: undefined,
      narrower: { pattern: "git status" },
      new: undefined,
      stricter: { reason: "it writes" },
    });
  });

  test(`deleting a session leaves its forks (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const parent = await engine.open({ objective: "o" });
    await parent.record("fact", "k", 1);
    const fork = await parent.fork();
    const { hash } = await parent.head();
    await engine.delete(parent.id, { reason: "asked for" });
    await assert.rejects(parent.state(), { code: "not-found" });
    await assert.rejects(engine.session(parent.id), { code: "not-found" });
    await assert.rejects(parent.append("x"), { code: "not-found" });
    await assert.rejects(engine.delete(parent.id), { code: "not-found" });
    assert.deepEqual(
      (await fork.items()).map(({ value }) => value),
      [1],
    );
    assert.deepEqual(
      (await engine.sessions()).rows.map(({ session }) => session),
      [fork.id],
    );
    const { events } = await engine.feed();
    const said = events.find(({ type }) => type === "session.deleted");
    assert.deepEqual(said?.body, { session: parent.id, headSeq: 2, headHash: hash });
    assert.deepEqual(said?.content, { reason: "asked for" });
    assert.equal((await engine.verify()).ok, true);
    await fork.append("still alive");
  });
}

test("a held or running session is not deleted", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await writeRaw(place, session.id, [{ type: "hold.set", body: { name: "audit" } }]);
  const held = {
    code: "refused",
    message: /under legal hold "audit"/,
    hint: /^lift the hold first: skein hold /,
  };
  await assert.rejects(place.engine.delete(session.id), held);
  await writeRaw(place, session.id, [
    { type: "hold.lifted", body: { name: "audit" } },
    { type: "turn.started", body: { inputs: [] } },
  ]);
  await assert.rejects(place.engine.delete(session.id), { code: "refused", hint: "interrupt it first" });
  await session.cancel();
  await place.engine.delete(session.id);
});

test("an id may be given by any ending that only one session has", async () => {
  await using place = inMemory();
  const { engine } = place;
  const ids: string[] = [];
  for (let count = 0; count < 40; count++) ids.push((await engine.open({ objective: "o" })).id);
  // Forty ids and thirty-two letters: two of them end alike.
  const one = ids.find((id) => ids.some((other) => other !== id && other.at(-1) === id.at(-1)))!;
  for (const ending of [one, one.slice(4), one.slice(-8)])
    assert.equal((await engine.session(ending)).id, one);
  await assert.rejects(engine.session(one.slice(-1)), { code: "invalid", hint: /use a longer suffix: ses_/ });
  // Two letters that only one has: most likely a slip, and some calls delete.
  const few = ids.find((id) => ids.every((other) => other === id || other.slice(-3) !== id.slice(-3)))!;
  const hint = `for example ${few.slice(-6)}`;
  await assert.rejects(engine.session(few.slice(-3)), { code: "invalid", hint });
  await assert.rejects(engine.session("zzzzzzzzzzzz"), { code: "not-found" });
  for (const wrong of ["", "ses_", "not an id!", "%"]) {
    await assert.rejects(engine.session(wrong), (error: { code?: string }) =>
      /invalid|not-found/.test(error.code ?? ""),
    );
  }
});

test(
  "what was erased is not carried on: no binding without address, no rule without pattern",
  { skip: noFile() },
  async () => {
    await using place = await inFile();
    const session = await place.engine.open({
      objective: "o",
      bind: [
        { kind: "file", name: "erased", path: "p" },
        { kind: "file", name: "kept", path: "p" },
      ],
      grant: [
        { tool: "erased", rule: "allow", pattern: "git *" },
        { tool: "kept", rule: "allow" },
      ],
    });
    const raw = new DatabaseSync(place.path);
    raw.exec("UPDATE records SET content = NULL, salt = NULL WHERE body LIKE '%erased%'");
    raw.close();
    const next = await (await session.clear()).state();
    assert.deepEqual(
      next.bindings.map(({ name }) => name),
      ["kept"],
    );
    assert.deepEqual(
      next.permissions.map(({ name }) => name),
      ["kept"],
    );
    const other = await place.engine.open({ objective: "o", grant: [{ tool: "t", rule: "allow" }] });
    const { seq } = await other.head();
    await other.grant({ tool: "t", rule: "allow", pattern: "narrow" });
    const again = new DatabaseSync(place.path);
    again.exec("UPDATE records SET content = NULL, salt = NULL WHERE content LIKE '%narrow%'");
    again.close();
    assert.deepEqual((await (await other.fork({ atSeq: seq })).state()).permissions, []);
  },
);

test("an item is named by kind and key; an object is refused with a hint", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const whole = { kind: "fact", key: "k", value: 1 } as never;
  const none = undefined as never;
  const wrong = (call: string, field: string) => ({
    code: "invalid",
    message: new RegExp(`^${call}: ${field}: (expected|missing)`),
  });
  await assert.rejects(session.record(whole, none, undefined), wrong("record", "kind"));
  await assert.rejects(session.record("fact", none, 1), wrong("record", "key"));
  await assert.rejects(session.retract(whole, none), wrong("retract", "kind"));
  assert.equal((await session.head()).seq, 1);
});
