/** Conformance: appends, their refusals, and leases. */
import assert from "node:assert/strict";
import { makeProjectId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { append, assertWhole, drafts, draftOf, entryOf, isError, opened } from "./bench.ts";
import { partOf, readAll, startOfTime, written } from "./bench.ts";
import type { Expect } from "../port.ts";

export const appendCases: readonly ConformanceCase[] = [
  { name: "appends are dense and chained", run: densely },
  { name: "a record is returned as it was written", run: verbatim },
  { name: "Unicode and 1 MiB contents are returned byte for byte", run: largeContents },
  { name: "the workspace has its own log", run: workspaceLog },
  { name: "the log of a project is not a session", run: projectLog },
  { name: "each expectation accepts the matching head and no other", run: expectations },
  { name: "a stale head is refused and nothing is written", run: staleHead },
  { name: "a head of another history is refused and nothing is written", run: otherHead },
  { name: "a session's first append sets the index columns", run: firstIndex },
  { name: "an append to several logs is atomic", run: severalLogs },
  { name: "one refused part refuses the whole append", run: allOrNone },
  { name: "one log twice in one append is refused", run: oneLogTwice },
  { name: "parts are checked in order", run: partsInOrder },
  { name: "the key is checked before the epoch, the epoch before the head", run: orderOfRefusals },
  { name: "a key is a duplicate in its own log only", run: keysOfOneLog },
  { name: "a refused append leaves its keys free", run: keysOfRefused },
  { name: "two appends at once: one refusal does not fail the other", run: twoAtOnce },
  { name: "of many writers at one head exactly one wins", run: manyAtOneHead },
  { name: "many appends at once are all written, each at its own position", run: manyUnchecked },
  { name: "at never goes back when the clock does", run: clockGoesBack },
  { name: "records of one part share one moment", run: oneMoment },
  { name: "a lease is taken, renewed, released, fenced", run: leaseOfLife },
  { name: "an append over several logs with a superseded epoch is fenced", run: fencedAmongSeveral },
  { name: "an expired lease is in force until another holder takes it", run: leaseRunsOut },
  { name: "an append is accepted at the record limit and refused beyond", run: mostRecords },
  { name: "an append is accepted at the log limit and refused beyond", run: mostLogs },
];

async function densely(bench: Bench): Promise<void> {
  const session = await opened(bench, 3);
  const [appended] = await append(bench, partOf(bench, session, { seq: 3 }, { count: 2 }));
  const records = await readAll(bench.store, session, { fromSeq: 4 });
  const hashes = records.map((record) => record.hash);
  assert.deepEqual(appended, { session, firstSeq: 4, headSeq: 5, at: startOfTime, hashes });
  await assertWhole(bench, session, 5);
}

async function verbatim(bench: Bench): Promise<void> {
  const { digest } = bench.world;
  const bare = draftOf({ type: "x.bare", body: { n: 1 } }, digest);
  const full = {
    ...draftOf({ type: "x.full", content: { said: "this" }, key: "k" }, digest),
    v: 3,
    actor: "user:prn_1",
    turn: 7,
    cause: 1,
  };
  const session = await opened(bench, 0, { drafts: [bare, full] });
  const [first, second] = await readAll(bench.store, session);
  const placed = { session, at: startOfTime };
  const { bodyHash: _b, content: _c, blobs: _r, ...bareKept } = bare;
  const none = { contentHash: null, contentBytes: null, salt: null, content: null };
  assert.deepEqual(first, { ...bareKept, ...placed, seq: 1, hash: first?.hash, ...none });
  const { bodyHash: _f, content, blobs: _s, ...fullKept } = full;
  const kept = { contentHash: content?.hash, contentBytes: content?.bytes, salt: content?.salt };
  assert.deepEqual(second, {
    ...fullKept,
    ...placed,
    seq: 2,
    hash: second?.hash,
    ...kept,
    content: content?.text,
  });
}

async function largeContents(bench: Bench): Promise<void> {
  // The two quotes of the JSON text are part of the content.
  const large = "é€𝄞\u0000\uFFFF\u2028".repeat(80_000).slice(0, 300_000);
  const exact = "x".repeat(limit.contentBytesMax - 2);
  const contents = [
    large,
    exact,
    "\u{10FFFF}e\u0301 é 日本語 עברית 👩‍👩‍👧",
    "\uD800 alone",
    "",
    { "": [null, -0.5e-7] },
  ];
  const given = contents.map((content) => draftOf({ content }, bench.world.digest));
  const session = await opened(bench, 0, { drafts: given });
  const records = await readAll(bench.store, session);
  for (const [place, draft] of given.entries()) {
    assert.ok(records[place]?.content === draft.content?.text, `content ${place} is not what was given`);
  }
  assert.equal(records[1]?.contentBytes, limit.contentBytesMax);
  await assertWhole(bench, session, contents.length);
}

async function workspaceLog(bench: Bench): Promise<void> {
  const { workspace } = bench.store;
  await append(bench, partOf(bench, workspace, "unchecked", { count: 2 }));
  const headSeq = (await bench.store.head(workspace))?.seq ?? 0;
  await append(bench, partOf(bench, workspace, { seq: headSeq }));
  await assertWhole(bench, workspace, headSeq + 1);
  assert.deepEqual((await bench.store.list({}, { limit: 10 })).rows, []);
}

async function projectLog(bench: Bench): Promise<void> {
  const { store, world } = bench;
  const project = makeProjectId({ nowMs: world.now(), random: new Uint8Array(10).fill(7) });
  const session = bench.newId();
  await append(
    bench,
    partOf(bench, project, "absent"),
    partOf(bench, session, "absent", { index: entryOf() }),
  );
  await append(bench, partOf(bench, project, "exists"));
  await append(bench, partOf(bench, project, { seq: 2 }, { count: 2 }));
  await assertWhole(bench, project, 4);
  assert.deepEqual(
    (await store.list({}, { limit: 10 })).rows.map((row) => row.session),
    [session],
  );
  assert.ok((await store.logs(null, 10)).rows.includes(project));
  assert.equal((await store.stats()).sessions, 1);
  for (const wrong of [{ index: entryOf() }, { parent: { session, seq: 1 } }]) {
    const part = partOf(bench, makeProjectId({ nowMs: 1, random: new Uint8Array(10) }), "absent", wrong);
    await assert.rejects(store.append([part]), { code: "invalid" });
  }
}

async function expectations(bench: Bench): Promise<void> {
  const index = entryOf();
  const attempt = async (there: boolean, expect: Expect): Promise<string> => {
    const session = there ? await opened(bench, 2) : bench.newId();
    const outcome = await bench.store.append([partOf(bench, session, expect, { index })]);
    return outcome.kind === "conflict" ? `conflict at ${outcome.headSeq}` : outcome.kind;
  };
  assert.equal(await attempt(false, "absent"), "ok");
  assert.equal(await attempt(false, "unchecked"), "ok");
  assert.equal(await attempt(false, { seq: 0 }), "ok");
  assert.equal(await attempt(false, "exists"), "conflict at 0");
  assert.equal(await attempt(false, { seq: 1 }), "conflict at 0");
  assert.equal(await attempt(true, "exists"), "ok");
  assert.equal(await attempt(true, "unchecked"), "ok");
  assert.equal(await attempt(true, { seq: 2 }), "ok");
  assert.equal(await attempt(true, "absent"), "conflict at 2");
  assert.equal(await attempt(true, { seq: 1 }), "conflict at 2");
  assert.equal(await attempt(true, { seq: 3 }), "conflict at 2");
}

async function staleHead(bench: Bench): Promise<void> {
  const session = await opened(bench, 2);
  const outcome = await bench.store.append([
    partOf(bench, session, { seq: 1 }, { index: entryOf({ name: "changed" }) }),
  ]);
  assert.deepEqual(outcome, { kind: "conflict", session, headSeq: 2 });
  await assertWhole(bench, session, 2);
  const { rows } = await bench.store.list({}, { limit: 10 });
  assert.deepEqual(
    rows.map((row) => row.name),
    [null],
  );
}

async function otherHead(bench: Bench): Promise<void> {
  const session = await opened(bench, 2);
  const hash = (await bench.store.head(session))?.hash ?? "";
  const other = hash.replaceAll(/./g, (digit) => (digit === "0" ? "1" : "0"));
  const outcome = await bench.store.append([partOf(bench, session, { seq: 2, hash: other })]);
  assert.deepEqual(outcome, { kind: "conflict", session, headSeq: 2 });
  await assertWhole(bench, session, 2);
  await append(bench, partOf(bench, session, { seq: 2, hash }));
  await assertWhole(bench, session, 3);
}

async function firstIndex(bench: Bench): Promise<void> {
  const session = bench.newId();
  await assert.rejects(bench.store.append([partOf(bench, session, "absent")]), isError("invalid"));
  assert.equal(await bench.store.head(session), undefined);
}

async function severalLogs(bench: Bench): Promise<void> {
  const [first, second] = [await opened(bench, 2), bench.newId()];
  const { workspace } = bench.store;
  const parts = await append(
    bench,
    partOf(bench, first, { seq: 2 }),
    partOf(bench, second, "absent", { count: 2, index: entryOf() }),
    partOf(bench, workspace, "unchecked"),
  );
  const places = parts.map((part) => [part.session, part.firstSeq, part.headSeq, part.hashes.length]);
  const workspaceSeq = (await bench.store.head(workspace))?.seq;
  assert.deepEqual(places, [
    [first, 3, 3, 1],
    [second, 1, 2, 2],
    [workspace, workspaceSeq, workspaceSeq, 1],
  ]);
  await assertWhole(bench, first, 3);
  await assertWhole(bench, second, 2);
}

async function allOrNone(bench: Bench): Promise<void> {
  const [first, second, fresh] = [await opened(bench), await opened(bench, 2), bench.newId()];
  const before = await bench.store.stats();
  const outcome = await bench.store.append([
    partOf(
      bench,
      first,
      { seq: 1 },
      { index: entryOf({ name: "changed" }), lease: { holder: "h", leaseMs: 5_000 } },
    ),
    partOf(bench, fresh, "absent", { index: entryOf() }),
    partOf(bench, second, { seq: 1 }),
  ]);
  assert.deepEqual(outcome, { kind: "conflict", session: second, headSeq: 2 });
  assert.equal(await bench.store.head(fresh), undefined);
  assert.equal((await bench.store.head(first))?.epoch, 0);
  assert.deepEqual((await bench.store.list({ text: "changed" }, { limit: 10 })).rows, []);
  assert.equal((await bench.store.stats()).records, before.records);
  await assertWhole(bench, first, 1);
  await assertWhole(bench, second, 2);
}

async function oneLogTwice(bench: Bench): Promise<void> {
  const session = await opened(bench);
  const parts = [partOf(bench, session, { seq: 1 }), partOf(bench, session, { seq: 2 })];
  await assert.rejects(bench.store.append(parts), isError("invalid"));
  await assertWhole(bench, session, 1);
}

async function partsInOrder(bench: Bench): Promise<void> {
  const keyed = drafts(bench, 1, { key: "k" });
  const [first, second] = [await opened(bench), await opened(bench, 0, { drafts: keyed })];
  const late = partOf(bench, first, { seq: 9 });
  const twice = partOf(bench, second, { seq: 1 }, { drafts: keyed });
  assert.equal((await bench.store.append([late, twice])).kind, "conflict");
  assert.equal((await bench.store.append([twice, late])).kind, "duplicate");
}

async function orderOfRefusals(bench: Bench): Promise<void> {
  const [keyed] = drafts(bench, 1, { key: "k" });
  assert.ok(keyed);
  const lease = { holder: "h", leaseMs: 5_000 };
  const session = await opened(bench, 0, { drafts: [...drafts(bench, 1), keyed], lease });
  const part = partOf(bench, session, { seq: 9 }, { epoch: 8, drafts: [...drafts(bench, 1), keyed] });
  const key = keyed.key ?? "";
  assert.deepEqual(await bench.store.append([part]), { kind: "duplicate", session, key, seq: 2 });
  const fresh = { ...part, drafts: drafts(bench, 1, { key: "other" }) };
  assert.deepEqual(await bench.store.append([fresh]), { kind: "fenced", session, epoch: 1 });
  const inForce = { ...fresh, epoch: 1 };
  assert.deepEqual(await bench.store.append([inForce]), { kind: "conflict", session, headSeq: 2 });
  await append(bench, { ...inForce, expect: { seq: 2 } });
}

async function keysOfOneLog(bench: Bench): Promise<void> {
  const keyed = drafts(bench, 1, { key: "k" });
  const [first, second] = [await opened(bench, 0, { drafts: keyed }), await opened(bench)];
  await append(bench, partOf(bench, second, { seq: 1 }, { drafts: keyed }));
  const outcome = await bench.store.append([partOf(bench, first, "unchecked", { drafts: keyed })]);
  assert.equal(outcome.kind, "duplicate");
}

async function keysOfRefused(bench: Bench): Promise<void> {
  const keyed = drafts(bench, 1, { key: "k" });
  const session = await opened(bench);
  const refused = await bench.store.append([partOf(bench, session, { seq: 9 }, { drafts: keyed })]);
  assert.equal(refused.kind, "conflict");
  await append(bench, partOf(bench, session, { seq: 1 }, { drafts: keyed }));
}

async function twoAtOnce(bench: Bench): Promise<void> {
  const [first, second] = [await opened(bench), await opened(bench)];
  const outcomes = await Promise.all([
    bench.store.append([partOf(bench, first, { seq: 1 })]),
    bench.store.append([partOf(bench, second, { seq: 5 }), partOf(bench, first, "unchecked")]),
    bench.store.append([partOf(bench, second, { seq: 1 }, { count: 2 })]),
  ]);
  assert.deepEqual(
    outcomes.map((outcome) => outcome.kind),
    ["ok", "conflict", "ok"],
  );
  await assertWhole(bench, first, 2);
  await assertWhole(bench, second, 3);
}

async function manyAtOneHead(bench: Bench): Promise<void> {
  const session = await opened(bench);
  const attempts = Array.from({ length: 20 }, () => bench.store.append([partOf(bench, session, { seq: 1 })]));
  const kinds = (await Promise.all(attempts)).map((outcome) => outcome.kind);
  assert.equal(kinds.filter((kind) => kind === "ok").length, 1);
  assert.equal(kinds.filter((kind) => kind === "conflict").length, 19);
  await assertWhole(bench, session, 2);
}

async function manyUnchecked(bench: Bench): Promise<void> {
  const session = await opened(bench);
  const attempts = Array.from({ length: 50 }, () => bench.store.append([partOf(bench, session, "exists")]));
  const seqs = (await Promise.all(attempts)).map((outcome) => written(outcome)[0]?.firstSeq);
  assert.equal(new Set(seqs).size, 50);
  await assertWhole(bench, session, 51);
}

async function clockGoesBack(bench: Bench): Promise<void> {
  const session = await opened(bench);
  bench.setClock(startOfTime - 60_000);
  const [behind] = await append(bench, partOf(bench, session, { seq: 1 }));
  assert.equal(behind?.at, startOfTime);
  const other = await opened(bench);
  assert.equal((await bench.store.head(other))?.at, startOfTime - 60_000);
  bench.setClock(startOfTime + 1);
  const [ahead] = await append(bench, partOf(bench, session, { seq: 2 }));
  assert.equal(ahead?.at, startOfTime + 1);
  await assertWhole(bench, session, 3);
}

async function oneMoment(bench: Bench): Promise<void> {
  const session = await opened(bench, 3);
  bench.setClock(startOfTime + 5);
  await append(bench, partOf(bench, session, { seq: 3 }, { count: 2 }));
  const moments = (await readAll(bench.store, session)).map((record) => record.at - startOfTime);
  assert.deepEqual(moments, [0, 0, 0, 5, 5]);
}

async function leaseOfLife(bench: Bench): Promise<void> {
  const { store } = bench;
  const session = await opened(bench, 2);
  const take = (holder: string) => ({ lease: { holder, leaseMs: 10_000 } });
  assert.deepEqual(await leaseOf(bench, session), [0, null]);
  await append(bench, partOf(bench, session, { seq: 2 }, take("one")));
  assert.deepEqual(await leaseOf(bench, session), [3, { holder: "one", untilMs: startOfTime + 10_000 }]);
  bench.setClock(startOfTime + 4_000);
  assert.equal(await store.renew(session, 3, 10_000), true);
  assert.equal(await store.renew(session, 2, 60_000), false);
  assert.deepEqual(await leaseOf(bench, session), [3, { holder: "one", untilMs: startOfTime + 14_000 }]);
  await append(bench, partOf(bench, session, { seq: 3 }, { epoch: 3 }));
  await append(bench, partOf(bench, session, { seq: 4 }, take("two")));
  const stale = await store.append([partOf(bench, session, "unchecked", { epoch: 3 })]);
  assert.deepEqual(stale, { kind: "fenced", session, epoch: 5 });
  assert.equal(await store.renew(session, 3, 10_000), false);
  await append(bench, partOf(bench, session, { seq: 5 }, { epoch: 5, lease: "release" }));
  assert.deepEqual(await leaseOf(bench, session), [0, null]);
  assert.equal(await store.renew(session, 5, 10_000), false);
  const late = await store.append([partOf(bench, session, "unchecked", { epoch: 5 })]);
  assert.deepEqual(late, { kind: "fenced", session, epoch: 0 });
  await append(bench, partOf(bench, session, { seq: 6 }));
  await assertWhole(bench, session, 7);
}

async function fencedAmongSeveral(bench: Bench): Promise<void> {
  const { store } = bench;
  const [first, second] = [await opened(bench, 2), await opened(bench, 2)];
  const take = (holder: string) => ({ lease: { holder, leaseMs: 10_000 } });
  await append(bench, partOf(bench, second, { seq: 2 }, take("one")));
  await append(bench, partOf(bench, first, { seq: 2 }), partOf(bench, second, { seq: 3 }, { epoch: 3 }));
  await append(bench, partOf(bench, second, { seq: 4 }, take("two")));
  const stale = [partOf(bench, first, { seq: 3 }), partOf(bench, second, { seq: 5 }, { epoch: 3 })];
  for (const parts of [stale, stale.toReversed()]) {
    assert.deepEqual(await store.append(parts), { kind: "fenced", session: second, epoch: 5 });
  }
  await assertWhole(bench, first, 3);
  await assertWhole(bench, second, 5);
}

async function leaseOf(
  bench: Bench,
  session: Parameters<Bench["store"]["head"]>[0],
): Promise<readonly unknown[]> {
  const head = await bench.store.head(session);
  return [head?.epoch, head?.lease];
}

async function leaseRunsOut(bench: Bench): Promise<void> {
  const session = await opened(bench, 1, { lease: { holder: "one", leaseMs: 10_000 } });
  bench.setClock(startOfTime + 60_000);
  await append(bench, partOf(bench, session, { seq: 1 }, { epoch: 1 }));
  assert.deepEqual(await leaseOf(bench, session), [1, { holder: "one", untilMs: startOfTime + 10_000 }]);
  assert.equal(await bench.store.renew(session, 1, 10_000), true);
  assert.deepEqual(await leaseOf(bench, session), [1, { holder: "one", untilMs: startOfTime + 70_000 }]);
}

async function mostRecords(bench: Bench): Promise<void> {
  const session = await opened(bench);
  const most = limit.appendRecordsMax;
  await assert.rejects(
    bench.store.append([partOf(bench, session, "exists", { count: most + 1 })]),
    isError("invalid"),
  );
  const split = [
    partOf(bench, session, "exists", { count: most }),
    partOf(bench, bench.store.workspace, "unchecked"),
  ];
  await assert.rejects(bench.store.append(split), isError("invalid"));
  await assertWhole(bench, session, 1);
  await append(bench, partOf(bench, session, "exists", { count: most }));
  await assertWhole(bench, session, most + 1);
}

async function mostLogs(bench: Bench): Promise<void> {
  const parts = Array.from({ length: limit.appendLogsMax + 1 }, () =>
    partOf(bench, bench.newId(), "absent", { index: entryOf() }),
  );
  await assert.rejects(bench.store.append(parts), isError("invalid"));
  assert.equal((await bench.store.stats()).sessions, 0);
  await append(bench, ...parts.slice(1));
  assert.equal((await bench.store.stats()).sessions, limit.appendLogsMax);
}
