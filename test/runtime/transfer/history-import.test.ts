/** Conversations of other tools: imported once, continued where they stopped, never run before a review. */
import assert from "node:assert/strict";
import { zstdDecompressSync } from "node:zlib";
import { test } from "node:test";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { TranscriptSource } from "../../../src/runtime/transfer/history.ts";
import type { ForeignEntry } from "../../../src/transcripts/model.ts";
import { answered, said, sourceOf } from "./foreign-source.ts";
import { all, inMemory } from "../place.ts";
import { scripted } from "../turn/scripted.ts";

const first = [
  said("u1", "Which rate?"),
  answered("a1", "I look.", 2),
  said("u2", "Thanks"),
  answered("a2", "Done."),
];

test("an import keeps calls, usage, tasks, times and the original, and waits for a person", async () => {
  await using place = inMemory();
  const { engine } = place;
  const report = await engine.importTranscript(sourceOf({ entries: first }));
  assert.deepEqual([report.status, report.added, report.entries], ["new", 4, 4]);
  const session = await engine.session(report.session);
  const events = await all(session.events());
  assert.deepEqual(
    events.map(({ type }) => type),
    [
      "session.opened",
      "session.suspended",
      "input.imported",
      "answer.imported",
      "call.imported",
      "call.imported",
      "input.imported",
      "answer.imported",
      "item.recorded",
      "source.imported",
    ],
  );
  const { standing } = await session.fold();
  assert.deepEqual([standing.status, standing.unreviewed, standing.why?.by], ["suspended", true, "imported"]);
  assert.deepEqual(standing.imported, {
    calls: 2,
    inputTokens: 200,
    outputTokens: 40,
    nanoUsd: 0,
    unpriced: 2,
  });
  assert.deepEqual([standing.used.tokens, standing.used.nanoUsd, standing.bindings.size], [0, 0, 0]);
  const { content, body } = events.at(-1)! as {
    content: Record<string, unknown>;
    body: Record<string, unknown>;
  };
  assert.deepEqual([body["entries"], body["records"], body["unknown"]], [4, 4, 1]);
  const [original] = content["blocks"] as { blob: string; mediaType: string }[];
  assert.equal(original!.mediaType, "application/zstd");
  assert.equal(zstdDecompressSync(await engine.blob(original!.blob)).toString(), JSON.stringify(first));
  assert.equal((await engine.sessions()).rows[0]?.name, "Rates [31m of November");
  assert.equal((await engine.verify()).ok, true);
  assert.equal((await engine.sessions({ text: "base: 4.1" })).rows.length, 0);
  assert.equal((await engine.search("4.1")).length > 0, true);
});

test("importing again adds only new entries; a rewritten source changes nothing", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { session } = await engine.importTranscript(sourceOf({ entries: first }));
  const before = (await (await engine.session(session)).head()).seq;
  const same = await engine.importTranscript(sourceOf({ entries: first }));
  assert.deepEqual([same.session, same.status, same.added], [session, "same", 0]);
  assert.equal((await (await engine.session(session)).head()).seq, before);
  const more = [...first, said("u3", "And now?"), answered("a3", "Now.")];
  const grown = await engine.importTranscript(sourceOf({ entries: more }));
  assert.deepEqual([grown.session, grown.status, grown.added], [session, "grown", 2]);
  const other = [said("u9", "Else"), ...first.slice(1)];
  const rewritten = await engine.importTranscript(sourceOf({ entries: other }));
  assert.deepEqual([rewritten.session, rewritten.status, rewritten.added], [session, "rewritten", 0]);
  const again = await engine.importTranscript(sourceOf({ entries: other }), { again: true });
  assert.deepEqual([again.session === session, again.status], [false, "new"]);
  assert.equal((await engine.verify()).ok, true);
});

test("a source with the same ids and other texts is rewritten, whether it has grown or not", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { session } = await engine.importTranscript(sourceOf({ entries: first }));
  const before = (await (await engine.session(session)).head()).seq;
  const more = [said("u3", "And now?"), answered("a3", "Now.")];
  const changes: ForeignEntry[][] = [
    [said("u1", "Which rates?"), ...first.slice(1)],
    [first[0]!, answered("a1", "I do not look.", 2), ...first.slice(2)],
    [...first.slice(0, 3), answered("a2", "Not done.")],
  ];
  for (const changed of changes)
    for (const entries of [changed, [...changed, ...more]]) {
      const report = await engine.importTranscript(sourceOf({ entries }));
      assert.deepEqual([report.session, report.status, report.added], [session, "rewritten", 0]);
    }
  // An import of a source in progress compares the last entry.
  const entries = [...changes[2]!, ...more];
  const report = await engine.importTranscript(sourceOf({ entries }), { inProgress: true });
  assert.equal(report.status, "rewritten");
  assert.equal((await (await engine.session(session)).head()).seq, before);
});

test("the last answer may become longer in place, and results of calls may come later", async () => {
  await using place = inMemory();
  const { engine } = place;
  await engine.importTranscript(sourceOf({ entries: first }));
  const [u1, a1, u2] = first;
  assert.ok(a1?.kind === "answer");
  const calls = a1.calls.map((call) => ({ ...call, status: "ok" as const }));
  const longer = answered("a2", "Done. And more.");
  const entries = [u1!, { ...a1, calls }, u2!, longer];
  assert.equal((await engine.importTranscript(sourceOf({ entries }))).status, "same");
  const grown = await engine.importTranscript(sourceOf({ entries: [...entries, said("u3", "And now?")] }));
  assert.deepEqual([grown.status, grown.added], ["grown", 1]);
  const later = [...entries, said("u3", "And now?"), answered("a3", "Now.")];
  assert.equal((await engine.importTranscript(sourceOf({ entries: later }))).status, "grown");
});

test("a log without digests of texts continues by its ids, and has them from then on", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { session } = await engine.importTranscript(sourceOf({ entries: first }));
  const handle = await engine.session(session);
  const [imported] = await all(handle.events({ types: ["source.imported"] }));
  await handle.erase({ ranges: [[imported!.seq, imported!.seq]] });
  const more = [...first, said("u3", "And now?")];
  assert.equal((await engine.importTranscript(sourceOf({ entries: more }))).status, "grown");
  const changed = [said("u1", "Which rates?"), ...more.slice(1)];
  assert.equal((await engine.importTranscript(sourceOf({ entries: changed }))).status, "rewritten");
});

test("--again imports only rewritten or continued sessions, and the newest copy continues", async () => {
  await using place = inMemory();
  const { engine } = place;
  const { session } = await engine.importTranscript(sourceOf({ entries: first }));
  const same = await engine.importTranscript(sourceOf({ entries: first }), { again: true });
  assert.deepEqual([same.session, same.status], [session, "same"]);
  const more = [...first, said("u3", "And now?")];
  const grown = await engine.importTranscript(sourceOf({ entries: more }), { again: true });
  assert.deepEqual([grown.session, grown.status], [session, "grown"]);
  const changed = more.map((one) => (one.id === "u1" ? said("u1", "Which rates?") : one));
  const copy = await engine.importTranscript(sourceOf({ entries: changed }), { again: true });
  assert.deepEqual([copy.session === session, copy.status], [false, "new"]);
  for (const again of [true, false]) {
    const repeated = await engine.importTranscript(sourceOf({ entries: changed }), { again });
    assert.deepEqual([repeated.session, repeated.status], [copy.session, "same"]);
  }
  const longer = [...changed, answered("a3", "Now.")];
  const next = await engine.importTranscript(sourceOf({ entries: longer }));
  assert.deepEqual([next.session, next.status, next.added], [copy.session, "grown", 1]);
  const activated = await engine.session(copy.session);
  await activated.activate({ reason: "reviewed" });
  await activated.input("Go on");
  const longest = sourceOf({ entries: [...longer, said("u4", "Good.")] });
  assert.equal((await engine.importTranscript(longest)).status, "continued");
  const third = await engine.importTranscript(longest, { again: true });
  assert.deepEqual([third.status, (await engine.importTranscript(longest)).session], ["new", third.session]);
  assert.equal((await engine.sessions()).rows.length, 3);
  assert.equal((await engine.verify()).ok, true);
});

test("an activated session follows its source until it gets input or is rewound here", async () => {
  const more = sourceOf({ entries: [...first, said("u3", "And now?")] });
  const changes = {
    input: (session: Session) => session.input("Go on"),
    rewind: (session: Session) => session.rewind(4),
    archive: async (session: Session) => {
      await session.close();
      await session.archive();
    },
  };
  for (const [name, change] of Object.entries(changes)) {
    await using place = inMemory();
    const { engine } = place;
    const { session } = await engine.importTranscript(sourceOf({ entries: first }));
    const handle = await engine.session(session);
    await handle.activate({ reason: "reviewed" });
    await handle.record("fact", "base", 4.1);
    const grown = await engine.importTranscript(more);
    assert.deepEqual([grown.status, grown.session, grown.added], ["grown", session, 1], name);
    const { standing } = await handle.fold();
    assert.deepEqual([standing.status, standing.unreviewed], ["open", false], "it stays activated");
    await change(handle);
    const { seq } = await handle.head();
    const longer = sourceOf({ entries: [...first, said("u3", "And now?"), answered("a3", "Now.")] });
    for (const inProgress of [true, false]) {
      assert.equal((await engine.importTranscript(more, { inProgress })).status, "same", name);
      assert.equal((await engine.importTranscript(longer, { inProgress })).status, "continued", name);
    }
    assert.equal((await handle.head()).seq, seq, "never mixed");
    assert.equal((await engine.verify()).ok, true);
  }
});

test("a branch becomes a fork that shares the prefix", async () => {
  await using place = inMemory();
  const { engine } = place;
  const branch = [said("u4", "What if it rises?"), answered("a4", "Then we pay more.")];
  const source = sourceOf({ entries: first, branch, after: "a1" });
  const { session, branches } = await engine.importTranscript(source);
  const fork = await engine.session(branches[0]!);
  const state = await fork.fold();
  assert.deepEqual([state.standing.fork?.parent, state.standing.unreviewed], [session, true]);
  const own = await all(fork.events({ types: ["input.imported"] }));
  assert.deepEqual(
    own.map(({ content }) => (content as { blocks: { text: string }[] }).blocks[0]?.text),
    ["Which rate?", "What if it rises?"],
  );
  assert.deepEqual((await engine.importTranscript(source)).branches, branches);
  assert.deepEqual((await engine.importTranscript(source, { again: true })).branches, branches);
  const changed = sourceOf({ entries: [said("u1", "Which rates?"), ...first.slice(1)], branch, after: "a1" });
  const again = await engine.importTranscript(changed, { again: true });
  const other = await (await engine.session(again.branches[0]!)).fold();
  assert.deepEqual([again.session === session, other.standing.fork?.parent], [false, again.session]);
});

test("a run that dies between two appends resumes where it stopped", async () => {
  await using place = inMemory();
  const { engine } = place;
  const many = Array.from({ length: 1_200 }, (_, at) =>
    at % 2 === 0 ? said(`u${at}`, `ask ${at}`) : answered(`a${at}`, `say ${at}`),
  );
  const whole = sourceOf({ entries: many });
  const dying: TranscriptSource = {
    ...whole,
    async *entries(wanted) {
      let count = 0;
      for await (const entry of whole.entries(wanted)) {
        if (++count > 1_000) throw new Error("killed");
        yield entry;
      }
    },
  };
  await assert.rejects(engine.importTranscript(dying), /killed/);
  const report = await engine.importTranscript(whole);
  assert.deepEqual([report.status, report.entries], ["grown", 1_200]);
  const session = await engine.session(report.session);
  const ids = (await all(session.events({ types: ["input.imported", "answer.imported"] }))).map(
    ({ content }) => (content as { id: string }).id,
  );
  assert.deepEqual(
    ids,
    many.map(({ id }) => id),
  );
});

test("an activated session continues with any model, which sees the calls of the other tool", async () => {
  await using place = inMemory();
  const { session } = await place.engine.importTranscript(sourceOf({ entries: first }));
  const script = scripted(["It was 4.1."]);
  const engine = new Engine({ store: place.store, world: place.world, models: async () => script.models });
  const handle = await engine.session(session);
  await all(handle.ask("Hello?"));
  assert.equal(script.calls.length, 0);
  await handle.activate({ reason: "reviewed" });
  await all(handle.ask("Which rate was it?"));
  const [call] = script.calls;
  const text = JSON.stringify(call!.parts);
  for (const wanted of ["Which rate?", "base: 4.1", "Read-File-", "took place in another tool, claude-code"])
    assert.ok(text.includes(wanted), `${wanted} is missing in ${text}`);
  assert.ok(!text.includes("signature"));
  const more = [...first, said("u3", "And now?")];
  const report = await engine.importTranscript(sourceOf({ entries: more }));
  assert.deepEqual([report.status, report.added], ["continued", 0]);
  assert.equal((await engine.verify()).ok, true);
});

test("hostile entries are stored: deep JSON, lone surrogates, huge texts, odd numbers", async () => {
  await using place = inMemory();
  const { engine } = place;
  let deep: unknown = "end";
  for (let depth = 0; depth < 200; depth++) deep = { deep };
  const odd = answered("a\ud800", "x\udfff".repeat(100_000), 1);
  assert.ok(odd.kind === "answer");
  const call = { ...odd.calls[0]!, name: "", input: deep, structured: "s".repeat(2_000_000) };
  const usage = { ...odd.usage!, inputTokens: -5, outputTokens: Number.NaN, costUsd: 0.25 };
  const entries: ForeignEntry[] = [
    { ...said("u\u0000", "\u0000"), atMs: -1 },
    { ...odd, calls: [call], usage, atMs: 9e20 },
    {
      kind: "compaction",
      id: "c",
      atMs: null,
      source: [],
      summary: "So far.",
      keptFrom: null,
      tokensBefore: 1.5,
    },
    said("u2", "y".repeat(3_000_000)),
  ];
  const report = await engine.importTranscript(sourceOf({ entries }, "x"));
  const session = await engine.session(report.session);
  const { standing, mind } = await session.fold();
  assert.deepEqual([standing.imported.nanoUsd, mind.overlays.length], [250_000_000, 1]);
  assert.equal((await engine.verify()).ok, true);
  await assert.rejects(engine.importTranscript(sourceOf({ entries: [] })), { code: "invalid" });
});
