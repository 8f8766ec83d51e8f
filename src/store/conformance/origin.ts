/** Conformance: finding sessions by the origin that their first record names. */
import assert from "node:assert/strict";
import { bodyHashOf, genesisHash, link } from "../../core/chain.ts";
import type { SessionId } from "../../core/ids.ts";
import type { Bench, ConformanceCase } from "./bench.ts";
import { append, draftOf, dropped, drafts, forked, opened, partOf, startOfTime } from "./bench.ts";
import { alone, end } from "./receive.ts";
import type { ReceivedRecord } from "../port.ts";

export const originCases: readonly ConformanceCase[] = [
  { name: "a session is found by the session it was opened from", run: foundByOrigin },
  {
    name: "a session is found by its origin when it is packed, and until it is deleted",
    run: packedAndGone,
    needs: ["index", "maintenance"],
  },
  {
    name: "a received session is found by its origin once it is finished",
    run: receivedByOrigin,
    needs: ["index", "receive"],
  },
  { name: "sessions are found by their origin after reopening", run: reopened, reopens: true },
];

const openedBy = (bench: Bench, body: unknown, type = "session.opened"): Promise<SessionId> =>
  opened(bench, 1, { drafts: drafts(bench, 1, { type, body }) });

async function foundByOrigin(bench: Bench): Promise<void> {
  const { store } = bench;
  const first = await opened(bench, 3);
  const child = await openedBy(bench, { parent: { session: first, seq: 2 } });
  const successor = await openedBy(bench, { from: first });
  await openedBy(bench, { from: "not an id" });
  await openedBy(bench, { from: first }, "x.test");
  // A fork shares the first record, and does not come from the origin itself.
  await forked(bench, child, 1);
  await append(bench, partOf(bench, child, "exists"));
  assert.deepEqual(await store.openedFrom(first), [child, successor]);
  assert.deepEqual(await store.openedFrom(child), []);
  assert.deepEqual(await store.openedFrom(bench.newId()), []);
}

async function packedAndGone(bench: Bench): Promise<void> {
  const { store } = bench;
  const first = await opened(bench);
  const successor = await openedBy(bench, { from: first });
  await append(bench, partOf(bench, successor, "exists", { count: 40 }));
  await store.pack(successor, 40);
  await store.clearDerived();
  assert.deepEqual(await store.openedFrom(first), [successor]);
  await dropped(bench, first);
  assert.deepEqual(await store.openedFrom(first), [successor]);
  await dropped(bench, successor);
  assert.deepEqual(await store.openedFrom(first), []);
}

async function receivedByOrigin(bench: Bench): Promise<void> {
  const { store } = bench;
  const from = bench.newId();
  const session = bench.newId();
  const { digest } = bench.world;
  const {
    content: _,
    bodyHash,
    blobs,
    ...draft
  } = draftOf({ type: "session.opened", body: { from } }, digest);
  const fields = { ...draft, contentHash: null, contentBytes: null, session, seq: 1, at: startOfTime };
  assert.equal(bodyHash, bodyHashOf(digest, draft.body));
  const hash = link(digest, genesisHash, fields, bodyHash);
  const records: readonly ReceivedRecord[] = [{ ...fields, hash, salt: null, content: null, blobs }];
  await store.receive(alone(session));
  await store.put(session, records);
  assert.deepEqual(await store.openedFrom(from), []);
  await store.finish([end({ session, records }, "own")]);
  assert.deepEqual(await store.openedFrom(from), [session]);
}

async function reopened(bench: Bench): Promise<void> {
  const first = await opened(bench);
  const successor = await openedBy(bench, { from: first });
  await bench.store.close();
  assert.deepEqual(await (await bench.reopen()).openedFrom(first), [successor]);
}
