/** What a session carries when it begins, and what memory outlives: other programs, lost answers, erasure. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { AgentDefinition } from "../../../src/core/workspace/agent.ts";
import { limit } from "../../../src/core/limit.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { seal } from "../../../src/runtime/log/seal.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { makeTokenizer } from "../../../src/runtime/turn/tokenizer.ts";
import type { Outcome, Store } from "../../../src/store/port.ts";
import { all, inFile, inMemory } from "../place.ts";

const agent = (memory: AgentDefinition["memory"], name = "payroll"): AgentDefinition => ({
  name,
  instructions: "Keep the rates.",
  ...(memory === undefined ? {} : { memory }),
});

/** What a session carries, as its log says it. */
async function carriedBy(session: Session) {
  const events = await all(session.events());
  const { content } = events.find(({ type }) => type === "memory.carried") ?? {};
  return (content as { items: { key: string; value: unknown; why: string; scope: string }[] } | undefined)
    ?.items;
}

const keysOf = (items: readonly { readonly key: string }[] | undefined) =>
  (items ?? []).map(({ key }) => key);

suite("what a session begins with", () => {
  test("a successor selects memory again; a fork only with a new objective", async () => {
    await using place = inMemory();
    const { engine } = place;
    const about = { scope: "workspace", kind: "fact" } as const;
    await engine.remember({ ...about, key: "clock", value: "is slow" });
    await engine.remember({ ...about, key: "boat", value: "is red" });
    const session = await engine.open({ objective: "Wind the clock" });
    await engine.remember({ ...about, key: "clock", value: "is fast" });
    const cleared = await session.clear();
    assert.deepEqual(
      (await carriedBy(cleared))?.map(({ value }) => value),
      ["is fast"],
    );
    const handed = await engine.open({ from: cleared.id });
    assert.deepEqual(keysOf(await carriedBy(handed)), ["clock"]);
    const values = async (fork: Session) =>
      (await all(fork.events({ types: ["memory.carried"] }))).map(({ content }) =>
        (content as { items: { value: unknown }[] }).items.map(({ value }) => value),
      );
    assert.deepEqual(await values(await cleared.fork()), [["is fast"]]);
    const same = await cleared.fork({ objective: "Wind the clock again" });
    assert.deepEqual(await values(same), [["is fast"]], "not twice");
    const boat = await cleared.fork({ objective: "Paint the boat" });
    assert.deepEqual(await values(boat), [["is fast"], ["is red"]]);
    const without = await cleared.fork({ objective: "Paint the boat", memory: false });
    assert.deepEqual(await values(without), [["is fast"], []]);
  });

  test("the carried text never exceeds its token limit", async () => {
    await using place = inMemory();
    const { engine, world } = place;
    for (let number = 0; number < 60; number++) {
      const value = `${"QmFzZTY0IGlzIG5vdCBjaGVhcA".repeat(number % 4)} the pump number ${number} leaks`;
      await engine.remember({ scope: "workspace", kind: "fact", key: `pump ${number}`, value });
    }
    const session = await engine.open({ objective: "Which pump leaks?" });
    const carried = (await carriedBy(session)) ?? [];
    const { parts } = await session.context();
    const shown = parts.filter((part) => JSON.stringify(part).includes("Known from earlier sessions"));
    const { tokens } = await makeTokenizer(world).estimate(shown);
    assert.ok(tokens <= 1_000 && tokens > 700, `${tokens} tokens, ${carried.length} things`);
  });
});

suite("what lasts", () => {
  test("memory is the workspace's log alone: other engines see the same, also after a rebuild", async () => {
    await using place = await inFile();
    const { engine } = place;
    const session = await engine.open({ objective: "o" });
    for (let number = 0; number < 30; number++) {
      await session.record("fact", `k${number}`, number);
      await session.promote("fact", `k${number}`, { scope: number % 2 === 0 ? "workspace" : "user" });
    }
    await session.retract("fact", "k3");
    const before = await engine.memory();
    assert.equal(before.length, 29);
    await engine.rebuild();
    assert.deepEqual(await engine.memory(), before);
    await using other = await place.again();
    assert.deepEqual(await other.engine.memory(), before);
    await other.engine.forget({ scope: "workspace", kind: "fact", key: "k4" });
    assert.equal((await engine.memory()).length, 28);
    assert.equal((await engine.verify()).ok, true);
  });

  test("two programs that record and promote at once leave memory as the sessions say", async () => {
    await using place = await inFile();
    await using other = await place.again();
    await place.engine.addAgent(agent({ promote: [{ keys: ["rule*"], scope: "workspace" }] }));
    const work = async ({ engine }: { engine: typeof place.engine }, name: string) => {
      const session = await engine.open({ objective: "o", agent: "payroll" });
      for (let round = 0; round < 12; round++) {
        await session.record("fact", `rule ${name}`, round);
        await session.record("fact", `hand ${name}`, round);
        if (round === 3) await session.promote("fact", `hand ${name}`, { scope: "workspace" });
      }
      return session;
    };
    await Promise.all([work(place, "a"), work(other, "b"), work(place, "c"), work(other, "d")]);
    const found = (await place.engine.memory()).map(({ key, value }) => `${key}=${String(value)}`);
    const wanted = ["a", "b", "c", "d"].flatMap((name) => [`hand ${name}=11`, `rule ${name}=11`]);
    assert.deepEqual(found.toSorted(), wanted.toSorted());
  });

  test("items that many sessions record at once are all there", async () => {
    await using place = await inFile();
    const { engine } = place;
    await engine.addAgent(agent({ promote: [{ scope: "agent" }] }));
    const open = () => engine.open({ objective: "o", agent: "payroll", memory: false });
    const sessions = await Promise.all(Array.from({ length: 200 }, open));
    await Promise.all(sessions.map((session, place) => session.record("fact", `k${place}`, place)));
    assert.equal((await engine.memory()).length, sessions.length);
  });

  test("a merge of very many items is followed whole, in more than one append", async () => {
    await using place = inMemory();
    const { engine } = place;
    await engine.addAgent(agent({ promote: [{ scope: "workspace" }, { scope: "agent" }] }));
    const session = await engine.open({ objective: "o", agent: "payroll" });
    const branch = await session.fork();
    for (let number = 0; number < 400; number++) await branch.record("fact", `k${number}`, number);
    await session.merge({ from: branch.id });
    const found = await engine.memory();
    assert.deepEqual([found.length, new Set(found.map(({ key }) => key)).size], [800, 400]);
    assert.ok(found.every(({ origin }) => origin?.session === session.id));
  });

  test("an item that changes while it is promoted is followed", async () => {
    await using place = await inFile();
    await using other = await place.again();
    const session = await place.engine.open({ objective: "o" });
    const elsewhere = await other.engine.session(session.id);
    for (let round = 0; round < 15; round++) {
      await session.record("fact", "k", `${round} before`);
      await Promise.all([
        session.promote("fact", "k", { scope: "workspace" }),
        elsewhere.record("fact", "k", `${round} after`),
      ]);
      assert.deepEqual(
        (await other.engine.memory()).map(({ value }) => value),
        [`${round} after`],
      );
    }
  });

  for (const written of [true, false]) {
    test(`an answer lost ${written ? "after" : "before"} writing records and promotes once`, async () => {
      await using place = inMemory();
      const { store, world } = place;
      let losing = false;
      const lossy: Store = Object.create(store, {
        append: {
          value: async (parts: Parameters<Store["append"]>[0]): Promise<Outcome> => {
            if (!losing) return store.append(parts);
            losing = false;
            if (written) await store.append(parts);
            return { kind: "unknown", cause: null };
          },
        },
      }) as Store;
      const engine = new Engine({ store: lossy, world });
      await engine.addAgent(agent({ promote: [{ scope: "workspace" }] }));
      const session = await engine.open({ objective: "o", agent: "payroll" });
      const lose = async (work: () => Promise<unknown>) => {
        losing = true;
        await work();
      };
      await lose(() => session.record("fact", "k", 1));
      assert.equal((await store.head(store.workspace))?.seq, 2);
      await lose(() => engine.remember({ scope: "workspace", kind: "fact", key: "m", value: 1 }));
      assert.equal((await store.head(store.workspace))?.seq, 3);
      await lose(() => engine.forget({ scope: "workspace", kind: "fact", key: "m" }));
      assert.equal((await store.head(store.workspace))?.seq, 4);
      assert.deepEqual(
        (await engine.memory()).map(({ key }) => key),
        ["k"],
      );
    });
  }

  test("an erased entry is shown as erased, and no longer carried", async () => {
    await using place = await inFile();
    const { engine } = place;
    const session = await engine.open({ objective: "o" });
    await session.record("fact", "clock", "is in the attic");
    await session.promote("fact", "clock", { scope: "workspace" });
    const open = () => engine.open({ objective: "Wind the clock" });
    assert.deepEqual(keysOf(await carriedBy(await open())), ["clock"]);
    await session.erase({ copies: true });
    const [entry] = await engine.memory();
    assert.deepEqual([entry?.erased, entry?.value, entry?.because], [true, null, null]);
    assert.equal(await carriedBy(await open()), undefined);
    await using again = await place.again();
    assert.equal(await carriedBy(await again.engine.open({ objective: "Wind the clock" })), undefined);
  });

  test("damage to the workspace's log keeps no session from being opened and written", async () => {
    await using place = inMemory();
    const { store, world } = place;
    await place.engine.remember({ scope: "workspace", kind: "fact", key: "clock", value: "is slow" });
    const damaged: Store = Object.create(store, {
      read: {
        value: async (...given: Parameters<Store["read"]>) =>
          (await store.read(...given)).map((record) =>
            record.session === store.workspace ? { ...record, body: "{" } : record,
          ),
      },
    }) as Store;
    const engine = new Engine({ store: damaged, world });
    const session = await engine.open({ objective: "Wind the clock" });
    assert.equal(await carriedBy(session), undefined);
    await session.record("fact", "clock", "is fast");
    await session.retract("fact", "clock");
    await assert.rejects(engine.memory(), { code: "corrupt" });
    await assert.rejects(session.promote("fact", "clock", { scope: "workspace" }), { code: "not-found" });
  });

  test("a workspace remembers so many things and no more", async () => {
    await using place = inMemory();
    const { engine, store, world } = place;
    const events = Array.from({ length: 1_000 }, (_, place) => place);
    for (let made = 0; made < limit.memoryMax; made += events.length) {
      const drafts = events.map((number) => ({
        type: "memory.promoted",
        body: { scope: "workspace", kind: "fact", key: `k${made + number}`, by: "person" },
        content: { value: number },
      }));
      await store.append([
        {
          session: store.workspace,
          expect: "unchecked",
          drafts: seal(world, drafts, { actor: "system", key: null }).drafts,
        },
      ]);
    }
    const more = { scope: "workspace", kind: "fact", key: "one more", value: 1 } as const;
    await assert.rejects(engine.remember(more), { code: "refused", message: /at most 20000 memory entries/ });
    await engine.remember({ ...more, key: "k7" });
    await engine.forget({ scope: "workspace", kind: "fact", key: "k8" });
    assert.equal((await engine.remember(more)).key, "one more");
  });
});
