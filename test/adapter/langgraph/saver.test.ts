/** `SkeinSaver` beside `MemorySaver`, and what the vendor's suite does not look at. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { inspect } from "node:util";
import { HumanMessage } from "@langchain/core/messages";
import {
  emptyCheckpoint,
  MemorySaver,
  uuid6,
  type BaseCheckpointSaver,
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { openEngine, type Engine } from "../../../src/index.ts";
import { importThreads, SkeinSaver } from "../../../src/adapter/langgraph/langgraph.ts";
import { sliced } from "../../slice.ts";

const inMemory = (): Promise<Engine> => openEngine({ store: "memory:" });

function makePath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-langgraph-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "threads.db");
}

const meta = (step: number, source: CheckpointMetadata["source"] = "loop"): CheckpointMetadata => ({
  source,
  step,
  parents: {},
});

const configOf = (thread: string, id?: string, ns = "") => ({
  configurable: { thread_id: thread, checkpoint_ns: ns, ...(id === undefined ? {} : { checkpoint_id: id }) },
});

interface NextOptions {
  readonly thread?: string;
  readonly parent?: string | undefined;
  readonly ns?: string;
  readonly version?: number;
}

let clock = 0;
/** Puts a checkpoint with these values, all of them new, and returns its id. */
async function putNext(
  saver: BaseCheckpointSaver,
  values: Record<string, unknown>,
  { thread = "t", parent, ns = "", version = 1 }: NextOptions = {},
): Promise<string> {
  const id = uuid6(clock++);
  const versions = Object.fromEntries(Object.keys(values).map((name) => [name, version]));
  const checkpoint: Checkpoint = {
    ...emptyCheckpoint(),
    id,
    channel_values: values,
    channel_versions: versions,
  };
  await saver.put(configOf(thread, parent, ns), checkpoint, meta(version), versions);
  return id;
}

const valuesOf = async (saver: BaseCheckpointSaver, id?: string, thread = "t"): Promise<unknown> =>
  (await saver.getTuple(configOf(thread, id)))?.checkpoint.channel_values;

/** What both savers must agree on: MemorySaver gives back the config that it was asked with. */
const comparable = (tuple: CheckpointTuple | undefined): unknown =>
  tuple === undefined
    ? undefined
    : JSON.parse(
        JSON.stringify(
          { ...tuple, config: tuple.config.configurable?.["checkpoint_id"] as unknown },
          (_, value: unknown) => (value === undefined ? "undefined" : value),
        ),
      );

const value = fc.oneof(
  fc.string({ unit: "binary", maxLength: 6 }),
  fc.constantFrom("\0", "\uD800", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz", { password: "hunter2hunter2" }),
  fc.array(fc.oneof(fc.integer(), fc.string({ maxLength: 4 })), { maxLength: 5 }),
  fc.array(fc.record({ role: fc.constant("user"), content: fc.string({ minLength: 70, maxLength: 90 }) }), {
    maxLength: 4,
  }),
  fc.constantFrom(null, true, 1.5, { deep: [[{ a: [] }]] }),
);

const operation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("put" as const),
      thread: fc.nat(1),
      ns: fc.constantFrom("", "", "sub:1|a"),
      parent: fc.nat(9),
      change: fc.dictionary(fc.constantFrom("a", "b", "messages"), value),
      grow: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("write" as const),
      thread: fc.nat(1),
      at: fc.nat(9),
      task: fc.constantFrom("t1", "t2"),
      writes: fc.array(
        fc.tuple(fc.constantFrom("a", "__error__", "__interrupt__", "__pregel_tasks"), value),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), thread: fc.nat(1) }) },
);

test("random operations have the results of MemorySaver, also for a saver that reads anew", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 4, maxLength: sliced(14, 40) }), async (operations) => {
      await using engine = await inMemory();
      const [ours, theirs] = [new SkeinSaver(engine), new MemorySaver()];
      const put: { thread: string; ns: string; id: string; checkpoint: Checkpoint }[] = [];
      for (const one of operations) {
        const thread = `thread ${one.thread}`;
        if (one.kind === "delete") {
          for (const saver of [ours, theirs]) await saver.deleteThread(thread);
          put.splice(0, put.length, ...put.filter((each) => each.thread !== thread));
        } else if (one.kind === "write") {
          const at = put.filter((each) => each.thread === thread).at(-1 - one.at);
          if (at === undefined) continue;
          for (const saver of [ours, theirs])
            await saver.putWrites(configOf(thread, at.id, at.ns), one.writes, one.task);
        } else {
          const parent = put
            .filter((each) => each.thread === thread && each.ns === one.ns)
            .at(-1 - one.parent);
          const before = parent?.checkpoint ?? emptyCheckpoint();
          const change: Record<string, unknown> = { ...one.change };
          const list = before.channel_values["messages"];
          if (one.grow)
            change["messages"] = [
              ...(Array.isArray(list) ? (list as unknown[]) : []),
              `turn ${put.length} ${"x".repeat(70)}`,
            ];
          const versions = Object.fromEntries(
            Object.keys(change).map((name) => [name, Number(before.channel_versions[name] ?? 0) + 1]),
          );
          const checkpoint: Checkpoint = {
            ...emptyCheckpoint(),
            id: uuid6(clock++),
            channel_values: { ...before.channel_values, ...change },
            channel_versions: { ...before.channel_versions, ...versions },
          };
          for (const saver of [ours, theirs])
            await saver.put(
              configOf(thread, parent?.id, one.ns),
              structuredClone(checkpoint),
              meta(put.length),
              versions,
            );
          put.push({ thread, ns: one.ns, id: checkpoint.id, checkpoint });
        }
      }
      for (const saver of [ours, new SkeinSaver(engine)]) {
        for (const { thread, ns, id } of put)
          assert.deepEqual(
            comparable(await saver.getTuple(configOf(thread, id, ns))),
            comparable(await theirs.getTuple(configOf(thread, id, ns))),
          );
        for (const thread of ["thread 0", "thread 1"])
          for (const ns of ["", "sub:1|a"]) {
            assert.deepEqual(
              comparable(await saver.getTuple(configOf(thread, undefined, ns))),
              comparable(await theirs.getTuple(configOf(thread, undefined, ns))),
            );
            const options = { limit: 3, filter: { source: "loop" } };
            assert.deepEqual(
              await Array.fromAsync(saver.list(configOf(thread, undefined, ns), options), comparable),
              await Array.fromAsync(theirs.list(configOf(thread, undefined, ns), options), comparable),
            );
          }
      }
    }),
    { numRuns: sliced(25, 300) },
  );
});

test("two branches from one checkpoint keep their own values, though both count to one version", async () => {
  await using engine = await inMemory();
  const saver = new SkeinSaver(engine);
  const root = await putNext(saver, { x: "root", list: ["a".repeat(70)] });
  const one = await putNext(saver, { x: "one", list: ["a".repeat(70), "1"] }, { parent: root, version: 2 });
  const two = await putNext(saver, { x: "two", list: ["a".repeat(70), "2"] }, { parent: root, version: 2 });
  for (const from of [saver, new SkeinSaver(engine)]) {
    assert.deepEqual(await valuesOf(from, one), { x: "one", list: ["a".repeat(70), "1"] });
    assert.deepEqual(await valuesOf(from, two), { x: "two", list: ["a".repeat(70), "2"] });
  }
  // The log shows them: each checkpoint with its branch, its step and its parent.
  const [row] = (await engine.sessions({ labels: { adapter: "langgraph" } })).rows;
  const events = (await engine.session(row?.session ?? "")).events({ types: ["x.langgraph.checkpoint"] });
  const shown = await Array.fromAsync(events, ({ body }) => body);
  assert.deepEqual(shown, [
    { step: 1, source: "loop", branch: 1, id: root },
    { step: 2, source: "loop", branch: 1, id: one, parent: root },
    { step: 2, source: "loop", branch: 2, id: two, parent: root },
  ]);
});

test("a copy of a checkpoint has its values, though it names none as new", async () => {
  await using engine = await inMemory();
  const saver = new SkeinSaver(engine);
  const root = await putNext(saver, { x: "old", y: 1 });
  const next = await putNext(saver, { x: "new", y: 1 }, { parent: root, version: 2 });
  for (const [of, parent] of [
    [root, undefined],
    [next, root],
  ] as const) {
    const { checkpoint } = (await saver.getTuple(configOf("t", of))) ?? {};
    assert.ok(checkpoint !== undefined);
    const copy = { ...checkpoint, id: uuid6(clock++) };
    await saver.put(configOf("t", parent), copy, meta(9, "fork"), {});
    assert.deepEqual(await valuesOf(saver, copy.id), checkpoint.channel_values);
  }
});

/** Bytes of the file of a thread of so many turns, with a message of 1,000 letters each. */
async function grownBytes(t: TestContext, turns: number): Promise<number> {
  const path = makePath(t);
  await using engine = await openEngine({ store: path });
  const saver = new SkeinSaver(engine);
  const messages: unknown[] = [];
  let parent: string | undefined;
  for (let turn = 1; turn <= turns; turn++) {
    messages.push(new HumanMessage({ id: String(turn), content: `${turn} `.padEnd(1_000, "word ") }));
    parent = await putNext(saver, { messages }, { parent, version: turn });
  }
  const read = (await valuesOf(new SkeinSaver(engine))) as { messages: HumanMessage[] };
  assert.deepEqual(
    read.messages.map(({ id }) => id),
    messages.map((_, place) => String(place + 1)),
  );
  assert.ok(read.messages[0] instanceof HumanMessage);
  const [row] = (await engine.sessions()).rows;
  let bytes = 0;
  for await (const { content } of (await engine.session(row?.session ?? "")).events())
    bytes += Buffer.byteLength(JSON.stringify(content ?? null));
  return bytes;
}

test("a growing list of messages takes room in proportion to its length", async (t) => {
  const [few, many] = [await grownBytes(t, 50), await grownBytes(t, sliced(200, 400))];
  const turns = sliced(200, 400);
  t.diagnostic(`50 turns ${few} bytes, ${turns} turns ${many} bytes: ${Math.round(many / turns)} a turn`);
  assert.ok(many < few * (turns / 50) * 1.5, `${many} bytes, not in proportion to ${few}`);
});

test("hostile contents come back as MemorySaver gives them, from another engine", async (t) => {
  const path = makePath(t);
  const hostile = {
    nul: "\0 in \0 text",
    half: "half \uD83D",
    looks: "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789",
    password: "hunter2hunter2",
    proto: JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}') as unknown,
    huge: "😀".repeat(400_000),
    list: ["long ".repeat(300_000), "\0"],
    bytes: new Uint8Array([0, 255, 1]),
    set: new Set([1, 2]),
    map: new Map([["a", 1]]),
    gone: undefined,
    message: new HumanMessage("hi"),
  };
  let deep: unknown = 1;
  for (let depth = 0; depth < 500; depth++) deep = { deep };
  const values = { ...hostile, deep };
  const theirs = new MemorySaver();
  await using engine = await openEngine({ store: path });
  clock += 1;
  const saver = new SkeinSaver(engine);
  for (const one of [saver, theirs]) {
    clock -= one === theirs ? 1 : 0;
    await putNext(one, values);
  }
  await using other = await openEngine({ store: path });
  const read = (await valuesOf(new SkeinSaver(other))) as Record<string, unknown>;
  const expected = (await valuesOf(theirs)) as Record<string, unknown>;
  for (const name of Object.keys(values))
    assert.equal(inspect(read[name], { depth: 600 }), inspect(expected[name], { depth: 600 }), name);
  assert.equal(read["half"], hostile.half);
  assert.equal((Object.prototype as Record<string, unknown>)["polluted"], undefined);
});

test("a value with a registered secret is refused, and with redact it is stored without", async () => {
  await using engine = await openEngine({
    store: "memory:",
    secrets: { DB_PASSWORD: "correct-horse-battery" },
  });
  const refusing = new SkeinSaver(engine);
  const secret = { x: ["it is correct-horse-battery"] };
  await assert.rejects(putNext(refusing, secret), { code: "invalid", message: /DB_PASSWORD/ });
  assert.equal(await valuesOf(refusing), undefined);
  const redacting = new SkeinSaver(engine, { redact: true });
  await putNext(redacting, secret);
  assert.deepEqual(await valuesOf(redacting), { x: ["it is [redacted: DB_PASSWORD]"] });
});

test("ids of any text are kept apart, and other ids are refused", async () => {
  await using engine = await inMemory();
  const saver = new SkeinSaver(engine);
  const ids = [
    "__proto__",
    "constructor",
    "",
    "\0",
    "a".repeat(5_000),
    "\uD800",
    "sk-ant-api03-abcdefghijklmnopqrst",
  ];
  for (const thread of ids) await putNext(saver, { x: thread.length }, { thread, ns: "" });
  for (const thread of ids) assert.deepEqual(await valuesOf(saver, undefined, thread), { x: thread.length });
  const listed = await Array.fromAsync(
    saver.list({}),
    ({ config }) => config.configurable?.["thread_id"] as string,
  );
  assert.deepEqual(listed.toSorted(), ids.toSorted());
  for (const thread of [1, null, {}])
    await assert.rejects(
      saver.put({ configurable: { thread_id: thread } }, emptyCheckpoint(), meta(1), {}),
      /thread_id/,
    );
  assert.equal(await saver.getTuple({ configurable: {} }), undefined);
});

test("two engines on one thread see each other's checkpoints, writes and deletions", async (t) => {
  const path = makePath(t);
  await using one = await openEngine({ store: path });
  await using two = await openEngine({ store: path });
  const [a, b] = [new SkeinSaver(one), new SkeinSaver(two)];
  let parent: string | undefined;
  for (let turn = 1; turn <= 10; turn++) {
    const [writer, reader] = turn % 2 === 0 ? [a, b] : [b, a];
    const messages = Array.from({ length: turn }, (_, place) => `message ${place} `.padEnd(90, "x"));
    parent = await putNext(writer, { messages }, { parent, version: turn });
    await writer.putWrites(configOf("t", parent), [["messages", turn]], "task");
    const tuple = await reader.getTuple(configOf("t"));
    assert.deepEqual(
      [tuple?.config, tuple?.checkpoint.channel_values],
      [configOf("t", parent), { messages }],
    );
    assert.deepEqual(tuple?.pendingWrites, [["task", "messages", turn]]);
  }
  await a.deleteThread("t");
  assert.equal(await b.getTuple(configOf("t")), undefined);
  const again = await putNext(b, { x: 1 });
  assert.deepEqual(await Array.fromAsync(a.list(configOf("t")), ({ checkpoint }) => checkpoint.id), [again]);
});

test("writes may come before their checkpoint", async () => {
  await using engine = await inMemory();
  const saver = new SkeinSaver(engine);
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(clock++) };
  await Promise.all([
    saver.putWrites(configOf("t", checkpoint.id), [["a", 1]], "one"),
    saver.putWrites(configOf("t", checkpoint.id), [["a", 2]], "two"),
    saver.put(configOf("t"), checkpoint, meta(-1, "input"), {}),
  ]);
  const { pendingWrites = [] } = (await saver.getTuple(configOf("t"))) ?? {};
  assert.deepEqual(
    pendingWrites.toSorted(([one], [other]) => one.localeCompare(other)),
    [
      ["one", "a", 1],
      ["two", "a", 2],
    ],
  );
  await assert.rejects(saver.putWrites(configOf("t"), [["a", 1]], "x"), /checkpoint_id/);
});

test("threads of another checkpointer come over with ids, parents and writes, and once", async () => {
  await using engine = await inMemory();
  const [from, to] = [new MemorySaver(), new SkeinSaver(engine)];
  for (const thread of ["a", "b"]) {
    let parent: string | undefined;
    for (let turn = 1; turn <= 6; turn++) {
      const messages = Array.from(
        { length: turn },
        (_, place) => new HumanMessage(`message ${place} `.padEnd(90, "x")),
      );
      parent = await putNext(from, { messages, same: "y".repeat(200) }, { thread, parent, version: turn });
      await from.putWrites(
        configOf(thread, parent),
        [
          ["__interrupt__", 1],
          ["messages", turn],
        ],
        "task",
      );
      await from.putWrites(
        configOf(thread, parent),
        [
          ["messages", turn],
          ["same", 2],
        ],
        "other",
      );
    }
  }
  assert.deepEqual(await importThreads(from, to), { threads: 2, checkpoints: 12, existing: 0 });
  for (const thread of ["a", "b"]) {
    const theirs = await Array.fromAsync(from.list(configOf(thread)), comparable);
    const ours = await Array.fromAsync(to.list(configOf(thread)), comparable);
    const sorted = (rows: unknown[]): unknown[] =>
      (rows as { pendingWrites: unknown[] }[]).map((row) => ({
        ...row,
        pendingWrites: row.pendingWrites.map((one) => JSON.stringify(one)).toSorted(),
      }));
    assert.deepEqual(sorted(ours), sorted(theirs));
  }
  assert.deepEqual(await importThreads(from, to, { threadId: "a" }), {
    threads: 1,
    checkpoints: 0,
    existing: 6,
  });
});
