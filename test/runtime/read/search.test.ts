/** Search: everything that was said is found, at once, and says whether the session still has it in mind. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { samples } from "../../core/samples.ts";
import { noFile } from "../../kind.ts";
import { startOfTime } from "../made-world.ts";
import { inFile, inMemory, type Place } from "../place.ts";
import { writeRaw } from "../raw.ts";

const makers = { memory: async (): Promise<Place> => inMemory(), sqlite: inFile } as const;

for (const [name, make] of Object.entries(makers)) {
  test(`a text is found as soon as it is appended, the latest first (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const session = await engine.open({ objective: "Fix the login page" });
    await session.append("The login fails on Tuesdays");
    await session.record("fact", "cause", { text: "a cookie; see login.ts" });
    const hits = await engine.search("LOGIN");
    assert.deepEqual(
      hits.map(({ seq, type, mind }) => [seq, type, mind]),
      [
        [3, "item.recorded", "live"],
        [2, "input.received", "live"],
        [1, "session.opened", "live"],
      ],
    );
    assert.deepEqual(hits[1], {
      session: session.id,
      seq: 2,
      at: startOfTime,
      type: "input.received",
      snippet: "The login fails on Tuesdays",
      mind: "live",
    });
    assert.deepEqual(
      (await engine.search("login tuesdays")).map(({ seq }) => seq),
      [2],
    );
    assert.deepEqual(
      (await engine.search("tues*")).map(({ seq }) => seq),
      [2],
    );
    assert.deepEqual(await engine.search("nowhere"), []);
  });

  test(`a hit that was rewound away or compacted says so, in the session it is in (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const session = await engine.open({ objective: "o" });
    await session.append("needle one");
    await writeRaw(place, session.id, [
      { type: "turn.started", body: { inputs: [[2, 1]] } },
      { type: "model.responded", body: samples["model.responded"].body, content: text("needle two") },
      { type: "turn.ended", body: samples["turn.ended"].body },
    ]);
    await session.append("needle three");
    const body = { fromSeq: 1, toSeq: 4, strategy: "summarize", tokensBefore: 9, tokensAfter: 1 };
    await writeRaw(place, session.id, [
      { type: "transcript.compacted", body, content: { summary: "a needle" } },
    ]);
    const minds = async () =>
      Object.fromEntries(
        (await engine.search("needle", { session: session.id })).map(({ seq, mind }) => [seq, mind]),
      );
    assert.deepEqual(await minds(), { 7: "live", 6: "live", 4: "compacted", 2: "compacted" });
    await session.rewind(5);
    assert.deepEqual(await minds(), { 7: "rewound", 6: "rewound", 4: "live", 2: "live" });
    await session.rewind(7);
    assert.deepEqual(await minds(), { 7: "live", 6: "live", 4: "compacted", 2: "compacted" });
  });

  test(`search keeps to a session, a limit, and what exists (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const [one, two] = [
      await engine.open({ objective: "same word" }),
      await engine.open({ objective: "same word" }),
    ];
    for (let count = 0; count < 30; count++) await one.append(`same ${count}`);
    assert.equal((await engine.search("same")).length, 20);
    assert.equal((await engine.search("same", { limit: 25 })).length, 25);
    assert.deepEqual(
      (await engine.search("same", { session: two.id })).map(({ session }) => session),
      [two.id],
    );
    await engine.delete(one.id);
    assert.deepEqual(
      (await engine.search("same")).map(({ session }) => session),
      [two.id],
    );
    await assert.rejects(engine.search("same", { session: one.id }), { code: "not-found" });
  });

  test(`no text is a syntax error (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const session = await engine.open({ objective: "o" });
    await session.append(`quotes "and" (brackets) AND NEAR/2 col:umn`);
    for (const text of ["a AND", "NEAR(", "col:umn", "'; DROP", "a*b*", '"a', "^a"])
      assert.ok(Array.isArray(await engine.search(text)), text);
    for (const text of ['"', '""', "*", "(", "^", "-", "\\", "", "  "])
      await assert.rejects(engine.search(text), { code: "invalid", message: /at least one letter or digit/ });
    assert.deepEqual(
      (await engine.search('"and" (brackets)')).map(({ seq }) => seq),
      [2],
    );
  });

  test(`long contents are found too, and the place is shown (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const session = await engine.open({ objective: "o" });
    await session.append(`${"hay ".repeat(30_000)} needle ${"hay ".repeat(100)}`);
    const [hit] = await engine.search("needle");
    assert.match(hit?.snippet ?? "", /^….* needle .*…$/);
    assert.ok((hit?.snippet.length ?? 0) <= 102);
  });
}

const text = (said: string) => ({ blocks: [{ type: "text", text: said }] });

test("definitions of tools are not found, also not in an index of an older version", async () => {
  await using place = inMemory();
  const { engine, store } = place;
  const session = await engine.open({ objective: "o" });
  const content = { definitions: [{ name: "read", description: "needle" }] };
  const bound = { type: "tools.bound" as const, body: samples["tools.bound"].body, content };
  await writeRaw(
    place,
    session.id,
    Array.from({ length: 30 }, () => bound),
  );
  await session.append("a needle");
  for (let round = 0; round < 2; round++) {
    const hits = await engine.search("needle", { limit: 3 });
    assert.deepEqual(
      hits.map(({ type }) => type),
      ["input.received"],
    );
    await session.append("another");
    // As an older version indexed it: the newest hits are all definitions.
    const from = await store.projected();
    const { position: to } = await store.feed(from, 100);
    const texts = Array.from({ length: 30 }, (_, at) => ({
      session: session.id,
      seq: 2 + at,
      text: "needle",
    }));
    await store.project({ from, to, texts, items: [] });
    assert.ok((await store.search("needle", { limit: 200 })).length > 30);
  }
});

test("two engines that catch up at once find the same", async () => {
  await using place = await inFile();
  const other = await place.again();
  const session = await place.engine.open({ objective: "o" });
  for (let batch = 0; batch < 10; batch++) {
    await session.append(
      Array.from({ length: 50 }, (_, count) => ({ type: "x.n" as const, content: `word ${count}` })),
    );
  }
  const [one, two] = await Promise.all([
    place.engine.search("word", { limit: 200 }),
    other.engine.search("word", { limit: 200 }),
  ]);
  assert.deepEqual([one.length, two], [200, one]);
  await other.engine.close();
});

test("a damaged content is not found, and does not break search or queries", { skip: noFile() }, async () => {
  await using place = await inFile();
  const [one, two] = [
    await place.engine.open({ objective: "o" }),
    await place.engine.open({ objective: "o" }),
  ];
  await one.append("word in one");
  await one.record("fact", "k", "word");
  await two.record("fact", "k", "word in two");
  const raw = new DatabaseSync(place.path);
  raw.exec("UPDATE records SET content = '{' WHERE log = 1 AND seq > 1");
  raw.close();
  const { engine } = await place.again();
  assert.deepEqual(
    (await engine.search("word")).map(({ session }) => session),
    [two.id],
  );
  assert.deepEqual((await engine.query("SELECT session FROM items")).rows, [[two.id]]);
  const damaged = { code: "corrupt", message: /record 3 of ses_\w+ cannot be read/, hint: /skein verify/ };
  await assert.rejects((await engine.session(one.id)).items(), damaged);
  await engine.close();
});

test("erased contents are not found, and their words are not shown", async () => {
  await using place = inMemory();
  const session = await place.engine.open({ objective: "findable" });
  const erasing = {
    ...place.store,
    read: async (...args: Parameters<typeof place.store.read>) =>
      (await place.store.read(...args)).map((record) => ({ ...record, content: null, salt: null })),
  };
  const engine = new Engine({ store: erasing, world: place.world });
  for (const { snippet } of await engine.search("findable")) assert.equal(snippet, "");
  assert.equal((await engine.session(session.id)).id, session.id);
});
