/** Memory as it is folded, followed and chosen from. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import fc from "fast-check";
import { entries, objectives, rate } from "../../bench/memory-labels.ts";
import { checkAgent } from "../../src/core/workspace/agent.ts";
import type { DraftEvent } from "../../src/core/decision.ts";
import { limit } from "../../src/core/limit.ts";
import { isTooLong, Memory, memoryDrafts, type MemoryRule } from "../../src/core/memory/memory.ts";
import { memoryId } from "../../src/core/memory/name.ts";
import { carriedText, rankMemory } from "../../src/core/memory/choice.ts";
import { Relevance } from "../../src/core/memory/relevance.ts";
import { stem, wordsOf } from "../../src/core/memory/words.ts";

const session = `ses_${"0".repeat(25)}1`;
const owners = { agent: "web", user: `prn_${"0".repeat(26)}` };
const everywhere = ["user", "agent", "workspace"] as const;

/** Applies drafts as records of the workspace's log. */
function apply(memory: Memory, drafts: readonly DraftEvent[], fromSeq = 1): void {
  for (const [place, { type, body }] of drafts.entries())
    memory.apply({ type, body, seq: fromSeq + place, at: fromSeq + place, actor: "system" });
}

const recorded = (key: string, value: unknown, kind = "fact"): DraftEvent => ({
  type: "item.recorded",
  body: { kind, key },
  content: { value },
});
const retracted = (key: string): DraftEvent => ({ type: "item.retracted", body: { kind: "fact", key } });

suite("words", () => {
  test("forms of a word have one stem, and words of different meaning do not", () => {
    const same = [
      ["deploy", "deploys", "deployed", "deploying", "deployment", "deployments"],
      ["migrate", "migrates", "migrated", "migrating", "migration", "migrations"],
      ["index", "indexes", "indexed", "indexing"],
      ["query", "queries"],
      ["cache", "caches", "cached", "caching"],
      ["login", "logins"],
      ["plan", "plans"],
    ];
    for (const forms of same) assert.deepEqual(new Set(forms.map(stem)).size, 1, forms.join(" "));
    const apart = ["port", "portal", "pore", "test", "status", "address", "is", "analysis"];
    assert.equal(new Set(apart.map(stem)).size, apart.length);
  });

  test("case, accents and joints do not matter, and empty words do not count", () => {
    assert.deepEqual(
      wordsOf("The baseRate of base-rate, BASE_RATE and Base.Rate"),
      Array.from({ length: 4 }, () => ["base", "rate"]).flat(),
    );
    assert.deepEqual(wordsOf("Größe und Café"), wordsOf("große UND cafe"));
    assert.deepEqual(wordsOf("please fix the"), []);
    assert.deepEqual(wordsOf("v2 of 404"), ["v2", "404"]);
  });

  test("scripts without spaces are compared by pairs", () => {
    const words = wordsOf("検索エンジン");
    assert.equal(words.length, 5);
    assert.ok(wordsOf("新しい検索").some((word) => words.includes(word)));
  });
});

suite("the fold", () => {
  const promoted = (key: string, more: object = {}): DraftEvent => ({
    type: "memory.promoted",
    body: { scope: "workspace", kind: "fact", key, ...more },
  });

  test("promoting again supersedes, forgetting ends it, and unknown entries are skipped", () => {
    const memory = new Memory();
    const origin = { session, seq: 7 };
    apply(memory, [
      promoted("a", { origin }),
      promoted("b"),
      promoted("a"),
      promoted("c", { scope: "team" }),
      promoted("d", { kind: "no kind" }),
      { type: "memory.forgotten", body: { scope: "workspace", kind: "fact", key: "b" } },
      { type: "memory.forgotten", body: { scope: "workspace", kind: "fact", key: "never there" } },
      { type: "agent.defined", body: {} },
    ]);
    assert.deepEqual(
      [...memory.entries()].map(([, { key, seq, origin: from }]) => [key, seq, from]),
      [["a", 3, null]],
    );
    assert.deepEqual(
      memory.from(session, "fact", "a"),
      [],
      "the origin of what was superseded is gone with it",
    );
    const id = memoryId({ scope: "workspace", owner: null, kind: "fact", key: "b" });
    assert.equal(memory.isForgotten(id), true);
    apply(memory, [promoted("b", { by: "person" })], 20);
    assert.equal(memory.isForgotten(id), false);
  });

  test("folding in two parts is folding in one", () => {
    const names = fc.record({
      scope: fc.constantFrom("agent", "user", "workspace", "team"),
      owner: fc.constantFrom(undefined, "web", "api"),
      kind: fc.constantFrom("fact", "decision"),
      key: fc.constantFrom("a", "b", "c"),
      by: fc.constantFrom("rule", "tool", "person", undefined),
      origin: fc.constantFrom(undefined, { session, seq: 3 }),
    });
    const type = fc.constantFrom("memory.promoted", "memory.forgotten");
    fc.assert(
      fc.property(fc.array(fc.record({ type, body: names })), fc.nat(50), (drafts, cut) => {
        const [whole, parts] = [new Memory(), new Memory()];
        apply(whole, drafts);
        apply(parts, drafts.slice(0, cut));
        apply(parts, drafts.slice(cut), Math.min(cut, drafts.length) + 1);
        assert.deepEqual(new Map(parts.entries()), new Map(whole.entries()));
        for (const [id, entry] of whole.entries()) {
          assert.equal(whole.isForgotten(id), false);
          const { origin, kind, key } = entry;
          if (origin !== null) assert.ok(whole.from(origin.session, kind, key).includes(entry));
        }
      }),
      { numRuns: 300 },
    );
  });
});

suite("what follows from a change of a session", () => {
  const rules: readonly MemoryRule[] = [{ keys: ["rate*"], scope: "agent" }, { scope: "workspace" }];
  const change = { session, firstSeq: 10, owners };

  test("memory has the last value of the session, whatever it records and retracts", () => {
    const act = fc.record({
      isGone: fc.boolean(),
      key: fc.constantFrom("a", "rate", "rate-2"),
      value: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(fc.array(act, { maxLength: 4 }), { maxLength: 12 }), (appends) => {
        const memory = new Memory();
        const values = new Map<number, unknown>();
        const items = new Map<string, unknown>();
        let [seq, at] = [1, 1];
        for (const acts of appends) {
          const drafts: DraftEvent[] = [];
          for (const { isGone, key, value } of acts) {
            // A session retracts what it has.
            if (isGone && !items.has(key)) continue;
            drafts.push(isGone ? retracted(key) : recorded(key, value));
            if (isGone) items.delete(key);
            else items.set(key, value);
          }
          const out = memoryDrafts(memory, { session, firstSeq: seq, drafts, rules, owners });
          for (const [place, one] of out.entries())
            values.set(at + place, (one.content as { value?: unknown } | undefined)?.value);
          apply(memory, out, at);
          seq += drafts.length;
          at += out.length;
        }
        const found = [...memory.entries()].map(([, one]) => [one.scope, one.key, values.get(one.seq)]);
        const wanted = [...items].flatMap(([key, value]) => [
          ...(key.startsWith("rate") ? [["agent", key, value]] : []),
          ["workspace", key, value],
        ]);
        assert.deepEqual(new Set(found.map(String)), new Set(wanted.map(String)));
      }),
      { numRuns: 300 },
    );
  });

  test("a rule without an owner, of another kind or a task's says nothing", () => {
    const memory = new Memory();
    const drafts = [recorded("rate", 1), recorded("rate", "later", "task")];
    const none = { agent: null, user: null };
    const agentOnly = memoryDrafts(memory, { ...change, drafts, rules: [{ scope: "agent" }], owners: none });
    assert.deepEqual(agentOnly, []);
    const tasks = memoryDrafts(memory, {
      ...change,
      drafts,
      rules: [{ kinds: ["task"], scope: "workspace" }],
    });
    assert.deepEqual(
      tasks.map(({ body }) => body),
      [{ scope: "workspace", kind: "task", key: "rate", origin: { session, seq: 11 }, by: "rule" }],
    );
  });

  test("a full memory takes no new key, and still follows those it has", () => {
    const memory = new Memory();
    const full = Array.from({ length: limit.memoryMax }, (_, place): DraftEvent => ({
      type: "memory.promoted",
      body: { scope: "workspace", kind: "fact", key: `k${place}` },
    }));
    apply(memory, full);
    const drafts = [recorded("new", 1), recorded("k7", 2)];
    const out = memoryDrafts(memory, { ...change, drafts, rules: [{ scope: "workspace" }] });
    assert.deepEqual(
      out.map(({ body }) => (body as { key: string }).key),
      ["k7"],
    );
  });

  test("a value may be as long as a session may carry at all", () => {
    assert.equal(isTooLong("k", "word ".repeat(1_000)), false);
    assert.equal(isTooLong("k", "word ".repeat(3_000)), true);
    assert.equal(isTooLong("k", " ".repeat(10_000_000)), true);
  });
});

suite("an agent's memory", () => {
  const check = (memory: unknown) => checkAgent({ name: "a", instructions: "b", memory });

  test("reads the rules for promotion and the carried scopes", () => {
    const memory = {
      promote: [{ kinds: ["fact"], keys: ["rate-*"], scope: "agent" }, { scope: "user" }],
      carry: { tokensMax: limit.memoryTokensMax, scopes: ["user"] },
    };
    assert.deepEqual(check(memory).memory, memory);
    assert.deepEqual(check({ carry: false }).memory, { carry: false });
    assert.deepEqual(check({}).memory, {});
  });

  test("is refused where it makes no sense, with the place", () => {
    const fails = (memory: unknown, message: RegExp) =>
      assert.throws(() => check(memory), { code: "invalid", message });
    fails({ promote: [{ scope: "team" }] }, /memory\.promote\[0\]\.scope: expected one of .*, got "team"/);
    fails(
      { promote: [{ kinds: ["idea"], scope: "user" }] },
      /memory\.promote\[0\]\.kinds: expected one of .*, got "idea"/,
    );
    fails({ promote: [{ scope: "user", keys: [] }] }, /promote\[0\]\.keys/);
    fails({ promot: [] }, /unknown field "memory\.promot"/);
    fails({ carry: true }, /memory\.carry: expected false, or an object with tokensMax/);
    fails({ carry: { tokensMax: limit.memoryTokensMax + 1 } }, /memory\.carry\.tokensMax/);
  });
});

suite("the choice", () => {
  function made(): { memory: Memory; relevance: Relevance } {
    const [memory, relevance] = [new Memory(), new Relevance()];
    for (const [place, { kind, key, value, because = "" }] of entries.entries()) {
      const body = { scope: "workspace", kind, key };
      const id = memory.apply({ seq: place + 1, at: place, type: "memory.promoted", actor: "system", body });
      if (id !== null) relevance.set(id, { key, value, because });
    }
    return { memory, relevance };
  }

  test("on the labelled set, precision and recall stay above their floors", () => {
    assert.ok(entries.length >= 60 && objectives.length >= 40);
    const { memory, relevance } = made();
    const { precision, recall } = rate((about) =>
      rankMemory(memory, relevance, about, { owners, scopes: everywhere }).map(({ entry }) => entry.key),
    );
    assert.ok(precision >= 0.7, `precision ${precision}`);
    assert.ok(recall >= 0.9, `recall ${recall}`);
  });

  test("one shared word is not relevant, unless it is a subject or an identifier", () => {
    const [memory, relevance] = [new Memory(), new Relevance()];
    const texts = [
      ["river.bank", "The north bank floods every March"],
      ["order.brass", "QX-7741-B waits in customs"],
      ["login-redirect", "After it users go home"],
      ...["eu", "sa", "ap"].map((at) => [`payments-${at}-1`, `Host payments-${at}-1 listens on port 7000`]),
    ];
    for (const [place, [key = "", value = ""]] of texts.entries()) {
      const body = { scope: "workspace", kind: "fact", key };
      const id = memory.apply({ seq: place + 1, at: 0, type: "memory.promoted", actor: "system", body });
      relevance.set(id ?? "", { key, value, because: "" });
    }
    const keys = (about: string) =>
      rankMemory(memory, relevance, about, { owners, scopes: everywhere }).map(({ entry }) => entry.key);
    assert.deepEqual(keys("Open a bank account for the company"), []);
    assert.deepEqual(keys("Is there news of QX-7741-B?"), ["order.brass"]);
    assert.deepEqual(keys("Review how people log in: login, passwords"), ["login-redirect"]);
    assert.deepEqual(keys("On which port does payments-sa-1 listen?"), ["payments-sa-1"]);
  });

  test("an index after removals equals an index of the rest", () => {
    const text = (value: string) => ({ key: value.split(" ")[0] ?? "", value, because: "" });
    const value = fc.array(fc.constantFrom("red", "green", "blue", "login", "cache"), { minLength: 1 });
    const step = fc.record({ id: fc.constantFrom("1", "2", "3"), words: fc.option(value, { nil: null }) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const [changed, fresh] = [new Relevance(), new Relevance()];
        const left = new Map<string, string>();
        for (const { id, words } of steps) {
          if (words === null) changed.remove(id);
          else changed.set(id, text(words.join(" ")));
          if (words === null) left.delete(id);
          else left.set(id, words.join(" "));
        }
        for (const [id, words] of left) fresh.set(id, text(words));
        const about = (index: Relevance) =>
          index.about("red login", () => true).toSorted((a, b) => (a.id < b.id ? -1 : 1));
        assert.deepEqual(about(changed), about(fresh));
        assert.equal(changed.size, left.size);
      }),
      { numRuns: 200 },
    );
  });

  test("of two that are as relevant the newer comes first", () => {
    const [memory, relevance] = [new Memory(), new Relevance()];
    for (const [place, key] of ["clock one", "clock two"].entries()) {
      const body = { scope: "workspace", kind: "fact", key };
      const id = memory.apply({ seq: place + 1, at: 0, type: "memory.promoted", actor: "system", body });
      relevance.set(id ?? "", { key: "clock", value: "is wound", because: "" });
    }
    const ranked = rankMemory(memory, relevance, "Wind the Clocks", { owners, scopes: everywhere });
    assert.deepEqual(
      ranked.map(({ entry }) => entry.key),
      ["clock two", "clock one"],
    );
    assert.deepEqual(ranked[0]?.why, "the workspace's, on clocks");
  });

  test("carried entries are shown line by line, each with its reason", () => {
    const item = {
      scope: "agent",
      kind: "fact",
      key: "k",
      value: { a: 1 },
      why: "this agent's, on k",
    } as const;
    assert.equal(carriedText([item]), `Known from earlier sessions:\n- fact k: {"a":1} (this agent's, on k)`);
  });

  test("an objective of any length and script is taken", () => {
    const { memory, relevance } = made();
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), (about) => {
        const ranked = rankMemory(memory, relevance, about, { owners, scopes: everywhere });
        assert.ok(ranked.length <= entries.length);
      }),
      { numRuns: 200 },
    );
    const long = objectives
      .map(({ text }) => text)
      .join(" ")
      .repeat(20);
    assert.ok(rankMemory(memory, relevance, long, { owners, scopes: everywhere }).length > 0);
  });
});
