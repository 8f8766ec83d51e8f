/** Bundles of projects: what comes out, what comes in, and what is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readBundle } from "../../golden/bundle-reader.ts";
import { all } from "../place.ts";
import { twoInFiles, twoInMemory, type Home } from "../two-stores.ts";
import { bundleOf, inPieces } from "./bundled.ts";

const exported = async ({ engine }: Pick<Home, "engine">, project: string): Promise<Buffer> =>
  Buffer.concat(await all(engine.exportProject(project)));

async function shop({ engine }: Pick<Home, "engine">) {
  const { project } = await engine.openProject({ objective: "Move the shop", name: "shop" });
  const first = await engine.open({ objective: "Write the adapter", project });
  await first.append("the needle lies here");
  const fork = await first.fork({ objective: "Otherwise" });
  await fork.append("x".repeat(70_000));
  const next = await first.rollover();
  await engine.recordInProject(project, { kind: "decision", key: "provider", value: "acme" });
  await engine.noteInProject(project, { text: "The adapter is begun." });
  return { project, first, fork, next };
}

for (const [name, make] of [
  ["memory", twoInMemory],
  ["files", twoInFiles],
] as const) {
  test(`a project comes in with its sessions, as it was, in ${name}`, async () => {
    await using homes = await make();
    const { a, b } = homes;
    const { project, first, fork, next } = await shop(a);
    const bytes = await exported(a, project.slice(-8));
    assert.equal(bytes.toString("latin1", 0, 15), "skein-bundle 3\n");
    const report = await b.engine.import(inPieces(bytes, 999));
    assert.deepEqual([report.project, report.session, report.as], [project, first.id, "copy"]);
    assert.deepEqual(new Set(report.sessions), new Set([first.id, fork.id, next.id]));
    const { latest: _, ...there } = await b.engine.project(project);
    const { latest: __, ...here } = await a.engine.project(project);
    assert.deepEqual(there, here);
    assert.equal((await b.engine.projects())[0]?.project, project);
    assert.ok((await b.engine.search("needle", { project })).length > 0);
    assert.equal((await b.engine.verifyProject(project)).ok, true);
    assert.equal((await b.engine.verify()).ok, true);
    const again = await b.engine.import(inPieces(bytes));
    assert.deepEqual([again.already, again.records], [true, 0]);
    // What came later comes with a longer bundle, whatever happened to the copies here.
    await a.engine.noteInProject(project, { text: "Done." });
    await b.engine.import(inPieces(await exported(a, project)));
    assert.equal((await b.engine.project(project)).journal.at(-1)?.text, "Done.");
    // The copy leaves in a bundle too.
    assert.equal(readBundle(await exported(b, project)).project, project);
  });
}

test("a copy of a project is read-only, and forks of its sessions live here without it", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { project, first } = await shop(a);
  await b.engine.import(inPieces(await exported(a, project)));
  const refusal = { code: "refused", message: /copy of a project/ };
  await assert.rejects(b.engine.noteInProject(project, { text: "Here." }), refusal);
  await assert.rejects(b.engine.eraseProject(project), { code: "refused", message: /another store/ });
  await assert.rejects(b.engine.open({ objective: "More", project }), refusal);
  const fork = await (await b.engine.session(first.id)).fork({ objective: "Continue here" });
  await fork.append("written here");
  const { sessions } = await b.engine.project(project);
  assert.equal(sessions.includes(fork.id), false);
  assert.equal((await b.engine.verify()).ok, true);
});

test("a project with another history is refused, and nothing changes", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { project } = await shop(a);
  const early = await exported(a, project);
  await a.engine.noteInProject(project, { text: "Later, in the first store." });
  const late = await exported(a, project);
  // Its own store has all of the earlier bundle already.
  assert.equal((await a.engine.import(inPieces(early))).already, true);
  await b.engine.import(inPieces(early));
  // As a backup that was restored: the project goes on in both stores.
  const there = await b.store.head(project);
  const end = { session: project, seq: there?.seq ?? 0, hash: there?.hash ?? "", as: "own" } as const;
  await b.store.finish([end]);
  await assert.rejects(b.engine.import(inPieces(late)), {
    code: "conflict",
    message: new RegExp(`${project} exists here and ends at`),
    hint: /continued in two stores/,
  });
  await b.engine.noteInProject(project, { text: "Only in the second store." });
  const before = await b.store.head(project);
  await assert.rejects(b.engine.import(inPieces(late)), {
    code: "conflict",
    message: new RegExp(`${project} has a different record`),
    hint: /continued in two stores/,
  });
  assert.deepEqual(await b.store.head(project), before);
  assert.equal((await b.engine.verify()).ok, true);
});

test("a damaged bundle of a project is refused, and leaves nothing behind", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const { project, first } = await shop(a);
  const bytes = await exported(a, project);
  const damaged = Buffer.from(bytes);
  const at = damaged.length - 400;
  damaged[at] = (damaged[at] ?? 0) ^ 1;
  await assert.rejects(b.engine.import(inPieces(damaged)), { code: "invalid" });
  // A session's bundle that claims to be one of a project, and a project's that claims to be a session's.
  const session = await bundleOf(a, first.id);
  for (const [claimed, version] of [
    [session, "3"],
    [bytes, "2"],
    [bytes, "4"],
  ] as const) {
    const forged = Buffer.from(claimed);
    forged.write(version, 13, "latin1");
    await assert.rejects(b.engine.import(inPieces(forged)), /damaged|too new/);
  }
  assert.equal(await b.store.head(project), undefined);
  assert.deepEqual(await b.engine.projects(), []);
  assert.deepEqual((await b.engine.sessions()).rows, []);
});

test("a project without a session has nothing to export, and says so", async () => {
  await using homes = twoInMemory();
  const { engine } = homes.a;
  const { project } = await engine.openProject({ objective: "Empty" });
  await assert.rejects(exported(homes.a, project), { code: "refused", hint: /skein open --project/ });
});
