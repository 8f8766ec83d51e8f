/** Deciding what a session knows and may use: items, scratch, bindings, permissions, input. */
import type { AppendRecord } from "../../../src/core/turn/commands.ts";
import type { Command } from "../../../src/core/command.ts";
import { itemKinds, kindRank } from "../../../src/core/item/kind.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DraftEvent } from "../../../src/core/decision.ts";
import { limit } from "../../../src/core/limit.ts";
import { given, type Given } from "../given.ts";

/** That many events of one kind, each with a key of its own. */
const many = (count: number, make: (place: number) => DraftEvent): Given =>
  given().write(...Array.from({ length: count }, (_, place) => make(place)));

test("an item has a kind, a key and a value; tasks and hypotheses start open", () => {
  for (const kind of [...itemKinds, "own-kind"]) {
    const body =
      kind === "task" || kind === "hypothesis" ? { kind, key: "k", status: "open" } : { kind, key: "k" };
    assert.deepEqual(given().brings({ do: "record", kind, key: "k", value: null }), [
      { type: "item.recorded", body, content: { value: null } },
    ]);
  }
  assert.deepEqual(
    given().brings({ do: "record", kind: "task", key: "k", value: 1, status: "done", because: "b" }),
    [
      {
        type: "item.recorded",
        body: { kind: "task", key: "k", status: "done" },
        content: { value: 1, because: "b" },
      },
    ],
  );
  const status = given().refusal({ do: "record", kind: "fact", key: "k", value: 1, status: "done" });
  assert.deepEqual(status, { code: "invalid", message: "fact: status: not allowed", hint: "omit it" });
  assert.equal(given().refusal({ do: "record", kind: "fact", key: "k", value: undefined }).code, "invalid");
});

test("only some kinds have a status, and only hypotheses and findings confidence and evidence", () => {
  const item = { do: "record", key: "k", value: 1 } as const;
  assert.deepEqual(
    given().brings({
      ...item,
      kind: "hypothesis",
      status: "supported",
      confidence: 0.8,
      evidence: ["4x8kz1@12"],
    }),
    [
      {
        type: "item.recorded",
        body: { kind: "hypothesis", key: "k", status: "supported", confidence: 0.8 },
        content: { value: 1, evidence: ["4x8kz1@12"] },
      },
    ],
  );
  const [rejected] = given().brings({ ...item, kind: "decision", status: "rejected", because: "too slow" });
  assert.deepEqual(rejected?.body, { kind: "decision", key: "k", status: "rejected" });
  const message = (command: object): string => given().refusal({ ...item, ...command } as Command).message;
  assert.equal(message({ kind: "decision", status: "open" }), 'decision: status: got "open"');
  assert.equal(message({ kind: "hypothesis", status: "done" }), 'hypothesis: status: got "done"');
  assert.equal(message({ kind: "fact", confidence: 0.5 }), "fact: confidence: not allowed");
  assert.equal(message({ kind: "task", evidence: ["x"] }), "task: evidence: not allowed");
});

test("constraints and decisions come first, settled items last", () => {
  const ranked = [...itemKinds].toSorted((a, b) => kindRank(a) - kindRank(b));
  assert.deepEqual(ranked.slice(0, 4), ["constraint", "decision", "task", "preference"]);
  assert.ok(kindRank("own-kind") > kindRank("artifact"));
  assert.ok(kindRank("task", "done") > kindRank("own-kind"));
  assert.ok(kindRank("hypothesis", "rejected") > kindRank("hypothesis", "open"));
  assert.equal(kindRank("decision", "rejected"), kindRank("decision"));
});

test("records written in a turn carry its number", () => {
  const running = given().and("turn.started", { inputs: [] });
  const recorded = running.when({ do: "record", kind: "fact", key: "k", value: 1 });
  const turns = [
    running.brings({ do: "record", kind: "fact", key: "k", value: 1 }),
    recorded.brings({ do: "retract", kind: "fact", key: "k" }),
    running.brings({ do: "scratch", key: "k", value: 1 }),
  ].map(([draft]) => draft?.turn);
  assert.deepEqual(turns, [1, 1, 1]);
});

test("items of two kinds may share a key, and only existing items are retracted", () => {
  const two = given()
    .when({ do: "record", kind: "fact", key: "k", value: 1 })
    .when({ do: "record", kind: "decision", key: "k", value: 2 });
  assert.equal(two.state.mind.items.size, 2);
  assert.deepEqual(two.brings({ do: "retract", kind: "fact", key: "k", because: "old" }), [
    { type: "item.retracted", body: { kind: "fact", key: "k" }, content: { because: "old" } },
  ]);
  const one = two.when({ do: "retract", kind: "fact", key: "k" });
  assert.deepEqual([...one.state.mind.items.keys()], ["decision/k"]);
  assert.deepEqual(one.refusal({ do: "retract", kind: "fact", key: "k" }), {
    code: "not-found",
    message: 'there is no fact "k" to retract',
    hint: '"skein state ID" lists the items',
  });
});

test("a pin names the record of its value; one that does not fit is refused with its size", () => {
  const one = given().when({ do: "record", kind: "decision", key: "k", value: 1 });
  const pin: Command = { do: "pin", kind: "decision", key: "k", because: "always" };
  const body = { kind: "decision", key: "k", item: one.state.mind.items.get("decision/k")!.seq };
  assert.deepEqual(one.brings(pin), [{ type: "item.pinned", body, content: { because: "always" } }]);
  const pinned = one.when(pin);
  assert.deepEqual([...pinned.state.mind.pins.keys()], ["decision/k"]);
  assert.deepEqual([...pinned.when({ do: "unpin", kind: "decision", key: "k" }).state.mind.pins.keys()], []);
  const gone = pinned.when({ do: "retract", kind: "decision", key: "k" });
  assert.deepEqual([...gone.state.mind.pins.keys()], []);
  assert.equal(gone.refusal(pin).code, "not-found");
  assert.equal(one.refusal({ do: "unpin", kind: "decision", key: "k" }).code, "not-found");
  assert.deepEqual(one.refusal({ ...pin, pinned: { tokens: 12_345, tokensBefore: 0, roomTokens: 1_600 } }), {
    code: "refused",
    message: 'pin: decision "k": expected pinned items of at most 1,600 tokens, got 12,345',
    hint: "unpin another item, shorten the value, or give the agent a larger context.shares.pinned",
  });
  one.brings({ ...pin, pinned: { tokens: 1_600, tokensBefore: 0, roomTokens: 1_600 } });
  const larger = { do: "record", kind: "decision", key: "k", value: 2 } as const;
  const over = { tokens: 1_601, tokensBefore: 900, roomTokens: 1_600 };
  assert.deepEqual(pinned.refusal({ ...larger, pinned: over }), {
    code: "refused",
    message: 'record: decision "k" is pinned: expected pinned items of at most 1,600 tokens, got 1,601',
    hint: "unpin another item, shorten the value, or give the agent a larger context.shares.pinned",
  });
  // After a move to a smaller window a smaller value helps, though the pins do not fit yet.
  pinned.brings({ ...larger, pinned: { ...over, tokensBefore: 1_602 } });
});

test("a session at its limit of items can still be corrected", () => {
  const full = many(limit.itemsMax, (place) => ({
    type: "item.recorded",
    body: { kind: "fact", key: `k${place}` },
  }));
  const more: Command = { do: "record", kind: "fact", key: "more", value: 1 };
  assert.deepEqual(full.refusal(more), {
    code: "refused",
    message: "a session holds at most 10000 items",
    hint: "retract outdated items first",
  });
  full.brings({ do: "record", kind: "fact", key: "k0", value: 2 });
  full.when({ do: "retract", kind: "fact", key: "k0" }).brings(more);
});

test("scratch keys are set and removed, up to their limit", () => {
  assert.deepEqual(given().brings({ do: "scratch", key: "k", value: 0 }), [
    { type: "scratch.set", body: { key: "k" }, content: { value: 0 } },
  ]);
  const full = many(limit.scratchMax, (place) => ({ type: "scratch.set", body: { key: `k${place}` } }));
  assert.equal(full.refusal({ do: "scratch", key: "more", value: 1 }).code, "refused");
  full.brings({ do: "scratch", key: "k0", value: 1 });
  assert.deepEqual(full.brings({ do: "scratch", key: "k0" }), [
    { type: "scratch.set", body: { key: "k0", removed: true } },
  ]);
  const less = full.when({ do: "scratch", key: "k0" });
  less.brings({ do: "scratch", key: "more", value: 1 });
  assert.deepEqual(less.refusal({ do: "scratch", key: "k0" }), {
    code: "not-found",
    message: 'there is no scratch key "k0"',
    hint: '"skein state ID" lists the keys',
  });
});

test("a binding is named after its path, URL or kind, and keeps its options", () => {
  const names = [
    { kind: "file", path: "p", url: "u" },
    { kind: "mcp", url: "u" },
    { kind: "shell" },
    { kind: "tool", name: "n", path: "p" },
    { kind: "database", url: "postgres://ann:secret@host:5432/db?password=x#y" },
    { kind: "mcp", url: "https://host/a@b" },
  ] as const;
  const bound = names.map(
    (binding) => (given().brings({ do: "bind", ...binding })[0]?.body as { name?: string } | undefined)?.name,
  );
  assert.deepEqual(bound, ["p", "u", "shell", "n", "postgres://host:5432/db", "https://host/a@b"]);
  const whole = {
    kind: "shell",
    name: "n",
    mode: "write",
    command: ["a"],
    secrets: ["S"],
    options: { o: 1 },
  } as const;
  assert.deepEqual(given().brings({ do: "bind", ...whole }), [
    {
      type: "resource.bound",
      body: { name: "n", kind: "shell", mode: "write" },
      content: { command: ["a"], secrets: ["S"], options: { o: 1 } },
    },
  ]);
});

test("bindings and permissions are taken away again, and have limits", () => {
  const bound = many(limit.bindingsMax, (place) => ({
    type: "resource.bound",
    body: { name: `b${place}`, kind: "file", mode: "read" },
  }));
  assert.equal(bound.refusal({ do: "bind", kind: "file", path: "more" }).code, "refused");
  bound.brings({ do: "bind", kind: "file", name: "b0", mode: "write" });
  bound.when({ do: "unbind", name: "b0" }).brings({ do: "bind", kind: "file", path: "more" });
  assert.equal(bound.refusal({ do: "unbind", name: "nope" }).code, "not-found");
  const granted = many(limit.permissionsMax, (place) => ({
    type: "permission.set",
    body: { name: `p${place}`, tool: "t", rule: "ask" },
  }));
  assert.equal(granted.refusal({ do: "grant", tool: "more", rule: "allow" }).code, "refused");
  granted.brings({ do: "grant", tool: "t", name: "p0", rule: "deny", reason: "r" });
  const less = granted.when({ do: "grant", tool: "t", name: "p0", rule: "none" });
  assert.equal(less.state.standing.permissions.size, limit.permissionsMax - 1);
  assert.equal(less.refusal({ do: "grant", tool: "t", name: "p0", rule: "none" }).code, "not-found");
});

test("input is appended as text or as blocks, and numbered", () => {
  const blocks = [{ type: "text" as const, text: "hi" }];
  const records: readonly AppendRecord[] = [
    { type: "input.received", text: "hi" },
    { type: "input.received", blocks, from: "trigger", mode: "steer" },
    { type: "x.note" },
    { type: "x.note", body: [1], content: null },
  ];
  const one = given().and("input.received", { input: 1 }, { blocks: [] });
  assert.deepEqual(one.brings({ do: "append", records }), [
    { type: "input.received", body: { input: 2 }, content: { blocks } },
    { type: "input.received", body: { input: 3, from: "trigger", mode: "steer" }, content: { blocks } },
    { type: "x.note", body: {} },
    { type: "x.note", body: [1], content: null },
  ]);
});

test("an append holds from one to a thousand records, of input and foreign types only", () => {
  const records = (count: number): AppendRecord[] => Array.from({ length: count }, () => ({ type: "x.a" }));
  assert.equal(given().brings({ do: "append", records: records(limit.appendRecordsMax) }).length, 1_000);
  for (const count of [0, limit.appendRecordsMax + 1]) {
    assert.equal(given().refusal({ do: "append", records: records(count) }).code, "invalid");
  }
  for (const type of ["session.closed", "x.", "y.a", "tool.settled", ""]) {
    const wrong = [{ type: "x.a" }, { type }] as unknown as AppendRecord[];
    assert.deepEqual(given().refusal({ do: "append", records: wrong }), {
      code: "invalid",
      message: `append: type: "${type}" is reserved for the engine`,
      hint: 'use "input.received", or a custom type such as "x.name"',
    });
  }
});
