/** What was copied from contents that are erased: listed with its place and why, and erased if asked. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { EraseReport } from "../../../src/runtime/govern/erase.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all, inFile, inMemory } from "../place.ts";
import { writeRaw } from "../raw.ts";
import { engineWith, scripted } from "../turn/scripted.ts";

/** Copies as `session@seq type`, with why, in order. */
const copiesOf = ({ copies }: EraseReport): string[] =>
  copies.map(({ session, seq, type, why }) => `${session}@${seq} ${type}: ${why}`).toSorted();

async function isErased(session: Session, seq: number): Promise<boolean> {
  const [event] = await all(session.events({ fromSeq: seq, toSeq: seq }));
  return event?.erased === true;
}

test("items merged from an erased item, and the summary of the merge, are copies", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const { seq } = await session.record("fact", "rate", "four");
  await session.record("fact", "other", "five");
  const other = await place.engine.open({ objective: "p" });
  await other.merge({ from: session.id, summary: "the rate is four" });
  const merged = (await all(other.events())).map(({ type, body }) => [type, body] as const);
  const itemSeq = 1 + merged.findIndex(([, body]) => (body as { key?: string }).key === "rate");
  const noteSeq = 1 + merged.findIndex(([type]) => type === "session.merged");
  const later = await place.engine.open({ objective: "q" });
  await later.merge({ from: other.id, summary: "four again" });
  const report = await session.erase({ ranges: [[seq, seq]], dryRun: true });
  assert.deepEqual(
    copiesOf(report),
    [
      `${other.id}@${itemSeq} item.recorded: merged from ${session.id}@${seq}`,
      `${other.id}@${noteSeq} session.merged: a summary, merged from ${session.id}`,
      // A copy of a copy.
      `${later.id}@${itemSeq} item.recorded: merged from ${other.id}@${itemSeq}`,
      `${later.id}@${noteSeq} session.merged: a summary, merged from ${other.id}`,
    ].toSorted(),
  );
  await session.erase({ ranges: [[seq, seq]] });
  assert.equal(await isErased(other, itemSeq), false);
  const after = await session.erase({ ranges: [[seq, seq]], copies: true });
  assert.deepEqual([after.records, after.already, after.copies.length], [0, 1, 4]);
  assert.equal(await isErased(later, noteSeq), true);
  assert.deepEqual((await session.erase({ ranges: [[seq, seq]], copies: true })).copies, []);
  assert.equal((await place.engine.verify()).ok, true);
});

test("with copies they go in the same breath, each with a word in its own log", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const { seq } = await session.record("fact", "rate", "four");
  const other = await place.engine.open({ objective: "p" });
  await other.merge({ from: session.id, summary: "the rate is four" });
  const fork = await other.fork();
  const report = await session.erase({ ranges: [[seq, seq]], copies: true, reason: "asked for" });
  assert.deepEqual([report.records, report.copies.length, report.withCopies], [1, 2, true]);
  assert.deepEqual(
    report.forks.map((one) => [one.session, one.records]),
    [[fork.id, 2]],
  );
  const said = await all(other.events({ types: ["content.erased"] }));
  assert.deepEqual(
    said.map(({ content }) => content),
    [{ reason: "asked for" }],
  );
  for (const one of [other, fork]) {
    const { erased } = (await one.fold()).standing;
    assert.equal(erased.records, 2);
    assert.doesNotMatch(JSON.stringify(await all(one.events())), /four/);
  }
  assert.equal((await place.engine.verify()).ok, true);
});

test("a message is a copy at the other end, whichever end is erased", async () => {
  await using place = inMemory();
  const sender = await place.engine.open({ objective: "o" });
  const receiver = await place.engine.open({ objective: "p" });
  const { seq } = await sender.send(receiver.id, "one");
  await sender.send(receiver.id, "two");
  const [one, two] = await all(receiver.events({ types: ["message.received"] }));
  const there = await sender.erase({ ranges: [[seq, seq]], copies: true });
  assert.deepEqual(copiesOf(there), [
    `${receiver.id}@${one?.seq} message.received: the same message, in the other session`,
  ]);
  assert.deepEqual(
    [await isErased(receiver, one?.seq ?? 0), await isErased(receiver, two?.seq ?? 0)],
    [true, false],
  );
  const back = await receiver.erase({ ranges: [[two?.seq ?? 0, two?.seq ?? 0]], dryRun: true });
  assert.deepEqual(copiesOf(back), [
    `${sender.id}@${seq + 1} message.sent: the same message, in the other session`,
  ]);
});

test("summaries that cover it and handoffs written after it are copies, in forks too", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.append("two");
  await session.append("three");
  const compacted = (summary: string, fromSeq: number, toSeq: number) => ({
    type: "transcript.compacted",
    body: { fromSeq, toSeq, strategy: "summarize", tokensBefore: 9, tokensAfter: 3 },
    content: { summary },
  });
  const digest = "a".repeat(64);
  const handoff = { type: "handoff.written", body: { digest, toSeq: 2 }, content: { text: "h" } };
  await writeRaw(place, session.id, [handoff, compacted("of two", 2, 2), compacted("of three", 3, 3)]);
  const fork = await session.fork({ atSeq: 3 });
  await writeRaw(place, fork.id, [compacted("of both", 2, 3)]);
  const report = await session.erase({ ranges: [[3, 3]], dryRun: true });
  const one = await session.erase({ ranges: [[2, 2]], dryRun: true });
  assert.deepEqual(
    copiesOf(report),
    [
      `${session.id}@6 transcript.compacted: a summary of it`,
      `${fork.id}@5 transcript.compacted: a summary of it`,
    ].toSorted(),
  );
  assert.deepEqual(
    copiesOf(one),
    [
      `${session.id}@4 handoff.written: a handoff that was written after it`,
      `${session.id}@5 transcript.compacted: a summary of it`,
      `${fork.id}@5 transcript.compacted: a summary of it`,
    ].toSorted(),
  );
  const done = await session.erase({ ranges: [[2, 2]], copies: true });
  assert.deepEqual(
    [done.records, done.ranges],
    [
      3,
      [
        [2, 2],
        [4, 5],
      ],
    ],
  );
  assert.equal((await place.engine.verify()).ok, true);
});

test("a handoff counts as a copy in the session it started, if it contains erased text", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "The harvest" });
  await session.record("fact", "rate", "fortytwo apples");
  await session.handoff();
  const next = await place.engine.open({ from: session.id });
  await session.append("said after the handoff");
  const documents = await all(next.events({ types: ["document.loaded"] }));
  const [document] = documents;
  assert.match(JSON.stringify(document?.content), /fortytwo/);
  const late = await session.erase({ ranges: [[4, 4]], dryRun: true });
  assert.deepEqual(copiesOf(late), []);
  const report = await session.erase({ copies: true });
  const places = report.copies.filter((copy) => copy.session === next.id).map(({ seq, type }) => [seq, type]);
  assert.deepEqual(places, [
    [1, "session.opened"],
    [document?.seq, "document.loaded"],
  ]);
  assert.doesNotMatch(JSON.stringify(await all(next.events())), /fortytwo|harvest/);
});

test("memory of an erased item is a copy, also in sessions that carry it", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "the rate of apples" });
  const { seq } = await session.record("fact", "apple-rate", "fortytwo apples");
  await session.promote("fact", "apple-rate", { scope: "workspace" });
  const next = await place.engine.open({ objective: "apple-rate: what is the rate of apples?" });
  const [carried] = await all(next.events({ types: ["memory.carried"] }));
  assert.match(JSON.stringify(carried?.content), /fortytwo/);
  const report = await session.erase({ ranges: [[seq, seq]], copies: true });
  const { workspace } = place.store;
  assert.deepEqual(
    report.copies.map(({ session: log, type, why }) => `${log} ${type}: ${why}`).toSorted(),
    [
      `${next.id} memory.carried: remembered from ${session.id}@${seq}`,
      `${workspace} memory.promoted: remembered from ${session.id}@${seq}`,
    ].toSorted(),
  );
  const verified = await place.engine.verify();
  assert.deepEqual([verified.problems, verified.erased], [[], 3]);
  const later = await place.engine.open({ objective: "apple-rate: what is the rate of apples?" });
  assert.doesNotMatch(JSON.stringify(await all(later.events())), /fortytwo/);
});

test("memory is forgotten for good: all its versions, and remaining copies are listed", async () => {
  await using place = await inFile();
  const { engine, store } = place;
  const session = await engine.open({ objective: "the rate of apples" });
  await session.record("fact", "apple-rate", "fortyone apples");
  await session.promote("fact", "apple-rate", { scope: "workspace" });
  const { seq } = await session.record("fact", "apple-rate", "fortytwo apples");
  const next = await engine.open({ objective: "apple-rate: what is the rate of apples?" });
  const fork = await next.fork();
  const [carried] = await all(next.events({ types: ["memory.carried"] }));
  const name = { scope: "workspace", kind: "fact", key: "apple-rate" } as const;
  const { erasure, ...gone } = await engine.forget({ ...name, erase: true, reason: "asked for" });
  assert.deepEqual([gone.erased, gone.value, erasure?.records, erasure?.scrubbed], [true, null, 2, true]);
  assert.deepEqual(
    erasure?.copies.map((one) => `${one.session}@${one.seq} ${one.type}: ${one.why}`),
    [
      `${session.id}@2 item.recorded: it came from here`,
      `${session.id}@${seq} item.recorded: it came from here`,
      `${next.id}@${carried?.seq} memory.carried: carried from memory`,
    ],
  );
  assert.deepEqual(await engine.memory(), []);
  const range = { fromSeq: 1, toSeq: 100, limit: 100, contents: true };
  assert.doesNotMatch(JSON.stringify(await store.read(store.workspace, range)), /forty/);
  // Those are taken out where they stand.
  for (const one of erasure?.copies ?? [])
    await (await engine.session(one.session)).erase({ ranges: [[one.seq, one.seq]] });
  assert.doesNotMatch(JSON.stringify(await all(fork.events())), /forty/);
  const again = await engine.forget({ ...name, erase: true });
  assert.deepEqual([again.erasure?.records, again.erasure?.copies], [0, []]);
  const verified = await engine.verify();
  assert.deepEqual([verified.problems, verified.erased], [[], 5]);
});

test("a forgotten entry is erased by its name, also when it came from no session", async () => {
  await using place = inMemory();
  const { engine, store } = place;
  const name = { scope: "agent", owner: "payroll", kind: "fact", key: "phone" } as const;
  await assert.rejects(engine.forget({ ...name, erase: true }), { code: "not-found" });
  await engine.remember({ ...name, value: "fortytwo" });
  await engine.remember({ ...name, owner: "sales", value: "fifty" });
  await engine.forget(name);
  const { erasure } = await engine.forget({ ...name, erase: true });
  assert.deepEqual([erasure?.records, erasure?.copies], [1, []]);
  const range = { fromSeq: 1, toSeq: 100, limit: 100, contents: true };
  assert.doesNotMatch(JSON.stringify(await store.read(store.workspace, range)), /fortytwo/);
  assert.deepEqual(
    (await engine.memory()).map(({ value }) => value),
    ["fifty"],
  );
});

test("a text is found to the letter in contents and blobs, and wherever else it went", async () => {
  await using place = await inFile();
  const { engine } = place;
  const session = await engine.open({ objective: 'say "fortytwo\napples"' });
  await session.append(`long ${"x".repeat(70_000)} "fortytwo\napples"`);
  await session.append("fortytwo pears");
  const blob = await engine.putBlob(Buffer.from(`${"y".repeat(262_140)}"fortytwo\napples"`));
  await session.input([{ type: "file", blob, mediaType: "text/plain" }]);
  await session.append({ type: "x.note", body: {}, content: JSON.stringify({ text: '"fortytwo\napples"' }) });
  const other = await engine.open({ objective: "p" });
  await other.scratch("key", { deep: ['"fortytwo\napples"'] });
  const report = await session.erase({ match: '"fortytwo\napples"', dryRun: true });
  assert.deepEqual(
    [report.ranges, copiesOf(report)],
    [
      [
        [1, 2],
        [4, 5],
      ],
      [`${other.id}@2 scratch.set: it holds the text`],
    ],
  );
  const done = await session.erase({ match: '"fortytwo\napples"', ranges: [[1, 3]], copies: true });
  assert.deepEqual([done.records, new Set(done.copies.map(({ seq }) => seq))], [4, new Set([2, 4, 5])]);
  assert.equal(await engine.search("fortytwo").then((hits) => hits.map(({ seq }) => seq).join()), "3");
  assert.equal((await engine.verify()).ok, true);
});

test("text in places that are not erased is reported; words of the catalog are not", async () => {
  await using place = inMemory();
  const { engine } = place;
  const session = await engine.open({ objective: "o", labels: { "jane-key": "x", owner: "jane" } });
  await session.record("fact", "jane phone", "jane has one");
  await session.scratch("before jane", 1);
  const other = await engine.open({ objective: "p" });
  await other.hold('"jane"');
  const report = await session.erase({ match: "jane" });
  assert.deepEqual(
    report.kept.map((one) => `${one.session}@${one.seq} ${one.type}`).toSorted(),
    [
      `${session.id}@1 session.opened`,
      `${session.id}@2 item.recorded`,
      `${session.id}@3 scratch.set`,
      `${other.id}@2 hold.set`,
    ].toSorted(),
  );
  assert.equal(report.records, 1);
  const quoted = await session.erase({ match: '"jane"', dryRun: true });
  assert.deepEqual(quoted.kept, [{ session: other.id, seq: 2, type: "hold.set" }]);
  assert.deepEqual((await session.erase({ match: "fact", dryRun: true })).kept, []);
});

test("a binding named after its path is reported, and can no longer be used", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  await session.bind({ kind: "directory", path: "/home/jane" });
  await session.bind({ kind: "file", path: "/home/jane/rates.json", name: "rates" });
  await session.bind({ kind: "shell" });
  const report = await session.erase({ ranges: [[2, 3]] });
  assert.deepEqual(report.kept, [{ session: session.id, seq: 2, type: "resource.bound" }]);
  assert.deepEqual((await session.state()).bindings, [
    { name: "/home/jane", kind: "directory", mode: "read", erased: true },
    { name: "rates", kind: "file", mode: "read", erased: true },
    { name: "shell", kind: "shell", mode: "read" },
  ]);
});

test("inherited content is the parent's, and the fork is not its own copy", async () => {
  await using place = inMemory();
  const root = await place.engine.open({ objective: "o" });
  await root.append("fortytwo apples");
  const fork = await root.fork();
  await root.append("fortytwo pears");
  const report = await fork.erase({ match: "fortytwo", copies: true, dryRun: true });
  assert.deepEqual(
    report.copies.map(({ session, seq, shared }) => [session, seq, shared]),
    [
      [root.id, 2, true],
      [root.id, 3, undefined],
    ],
  );
  assert.deepEqual(report.forks, []);
  await fork.erase({ match: "fortytwo", copies: true });
  assert.doesNotMatch(JSON.stringify([await all(fork.events()), await all(root.events())]), /fortytwo/);
  assert.equal((await place.engine.verify()).ok, true);
});

test("a hold where a copy is refuses all of it by name, before anything is erased", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const other = await place.engine.open({ objective: "p" });
  const { seq } = await session.send(other.id, "one");
  await other.hold("case");
  const refused = { code: "refused", message: `${other.id} is under legal hold "case"` };
  await assert.rejects(session.erase({ ranges: [[seq, seq]], copies: true }), refused);
  assert.equal(await isErased(session, seq), false);
  assert.equal((await session.erase({ ranges: [[seq, seq]] })).records, 1);
});

test("a session continues after all its contents are erased", async () => {
  const script = scripted(["an answer", "another answer"]);
  await using engine = engineWith(script);
  const session = await engine.open({ objective: "the harvest", instructions: "Count fortytwo apples." });
  await all(session.ask("how many apples?"));
  await session.erase();
  await all(session.ask("and now?"));
  const sent = JSON.stringify(script.calls.at(-1));
  assert.match(sent, /and now\?/);
  assert.match(sent, /erased/);
  assert.doesNotMatch(sent, /fortytwo|harvest|how many|an answer/);
  assert.equal((await engine.verify()).ok, true);
});
