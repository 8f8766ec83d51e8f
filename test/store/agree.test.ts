/**
 * Memory and SQLite agree: the same calls on both give the same answers, the same records, the same lists.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { SkeinError } from "../../src/core/error.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { snapshotText } from "../../src/core/state.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { SessionLease } from "../../src/runtime/turn/lease.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import type { Expect, Outcome, Store } from "../../src/store/port.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { digest } from "../core/digest.ts";
import { draftOf } from "../../src/store/conformance/conformance.ts";
import { madeWorld, type MadeWorld } from "../runtime/made-world.ts";
import { all, newPath, workspace } from "../runtime/place.ts";

/** One engine with what a run needs to remember: the sessions and leases it made, in order. */
interface Run {
  readonly engine: Engine;
  readonly store: Store;
  readonly world: MadeWorld;
  readonly sessions: Session[];
  readonly leases: SessionLease[];
}

const newRun = (store: Store, world: MadeWorld): Run => ({
  engine: new Engine({ store, world }),
  store,
  world,
  sessions: [],
  leases: [],
});

/** What to do; `session` and `at` are taken modulo what there is. */
interface Step {
  readonly name: keyof typeof steps;
  readonly session: number;
  readonly at: number;
  readonly flag: boolean;
}

const kinds = ["fact", "task"] as const;
const pick = <T>(list: readonly T[], place: number): T | undefined => list[place % Math.max(1, list.length)];

/** Each takes a run and says what came of it. */
const steps = {
  open: async (run: Run, { at, flag }: Step) => {
    const labels: Record<string, string> = flag ? { team: `t${at % 2}` } : {};
    const agent = `agent-${at % 2}`;
    run.sessions.push(await run.engine.open({ objective: `objective ${at}`, agent, labels }));
    return run.sessions.at(-1)?.id;
  },
  append: (_, { at }, session) => session.append(`said number ${at % 7}`),
  appendOnce: (_, { at }, session) => session.append("once", { key: `key-${at % 3}` }),
  appendAt: async (_, { at, flag }, session) => {
    const { seq } = await session.head();
    return session.append("expecting", { expect: { seq: flag ? seq : at } });
  },
  foreign: (_, { at }, session) => session.append({ type: "x.note", body: { at }, content: ["any", at] }),
  large: (_, { at }, session) => session.append("x".repeat(70_000 + (at % 3))),
  record: (_, { at }, session) => session.record(kinds[at % 2]!, "k", { at }, { because: "b" }),
  retract: (_, { at }, session) => session.retract(kinds[at % 2]!, "k"),
  scratch: (_, { at, flag }, session) => session.scratch(`s${at % 3}`, ...(flag ? [at] : [])),
  label: (_, { at, flag }, session) =>
    flag ? session.label({ team: `t${at % 2}` }) : session.label({}, { remove: ["team"] }),
  rename: (_, { at }, session) => session.rename(`Name ${at % 5}`),
  suspend: (_, __, session) => session.suspend({ reason: "r" }),
  activate: (_, __, session) => session.activate(),
  sleep: (_, { at }, session) => session.sleep({ untilMs: at }),
  close: (_, __, session) => session.close(),
  reopen: (_, __, session) => session.reopen(),
  archive: (_, __, session) => session.archive(),
  save: (_, { at }, session) => session.save(`c${at % 3}`, { atSeq: 1 + (at % 9) }),
  fork: async (run, { at, flag }, session) => {
    const atSeq = 1 + (at % (await session.head()).seq);
    run.sessions.push(await session.fork(flag ? { atSeq, objective: "another way" } : { atSeq }));
    return run.sessions.at(-1)?.id;
  },
  rewind: async (_, { at, flag }, session) =>
    session.rewind(1 + (at % (await session.head()).seq), { requeue: flag }),
  clear: async (run, _, session) => {
    run.sessions.push(await session.clear());
    return run.sessions.at(-1)?.id;
  },
  take: async (run, { at, flag }, session) => {
    if (flag) run.world.pass(5_000);
    run.leases.push(await session.lease({ holder: `h${at % 2}`, leaseMs: 4_000 }));
    return run.leases.at(-1)?.epoch;
  },
  renew: async (run, { at }) => pick(run.leases, at)?.renew(),
  release: async (run, { at }) => pick(run.leases, at)?.release(),
  underLease: async (run, { at }) => pick(run.leases, at)?.append([{ type: "x.leased" }]),
  delete: async (run, { flag }, session) => (flag ? run.engine.delete(session.id) : undefined),
  erase: async (_, { at, flag }, session) => {
    const { seq } = await session.head();
    const fromSeq = 1 + (at % seq);
    return session.erase(flag ? { match: "number 3" } : { ranges: [[fromSeq, Math.min(seq, fromSeq + 3)]] });
  },
  pack: async (run, { at }, session) => void (await run.store.pack(session.id, at)),
  search: async (run, { at }) => run.engine.search(pick(["said", "number 3", "nam*", "any"], at)!),
} satisfies Record<string, (run: Run, step: Step, session: Session) => Promise<unknown>>;

const step: fc.Arbitrary<Step> = fc.record({
  name: fc.constantFrom(...(Object.keys(steps) as (keyof typeof steps)[])),
  session: fc.noBias(fc.nat(2)),
  at: fc.noBias(fc.nat(50)),
  flag: fc.boolean(),
});

/** What came of it: a value, or an error in the words that a user would see. */
async function outcomeOf(run: Run, one: Step): Promise<unknown> {
  run.world.pass(1);
  const session = run.sessions[one.session % Math.max(1, run.sessions.length)];
  if (session === undefined && one.name !== "open") return "no session yet";
  try {
    return { value: await steps[one.name](run, one, session!) };
  } catch (error) {
    const { code, message, hint } = error as SkeinError;
    assert.ok(code !== undefined, String(error));
    return { code, message, hint };
  }
}

/** Everything that can be seen of a store. */
async function seen(run: Run): Promise<unknown> {
  const { engine, store, sessions } = run;
  const lists = [];
  const filters = [
    {},
    { agent: "agent-1" },
    { status: ["open", "closed"] as const },
    { labels: { team: "t1" } },
  ];
  for (const filter of [
    ...filters,
    { text: "NAME" },
    { text: "another" },
    { status: "closed" as const, agent: "agent-0" },
  ]) {
    lists.push(await pages(engine, filter));
  }
  const logs = [];
  for (const { id } of sessions) {
    const head = await store.head(id);
    if (head === undefined) continue;
    const session = await engine.session(id);
    const events = await all(session.events());
    const states = [];
    for (const { seq } of events) states.push(snapshotText(await session.fold({ atSeq: seq })));
    logs.push({ head, events, states, report: await session.verify(), forks: await store.forks(id) });
  }
  const hits = await engine.search("said", { limit: 100 });
  const { sessions: count, records, contentBytes, blobs } = await store.stats();
  return {
    lists,
    logs,
    hits,
    stats: { count, records, contentBytes, blobs },
    verified: await engine.verify(),
  };
}

async function pages(engine: Engine, filter: object): Promise<unknown[]> {
  const rows = [];
  for (let cursor: string | undefined; ;) {
    const page = await engine.sessions({ ...filter, limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    rows.push(...page.rows);
    if (page.cursor === null) return rows;
    cursor = page.cursor;
  }
}

test("the same calls give the same answers, records, states and lists in memory and in SQLite", async () => {
  const kindsSeen = new Map<string, number>();
  const property = fc.asyncProperty(
    fc.array(step, { minLength: 8, maxLength: 40, size: "max" }),
    async (todo) => {
      const { path, remove } = newPath();
      const [one, two] = [madeWorld(), madeWorld()];
      const file = await sqliteStore({ path, world: two, workspace, durability: "process" });
      const runs = [newRun(memoryStore({ world: one, workspace }), one), newRun(file, two)] as const;
      try {
        for (const next of [{ name: "open", session: 0, at: 0, flag: true } as const, ...todo]) {
          const [memory, sqlite] = [await outcomeOf(runs[0], next), await outcomeOf(runs[1], next)];
          assert.deepEqual(sqlite, memory, next.name);
          const kind = `${next.name} ${(memory as { code?: string }).code ?? "ok"}`;
          kindsSeen.set(kind, (kindsSeen.get(kind) ?? 0) + 1);
        }
        assert.deepEqual(await seen(runs[1]), await seen(runs[0]));
      } finally {
        await runs[0].engine.close();
        await runs[1].engine.close();
        remove();
      }
    },
  );
  await fc.assert(property, { numRuns: 20 });
  // The same every time, so that it is certain that every call was tried, and every refusal.
  await fc.assert(property, { numRuns: 30, seed: 7 });
  for (const name of Object.keys(steps)) assert.ok(kindsSeen.has(`${name} ok`), `${name} never worked`);
  const refusals = [
    "append refused",
    "appendAt conflict",
    "retract not-found",
    "take conflict",
    "renew fenced",
  ];
  assert.deepEqual(
    refusals.filter((kind) => !kindsSeen.has(kind)),
    [],
  );
});

/** One append of one writer: what it expects, told from what it saw last. */
interface Write {
  readonly writer: number;
  readonly expect: "seen" | "unchecked" | "exists" | "absent";
  readonly count: number;
  /** Whether it waits for the others before it starts. */
  readonly wait: boolean;
}

const write: fc.Arbitrary<Write> = fc.record({
  writer: fc.nat(2),
  expect: fc.constantFrom("seen", "seen", "unchecked", "exists", "absent"),
  count: fc.integer({ min: 1, max: 3 }),
  wait: fc.boolean(),
});

/** Lets the writers loose on one log and holds what they were told against what is there. */
async function interleave(
  stores: readonly Store[],
  writes: readonly Write[],
  session: SessionId,
): Promise<void> {
  const index = {
    status: "open",
    agent: null,
    name: null,
    objective: null,
    priority: 5,
    labels: {},
  } as const;
  const first = { session, expect: "absent", drafts: [draftOf({ body: "first" }, digest)], index } as const;
  assert.equal((await stores[0]!.append([first])).kind, "ok");
  const answers: { expect: Expect; marks: string[]; writer: number; outcome: Promise<Outcome> }[] = [];
  for (const [place, { writer, expect: wish, count, wait }] of writes.entries()) {
    const store = stores[writer % stores.length]!;
    if (wait) await Promise.all(answers.map(({ outcome }) => outcome));
    const expect: Expect = wish === "seen" ? { seq: (await store.head(session))!.seq } : wish;
    const marks = Array.from({ length: count }, (_, draft) => `${writer}.${place}.${draft}`);
    const drafts = marks.map((mark) => draftOf({ body: { mark } }, digest));
    answers.push({ expect, marks, writer, outcome: store.append([{ session, expect, drafts }]) });
  }
  const expected: (string | undefined)[] = [];
  for (const { expect, marks, outcome } of answers) {
    const told = await outcome;
    if (told.kind === "ok") {
      const [part] = told.parts;
      if (typeof expect === "object") assert.equal(part!.firstSeq, expect.seq + 1);
      assert.notEqual(expect, "absent");
      for (const [draft, mark] of marks.entries()) expected[part!.firstSeq + draft] = mark;
    } else {
      assert.ok(told.kind === "conflict", told.kind);
      assert.ok(expect === "absent" || (typeof expect === "object" && told.headSeq !== expect.seq));
    }
  }
  const records = await stores
    .at(-1)!
    .read(session, { fromSeq: 2, toSeq: 1_000, limit: 1_000, contents: true });
  const found = records.map(({ body }) => (JSON.parse(body) as { mark: string }).mark);
  assert.deepEqual(found, expected.slice(2));
}

for (const kind of ["memory", "sqlite"] as const) {
  test(`writers of one log in ${kind} keep order and expectations, however they interleave`, async () => {
    const { path, remove } = newPath();
    const world = madeWorld();
    const open = () =>
      kind === "memory"
        ? memoryStore({ world, workspace })
        : sqliteStore({ path, world, workspace, durability: "process" });
    const stores = kind === "memory" ? [await open()] : [await open(), await open(), await open()];
    const engine = new Engine({ store: stores[0]!, world });
    await fc.assert(
      fc.asyncProperty(fc.array(write, { minLength: 3, maxLength: 20, size: "max" }), async (writes) => {
        world.pass(1);
        const { id } = await engine.open({ objective: "an id that is new" });
        await engine.delete(id);
        const session = `${id.slice(0, -4)}zzzz` as SessionId;
        await interleave(stores, writes, session);
        assert.equal((await (await engine.session(session)).verify()).ok, true);
      }),
      { numRuns: 60 },
    );
    for (const store of stores) await store.close();
    remove();
  });
}
