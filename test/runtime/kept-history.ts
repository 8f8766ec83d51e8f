/** Generated histories put into a store, record by record, as a runner would have written them. */
import assert from "node:assert/strict";
import { bodyHashOf, type StoredRecord } from "../../src/core/chain.ts";
import type { SessionId } from "../../src/core/ids.ts";
import type { Draft, IndexEntry, Part, Store } from "../../src/store/port.ts";
import { digest } from "../core/digest.ts";
import type { History } from "../core/history.ts";
import { startOfTime, type MadeWorld } from "./made-world.ts";

const index: IndexEntry = {
  status: "open",
  agent: null,
  name: null,
  objective: null,
  priority: 5,
  labels: {},
};

/** A record as the draft that it was. */
function draftOfRecord(record: StoredRecord): Draft {
  const { type, v, actor, turn, cause, key, body, content, contentHash, contentBytes, salt } = record;
  const said =
    content === null || salt === null || contentHash === null || contentBytes === null
      ? null
      : { text: content, bytes: contentBytes, salt, hash: contentHash };
  return {
    type,
    v,
    actor,
    turn,
    cause,
    key,
    body,
    bodyHash: bodyHashOf(digest, body),
    content: said,
    blobs: [],
  };
}

/**
 * Writes the history and gives the session it ends in. Each fork on the way becomes a log of its own that
 * shares what came before. The store's own hashes must be those of the history.
 */
export async function keep(store: Store, world: MadeWorld, life: History): Promise<SessionId> {
  const parts = groupBySession(life.records);
  for (const [place, records] of parts.entries()) {
    const session = records[0]!.session as SessionId;
    const before = parts[place - 1];
    for (const record of records) {
      world.pass(record.at - world.now());
      const first = record === records[0];
      const part: Part = {
        session,
        expect: first ? "absent" : { seq: record.seq - 1 },
        drafts: [draftOfRecord(record)],
        ...(first ? { index } : {}),
        ...(first && before !== undefined
          ? { parent: { session: before[0]!.session as SessionId, seq: record.seq - 1 } }
          : {}),
      };
      const outcome = await store.append([part]);
      assert.ok(outcome.kind === "ok", outcome.kind);
      assert.deepEqual(outcome.parts[0]?.hashes, [record.hash]);
    }
  }
  assert.ok(world.now() > startOfTime);
  return life.session;
}

function groupBySession(records: readonly StoredRecord[]): StoredRecord[][] {
  const groups: StoredRecord[][] = [];
  for (const record of records) {
    if (groups.at(-1)?.[0]?.session === record.session) groups.at(-1)!.push(record);
    else groups.push([record]);
  }
  return groups;
}
