/** The family of a session, whichever of it is asked for. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { limit } from "../../../src/core/limit.ts";
import { atLength } from "../../kind.ts";
import { inFile, inMemory, type Place } from "../place.ts";
import { startOfTime } from "../made-world.ts";

const makers = { memory: async (): Promise<Place> => inMemory(), sqlite: inFile } as const;

for (const [name, make] of Object.entries(makers)) {
  test(`a family lists all members from the first on, with forks and merges (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const root = await engine.open({ objective: "o", name: "root", agent: "fixer" });
    await root.record("fact", "x", 1);
    const late = await root.fork({ name: "late" });
    const early = await root.fork({ atSeq: 1, objective: "other" });
    const leaf = await late.fork();
    await leaf.record("fact", "x", 2);
    await late.merge({ from: leaf.id });
    // What a fork takes over was merged by its parent, not by itself.
    const after = await late.fork();
    await engine.open({ objective: "a stranger" });
    const lineage = await engine.lineage(leaf.id.slice(-8));
    assert.deepEqual(
      lineage.nodes.map(({ session, depth, parent, merged }) => [session, depth, parent, merged]),
      [
        [root.id, 0, null, []],
        [early.id, 1, { session: root.id, seq: 1 }, []],
        [late.id, 1, { session: root.id, seq: 2 }, [{ from: leaf.id, toSeq: 5, seq: 5 }]],
        [leaf.id, 2, { session: late.id, seq: 3 }, []],
        [after.id, 2, { session: late.id, seq: 5 }, []],
      ],
    );
    assert.deepEqual([lineage.session, lineage.left], [leaf.id, 0]);
    const described = {
      status: "open",
      agent: "fixer",
      openedAt: startOfTime,
      activeAt: startOfTime,
      merged: [],
    };
    assert.deepEqual(lineage.nodes[1], {
      session: early.id,
      depth: 1,
      parent: { session: root.id, seq: 1 },
      relation: "fork",
      name: "root",
      objective: "other",
      headSeq: 2,
      ...described,
    });
    for (const one of [root, early, late, after])
      assert.deepEqual((await one.lineage()).nodes, lineage.nodes);
  });

  test(`successors are found from either side, old and new, with their forks (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const first = await engine.open({ objective: "o", name: "first" });
    await first.record("fact", "x", 1);
    const opened = await engine.open({ objective: "p", from: first.id });
    const { seq: before } = await first.head();
    place.world.pass(1_000);
    await first.record("fact", "y", 2);
    const { id: next } = await first.clear({ handoff: true });
    const branch = await (await engine.session(next)).fork();
    const { seq: closedSeq } = await first.head();
    await engine.open({ objective: "a stranger" });
    const { nodes } = await engine.lineage(branch.id);
    assert.deepEqual(
      nodes.map(({ session, depth, relation, parent }) => [session, depth, relation, parent]),
      [
        [first.id, 0, null, null],
        [opened.id, 1, "successor", { session: first.id, seq: before }],
        [next, 1, "successor", { session: first.id, seq: closedSeq }],
        [branch.id, 2, "fork", nodes[3]?.parent],
      ],
    );
    for (const one of [first.id, opened.id, next]) assert.deepEqual((await engine.lineage(one)).nodes, nodes);
    // What is derived is no part of it.
    await engine.rebuild();
    assert.deepEqual((await engine.lineage(next)).nodes, nodes);
    await engine.delete(first.id);
    const absent = (await engine.lineage(branch.id)).nodes;
    assert.deepEqual(
      absent.map(({ session, status, relation }) => [session, status, relation]),
      [
        [first.id, "absent", null],
        [opened.id, "open", "successor"],
        [next, "open", "successor"],
        [branch.id, "open", "fork"],
      ],
    );
  });

  test(`a deleted ancestor is still listed by its descendants (${name})`, async () => {
    await using place = await make();
    const { engine } = place;
    const root = await engine.open({ objective: "o" });
    const middle = await root.fork();
    const leaf = await middle.fork();
    await engine.delete(middle.id);
    const told = async () =>
      (await leaf.lineage()).nodes.map(({ session, depth, status, headSeq }) => [
        session,
        depth,
        status,
        headSeq,
      ]);
    assert.deepEqual(await told(), [
      [root.id, 0, "open", 1],
      [middle.id, 1, "absent", 0],
      [leaf.id, 2, "open", 3],
    ]);
    await engine.delete(root.id);
    assert.deepEqual((await told()).slice(0, 2), [
      [root.id, 0, "absent", 0],
      [middle.id, 1, "absent", 0],
    ]);
    await assert.rejects(engine.lineage(root.id), { code: "not-found" });
  });
}

test("a merge is listed at its position: the last of each session, none that is rewound", async () => {
  await using place = inMemory();
  const { engine } = place;
  const root = await engine.open({ objective: "o" });
  const [one, two] = [await root.fork(), await root.fork()];
  const merge = async (from: typeof one, value: number): Promise<number> => {
    await from.record("fact", `x${value}`, value);
    await root.record("fact", "y", value);
    const { written } = await root.merge({ from: from.id });
    assert.ok(written !== null);
    return (await root.head()).seq;
  };
  const mergedIn = async () => (await root.lineage()).nodes[0]?.merged;
  await merge(one, 1);
  const secondSeq = await merge(one, 2);
  const { seq: oneSeq } = await one.head();
  assert.deepEqual(await mergedIn(), [{ from: one.id, toSeq: oneSeq, seq: secondSeq }]);
  const thirdSeq = await merge(two, 3);
  const { seq: twoSeq } = await two.head();
  assert.deepEqual(await mergedIn(), [
    { from: one.id, toSeq: oneSeq, seq: secondSeq },
    { from: two.id, toSeq: twoSeq, seq: thirdSeq },
  ]);
  await root.rewind(secondSeq);
  assert.deepEqual(await mergedIn(), [{ from: one.id, toSeq: oneSeq, seq: secondSeq }]);
});

test(
  "of a very large family the way to the one asked for is shown, the rest is counted",
  { skip: atLength() },
  async () => {
    await using place = inMemory();
    const root = await place.engine.open({ objective: "o" });
    for (let fork = 0; fork < limit.lineageMax; fork++) await root.fork({ atSeq: 1 });
    await root.rename("n");
    const last = await (await root.fork()).fork();
    const { nodes, left } = await last.lineage();
    assert.equal(left, 1);
    assert.equal(nodes.length, limit.lineageMax + 2);
    assert.equal(nodes.at(-1)!.session, last.id);
  },
);
