/** Drawers: one session per outer id, records that come back equal, and what is refused. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import fc from "fast-check";
import { openEngine, SkeinError, type Engine } from "../../src/index.ts";
import { makeDrawers, type Drawer, type Drawers } from "../../src/adapter/drawer.ts";

const drawersOf = (engine: Engine, redact = false): Drawers =>
  makeDrawers(engine, {
    adapter: "test",
    kind: "thread",
    nouns: ["note"],
    objective: () => "Test thread",
    redact,
  });

const inMemory = (): Promise<Engine> => openEngine({ store: "memory:" });

async function valuesOf(drawer: Drawer): Promise<unknown[]> {
  return (await Array.fromAsync(drawer.read(1))).map(({ value }) => value);
}

function makePath(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "skein-drawer-"));
  t.after(() => rmSync(folder, { recursive: true }));
  return join(folder, "drawer.db");
}

test("an outer id has one session, also when many meet it at once and in two engines", async (t) => {
  const path = makePath(t);
  await using one = await openEngine({ store: path });
  await using other = await openEngine({ store: path });
  assert.equal(await drawersOf(one).find("a"), null);
  const opened = await Promise.all([one, other, one, other].map((engine) => drawersOf(engine).open("a")));
  assert.equal(new Set(opened.map(({ session }) => session)).size, 1);
  assert.equal((await drawersOf(other).find("a"))?.session, opened[0]?.session);
  await drawersOf(one).open("b");
  const listed = await Array.fromAsync(drawersOf(other).list(), ({ outer }) => outer);
  assert.deepEqual(listed.toSorted(), ["a", "b"]);
});

test("any text is an outer id, and comes back from the list", async () => {
  await using engine = await inMemory();
  const ids = ["", "\0", "\uD800", "\uD801", "__proto__", "constructor", "sk-ant-api03-x", "é".repeat(3_000)];
  for (const id of ids) await drawersOf(engine).open(id);
  const listed = await Array.fromAsync(drawersOf(engine).list(), ({ outer }) => outer);
  assert.deepEqual(listed.toSorted(), ids.toSorted());
});

test("a deleted outer id begins anew, as often as it is deleted", async () => {
  await using engine = await inMemory();
  const drawers = drawersOf(engine);
  const seen = new Set<string>();
  for (let round = 0; round < 4; round++) {
    const drawer = await drawers.open("a");
    seen.add(drawer.session);
    await drawer.append([{ noun: "note", value: round }]);
    assert.deepEqual(await valuesOf(drawer), [round]);
    assert.equal(await drawers.delete("a"), true);
    assert.equal(await drawers.find("a"), null);
    await assert.rejects(drawer.append([{ noun: "note", value: round }]), { code: "not-found" });
  }
  assert.equal(seen.size, 4);
  assert.equal(await drawers.delete("a"), false);
});

test("an id that is deleted and used again, by one engine and by another, loses nothing", async (t) => {
  const path = makePath(t);
  await using one = await openEngine({ store: path });
  await using other = await openEngine({ store: path });
  for (let round = 0; round < 4; round++) {
    const drawer = await drawersOf(one).open("a");
    for (let n = 0; n <= round; n++) await drawer.append([{ noun: "note", value: n }]);
    const seen = await drawersOf(other).open("a");
    await seen.append([{ noun: "note", value: "other" }]);
    assert.deepEqual(await valuesOf(seen), [...Array.from({ length: round + 1 }, (_, n) => n), "other"]);
    assert.deepEqual(await valuesOf(drawer), await valuesOf(seen));
    for (const engine of [one, other]) {
      const session = await engine.session(drawer.session);
      assert.equal((await session.fold()).standing.status, "open");
    }
    assert.equal(await drawersOf(round % 2 === 0 ? one : other).delete("a"), true);
    assert.equal(await drawersOf(one).find("a"), null);
  }
});

test("a key whose session was deleted opens no other of its id, also at another engine", async (t) => {
  const path = makePath(t);
  await using one = await openEngine({ store: path });
  await using other = await openEngine({ store: path });
  const given = { objective: "x", key: "k" };
  const { id } = await one.open(given);
  assert.equal((await other.open(given)).id, id);
  await one.delete(id);
  for (const engine of [one, other])
    await assert.rejects(engine.open(given), { code: "conflict", detail: "deleted-session" });
  assert.notEqual((await other.open({ ...given, key: "k2" })).id, id);
});

test("a follower of a session that is deleted and opened again ends, and suspends nothing", async (t) => {
  const path = makePath(t);
  await using one = await openEngine({ store: path });
  await using other = await openEngine({ store: path });
  const first = await drawersOf(one).open("a");
  await first.append([{ noun: "note", value: 1 }]);
  const stop = new AbortController();
  const followed = await other.session(first.session);
  const reading = Array.fromAsync(followed.events({ follow: true, signal: stop.signal })).catch(
    (error: unknown) => error,
  );
  await followed.head();
  await drawersOf(one).delete("a");
  const second = await drawersOf(one).open("a");
  for (const value of [2, 3, 4]) await second.append([{ noun: "note", value }]);
  setTimeout(() => stop.abort(), 500);
  const ended = await reading;
  assert.ok(
    Array.isArray(ended) || (ended instanceof SkeinError && ended.code === "not-found"),
    String(ended),
  );
  assert.equal((await (await one.session(second.session)).fold()).standing.status, "open");
  assert.deepEqual(await valuesOf(second), [2, 3, 4]);
});

test("a hold protects a drawer from deletion", async () => {
  await using engine = await inMemory();
  const drawer = await drawersOf(engine).open("a");
  await (await engine.session(drawer.session)).hold("legal");
  await assert.rejects(drawersOf(engine).delete("a"), SkeinError);
  assert.equal((await drawersOf(engine).find("a"))?.session, drawer.session);
});

test("a process that died between opening and naming leaves no nameless drawer", async () => {
  await using engine = await inMemory();
  const nameless = drawersOf({
    open: async (options: Parameters<Engine["open"]>[0]) => {
      await engine.open(options);
      throw new Error("killed");
    },
    sessions: engine.sessions.bind(engine),
  } as unknown as Engine);
  await assert.rejects(nameless.open("a"), /killed/);
  assert.deepEqual(await Array.fromAsync(drawersOf(engine).list()), []);
  await drawersOf(engine).open("a");
  assert.deepEqual(await Array.fromAsync(drawersOf(engine).list(), ({ outer }) => outer), ["a"]);
});

test("a fork of a drawer's session is not a drawer; a closed or archived drawer is reopened", async () => {
  await using engine = await inMemory();
  const drawer = await drawersOf(engine).open("a");
  const session = await engine.session(drawer.session);
  await session.fork();
  assert.equal((await drawersOf(engine).find("a"))?.session, drawer.session);
  await session.close();
  await drawer.append([{ noun: "note", value: 1 }]);
  await session.close();
  await session.archive();
  await drawer.append([{ noun: "note", value: 2 }]);
  assert.deepEqual(await valuesOf(drawer), [1, 2]);
});

/** JSON with what Skein's own JSON refuses. */
const anyJson = fc.letrec((tie) => ({
  value: fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\0", "\uDC00", "a\uD83D", "sk-ant-api03-abcdefghijklmnopqrstuvwxyz", "\u0001".repeat(9)),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
    fc.constantFrom(null, true, false),
    fc.array(tie("value"), { maxLength: 4 }),
    fc
      .array(
        fc.tuple(
          fc.constantFrom("a", "password", "__proto__", "toJSON", "$blob", "value", "\0"),
          tie("value"),
        ),
        {
          maxLength: 4,
        },
      )
      .map(
        (fields) =>
          JSON.parse(
            `{${fields.map(([key, one]) => `${JSON.stringify(key)}:${JSON.stringify(one)}`).join()}}`,
          ) as unknown,
      ),
  ),
})).value;

test("any JSON comes back equal, in order, from any position", async () => {
  await using engine = await inMemory();
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(anyJson, { minLength: 1, maxLength: 6 }), async (values) => {
      const drawer = await drawersOf(engine).open(String(round++));
      const { seqs } = await drawer.append(values.map((value) => ({ noun: "note", value })));
      // As text: deepEqual does not compare fields called __proto__.
      assert.deepEqual(
        (await valuesOf(drawer)).map((one) => JSON.stringify(one)),
        values.map((one) => JSON.stringify(one)),
      );
      const [last] = await Array.fromAsync(drawer.read(seqs.at(-1) ?? 0));
      assert.equal(JSON.stringify(last?.value), JSON.stringify(values.at(-1)));
    }),
    { numRuns: 60 },
  );
});

test("values longer than a record and nested deeper than Skein's JSON come back equal", async () => {
  await using engine = await inMemory();
  const drawer = await drawersOf(engine).open("a");
  let deep: unknown = "end";
  for (let depth = 0; depth < 1_000; depth++) deep = [deep];
  let edge: unknown = "end";
  for (let depth = 0; depth < 63; depth++) edge = [edge];
  const long = { text: "😀".repeat(800_000), more: "\0".repeat(100_000) };
  const escapes = "\u0001".repeat(300_000);
  const values = [deep, edge, long, escapes, `"`.repeat(400_000), "é".repeat(349_000), "after"];
  const { seqs } = await drawer.append(values.map((value) => ({ noun: "note", value })));
  assert.deepEqual(await valuesOf(drawer), values);
  const read = await Array.fromAsync(drawer.read(1));
  assert.deepEqual(
    read.map(({ seq }) => seq),
    seqs,
  );
  const third = read[2];
  assert.ok(third !== undefined && third.firstSeq < third.seq);
  assert.deepEqual((await Array.fromAsync(drawer.read(third.firstSeq, third.seq)))[0]?.value, long);
});

test("values that are not JSON are refused, and nothing is written", async () => {
  await using engine = await inMemory();
  const drawer = await drawersOf(engine).open("a");
  const { seq } = await (await engine.session(drawer.session)).head();
  const bad = [Number.NaN, new Date(0), new Map(), undefined, [undefined], 1n, { toJSON: () => 1 }, () => 1];
  for (const value of bad) {
    const records = [
      { noun: "note", value: 1 },
      { noun: "note", value: { value } },
    ];
    // A field without a value is no field, as in JSON.
    if (value === undefined) continue;
    await assert.rejects(drawer.append(records), { code: "invalid" });
  }
  assert.equal((await (await engine.session(drawer.session)).head()).seq, seq);
});

test("a second append with a key writes nothing", async () => {
  await using engine = await inMemory();
  const drawer = await drawersOf(engine).open("a");
  const first = await drawer.append([{ noun: "note", value: 1 }], { key: "k" });
  const second = await drawer.append([{ noun: "note", value: 2 }], { key: "k" });
  assert.deepEqual([first.duplicate, second.duplicate, second.firstSeq], [false, true, first.firstSeq]);
  assert.deepEqual(await valuesOf(drawer), [1]);
});

test("what looks like a secret stays, registered ones are refused; redact stores neither", async () => {
  const secrets = { DB_PASSWORD: "correct-horse-battery" };
  await using engine = await openEngine({ store: "memory:", secrets });
  const looks = { password: "hunter2hunter2", text: "key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789" };
  const drawer = await drawersOf(engine).open("a");
  await drawer.append([{ noun: "note", value: looks }]);
  assert.deepEqual(await valuesOf(drawer), [looks]);
  for (const value of ["is correct-horse-battery", "correct-horse-battery\0", { a: [secrets.DB_PASSWORD] }])
    await assert.rejects(drawer.append([{ noun: "note", value }]), {
      code: "invalid",
      message: /contains the secret DB_PASSWORD/,
    });
  assert.deepEqual(await valuesOf(drawer), [looks]);
  const redacted = await drawersOf(engine, true).open("b");
  await redacted.append([{ noun: "note", value: [looks, "is correct-horse-battery"] }]);
  const text = JSON.stringify(await valuesOf(redacted));
  assert.ok(!text.includes("correct-horse") && !text.includes("sk-ant-api03-a"), text);
});

test("an erased record is read without a value", async () => {
  await using engine = await inMemory();
  const drawer = await drawersOf(engine).open("a");
  await drawer.append([
    { noun: "note", value: "x" },
    { noun: "note", body: { n: 2 }, value: "y" },
  ]);
  const [, second] = await Array.fromAsync(drawer.read(1));
  await (await engine.session(drawer.session)).erase({ ranges: [[second?.seq ?? 0, second?.seq ?? 0]] });
  const read = await Array.fromAsync(drawer.read(1), ({ value, erased, body }) => ({ value, erased, body }));
  assert.deepEqual(read, [
    { value: "x", erased: false, body: {} },
    { value: undefined, erased: true, body: { n: 2 } },
  ]);
});
