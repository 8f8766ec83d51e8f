/** A key and `If-Match` together, and what is left of a call that failed half way: the same again goes on. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { WorkspaceId } from "../../src/core/ids.ts";
import { ModelError } from "../../src/model/port.ts";
import type { OperationId } from "../../src/call/operations.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { inMemory, workspace } from "../runtime/place.ts";
import type { Line } from "../runtime/turn/scripted.ts";
import { served, type Answered, type Given, type ServedOptions } from "./served.ts";
import { internalsOf } from "../../src/runtime/engine/internals.ts";

/** One that outlives its server. */
const lasting = (of: WorkspaceId = workspace): Store => ({
  ...memoryStore({ world: realWorld(), workspace: of }),
  close: async () => undefined,
});

/** Asks under one key at a server, and again at the next over the same store. */
async function twice(
  operation: OperationId,
  make: (session: Session) => Promise<Given>,
  options: ServedOptions & { readonly between?: () => void } = {},
): Promise<readonly [Answered, Answered]> {
  const store = lasting();
  const first = await served({ store, ...options });
  const session = await first.engine.open({ objective: "Asked", model: "test/scripted" });
  const made = await make(session);
  const headers = { "idempotency-key": "k", ...made.headers };
  const given = { id: session.id, token: first.token, ...made, headers };
  const answered = await first.call(operation, given);
  await first[Symbol.asyncDispose]();
  options.between?.();
  await using second = await served({ store, ...options });
  return [answered, await second.call(operation, given)];
}

const expecting = async (session: Session): Promise<Record<string, string>> => ({
  "if-match": `"${(await session.head()).seq}"`,
});

test("the key finds a deleted or moved session, whatever was expected", async () => {
  const deleted = await twice("engine.delete", async (session) => ({ headers: await expecting(session) }));
  assert.deepEqual(
    deleted.map(({ status }) => status),
    [204, 204],
  );
  const other = lasting("wsp_01k00000000000000000000009" as WorkspaceId);
  const moved = await twice(
    "session.migrate",
    async (session) => ({ params: { to: "./other.db" }, headers: await expecting(session) }),
    { otherStores: true, openStore: async () => other },
  );
  assert.deepEqual(
    moved.map(({ status }) => status),
    [200, 200],
    JSON.stringify(moved),
  );
});

test("a compress that failed midway resumes when it is repeated", async () => {
  let asked = 0;
  let [isAsked, isOver] = [false, false];
  const line: Line = () => {
    if (!isAsked) return `Answer ${"word ".repeat(50)}`;
    asked += 1;
    if (asked === 1) return new ModelError("overflow", "too long");
    return asked === 2 || isOver ? "In short." : new ModelError("overloaded", "busy");
  };
  const between = (): void => {
    [asked, isOver] = [2, true];
  };
  const talk = async (session: Session): Promise<Given> => {
    for (let number = 0; number < 6; number++) {
      await session.append(`What of ${"this and that ".repeat(400)}${number}?`);
      await session.run();
    }
    isAsked = true;
    return { params: { strategy: "summarize" } };
  };
  const [first, second] = await twice("session.compress", talk, { lines: [line], between });
  assert.equal(first.status, 503, JSON.stringify(first.body));
  assert.equal(second.status, 200, JSON.stringify(second.body));
  assert.ok(asked > 2, "the model was asked for the rest");
});

test("a run without an expected position is not refused for another caller's", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "Run" });
  await session.record("fact", "k", 1);
  const { forRequest } = internalsOf(place.engine);
  const elsewhere = await forRequest({ expect: { session: session.id, seq: 1 } }).session(session.id);
  const held = elsewhere.run();
  const plain = session.run();
  await assert.rejects(held, { code: "conflict" });
  await plain;
});
