/** Versions of agents in the workspace's log. */
import type { Binding, Permission } from "../../../src/core/tool/commands.ts";
import type { Budget } from "../../../src/core/budget/commands.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentDigest, type AgentDefinition } from "../../../src/core/workspace/agent.ts";
import { addAgent, showAgent } from "../../../src/runtime/workspace/agents.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Outcome, Store } from "../../../src/store/port.ts";
import { makeWorkspaceHeadReader } from "../../../src/runtime/read/known-heads.ts";
import { digest } from "../../core/digest.ts";
import { inFile, inMemory } from "../place.ts";
import { startOfTime } from "../made-world.ts";

const reviewer: AgentDefinition = { name: "reviewer", instructions: "Review.", description: "Reviews." };
const refusal = (code: string, message: string, hint: string) => ({
  name: "SkeinError",
  code,
  message,
  hint,
});

test("each new definition is a version, and the newest one again is none", async () => {
  await using place = inMemory();
  const { engine, world, store } = place;
  const first = await engine.addAgent(reviewer);
  assert.deepEqual(first, {
    name: "reviewer",
    version: 1,
    digest: agentDigest(digest, reviewer),
    at: startOfTime,
    actor: first.actor,
    definition: reviewer,
  });
  world.pass(1_000);
  assert.deepEqual(await engine.addAgent({ ...reviewer }), first);
  const second = await engine.addAgent({ ...reviewer, model: "offline/offline" });
  assert.equal(second.version, 2);
  const third = await engine.addAgent(reviewer);
  assert.equal(third.version, 3, "an earlier definition is new when another came between");
  assert.deepEqual(await engine.agent("reviewer"), third);
  assert.deepEqual(await engine.agent("reviewer", { version: 2 }), second);
  assert.deepEqual(await engine.agent("reviewer", { version: 1 }), first);
  assert.equal((await store.head(store.workspace))?.seq, 3);
});

test("the list shows the newest version of each agent, by name", async () => {
  await using place = inMemory();
  const { engine } = place;
  assert.deepEqual(await engine.agents(), []);
  await engine.addAgent(reviewer);
  await engine.addAgent({ name: "author", instructions: "Write.", model: "offline/offline" });
  const { digest: newest } = await engine.addAgent({ ...reviewer, description: "Reviews well." });
  const [author, ...rest] = await engine.agents();
  assert.equal(author?.name, "author");
  assert.deepEqual([author?.description, author?.model], [null, "offline/offline"]);
  const listed = { name: "reviewer", version: 2, digest: newest, at: startOfTime };
  assert.deepEqual(rest, [{ ...listed, description: "Reviews well.", model: null }]);
});

test("an unknown agent or version is reported with the nearest one", async () => {
  await using place = inMemory();
  const { engine } = place;
  const hint = '"skein agents add FILE" adds one';
  await assert.rejects(engine.agent("reviewer"), refusal("not-found", 'there is no agent "reviewer"', hint));
  await engine.addAgent(reviewer);
  await assert.rejects(
    engine.agent("reviwer"),
    refusal("not-found", 'there is no agent "reviwer"', 'did you mean "reviewer"?'),
  );
  await assert.rejects(
    engine.agent("reviewer", { version: 2 }),
    refusal("not-found", 'agent "reviewer" has no version 2', "the agent has version 1"),
  );
  await assert.rejects(engine.agent("reviewer", { verison: 1 } as object), { code: "invalid" });
});

test("a definition that is wrong writes nothing", async () => {
  await using place = inMemory();
  const { engine, store } = place;
  const wrong = { ...reviewer, stepMax: 3 } as AgentDefinition;
  await assert.rejects(engine.addAgent(wrong), { code: "invalid", hint: 'did you mean "stepsMax"?' });
  assert.equal(await store.head(store.workspace), undefined);
});

test("versions stay dense when two processes add at once", async () => {
  await using place = await inFile();
  const other = await place.again();
  const names = ["a", "b"];
  const adding = Array.from({ length: 20 }, (_, count) => {
    const { engine } = count % 2 === 0 ? place : other;
    const definition = { name: names[count % 3 === 0 ? 0 : 1] ?? "", instructions: `Number ${count}.` };
    return engine.addAgent(definition);
  });
  const added = await Promise.all(adding);
  for (const name of names) {
    const versions = added.filter((one) => one.name === name).map(({ version }) => version);
    const sorted = versions.toSorted((a, b) => a - b);
    assert.deepEqual(
      sorted,
      Array.from(sorted, (_, before) => before + 1),
    );
  }
  const report = await place.engine.verify();
  assert.deepEqual([report.ok, report.records], [true, 20]);
});

test("the same definition from two at once is one version", async () => {
  await using place = await inFile();
  const other = await place.again();
  const [one, two] = await Promise.all([place.engine.addAgent(reviewer), other.engine.addAgent(reviewer)]);
  assert.deepEqual([one.version, two.version], [1, 1]);
  assert.equal((await place.store.head(place.store.workspace))?.seq, 1);
});

for (const written of [true, false]) {
  test(`an answer that was lost ${written ? "after" : "before"} writing gives one version`, async () => {
    await using place = inMemory();
    const { store, world } = place;
    let lost = 0;
    const lossy: Store = Object.create(store, {
      append: {
        value: async (parts: Parameters<Store["append"]>[0]): Promise<Outcome> => {
          lost += 1;
          if (lost > 1) return store.append(parts);
          if (written) await store.append(parts);
          return { kind: "unknown", cause: null };
        },
      },
    }) as Store;
    const engine = new Engine({ store: lossy, world });
    assert.equal((await engine.addAgent(reviewer)).version, 1);
    assert.equal((await store.head(store.workspace))?.seq, 1);
    assert.equal(lost, written ? 1 : 2);
  });
}

test("a definition too long for a record is a blob and comes back whole", async () => {
  await using place = await inFile();
  const long = { ...reviewer, instructions: "Read this. ".repeat(10_000).trim() };
  await place.engine.addAgent(long);
  await using again = await place.again();
  assert.deepEqual((await again.engine.agent("reviewer")).definition, long);
});

test("a version whose text was erased is refused, and the same text may be added again", async () => {
  await using place = inMemory();
  const { store, world, engine } = place;
  await engine.addAgent(reviewer);
  const erased: Store = Object.create(store, {
    read: {
      value: async (...given: Parameters<Store["read"]>) =>
        (await store.read(...given)).map((record) => ({ ...record, content: null, salt: null })),
    },
  }) as Store;
  const commit = async (parts: Parameters<Store["append"]>[0]) => {
    const outcome = await store.append(parts);
    return outcome.kind === "ok" ? outcome.parts : [];
  };
  const writer = { commit, workspace: makeWorkspaceHeadReader(erased) };
  await assert.rejects(
    showAgent({ store: erased, writer }, "reviewer"),
    refusal("refused", 'the text of version 1 of agent "reviewer" was erased', "add a new version"),
  );
  const deps = { store: erased, world, writer, actor: "system" };
  assert.equal((await addAgent(deps, reviewer)).version, 2);
});

test("agents are events of the workspace, beside the deletions, and survive a rebuild", async () => {
  await using place = inMemory();
  const { engine, store } = place;
  const session = await engine.open({ objective: "try" });
  await engine.addAgent(reviewer);
  await engine.delete(session.id);
  const second = await engine.addAgent({ ...reviewer, instructions: "Review twice." });
  await engine.rebuild();
  assert.deepEqual(await engine.agent("reviewer"), second);
  const types = (await engine.feed()).events
    .filter((event) => event.session === store.workspace)
    .map(({ type }) => type);
  assert.deepEqual(types, ["agent.defined", "session.deleted", "agent.defined"]);
});

test("an agent's bindings, permissions and budget are what a session can be opened with", () => {
  const { bind = [], permissions = [], budget = {} } = reviewer;
  const given: [readonly Binding[], readonly Permission[], Budget] = [bind, permissions, budget];
  assert.deepEqual(given, [[], [], {}]);
});
