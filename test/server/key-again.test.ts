/** Every write, sent again with its key after a restart: it is once in effect, as docs/http.md says. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../src/core/error.ts";
import { limit } from "../../src/core/limit.ts";
import { ModelError } from "../../src/model/port.ts";
import { operationIds, operationOf, type OperationId } from "../../src/call/operations.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { workspace } from "../runtime/place.ts";
import type { Line } from "../runtime/turn/scripted.ts";
import { compacted, talked } from "./talk.ts";
import { fine, served, type Answered, type Given, type Served } from "./served.ts";
import { saveApproval } from "./saved-approval.ts";
import { ofMemoryQueue } from "./key-again-memory.ts";
import { ofChecks } from "./key-again-checks.ts";
import { ofProjects, proposing } from "./key-again-projects.ts";

interface Row {
  readonly params?: Given["params"];
  /** Done first; what it gives is put into the call. */
  readonly before?: (place: Served, session: Session) => Promise<Given | void>;
  /** Done by somebody between the two: the second time must not undo it. */
  readonly between?: (place: Served, session: Session) => Promise<unknown>;
  /** What the second time writes. */
  readonly records?: number;
  /** `first`, the default: the very same. `duplicate`: it says so, and where the first was written. */
  readonly answer?: "first" | "duplicate" | ((first: unknown, second: Answered) => void);
}

const later = { kind: "at", at: Date.now() + 1e9 } as const;
const fact = { scope: "workspace", kind: "fact", key: "k" } as const;
const policy = { do: "pack", after: "30d" } as const;
const told = { events: ["turn.*"], secret: "HOOK" };
const hook = { url: "https://hooks.example/skein", ...told };
const opens = { open: { objective: "Opened" } } as const;
const template = { spec: later, ...opens } as const;
const plan = { name: "plan", tickets: [{ id: "a", title: "A", text: "", after: [], line: 1 }] };

const changed = (params: Given["params"] = {}, before?: Row["before"]): Row => ({
  params,
  answer: "duplicate",
  ...(before === undefined ? {} : { before }),
});
const on =
  (work: (session: Session) => Promise<unknown>): NonNullable<Row["before"]> =>
  async (_, session) =>
    void (await work(session));
const known: Row["before"] = async ({ engine }) => void (await engine.remember({ ...fact, value: 1 }));

const ofWorkspace: Partial<Record<OperationId, readonly Row[]>> = {
  "engine.open": [{ params: { objective: "Once" } }],
  "engine.delete": [{}],
  "engine.import": [{ before: bundled, answer: () => undefined }],
  "engine.migrate": [],
  "engine.send": [
    { before: async (_, { id }) => ({ params: { to: id, message: "hello" } }), answer: "duplicate" },
  ],
  "engine.deliver": [{}],
  "engine.putBlob": [{ before: async () => ({ bytes: Buffer.from("an image") }) }],
  "engine.addAgent": [
    {
      params: { name: "fixer", instructions: "One" },
      between: ({ engine }) => engine.addAgent({ name: "fixer", instructions: "Two" }),
    },
  ],
  "engine.remember": [
    { params: { ...fact, value: 1 }, between: ({ engine }) => engine.forget(fact) },
    { params: { ...fact, value: 1 }, between: ({ engine }) => engine.remember({ ...fact, value: 2 }) },
  ],
  "engine.forget": [
    { params: fact, before: known },
    { params: fact, before: known, between: ({ engine }) => engine.remember({ ...fact, value: 2 }) },
    {
      params: { ...fact, erase: true },
      before: known,
      between: ({ engine }) => engine.remember({ ...fact, value: 3 }),
      // What went then is gone.
      answer: (_, second) =>
        assert.equal((fine(second) as { erasure: { records: number } }).erasure.records, 0),
    },
  ],
  ...ofMemoryQueue,
  ...ofProjects,
  "engine.setPolicy": [
    { params: { name: "a", policy } },
    { params: { name: "b", policy }, between: ({ engine }) => engine.removePolicy("b") },
  ],
  "engine.removePolicy": [
    {
      params: { name: "c" },
      before: async ({ engine }) => void (await engine.setPolicy("c", policy)),
      between: ({ engine }) => engine.setPolicy("c", policy),
    },
  ],
  "engine.anchor": [{}],
  "engine.acceptAnchor": [{ params: { reason: "Restored from the backup of Monday" } }],
  "engine.revokeApproval": [{ params: { name: "approval-1" }, before: saveApproval, between: saveApproval }],
  "engine.retain": [{ params: { dryRun: true } }],
  "engine.trigger": [
    { params: { name: "at", ...template } },
    { params: { name: "gone", ...template }, between: ({ engine }) => engine.untrigger("gone") },
    {
      before: async (_, { id }) => ({
        params: { name: "end", spec: { kind: "session", on: "end", sessions: [id] }, ...opens },
      }),
      between: ({ engine }, { id }) => engine.delete(id),
    },
  ],
  "engine.untrigger": [
    {
      params: { name: "off" },
      before: async ({ engine }) => void (await engine.trigger("off", later, opens)),
      between: ({ engine }) => engine.trigger("off", later, opens),
    },
  ],
  "engine.fire": [
    {
      params: { name: "fired", text: "Go" },
      before: async ({ engine }) => void (await engine.trigger("fired", later, opens)),
    },
    {
      params: { name: "anew" },
      before: async ({ engine }) => void (await engine.trigger("anew", later, opens)),
      between: ({ engine }) => engine.trigger("anew", later, opens),
    },
    {
      params: { name: "over" },
      before: async ({ engine }) => void (await engine.trigger("over", later, opens)),
      between: ({ engine }) => engine.untrigger("over"),
    },
  ],
  "engine.runTickets": [{ params: { plan, dryRun: true } }],
  "engine.rebuild": [{}],
  // A token is shown once: that it was issued is all that can be said.
  "engine.addToken": [
    { params: { scopes: ["read"], name: "a" }, answer: (_, { status }) => assert.equal(status, 409) },
  ],
  "engine.revokeToken": [
    {
      before: async ({ engine }) => ({
        params: { token: (await engine.addToken({ scopes: ["read"] })).id },
      }),
    },
  ],
  "engine.setHook": [
    { params: { name: "told", ...hook }, between: (_, session) => session.record("fact", "z", 1) },
    { params: { name: "untold", ...hook }, between: ({ engine }) => engine.removeHook("untold") },
  ],
  "engine.removeHook": [
    {
      params: { name: "off", reason: "done" },
      before: async ({ engine }) => void (await engine.setHook("off", hook.url, told)),
      between: ({ engine }) => engine.setHook("off", hook.url, told),
    },
  ],
};

const theFact = { kind: "fact", key: "q" };
const ofSession: Partial<Record<OperationId, readonly Row[]>> = {
  "session.append": [changed({ records: "hello" })],
  "session.input": [changed({ input: "hello" })],
  // It goes on with what is left to do, and looks for that under a lease.
  "session.run": [
    {
      before: on((session) => session.input("hello")),
      records: 2,
      answer: (first, second) =>
        assert.deepEqual({ ...(fine(second) as object), seq: 0 }, { ...(first as object), seq: 0 }),
    },
  ],
  "session.send": [
    {
      before: async ({ engine }) => {
        const { id: to } = await engine.open({ objective: "Receiver" });
        return { params: { to, message: "hello" } };
      },
    },
  ],
  "session.contract": [changed({ topic: "t", schema: true })],
  "session.record": [
    {
      ...changed({ kind: "fact", key: "x", value: 1 }),
      between: (_, session) => session.retract("fact", "x"),
    },
  ],
  "session.pin": [changed(theFact)],
  "session.unpin": [{ ...changed(theFact), before: on((session) => session.pin("fact", "q")) }],
  "session.retract": [changed(theFact)],
  "session.promote": [
    { params: { kind: "fact", key: "q", scope: "workspace" } },
    {
      params: { kind: "fact", key: "q", scope: "workspace" },
      between: ({ engine }) => engine.forget({ ...fact, key: "q" }),
    },
  ],
  "session.scratch": [changed({ key: "k", value: 1 })],
  "session.compress": [{ params: { strategy: "summarize" }, before: talked, between: talked }],
  "session.uncompress": [changed({}, compacted)],
  "session.handoff": [
    { params: { write: true }, between: (_, session) => session.record("fact", "z", 1) },
    { params: { write: true, model: true }, before: talked, between: talked },
  ],
  "session.score": [changed({ name: "s", value: 1 })],
  "session.save": [changed({ name: "here" })],
  "session.fork": [{ params: { objective: "What if?" } }],
  "session.rewind": [changed({ place: 1 })],
  "session.clear": [{}, { params: { handoff: true } }],
  "session.rollover": [{}, { params: { because: "full" } }],
  "session.merge": [{ before: learned, answer: mergedOnce }],
  "session.migrate": [{ params: { model: "acme/other" } }],
  // It costs: nobody pays for it twice because an answer was lost.
  "session.replay": [
    {
      params: { from: 2, model: "acme/other" },
      before: talked,
      answer(first, { status, body }) {
        const { fork, model } = first as { readonly fork: string; readonly model: { replay: string } };
        assert.deepEqual([status, model.replay], [409, "acme/other"]);
        assert.ok((body as { readonly detail: string }).detail.includes(fork));
      },
    },
  ],
  "session.activate": [
    changed(
      {},
      on((session) => session.suspend()),
    ),
  ],
  "session.suspend": [{ ...changed(), between: (_, session) => session.activate() }],
  "session.interrupt": [
    changed({}, async (_, session) => {
      const drive = await session.drive();
      await drive.begin();
    }),
  ],
  "session.reopen": [
    changed(
      {},
      on((session) => session.close()),
    ),
  ],
  "session.archive": [
    changed(
      {},
      on((session) => session.close()),
    ),
  ],
  "session.cancel": [
    changed(),
    {
      params: { tree: true },
      before: on((session) => session.fork()),
      answer: (_, second) => assert.equal((fine(second) as { duplicate: boolean }).duplicate, true),
    },
  ],
  "session.close": [changed()],
  ...ofChecks,
  "session.sleep": [changed()],
  "session.rename": [changed({ name: "n" })],
  "session.label": [changed({ set: { a: "1" } })],
  "session.prioritize": [changed({ priority: 3 })],
  "session.bind": [changed({ kind: "tool", name: "b" })],
  "session.unbind": [
    changed(
      { name: "b" },
      on((session) => session.bind({ kind: "tool", name: "b" })),
    ),
  ],
  "session.grant": [changed({ tool: "shell", rule: "deny" })],
  "session.budget": [changed({ limits: { usd: 1 } })],
  "session.trigger": [
    changed({ name: "t", spec: later }),
    {
      ...changed(
        { name: "t", spec: { kind: "file", path: import.meta.filename } },
        on((session) => session.bind({ kind: "directory", name: "d", path: import.meta.dirname })),
      ),
      between: (_, session) => session.unbind("d"),
    },
  ],
  "session.untrigger": [
    changed(
      { name: "t" },
      on((session) => session.trigger("t", later)),
    ),
  ],
  "session.fire": [
    {
      ...changed(
        { name: "t" },
        on((session) => session.trigger("t", later)),
      ),
      between: (_, session) => session.untrigger("t"),
    },
  ],
  "session.hold": [changed({ name: "h" })],
  "session.lift": [
    changed(
      { name: "h" },
      on((session) => session.hold("h")),
    ),
  ],
  "session.erase": [{ params: { ranges: [[2, 2]] }, answer: () => undefined }],
};

/**
 * What writes nothing, what imports files (transcripts.test.ts), what streams what it does
 * (requests.test.ts), and what can only be asked while a call waits (settle.test.ts).
 */
const others: readonly OperationId[] = [
  "engine.export",
  "engine.exportProject",
  "engine.importTranscripts",
  "engine.uploadTranscript",
  "engine.query",
  "engine.tickets",
  "session.answer",
  "session.ask",
  "session.settle",
  "session.watch",
];

async function bundled({ engine }: Served, { id }: Session): Promise<Given> {
  return { bytes: Buffer.concat(await Array.fromAsync(engine.export(id))) };
}

async function learned({ engine }: Served): Promise<Given> {
  const other = await engine.open({ objective: "Other" });
  await other.record("fact", "learned", 1);
  return { params: { from: other.id } };
}

/** Its lists are empty; where it came from, and where that was written, are as they were. */
function mergedOnce(first: unknown, second: Answered): void {
  const nothing = { taken: [], same: [], left: [], conflicts: [], resolved: [] };
  assert.deepEqual(fine(second), { ...(first as object), ...nothing });
}

test("every write that is sent again with its key after a restart is once in effect", async (t) => {
  const rows = { ...ofWorkspace, ...ofSession };
  const writes = operationIds.filter((id) => operationOf(id).method !== "GET");
  assert.deepEqual([...Object.keys(rows), ...others].toSorted(), writes.toSorted());
  const store = lasting();
  for (const [name, list] of Object.entries(rows)) {
    for (const [number, row] of list.entries())
      await t.test(`${name} ${number}`, () => holdOnce(store, name as OperationId, row, `${name}/${number}`));
  }
});

/** A store that outlives the engines on it. */
const lasting = (): Store => ({
  ...memoryStore({ world: realWorld(), workspace }),
  close: async () => undefined,
});
const lines = [proposing];

async function holdOnce(store: Store, id: OperationId, row: Row, key: string): Promise<void> {
  const { given, first } = await askFirst(store, id, row, key);
  await using place = await served({ store, lines });
  const before = await store.stats();
  const second = await place.call(id, given);
  const { sessions, records } = await store.stats();
  const written = [sessions - before.sessions, records - before.records];
  const { answer = "first" } = row;
  assert.deepEqual(written, [0, row.records ?? 0], JSON.stringify(second.body));
  if (typeof answer === "function") answer(first, second);
  else if (answer === "first") assert.deepEqual(fine(second), first);
  else {
    const { headSeq: _, ...rest } = fine(second) as { readonly headSeq: number };
    assert.deepEqual({ ...rest, headSeq: 0 }, { ...(first as object), headSeq: 0, duplicate: true });
  }
  assert.deepEqual(place.troubles, []);
}

async function askFirst(
  store: Store,
  id: OperationId,
  row: Row,
  key: string,
): Promise<{ readonly given: Given; readonly first: unknown }> {
  await using place = await served({ store, lines });
  const session = await place.engine.open({ objective: "Asked", model: "test/scripted" });
  await session.record("fact", "q", 1);
  const more = await row.before?.(place, session);
  const { token } = place;
  const headers = { "idempotency-key": key };
  const given = { id: session.id, params: row.params ?? {}, ...more, headers, token };
  const first = fine(await place.call(id, given));
  await row.between?.(place, session);
  return { given, first };
}

const hooked: readonly { readonly id: OperationId; readonly off: OperationId; readonly more: object }[] = [
  { id: "engine.trigger", off: "engine.untrigger", more: opens },
  { id: "session.trigger", off: "session.untrigger", more: {} },
];

test("a webhook that is set again with its key gives a token that works, unless it was removed", async () => {
  for (const { id: operation, off, more } of hooked) {
    const store = lasting();
    const { given, first } = await askFirst(
      store,
      operation,
      { params: { name: "w", spec: { kind: "webhook" }, ...more } },
      "k",
    );
    let { token: last } = first as { readonly token: string };
    for (let times = 0; times < 3; times++) {
      await using place = await served({ store, lines });
      const { token } = fine(await place.call(operation, given)) as { readonly token: string };
      assert.notEqual(token, last);
      await place.engine.webhook(token, { body: "{}" });
      await assert.rejects(place.engine.webhook(last), { code: "not-found" }, operation);
      last = token;
    }
    await using place = await served({ store, lines });
    fine(await place.call(off, { ...given, params: { name: "w" }, headers: {} }));
    assert.equal((fine(await place.call(operation, given)) as { token?: string }).token, undefined);
    await assert.rejects(place.engine.webhook(last), { code: "not-found" }, operation);
  }
});

test("a call that failed in the model is repeated with the same key, and succeeds", async () => {
  for (const [operation, params] of [
    ["session.compress", {}],
    ["session.handoff", { model: true }],
  ] as const) {
    const store = lasting();
    let fails = false;
    const answers: Line[] = [() => (fails ? new ModelError("overloaded", "busy") : "In short: all of it.")];
    await using place = await served({ store, lines: answers });
    const session = await place.engine.open({ objective: "Asked", model: "test/scripted" });
    await talked(place, session);
    const headers = { "idempotency-key": "k" };
    const given = { id: session.id, params, headers, token: place.token };
    fails = true;
    const first = await place.call(operation, given);
    if (operation === "session.compress") assert.equal(first.status, 503, JSON.stringify(first.body));
    fails = false;
    await using again = await served({ store, lines: answers });
    fine(await again.call(operation, given));
    const { standing } = await session.fold();
    assert.equal(standing.lease?.held ?? false, false);
  }
});

test("with If-Match and a key, the same again is the first answer", async () => {
  const store = lasting();
  await using place = await served({ store, lines });
  await using other = await served({ store, lines });
  const cleared = { operation: "session.clear", params: {}, places: [place, other] } as const;
  const ran = { operation: "session.run", params: {}, places: [place] } as const;
  const compressed = {
    operation: "session.compress",
    params: { strategy: "summarize" },
    places: [place, other],
  } as const;
  for (const { operation, params, places } of [cleared, ran, compressed]) {
    const session = await place.engine.open({ objective: "Asked", model: "test/scripted" });
    await talked(place, session);
    await session.input("And now?");
    const headers = { "idempotency-key": operation, "if-match": `"${(await session.head()).seq}"` };
    const given = { id: session.id, params, headers, token: place.token };
    const first = fine(await place.call(operation, given));
    for (const one of places) assert.deepEqual(fine(await one.call(operation, given)), first, operation);
  }
});

test("an interrupted merge that is repeated with its key merges the rest", async () => {
  const inner = lasting();
  let left = Infinity;
  const store: Store = {
    ...inner,
    async append(parts) {
      left -= 1;
      if (left < 0) throw new SkeinError("unavailable", "the store is away");
      return inner.append(parts);
    },
  };
  await using place = await served({ store, lines });
  const session = await place.engine.open({ objective: "Ours" });
  const other = await place.engine.open({ objective: "Theirs" });
  const count = limit.appendRecordsMax + 5;
  for (let number = 0; number < count; number++) await other.record("fact", `k${number}`, number);
  const [params, headers, token] = [{ from: other.id }, { "idempotency-key": "k" }, place.token];
  const given = { id: session.id, params, headers, token };
  left = 1;
  assert.equal((await place.call("session.merge", given)).status, 503);
  left = Infinity;
  await using again = await served({ store: inner, lines });
  const { written } = fine(await again.call("session.merge", given)) as { readonly written: number };
  assert.equal((await session.fold()).mind.items.size, count);
  await using third = await served({ store: inner, lines });
  const report = fine(await third.call("session.merge", given)) as { readonly written: number };
  assert.equal(report.written, written);
});
