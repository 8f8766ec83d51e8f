/** `If-Match`, asked by many at once at two servers over one store: one of them changes the session. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { operationIds, operationOf, type OperationId } from "../../src/call/operations.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { workspace } from "../runtime/place.ts";
import { compacted } from "./talk.ts";
import { fine, served, type Answered, type Served } from "./served.ts";

const count = 8;

interface Asked {
  /** What is given by the caller of this number; `other` is a session of its own for each. */
  readonly params?: (number: number, other: Session) => Readonly<Record<string, unknown>>;
  readonly before?: (session: Session) => Promise<unknown>;
}

const same = (params: Readonly<Record<string, unknown>>) => ({ params: () => params });
const far = Date.now() + 1e9;
const later = { kind: "at", at: far } as const;

const asks: Readonly<Partial<Record<OperationId, Asked>>> = {
  "session.append": { params: (number) => ({ records: `${number}` }) },
  "session.input": { params: (number) => ({ input: `${number}` }) },
  "session.ask": { params: (number) => ({ input: `${number}` }) },
  "session.run": {},
  "session.watch": {},
  "session.send": { params: (_, { id }) => ({ to: id, message: "x" }) },
  "session.contract": { params: (number) => ({ topic: `t${number}`, schema: true }) },
  "session.record": { params: (number) => ({ kind: "fact", key: `k${number}`, value: 1 }) },
  "session.pin": same({ kind: "fact", key: "q" }),
  "session.unpin": { ...same({ kind: "fact", key: "q" }), before: (session) => session.pin("fact", "q") },
  "session.retract": same({ kind: "fact", key: "q" }),
  "session.scratch": { params: (number) => ({ key: "k", value: number }) },
  "session.compress": same({ strategy: "prune" }),
  "session.uncompress": { before: (session) => compacted(null, session) },
  "session.handoff": same({ write: true }),
  "session.score": { params: (number) => ({ name: "s", value: number }) },
  "session.amend": { params: (number) => ({ objective: `o${number}`, because: "b" }) },
  "session.onChange": {
    params: () => ({ source: "b", react: "mark" }),
    before: (session) => session.bind({ kind: "directory", name: "b", path: import.meta.dirname }),
  },
  "session.save": { params: (number) => ({ name: `s${number}` }) },
  "session.rewind": same({ place: 1 }),
  "session.clear": {},
  "session.rollover": {},
  "session.split": { params: () => ({ objective: "Another task" }) },
  "session.merge": { params: (_, { id }) => ({ from: id }) },
  "session.migrate": same({ model: "acme/other" }),
  "session.activate": { before: (session) => session.suspend() },
  "session.suspend": {},
  "session.interrupt": {
    async before(session) {
      const drive = await session.drive();
      await drive.begin();
    },
  },
  "session.reopen": { before: (session) => session.close() },
  "session.archive": { before: (session) => session.close() },
  "session.cancel": same({ tree: true }),
  "session.close": {},
  "session.setChecks": { params: (number) => ({ checks: [`file (f${number}): a`] }) },
  "session.check": { ...same({ pass: "person" }), before: (session) => session.setChecks(["person: ok?"]) },
  "session.sleep": {},
  "session.rename": { params: (number) => ({ name: `n${number}` }) },
  "session.label": { params: (number) => ({ set: { a: `${number}` } }) },
  "session.prioritize": { params: (number) => ({ priority: number }) },
  "session.bind": { params: (number) => ({ kind: "tool", name: `b${number}` }) },
  "session.unbind": {
    ...same({ name: "b" }),
    before: (session) => session.bind({ kind: "tool", name: "b" }),
  },
  "session.grant": { params: (number) => ({ tool: "shell", rule: "ask", name: `g${number}` }) },
  "session.budget": { params: (number) => ({ limits: { usd: number + 1 } }) },
  "session.trigger": { params: (number) => ({ name: `t${number}`, spec: later }) },
  "session.untrigger": { ...same({ name: "t" }), before: (session) => session.trigger("t", later) },
  "session.fire": { ...same({ name: "t" }), before: (session) => session.trigger("t", later) },
  "session.hold": { params: (number) => ({ name: `h${number}` }) },
  "session.lift": { ...same({ name: "h" }), before: (session) => session.hold("h") },
  "session.erase": same({ ranges: [[2, 2]] }),
  "engine.delete": {},
};

/** What writes nothing to its session, and what only a waiting call or a changed document allows. */
const others = [
  "session.fork",
  "session.explore",
  "session.promote",
  "session.reload",
  "session.replay",
  "engine.export",
  "session.answer",
  "session.settle",
];

test("of many calls that expect one position, one changes the session", async () => {
  const changes = operationIds.filter((id) => {
    const { method, path } = operationOf(id);
    return method !== "GET" && path.includes("{id}");
  });
  assert.deepEqual([...Object.keys(asks), ...others].toSorted(), changes.toSorted());
  const inner = memoryStore({ world: realWorld(), workspace });
  const gate = makeGate(inner);
  const store = { ...inner, head: gate.head };
  await using first = await served({ store });
  await using second = await served({ store });
  for (const [name, asked] of Object.entries(asks)) {
    const id = name as OperationId;
    const { session, answers } = await askAll([first, second], gate, id, asked);
    const told = answers.map((one) => statusOf(id, one));
    const won = told.filter((status) => status < 300);
    assert.equal(
      won.length,
      1,
      `${id}: ${told.join(" ")} ${JSON.stringify(answers.map(({ body }) => body))}`,
    );
    // What is gone is nowhere.
    const lost = id === "engine.delete" ? [404, 412] : [412];
    const wrong = told.findIndex((status) => status >= 300 && !lost.includes(status));
    assert.equal(wrong, -1, `${id}: ${told.join(" ")} ${JSON.stringify(answers[wrong]?.body)}`);
    if (id === "session.merge") {
      const merged = await first.call("session.events", {
        id: session.id,
        params: { types: ["session.merged"] },
      });
      assert.equal((fine(merged) as { events: unknown[] }).events.length, 1);
    }
  }
  assert.deepEqual([...first.troubles, ...second.troubles], []);
});

async function askAll(
  places: readonly Served[],
  gate: ReturnType<typeof makeGate>,
  id: OperationId,
  { params, before }: Asked,
): Promise<{ session: Session; answers: Answered[] }> {
  const [{ engine }] = places as [Served];
  const session = await engine.open({ objective: "Expected" });
  await session.record("fact", "q", 1);
  await before?.(session);
  const callers: Session[] = [];
  for (let number = 0; number < count; number++) {
    const other = await engine.open({ objective: "Other" });
    await other.record("fact", `k${number}`, 1);
    callers.push(other);
  }
  const { seq } = await session.head();
  gate.close(session.id);
  const answers = callers.map((other, number) =>
    (places[number % places.length] as Served).call(id, {
      id: session.id,
      params: params?.(number, other) ?? {},
      headers: { "if-match": `"${seq}"` },
    }),
  );
  return { session, answers: await Promise.all(answers) };
}

/** Of a stream that has begun, the status is that of the problem which it ends with. */
function statusOf(id: OperationId, { status, body }: Answered): number {
  if (status !== 200 || operationOf(id).gives !== "stream") return status;
  const [, problem] = /^event: problem\ndata: (.*)$/m.exec(body as string) ?? [];
  return problem === undefined ? status : (JSON.parse(problem) as { status: number }).status;
}

/** How often a call asks for the head before it is found to be as expected. */
const looks = 1;

/** Lets nobody go on before all have found the session where they expect it. */
function makeGate(store: Store) {
  let at = "";
  let left = 0;
  let waiting: (() => void)[] = [];
  return {
    close(session: string): void {
      at = session;
      left = looks * count;
    },
    async head(session: Parameters<Store["head"]>[0]): ReturnType<Store["head"]> {
      const head = await store.head(session);
      if (session !== at || left === 0) return head;
      left -= 1;
      if (left % count > 0) await new Promise<void>((resolve) => waiting.push(resolve));
      else {
        for (const go of waiting) go();
        waiting = [];
      }
      return head;
    },
  };
}
