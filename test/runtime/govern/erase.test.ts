/** Erasure by position: what goes, from whom, what stays, and what is refused as a whole. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { limit } from "../../../src/core/limit.ts";
import * as range from "../../../src/core/range.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { Part, Store } from "../../../src/store/port.ts";
import { atLength, cases } from "../../kind.ts";
import { bundleOf, inPieces } from "../transfer/bundled.ts";
import { livedIn, twoInMemory } from "../two-stores.ts";
import { all, inFile, inMemory, type Place } from "../place.ts";

/** A session of five records: 1 the opening, 2 to 5 inputs. */
async function spoken({ engine }: Place): Promise<Session> {
  const session = await engine.open({ objective: "o", name: "n" });
  for (const text of ["two", "three", "four", "five"]) await session.append(text);
  return session;
}

/** Positions whose content is gone. */
async function goneIn(session: Session): Promise<number[]> {
  return (await all(session.records())).flatMap(({ seq, content, contentHash }) =>
    contentHash !== null && content === null ? [seq] : [],
  );
}

const saysErased = async (session: Session): Promise<unknown[]> =>
  (await all(session.events({ types: ["content.erased"] }))).map(({ session: log, body, content }) =>
    log === session.id ? [body, content] : "of its parent",
  );

test("erasure removes contents and salts, and nothing else", async () => {
  await using place = inMemory();
  const session = await spoken(place);
  const before = await all(session.records());
  const report = await session.erase({
    ranges: [
      [2, 3],
      [5, 5],
    ],
    reason: "asked for",
  });
  const bytes = [2, 3, 5].reduce((sum, seq) => sum + (before[seq - 1]?.contentBytes ?? 0), 0);
  assert.deepEqual(report, {
    session: session.id,
    dryRun: false,
    ranges: [
      [2, 3],
      [5, 5],
    ],
    records: 3,
    bytes,
    already: 0,
    forks: [],
    copies: [],
    withCopies: false,
    kept: [],
    scrubbed: true,
  });
  const after = await all(session.records());
  assert.deepEqual(
    after.slice(0, 5),
    before.map((record) =>
      [2, 3, 5].includes(record.seq) ? { ...record, content: null, salt: null } : record,
    ),
  );
  const body = {
    ranges: [
      [2, 3],
      [5, 5],
    ],
    records: 3,
    bytes,
  };
  assert.deepEqual(await saysErased(session), [[body, { reason: "asked for" }]]);
  const verified = await session.verify();
  assert.deepEqual([verified.ok, verified.erased, verified.erasedBytes], [true, 3, bytes]);
});

test("without positions all but the erasure's author and reason is erased, once", async () => {
  await using place = inMemory();
  const session = await spoken(place);
  assert.equal((await session.erase({ reason: "asked for" })).records, 5);
  const { seq } = await session.head();
  const again = await session.erase({ reason: "asked for again" });
  assert.deepEqual([again.records, again.already, (await session.head()).seq], [0, 5, seq]);
  assert.deepEqual([...(await goneIn(session)), seq], [1, 2, 3, 4, 5, 6]);
  const { rows } = await place.engine.sessions();
  assert.deepEqual(
    rows.map(({ name, objective }) => [name, objective]),
    [[null, null]],
  );
  assert.deepEqual([(await session.state()).objective, (await session.state()).erased.records], [null, 5]);
  assert.equal((await session.erase({ ranges: [[6, 6]] })).records, 1);
});

test("a dry run says the same, and changes nothing", async () => {
  await using place = inMemory();
  const session = await spoken(place);
  const fork = await session.fork();
  const dry = await session.erase({ ranges: [[2, 2]], dryRun: true });
  assert.deepEqual([await goneIn(session), (await session.head()).seq, (await fork.head()).seq], [[], 5, 6]);
  const done = await session.erase({ ranges: [[2, 2]] });
  assert.deepEqual({ ...done, dryRun: true, scrubbed: false }, dry);
});

test("every session that shares a position loses it and says so, at whatever depth", async () => {
  await using place = inMemory();
  const session = await spoken(place);
  const near = await session.fork({ atSeq: 4 });
  const far = await near.fork({ atSeq: 3 });
  const early = await far.fork({ atSeq: 1 });
  const gone = await session.fork({ atSeq: 5 });
  const orphan = await gone.fork({ atSeq: 5 });
  await place.engine.delete(gone.id);
  const report = await session.erase({ ranges: [[2, 4]] });
  const losses = new Map(report.forks.map(({ session: fork, records }) => [fork, records]));
  assert.deepEqual(
    losses,
    new Map([
      [near.id, 3],
      [far.id, 2],
      [orphan.id, 3],
    ]),
  );
  const erased = async (one: Session) => (await one.fold()).standing.erased.ranges;
  assert.deepEqual(await Promise.all([near, far, early, orphan].map(erased)), [
    [[2, 4]],
    [[2, 3]],
    [],
    [[2, 4]],
  ]);
  assert.equal((await place.engine.verify()).ok, true);
});

test("a hold on the session, or on a fork that shares it, refuses all of it by name", async () => {
  await using place = inMemory();
  const session = await spoken(place);
  const fork = await session.fork({ atSeq: 3 });
  await fork.hold("case");
  const refused = { code: "refused", message: `${fork.id} is under legal hold "case"` };
  await assert.rejects(session.erase({ ranges: [[2, 5]] }), refused);
  assert.deepEqual([await goneIn(session), (await session.head()).seq], [[], 5]);
  await session.erase({ ranges: [[4, 5]] });
  await session.hold("audit");
  await assert.rejects(
    session.erase({
      ranges: [
        [5, 5],
        [2, 2],
      ],
    }),
    { code: "refused", message: /"audit"/ },
  );
  await session.lift("audit");
  await fork.lift("case");
  assert.equal((await session.erase()).records, 3);
});

test("a parent's contents are erased in the parent, or through a fork if it is deleted", async () => {
  await using place = inMemory();
  const session = await spoken(place);
  const fork = await session.fork({ atSeq: 4 });
  const sibling = await session.fork({ atSeq: 2 });
  await fork.append("own");
  await assert.rejects(fork.erase({ ranges: [[3, 6]] }), {
    code: "refused",
    message: `positions 3 to 4 of ${fork.id} belong to its parent ${session.id}`,
    hint: new RegExp(`skein erase ${session.id} --seq 3\\.\\.4`),
  });
  assert.equal((await fork.erase()).records, 1);
  await place.engine.delete(session.id);
  const report = await fork.erase({ ranges: [[1, 3]] });
  assert.deepEqual(
    [report.records, report.forks.map((one) => [one.session, one.records])],
    [3, [[sibling.id, 2]]],
  );
  assert.deepEqual(
    [await goneIn(fork), await goneIn(sibling)],
    [
      [1, 2, 3, 6],
      [1, 2],
    ],
  );
  assert.equal((await place.engine.verify()).ok, true);
});

test("a later fork records the erasures, also when its parent is deleted", async () => {
  await using place = inMemory();
  const session = await spoken(place);
  await session.erase({ ranges: [[2, 3]] });
  const early = await session.fork({ atSeq: 2 });
  const late = await session.fork();
  const next = await late.fork({ atSeq: 4 });
  const erased = async (one: Session) => (await one.fold()).standing.erased;
  const { bytes } = await erased(session);
  assert.deepEqual(await erased(late), { ranges: [[2, 3]], records: 2, bytes });
  const [, two] = await all(session.records());
  assert.deepEqual(await erased(early), { ranges: [[2, 2]], records: 1, bytes: two?.contentBytes });
  await place.engine.delete(session.id);
  await place.engine.delete(late.id);
  const report = await place.engine.verify();
  assert.deepEqual([report.problems, report.ok], [[], true]);
  assert.deepEqual(await goneIn(next), [2, 3]);
});

test("an erasure too large for one append takes several, and each record is accurate", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const inputs = Array.from({ length: 999 }, (_, place) => `input ${place}`);
  const records = inputs.map((text) => ({ type: "input.received", text }) as const);
  await session.append(records);
  const erasures: Part[] = [];
  const { store } = place;
  const heard = new Proxy(store, {
    get(target, name: keyof Store) {
      if (name !== "append") return target[name];
      return (parts: readonly Part[]) => {
        erasures.push(...parts.filter(({ erase }) => erase !== undefined));
        return target.append(parts);
      };
    },
  });
  const engine = new Engine({ store: heard, world: place.world });
  const report = await (await engine.session(session.id)).erase();
  assert.deepEqual([report.records, erasures.length], [1_000, 2]);
  const counts = erasures.map(({ drafts }) => JSON.parse(drafts[0]?.body ?? "") as { records: number });
  assert.deepEqual(
    counts.map((body) => body.records),
    [limit.eraseRecordsMax, 500],
  );
  assert.deepEqual((await session.fold()).standing.erased.records, 1_000);
});

test("ranges that do not fit one body take several appends", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "o" });
  const texts = Array.from({ length: 900 }, (_, place) => (place % 2 === 0 ? "needle" : "hay"));
  await session.append(texts.map((text) => ({ type: "input.received", text }) as const));
  const report = await session.erase({ match: "needle" });
  assert.deepEqual([report.records, report.ranges.length], [450, 450]);
  const said = (await saysErased(session)) as [{ ranges: unknown[]; records: number }, unknown][];
  assert.ok(said.length > 1);
  assert.equal(
    said.reduce((sum, [{ records }]) => sum + records, 0),
    450,
  );
  for (const [body] of said) assert.ok(JSON.stringify(body).length <= limit.bodyBytesMax);
  assert.equal((await session.verify()).ok, true);
});

test("more forks than fit into one append are all informed", { skip: atLength() }, async () => {
  await using place = inMemory();
  const session = await spoken(place);
  const forks = await Promise.all(Array.from({ length: limit.appendLogsMax + 5 }, () => session.fork()));
  const report = await session.erase({ ranges: [[3, 3]] });
  assert.equal(report.forks.length, forks.length);
  for (const fork of forks) {
    assert.deepEqual((await fork.fold()).standing.erased.ranges, [[3, 3]]);
    assert.equal((await fork.head()).seq, 7);
  }
});

test("an erasure that is broken off leaves whole batches, and doing it again finishes", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "o" });
  const fork = await session.fork();
  await session.append(Array.from({ length: 800 }, () => ({ type: "input.received", text: "x" }) as const));
  let left = 1;
  const failing = new Proxy(place.store, {
    get(target, name: keyof Store) {
      const own = target[name];
      if (name !== "append") return typeof own === "function" ? own.bind(target) : own;
      return async (parts: readonly Part[]) => {
        if (left-- <= 0) throw new Error("the machine stopped");
        return target.append(parts);
      };
    },
  });
  const engine = new Engine({ store: failing, world: place.world });
  await assert.rejects((await engine.session(session.id)).erase(), /the machine stopped/);
  assert.deepEqual([(await goneIn(session)).length, (await place.store.stats()).unscrubbed], [500, true]);
  assert.equal((await place.engine.verify()).ok, true);
  assert.deepEqual((await fork.fold()).standing.erased.records, 1);
  const report = await session.erase();
  assert.deepEqual([report.records, report.already, report.scrubbed], [301, 500, true]);
  assert.equal((await place.store.stats()).unscrubbed, false);
  assert.equal((await place.engine.verify()).ok, true);
});

test("an append whose answer is lost takes nothing away twice, and says it once", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "apple-rate" });
  const fork = await session.fork();
  await session.record("fact", "apple-rate", "four");
  await session.promote("fact", "apple-rate", { scope: "workspace" });
  const deaf = new Proxy(place.store, {
    get(target, name: keyof Store) {
      if (name !== "append") return target[name];
      const lost = new Set<string>();
      return async (parts: readonly Part[]) => {
        const outcome = await target.append(parts);
        const [first] = parts;
        if (first?.erase === undefined || lost.has(first.session)) return outcome;
        lost.add(first.session);
        return { kind: "unknown", cause: null };
      };
    },
  });
  const engine = new Engine({ store: deaf, world: place.world });
  const report = await (await engine.session(session.id)).erase({ copies: true });
  assert.deepEqual([report.records, report.copies.map(({ type }) => type)], [2, ["memory.promoted"]]);
  for (const one of [session, fork]) assert.equal((await saysErased(one)).length, 1);
  const { erased, problems } = await engine.verify();
  assert.deepEqual([erased, problems], [3, []]);
  const { workspace } = place.store;
  const range = { fromSeq: 1, toSeq: 99, limit: 99, contents: false };
  const said = await place.store.read(workspace, { ...range, types: ["content.erased"] });
  assert.equal(said.length, 1);
});

test("a scrub that is due is finished when nothing is left to erase", async () => {
  await using place = await inFile();
  const session = await spoken(place);
  const blocked = new Proxy(place.store, {
    get(target, name: keyof Store) {
      const own = target[name];
      if (name === "scrub")
        return async () => Promise.reject(new (await unavailable())("unavailable", "busy"));
      return typeof own === "function" ? own.bind(target) : own;
    },
  });
  const engine = new Engine({ store: blocked, world: place.world });
  assert.equal((await (await engine.session(session.id)).erase()).scrubbed, false);
  assert.equal((await place.store.stats()).unscrubbed, true);
  const again = await session.erase();
  assert.deepEqual([again.records, again.scrubbed, (await place.store.stats()).unscrubbed], [0, true, false]);
});

const unavailable = async () => (await import("../../../src/core/error.ts")).SkeinError;

test("another process that showed a content before shows a gap after", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "find it", instructions: "Be exact." });
  const drive = await session.drive();
  await session.input("the canary sings");
  await drive.begin();
  const other = await place.again();
  const theirs = await other.engine.session(session.id);
  const shown = async (): Promise<string> => JSON.stringify((await theirs.context()).parts);
  assert.match(await shown(), /canary sings/);
  assert.match(await shown(), /Be exact/);
  await session.erase();
  const after = await shown();
  assert.doesNotMatch(after, /canary sings|Be exact|find it/);
  assert.match(after, /erased/);
  assert.doesNotMatch(JSON.stringify((await session.context()).parts), /canary sings|Be exact/);
  await other.engine.close();
});

test("a state that another process showed before has gaps after, at every position", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "find it", name: "the canary" });
  await session.record("fact", "bird", "sings", { because: "it was heard" });
  await session.scratch("note", "sings too");
  const other = await place.again();
  const theirs = await other.engine.session(session.id);
  const shown = async (): Promise<string> =>
    JSON.stringify([await theirs.state(), await theirs.state({ atSeq: 3 }), await theirs.items()]);
  assert.match(await shown(), /canary.*sings.*it was heard.*sings too/);
  await session.erase();
  assert.doesNotMatch(await shown(), /canary|sings|heard|find it/);
  assert.deepEqual(await theirs.state({ atSeq: 3 }), await session.state({ atSeq: 3 }));
  await other.engine.close();
});

test("invalid options are refused, and nothing is changed", async () => {
  await using place = inMemory();
  const session = await spoken(place);
  const bad: [object, object][] = [
    [{ ranges: [[3, 2]] }, { code: "invalid", message: "erase: ranges: 3 is greater than 2" }],
    [{ ranges: [[0, 2]] }, { code: "invalid" }],
    [{ ranges: [[1.5, 2]] }, { code: "invalid" }],
    [{ ranges: [[1]] }, { code: "invalid" }],
    [{ ranges: [] }, { code: "invalid" }],
    [{ ranges: "1..2" }, { code: "invalid" }],
    [{ ranges: [[2, 6]] }, { code: "not-found", message: /position 6 does not exist/ }],
    [{ match: "" }, { code: "invalid" }],
    [{ match: "  \n" }, { code: "invalid" }],
    [{ match: 7 }, { code: "invalid" }],
    [{ reason: "r".repeat(limit.reasonCharsMax + 1) }, { code: "invalid" }],
    [{ range: [[1, 2]] }, { code: "invalid", hint: 'did you mean "ranges"?' }],
  ];
  for (const [options, error] of bad) await assert.rejects(session.erase(options), error);
  assert.deepEqual([await goneIn(session), (await session.head()).seq], [[], 5]);
  await place.engine.delete(session.id);
  await assert.rejects(session.erase(), { code: "not-found" });
});

test("after any forks, erasures and deletions every log lists exactly its erased contents", async () => {
  const step = fc.record({
    do: fc.constantFrom("fork", "fork", "erase", "erase", "append", "delete"),
    a: fc.nat(),
    b: fc.nat(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      await using place = inMemory();
      const living = [await spoken(place)];
      for (const { do: what, a, b } of steps) {
        const session = living[a % living.length];
        if (session === undefined) break;
        const { seq } = await session.head();
        if (what === "fork") living.push(await session.fork({ atSeq: 1 + (b % seq) }));
        else if (what === "append") await session.append(`said ${b}`);
        else if (what === "delete") {
          await place.engine.delete(session.id);
          living.splice(a % living.length, 1);
        } else {
          const from = 1 + (b % seq);
          const done = session.erase({ ranges: [[from, Math.min(seq, from + (a % 3))]] });
          await done.catch((error: { code?: string }) => assert.equal(error.code, "refused"));
        }
      }
      assert.deepEqual((await place.engine.verify()).problems, []);
      for (const session of living) {
        const gone = (await goneIn(session)).reduce(
          (all, seq) => range.add(all, [seq, seq]),
          [] as range.Ranges,
        );
        const { ranges, records } = (await session.fold()).standing.erased;
        assert.deepEqual(range.subtract(gone, ranges), []);
        assert.equal(records, range.count(gone));
      }
    }),
    cases(60),
  );
});

test("a copy is deleted where it is, and a session that was moved is erased where it lives", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  await b.engine.import(inPieces(await bundleOf(a, root.id)));
  const copy = await b.engine.session(root.id);
  await assert.rejects(copy.erase(), {
    code: "refused",
    message: `${root.id} is a read-only copy of a session in another store`,
    hint: "delete the copy here, and erase in the original store",
  });
  const own = await copy.fork();
  await assert.rejects(own.erase({ ranges: [[1, 1]] }), {
    code: "refused",
    hint: /is a copy: delete it here/,
  });
  await b.engine.delete(root.id);
  assert.equal((await own.erase({ ranges: [[1, 1]] })).records, 1);
  assert.equal((await b.engine.verify()).ok, true);
  // What is moved keeps elsewhere what goes here.
  await b.engine.import(inPieces(await bundleOf(a, fork.id, { move: true })));
  const hint = /erase in its new store/;
  await assert.rejects(fork.erase(), { code: "refused", message: /was moved/, hint });
  const report = await root.erase({ ranges: [[1, 1]] });
  assert.deepEqual(
    report.forks.map(({ session, elsewhere }) => [session, elsewhere]),
    [[fork.id, true]],
  );
  assert.deepEqual((await a.engine.verify()).problems, []);
  await a.engine.delete(root.id);
  assert.deepEqual((await a.engine.verify()).problems, []);
});

test("a bundle of a fork lists the erasures of its shared part", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { root, fork } = await livedIn(a);
  await root.erase({ ranges: [[1, 2]] });
  await b.engine.import(inPieces(await bundleOf(a, fork.id)));
  const report = await b.engine.verify();
  assert.deepEqual([report.problems, report.erased], [[], 2]);
});
