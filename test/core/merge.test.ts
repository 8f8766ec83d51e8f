/** Three-way over items: what is taken, what is silent, what is a conflict; and the laws of it. */
import { itemKinds } from "../../src/core/item/kind.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { sameJson } from "../../src/core/text/json.ts";
import { limit } from "../../src/core/limit.ts";
import {
  mergeItems,
  resolve,
  takeTheirs,
  type MergeOutcome,
  type MergeItem,
  type MergeItems,
} from "../../src/core/branch/merge.ts";
import { mergeSummary } from "../../src/core/branch/merge-summary.ts";

const from = "ses_00000000000000000000004x8k";

let records = 0;
const item = (name: string, value: unknown, more: Partial<MergeItem> = {}): MergeItem => {
  const [kind, key] = [name.slice(0, name.indexOf("/")), name.slice(name.indexOf("/") + 1)];
  records += 1;
  const status = kind === "task" ? ("open" as const) : null;
  const made = { seq: records, at: records, actor: "system", hash: `hash ${records}`, erased: false };
  return { kind, key, value, because: null, status, ...made, ...more };
};
const erased = (one: MergeItem): MergeItem => ({ ...one, value: null, because: null, erased: true });

const items = (...list: readonly MergeItem[]): MergeItems =>
  new Map(list.map((one) => [`${one.kind}/${one.key}`, one]));

/** Names by what becomes of them. */
const fates = ({ taken, same, left, conflicts }: MergeOutcome) => ({
  taken: taken.map(({ name }) => name),
  same: same.map(({ name }) => name),
  left: left.map(({ name }) => name),
  conflicts: conflicts.map(({ name }) => name),
});
const nothing = { taken: [], same: [], left: [], conflicts: [] };

test("changes of theirs alone are taken: a new item, another value, a retraction", () => {
  const [kept, old, gone] = [item("fact/kept", 1), item("fact/old", 1), item("fact/gone", 1)];
  const base = items(kept, old, gone);
  const theirs = items(kept, item("fact/old", 2), item("decision/new", { yes: true }));
  const merged = mergeItems(base, base, theirs);
  assert.deepEqual(fates(merged), { ...nothing, taken: ["decision/new", "fact/gone", "fact/old"] });
  assert.deepEqual(
    merged.taken.map((triple) => takeTheirs(triple, from)),
    [
      {
        write: "record",
        kind: "decision",
        key: "new",
        value: { yes: true },
        origin: { session: from, seq: theirs.get("decision/new")!.seq },
      },
      { write: "retract", kind: "fact", key: "gone", because: `it no longer holds in ${from}` },
      {
        write: "record",
        kind: "fact",
        key: "old",
        value: 2,
        origin: { session: from, seq: theirs.get("fact/old")!.seq },
      },
    ],
  );
});

test("changes of ours alone stay, and are not reported", () => {
  const [a, b] = [item("fact/a", 1), item("fact/b", 1)];
  const ours = items(item("fact/a", 2), item("fact/c", 3));
  assert.deepEqual(fates(mergeItems(items(a, b), ours, items(a, b))), nothing);
  const recordedAgain = items(item("fact/a", 1), item("fact/b", 1));
  assert.deepEqual(fates(mergeItems(items(a, b), ours, recordedAgain)), nothing);
});

test("the same change on both sides is silent, whatever the order of keys and the reasons", () => {
  const base = items(item("fact/a", 1), item("fact/b", 1));
  const ours = items(item("fact/a", { x: 1, y: [2] }, { because: "read" }));
  const theirs = items(item("fact/a", { y: [2], x: 1 }, { because: "measured" }));
  assert.deepEqual(fates(mergeItems(base, ours, theirs)), { ...nothing, same: ["fact/a", "fact/b"] });
});

test("different changes on both sides are a conflict, with all three values", () => {
  const base = items(item("fact/a", 1), item("fact/b", 1), item("fact/c", 1));
  const ours = items(item("fact/a", 2), item("fact/c", 2), item("fact/d", 1));
  const theirs = items(item("fact/a", 3), item("fact/b", 2), item("fact/d", 2));
  const { conflicts, ...rest } = mergeItems(base, ours, theirs);
  assert.deepEqual(fates({ ...rest, conflicts: [] }), nothing);
  assert.deepEqual(
    conflicts.map(({ name, base: was, ours: here, theirs: there }) => [
      name,
      was?.value ?? null,
      here?.value ?? null,
      there?.value ?? null,
    ]),
    [
      ["fact/a", 1, 2, 3],
      ["fact/b", 1, null, 2],
      ["fact/c", 1, 2, null],
      ["fact/d", null, 1, 2],
    ],
  );
});

test("a task's status is part of its value", () => {
  const base = items(item("task/t", "do it"));
  const done = items(item("task/t", "do it", { status: "done" }));
  const dropped = items(item("task/t", "do it", { status: "dropped" }));
  assert.deepEqual(fates(mergeItems(base, base, done)), { ...nothing, taken: ["task/t"] });
  assert.deepEqual(fates(mergeItems(base, dropped, done)), { ...nothing, conflicts: ["task/t"] });
  assert.deepEqual(fates(mergeItems(base, done, done)), { ...nothing, same: ["task/t"] });
});

test("a reason alone is taken where nothing else was touched, and is never a conflict", () => {
  const base = items(item("decision/d", "yes", { because: "cheap" }));
  const theirs = items(item("decision/d", "yes", { because: "cheap and quick" }));
  const reason = items(item("decision/d", "yes", { because: "small" }));
  const other = items(item("decision/d", "no", { because: "dear" }));
  assert.deepEqual(fates(mergeItems(base, base, theirs)), { ...nothing, taken: ["decision/d"] });
  assert.deepEqual(fates(mergeItems(base, reason, theirs)), nothing);
  assert.deepEqual(fates(mergeItems(base, other, theirs)), nothing);
  assert.deepEqual(fates(mergeItems(base, theirs, other)), { ...nothing, taken: ["decision/d"] });
});

test("an erased base counts as changed on both sides", () => {
  const was = item("fact/a", 1);
  const base = items(erased(was));
  assert.deepEqual(fates(mergeItems(base, base, items(item("fact/a", 2)))), {
    ...nothing,
    conflicts: ["fact/a"],
  });
  assert.deepEqual(fates(mergeItems(base, items(item("fact/a", 2)), items(item("fact/a", 3)))), {
    ...nothing,
    conflicts: ["fact/a"],
  });
  assert.deepEqual(fates(mergeItems(base, items(item("fact/a", 2)), items(item("fact/a", 2)))), {
    ...nothing,
    same: ["fact/a"],
  });
  assert.deepEqual(fates(mergeItems(base, base, base)), nothing);
  assert.deepEqual(fates(mergeItems(base, items(item("fact/a", 2)), base)), nothing);
});

test("items erased in the other session are not merged, and are named", () => {
  const base = items(item("fact/a", 1));
  const theirs = items(erased(item("fact/a", 2)), erased(item("fact/b", 2)));
  assert.deepEqual(fates(mergeItems(base, base, theirs)), { ...nothing, left: ["fact/a", "fact/b"] });
});

test("a conflict is resolved by ours, theirs, both or a value", () => {
  const base = items(item("task/t", 1));
  const theirs = items(item("task/t", 3, { status: "done", because: "b" }));
  const [conflict] = mergeItems(base, items(item("task/t", 2)), theirs).conflicts;
  const settle = (resolution: Parameters<typeof resolve>[1], names: readonly string[] = []) =>
    resolve(conflict!, resolution, { from, isTaken: (name) => names.includes(name) });
  const { seq } = theirs.get("task/t")!;
  const copy = { write: "record", kind: "task", value: 3, because: "b", status: "done" };
  const origin = { session: from, seq };
  assert.deepEqual(settle({ take: "ours" }), []);
  assert.deepEqual(settle({ take: "theirs" }), [{ ...copy, key: "t", origin }]);
  assert.deepEqual(settle({ take: "both" }), [{ ...copy, key: "t (from 00004x8k)", origin }]);
  assert.deepEqual(settle({ take: "both" }, ["task/t (from 00004x8k)"]), [
    { ...copy, key: "t (from 00004x8k 2)", origin },
  ]);
  assert.deepEqual(settle({ take: "value", value: 9, because: "mean" }), [
    { write: "record", kind: "task", key: "t", value: 9, because: "mean", status: "done" },
  ]);
});

test("the key beside a long one fits", () => {
  const key = "k".repeat(limit.keyCharsMax);
  const [conflict] = mergeItems(
    items(),
    items(item(`fact/${key}`, 1)),
    items(item(`fact/${key}`, 2)),
  ).conflicts;
  const [write] = resolve(conflict!, { take: "both" }, { from, isTaken: () => false });
  assert.equal(write!.key.length, limit.keyCharsMax);
  assert.match(write!.key, /k \(from 00004x8k\)$/);
});

test("a summary names its origin, merged items, resolved conflicts and the last answers", () => {
  const source = { from, fromSeq: 4, toSeq: 9, objective: "What if?", taken: [], settled: [], answers: [] };
  assert.equal(
    mergeSummary({
      ...source,
      taken: [
        { write: "record", kind: "task", key: "t", value: "do", status: "done", because: "b" },
        { write: "retract", kind: "fact", key: "f" },
      ],
      settled: [
        {
          name: "fact/x",
          kind: "fact",
          key: "x",
          resolution: { take: "ours", because: "newer" },
          writes: [],
        },
      ],
      answers: ["first", "last"],
    }),
    [
      `It worked on positions 4 to 9 of its own log: ${from}@4-9.`,
      "Its objective: What if?",
      "What came in from there:\n- task t (done): do; because b\n- no longer holds: fact f",
      "Where both had changed it:\n- fact x: it stays as it was here; because newer",
      "What was said last over there:\nfirst\n\nlast",
    ].join("\n\n"),
  );
  const own = mergeSummary({ ...source, objective: null, answers: ["a"], words: "In short." });
  assert.equal(own, `It worked on positions 4 to 9 of its own log: ${from}@4-9.\n\nIn short.`);
});

test("a summary stays small, however much comes in", () => {
  const taken = Array.from({ length: 5_000 }, (_, place) => ({
    write: "record" as const,
    kind: "fact" as const,
    key: `key ${place}`,
    value: "v".repeat(2_000),
  }));
  const answers = ["a".repeat(1_000_000)];
  const source = { from, fromSeq: 1, toSeq: 2, objective: "o".repeat(20_000), settled: [] };
  const text = mergeSummary({ ...source, taken, answers });
  assert.ok(text.length < 20_000, `${text.length} characters`);
  assert.match(text, /and 49\d\d more; recall with kind and key reads one/);
});

/** Small worlds, so that keys and values meet. */
const key = fc.constantFrom("a", "b", "c");
const tier = fc
  .array(fc.record({ kind: fc.constantFrom(...itemKinds), key, value: fc.nat(2) }), { maxLength: 8 })
  .map((list) => items(...list.map(({ kind, key: name, value }) => item(`${kind}/${name}`, value))));
/** A tier that grew from another: some of it kept as it is, some changed, some gone, some new. */
const grown = (base: MergeItems) =>
  fc.tuple(tier, fc.array(fc.nat(3), { minLength: base.size, maxLength: base.size })).map(([more, picks]) => {
    const kept = [...base.entries()].filter((_, place) => picks[place] !== 0);
    return new Map([...kept, ...[...more].filter((_, place) => place % 2 === 0)]);
  });
const threes = tier.chain((base) => fc.tuple(fc.constant(base), grown(base), grown(base)));

/** The tier after a merge without conflicts. */
function after(ours: MergeItems, { taken }: MergeOutcome): MergeItems {
  const next = new Map(ours);
  for (const { name, theirs } of taken) {
    if (theirs === null) next.delete(name);
    else next.set(name, { ...theirs, hash: `copy of ${theirs.hash}` });
  }
  return next;
}
const shown = (tiers: MergeItems) =>
  [...tiers.entries()].map(([name, { value, status }]) => JSON.stringify([name, value, status])).toSorted();

test("merging is idempotent, and a side that did nothing brings nothing", () => {
  fc.assert(
    fc.property(threes, ([base, ours, theirs]) => {
      assert.deepEqual(fates(mergeItems(base, ours, base)), nothing);
      const merged = mergeItems(base, ours, theirs);
      const next = after(ours, merged);
      // Next time the base is what they had this time.
      assert.deepEqual(fates(mergeItems(theirs, next, theirs)), nothing);
    }),
  );
});

test("every change of theirs has an outcome, and ours change only through theirs", () => {
  fc.assert(
    fc.property(threes, ([base, ours, theirs]) => {
      const merged = mergeItems(base, ours, theirs);
      const told = new Set(Object.values(fates(merged)).flat());
      const next = after(ours, merged);
      const conflicts = new Set(merged.conflicts.map(({ name }) => name));
      for (const [name, { value }] of theirs) {
        if (conflicts.has(name) || sameJson(base.get(name)?.value, value)) continue;
        assert.ok(told.has(name));
        assert.equal(next.get(name)?.value, value);
      }
      for (const [name, { value }] of ours) {
        if (next.has(name) && next.get(name)!.value === value) continue;
        assert.notEqual(theirs.get(name)?.value, base.get(name)?.value);
        assert.equal(base.get(name)?.value, value, "what we changed ourselves is never replaced");
      }
    }),
  );
});

test("without conflicts, merging one and then the other is the same as the other way round", () => {
  let met = 0;
  fc.assert(
    fc.property(
      tier.chain((base) => fc.tuple(fc.constant(base), grown(base), grown(base), grown(base))),
      ([base, a, b, c]) => {
        const [ab, ac] = [mergeItems(base, a, b), mergeItems(base, a, c)];
        const [abc, acb] = [mergeItems(base, after(a, ab), c), mergeItems(base, after(a, ac), b)];
        if ([ab, ac, abc, acb].some(({ conflicts }) => conflicts.length > 0)) return;
        met += 1;
        assert.deepEqual(shown(after(after(a, ab), abc)), shown(after(after(a, ac), acb)));
      },
    ),
    { numRuns: 400 },
  );
  assert.ok(met > 20, `only ${met} cases without conflicts`);
});
