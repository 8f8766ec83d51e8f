/** Merging sessions: forks, nested forks, strangers; conflicts, races, limits; and the laws of it. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { MergeConflict, MergeReport } from "../../../src/runtime/branch/merge.ts";
import { limit } from "../../../src/core/limit.ts";
import { atLength } from "../../kind.ts";
import { all, inFile, inMemory, type Place } from "../place.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

const makers = { memory: async (): Promise<Place> => inMemory(), sqlite: inFile } as const;

const tier = async (session: Session): Promise<unknown[]> =>
  (await session.items()).map(({ kind, key, value, status }) => [`${kind}/${key}`, value, status]);

/** What matters of a report that brought something or not. */
const brief = ({ ok, taken, same, left, conflicts, written }: MergeReport) => ({
  ok,
  taken: taken.map(({ kind, key }) => `${kind}/${key}`),
  same,
  left,
  conflicts: conflicts.map(({ name }) => name),
  written,
});
const nothing = { ok: true, taken: [], same: [], left: [], conflicts: [], written: null };

for (const [name, make] of Object.entries(makers)) {
  test(`what a fork learned comes into its parent with its origin, in one append (${name})`, async () => {
    await using place = await make();
    const a = await place.engine.open({ objective: "Payroll" });
    await a.record("fact", "rate", 4);
    await a.record("task", "run", "the payroll");
    const b = await a.fork({ objective: "What if the rate rises?" });
    await b.record("fact", "rate", 5, { because: "the council" });
    await b.record("task", "run", "the payroll", { status: "done" });
    await b.record("decision", "when", { month: "may" });
    await a.record("fact", "own", true);
    const report = await a.merge({ from: b.id.slice(-8) });
    const { hash } = await b.head();
    assert.deepEqual(brief(report), {
      ...nothing,
      taken: ["decision/when", "fact/rate", "task/run"],
      written: 8,
    });
    assert.deepEqual(
      [report.base, report.range],
      [
        { session: a.id, seq: 3 },
        { fromSeq: 4, toSeq: 7 },
      ],
    );
    assert.deepEqual(await tier(a), [
      ["decision/when", { month: "may" }, null],
      ["fact/own", true, null],
      ["fact/rate", 5, null],
      ["task/run", "the payroll", "done"],
    ]);
    const events = (await all(a.events({ fromSeq: 5 }))).map(({ type, body, content, cause }) => ({
      type,
      body,
      content,
      cause,
    }));
    const summary =
      `It worked on positions 4 to 7 of its own log: ${b.id}@4-7.\n\n` +
      "Its objective: What if the rate rises?\n\nWhat came in from there:\n" +
      '- decision when: {"month":"may"}\n- fact rate: 5; because the council\n- task run (done): the payroll';
    const copied = (body: object, seq: number, content: object) => ({
      type: "item.recorded",
      body: { ...body, origin: { session: b.id, seq } },
      content,
      cause: 8,
    });
    assert.deepEqual(events, [
      copied({ kind: "decision", key: "when" }, 7, { value: { month: "may" } }),
      copied({ kind: "fact", key: "rate" }, 5, { value: 5, because: "the council" }),
      copied({ kind: "task", key: "run", status: "done" }, 6, { value: "the payroll" }),
      {
        type: "session.merged",
        body: {
          from: b.id,
          fromSeq: 4,
          toSeq: 7,
          toHash: hash,
          base: { session: a.id, seq: 3 },
          taken: 3,
          resolved: 0,
        },
        content: { summary },
        cause: null,
      },
    ]);
    assert.equal((await a.verify()).ok, true);
    // The other log is not needed any more.
    await place.engine.delete(b.id);
    assert.deepEqual((await tier(a)).length, 4);
    assert.equal((await a.state()).seq, 8);
  });

  test(`a merge with conflicts changes nothing until each is resolved by name (${name})`, async () => {
    await using place = await make();
    const { engine, world } = place;
    const a = await engine.open({ objective: "o" });
    await a.record("fact", "rate", 4, { because: "old" });
    await a.record("fact", "gone", 1);
    const b = await a.fork();
    world.pass(5);
    await a.record("fact", "rate", 5, { because: "ours" });
    await a.retract("fact", "gone", { because: "wrong" });
    world.pass(5);
    await b.record("fact", "rate", 6, { because: "theirs" });
    await b.record("fact", "gone", 2);
    await b.record("fact", "new", 1);
    const before = await a.head();
    const report = await a.merge({ from: b.id });
    assert.deepEqual(brief(report), {
      ...nothing,
      ok: false,
      taken: ["fact/new"],
      conflicts: ["fact/gone", "fact/rate"],
    });
    const at = (await a.state({ atSeq: 1 })).at;
    const actor = (await all(a.events({ limit: 1 })))[0]!.actor;
    const side = { status: null, actor, gone: null };
    assert.deepEqual(report.conflicts[1], {
      name: "fact/rate",
      kind: "fact",
      key: "rate",
      base: { ...side, value: 4, at, because: "old", seq: 2 },
      ours: { ...side, value: 5, at: at + 5, because: "ours", seq: 4 },
      theirs: { ...side, value: 6, at: at + 10, because: "theirs", seq: 5 },
    });
    assert.deepEqual(report.conflicts[0]!.ours, {
      value: null,
      status: null,
      actor,
      at: at + 5,
      because: "wrong",
      seq: 5,
      gone: "retracted",
    });
    const half = await a.merge({ from: b.id, resolve: { "fact/rate": "theirs" } });
    assert.deepEqual(
      [half.ok, half.conflicts.length, half.resolved.length, half.written],
      [false, 1, 1, null],
    );
    assert.deepEqual(await a.head(), before);
    const resolve = {
      "fact/rate": { take: "both", because: "two councils" },
      "fact/gone": "ours",
    } as const;
    const dry = await a.merge({ from: b.id, resolve, dryRun: true });
    assert.deepEqual([dry.ok, dry.written], [true, null]);
    assert.deepEqual(await a.head(), before);
    const done = await a.merge({ from: b.id, resolve });
    assert.deepEqual({ ...done, written: null }, dry);
    const [merged] = await all(a.events({ fromSeq: done.written! }));
    assert.deepEqual((merged!.content as { resolutions: unknown }).resolutions, [
      { kind: "fact", key: "gone", take: "ours" },
      { kind: "fact", key: "rate", take: "both", because: "two councils" },
    ]);
    assert.deepEqual(await tier(a), [
      ["fact/new", 1, null],
      ["fact/rate", 5, null],
      [`fact/rate (from ${b.id.slice(-8)})`, 6, null],
    ]);
    assert.deepEqual(brief(await a.merge({ from: b.id })), nothing);
  });
}

suite("merging again", { concurrency: true }, () => {
  test("merges only new items, also of an ancestor, and in both directions", async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "o" });
    await a.record("fact", "x", 1);
    const b = await a.fork();
    assert.deepEqual(brief(await a.merge({ from: b.id })), nothing);
    assert.deepEqual(brief(await b.merge({ from: a.id })), nothing);
    await b.record("fact", "x", 2);
    assert.deepEqual(brief(await a.merge({ from: b.id })).taken, ["fact/x"]);
    assert.deepEqual(brief(await a.merge({ from: b.id })), nothing);
    await b.save("here");
    assert.deepEqual(brief(await a.merge({ from: b.id })), nothing);
    // B changed it again: what A has is B's own earlier value, not a change of A's.
    await b.record("fact", "x", 3);
    assert.deepEqual(brief(await a.merge({ from: b.id })).taken, ["fact/x"]);
    // And the other way: A's value came from B, so that B's newer one is no conflict.
    await b.record("fact", "x", 4);
    assert.deepEqual(brief(await b.merge({ from: a.id })), nothing);
    await a.record("fact", "y", 1);
    assert.deepEqual(brief(await b.merge({ from: a.id })).taken, ["fact/y"]);
    await a.record("fact", "y", 2);
    assert.deepEqual(brief(await a.merge({ from: b.id })).taken, ["fact/x"]);
    assert.deepEqual(brief(await b.merge({ from: a.id })).taken, ["fact/y"]);
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const)
      assert.deepEqual(brief(await one.merge({ from: other.id })), nothing);
    assert.deepEqual(await tier(a), await tier(b));
  });

  test("does not ask again about resolved conflicts", async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "o" });
    const b = await a.fork();
    for (const take of ["ours", "theirs", "both", { value: 9 }] as const) {
      await a.record("fact", "x", `a ${JSON.stringify(take)}`);
      await b.record("fact", "x", `b ${JSON.stringify(take)}`);
      const report = await a.merge({ from: b.id, resolve: { "fact/x": take } });
      assert.equal(report.resolved.length, 1);
      await b.record("fact", "other", JSON.stringify(take));
      assert.deepEqual(brief(await a.merge({ from: b.id })).conflicts, []);
    }
  });

  test("after a rewind to before it, brings it again", async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "o" });
    const b = await a.fork();
    await b.record("fact", "x", 1);
    await a.merge({ from: b.id });
    await a.rewind(1);
    assert.deepEqual(await tier(a), []);
    assert.deepEqual(brief(await a.merge({ from: b.id })).taken, ["fact/x"]);
    // What the other session unlearned by a rewind is a change, too.
    await b.rewind(1);
    assert.deepEqual(brief(await a.merge({ from: b.id })).taken, ["fact/x"]);
    assert.deepEqual(await tier(a), []);
  });
});

suite("the common ancestor", { concurrency: true }, () => {
  test("is found through nested forks, forks of one parent, and deleted parents", async () => {
    await using place = inMemory();
    const { engine } = place;
    const root = await engine.open({ objective: "o" });
    await root.record("fact", "x", 1);
    const middle = await root.fork();
    await middle.record("fact", "x", 2);
    const leaf = await middle.fork();
    const sibling = await root.fork();
    await leaf.record("fact", "x", 3);
    const base = { session: root.id, seq: 2 };
    const up = await root.merge({ from: leaf.id, dryRun: true });
    assert.deepEqual([brief(up).taken, up.base], [["fact/x"], base]);
    await engine.delete(middle.id);
    const across = await sibling.merge({ from: leaf.id });
    assert.deepEqual([brief(across).taken, across.base], [["fact/x"], base]);
    await root.record("fact", "x", 4);
    const down = await leaf.merge({ from: root.id });
    assert.deepEqual([brief(down).conflicts, down.base], [["fact/x"], base]);
  });

  test("of a fork that begins before its parent did is further up", async () => {
    await using place = inMemory();
    const root = await place.engine.open({ objective: "o" });
    await root.record("fact", "x", 1);
    await root.record("fact", "y", 1);
    const middle = await root.fork();
    const early = await middle.fork({ atSeq: 2 });
    const report = await middle.merge({ from: early.id, dryRun: true });
    assert.deepEqual([brief(report), report.base], [nothing, { session: root.id, seq: 2 }]);
    await early.record("fact", "y", 2);
    assert.deepEqual(brief(await root.merge({ from: early.id })).conflicts, ["fact/y"]);
  });

  test("is what was merged of a session that the other is a fork of", async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "a" });
    const b = await place.engine.open({ objective: "b" });
    await b.record("fact", "x", 1);
    await a.merge({ from: b.id });
    await a.record("fact", "x", 2);
    const c = await b.fork();
    await c.record("fact", "y", 1);
    const report = await a.merge({ from: c.id });
    assert.deepEqual([brief(report).taken, brief(report).conflicts], [["fact/y"], []]);
    assert.deepEqual(report.base, { session: b.id, seq: 2 });
  });

  test("of unrelated sessions is empty: equal keys conflict, unless the values are equal", async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "a" });
    const b = await place.engine.open({ objective: "b" });
    for (const one of [a, b]) await one.record("fact", "same", [1]);
    await a.record("fact", "x", 1);
    await b.record("fact", "x", 2);
    await b.record("fact", "y", 1);
    const report = await a.merge({ from: b.id, resolve: { "fact/x": { value: 3, because: "sum" } } });
    assert.deepEqual([report.base, report.same, brief(report).taken], [null, ["fact/same"], ["fact/y"]]);
    assert.deepEqual(await tier(a), [
      ["fact/same", [1], null],
      ["fact/x", 3, null],
      ["fact/y", 1, null],
    ]);
  });
});

suite("bad input is clear and harmless", { concurrency: true }, () => {
  test("itself, an unknown session, an ended session, unknown options", async () => {
    await using place = inMemory();
    const { engine } = place;
    const a = await engine.open({ objective: "o" });
    const b = await a.fork();
    await b.record("fact", "x", 1);
    const options = (given: object) => given as Parameters<Session["merge"]>[0];
    await assert.rejects(a.merge({ from: a.id }), {
      code: "invalid",
      message: /from: expected another session/,
    });
    await assert.rejects(a.merge({ from: "ses_00000000000000000000000000" }), { code: "not-found" });
    await assert.rejects(a.merge(options({})), { code: "invalid" });
    await assert.rejects(a.merge(options({ from: b.id, form: 1 })), { hint: /did you mean "from"/ });
    await assert.rejects(a.merge(options({ from: b.id, resolve: "ours" })), { code: "invalid" });
    await assert.rejects(a.merge(options({ from: b.id, summary: 1 })), { code: "invalid" });
    await assert.rejects(a.merge({ from: b.id, resolve: { "fact/x": "ours" } }), {
      code: "not-found",
      message: 'merge: resolve: no such conflict "fact/x"',
      hint: "the merge has no conflicts",
    });
    await a.close();
    await assert.rejects(a.merge({ from: b.id }), { code: "refused", hint: /reopen/ });
    await a.archive();
    await assert.rejects(a.merge({ from: b.id }), { code: "refused", message: /is archived/ });
    assert.equal((await a.merge({ from: b.id, dryRun: true })).taken.length, 1);
    await a.reopen();
    await b.close();
    await b.archive();
    assert.equal((await a.merge({ from: b.id })).taken.length, 1);
  });

  test("answers that are none", async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "o" });
    await a.record("fact", "gone", 1);
    const b = await a.fork();
    await a.record("fact", "x", 1);
    await b.record("fact", "x", 2);
    await a.retract("fact", "gone");
    await b.record("fact", "gone", 2);
    const before = await a.head();
    const wrong: readonly [unknown, RegExp][] = [
      ["mine", /unknown side "mine"/],
      [1, /expected a resolution/],
      [null, /expected a resolution/],
      [{}, /value: missing/],
      [{ take: "ours", value: 1 }, /not both/],
      [{ value: 1, status: "done" }, /status: not allowed for a fact/],
      [{ value: 1, reason: "r" }, /unknown option "reason"/],
      [{ take: "ours", because: "b".repeat(limit.reasonCharsMax + 1) }, /because: expected a short text/],
    ];
    for (const [answer, message] of wrong) {
      const resolve = { "fact/x": answer as "ours", "fact/gone": "ours" } as const;
      await assert.rejects(a.merge({ from: b.id, resolve }), { code: "invalid", message });
    }
    await assert.rejects(a.merge({ from: b.id, resolve: { "fact/gone": "both", "fact/x": "ours" } }), {
      message: /the item is retracted on one side/,
    });
    await assert.rejects(a.merge({ from: b.id, resolve: { "fact/X": "ours" } }), {
      hint: 'did you mean "fact/x"?',
    });
    const nan = { "fact/x": { value: Number.NaN }, "fact/gone": "ours" } as const;
    await assert.rejects(a.merge({ from: b.id, resolve: nan }), { code: "invalid" });
    assert.deepEqual(await a.head(), before);
  });
});

suite("a resolver", { concurrency: true }, () => {
  test("decides each conflict, and its reasons are stored", async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "o" });
    const b = await a.fork();
    for (const key of ["x", "y"]) {
      await a.record("task", key, 1);
      await b.record("task", key, 2, { status: "dropped" });
    }
    const asked: MergeConflict[] = [];
    const report = await a.merge({
      from: b.id,
      resolve: async (conflict) => {
        asked.push(conflict);
        await Promise.resolve();
        return conflict.key === "x" ? { take: "theirs", because: "newer" } : { value: 1.5, because: "mean" };
      },
    });
    assert.deepEqual(
      asked.map(({ name }) => name),
      ["task/x", "task/y"],
    );
    assert.equal(report.ok, true);
    assert.deepEqual(
      (await a.items()).map(({ key, value, status, because }) => [key, value, status, because]),
      [
        ["x", 2, "dropped", null],
        ["y", 1.5, "dropped", "mean"],
      ],
    );
    const [merged] = await all(a.events({ types: ["session.merged"] }));
    assert.deepEqual((merged!.content as { resolutions: unknown }).resolutions, [
      { kind: "task", key: "x", take: "theirs", because: "newer" },
      { kind: "task", key: "y", take: "value", because: "mean" },
    ]);
  });

  test("that has no answer leaves the conflict, and one that fails changes nothing", async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "o" });
    const b = await a.fork();
    await a.record("fact", "x", 1);
    await b.record("fact", "x", 2);
    const before = await a.head();
    assert.equal((await a.merge({ from: b.id, resolve: () => undefined })).ok, false);
    const fail = () => Promise.reject(new Error("the model is asleep"));
    await assert.rejects(a.merge({ from: b.id, resolve: fail }), /asleep/);
    assert.deepEqual(await a.head(), before);
  });

  test("decides again only where the session has changed", async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "o" });
    const b = await a.fork();
    for (const key of ["x", "y"]) {
      await a.record("fact", key, 1);
      await b.record("fact", key, 2);
    }
    const asked: string[] = [];
    const report = await a.merge({
      from: b.id,
      resolve: async ({ name, ours }): Promise<"theirs"> => {
        asked.push(`${name} ${String(ours.value)}`);
        if (asked.length === 2) await a.record("fact", "y", 3);
        return "theirs";
      },
    });
    assert.deepEqual(asked, ["fact/x 1", "fact/y 1", "fact/y 3"]);
    assert.equal(report.ok, true);
    assert.deepEqual(await tier(a), [
      ["fact/x", 2, null],
      ["fact/y", 2, null],
    ]);
  });
});

test("the model gets it once: a marked summary at the end, with the other transcript", async () => {
  const script = scripted(["Paris is the capital.", "Lyon is large.", "noted"]);
  await using engine = engineWith(script);
  const a = await engine.open({ objective: "Geography" });
  const b = await a.fork({ objective: "France" });
  await all(b.ask("the capital?"));
  await b.record("fact", "capital", "Paris");
  await all(b.ask("another city?"));
  await a.merge({ from: b.id });
  await all(a.ask("Did you hear?"));
  const last = script.calls.at(-1)!.parts.at(-1) as { content: readonly { text: string }[] };
  const { seq } = await b.head();
  assert.deepEqual(
    last.content.map(({ text }) => text),
    [
      `[merged from session ${b.id}]\n` +
        `It worked on positions 2 to ${seq} of its own log: ${b.id}@2-${seq}.\n\n` +
        "Its objective: France\n\nWhat came in from there:\n- fact capital: Paris\n\n" +
        "What was said last over there:\nParis is the capital.\n\nLyon is large.",
      "Did you hear?",
    ],
  );
  assert.equal((await a.context({ atSeq: (await requests(a)).at(-1)! })).matches, true);
  const own = await a.fork();
  await all(own.ask("more"));
  const report = await a.merge({ from: own.id, summary: "It went well." });
  assert.equal(report.summary?.split("\n\n")[1], "It went well.");
  assert.deepEqual(brief(await a.merge({ from: own.id })), nothing);
});

const requests = async (session: Session): Promise<number[]> =>
  (await all(session.events({ types: ["model.requested"] }))).map(({ seq }) => seq);

test(
  "more items than one append holds come in several, and the event with the last",
  { skip: atLength() },
  async () => {
    await using place = inMemory();
    const a = await place.engine.open({ objective: "o" });
    const b = await a.fork();
    for (let count = 0; count < limit.appendRecordsMax; count++) await b.record("fact", `k${count}`, count);
    const report = await a.merge({ from: b.id });
    assert.equal(report.taken.length, limit.appendRecordsMax);
    assert.equal((await a.items()).length, limit.appendRecordsMax);
    const [merged] = await all(a.events({ fromSeq: report.written! }));
    assert.equal((merged!.body as { taken: number }).taken, limit.appendRecordsMax);
    assert.deepEqual(brief(await a.merge({ from: b.id })), nothing);
  },
);
