/** What a session's log keeps of files, through the tools that come with it. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import type { FileChange } from "../../../src/core/tool/file-version.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { watchFiles } from "../../../src/tool/file-watch.ts";
import { workspace } from "../place.ts";
import { pictureOf } from "./file-edits.ts";
import { engineWith, scripted, use, type Line } from "./scripted.ts";

async function open(lines: readonly Line[]) {
  const folder = await mkdtemp(join(tmpdir(), "skein-keeping-"));
  const root = join(folder, "work");
  await mkdir(root);
  const world = realWorld();
  const store = await sqliteStore({
    path: join(folder, "skein.db"),
    world,
    workspace,
    durability: "process",
  });
  const engine = engineWith(scripted(lines), { store, world });
  const session = await engine.open({
    objective: "Keep files",
    bind: [
      { kind: "directory", path: root, name: "work", mode: "write" },
      { kind: "shell", path: root },
    ],
    grant: [{ tool: "*", rule: "allow" }],
  });
  return {
    root,
    session,
    engine,
    async [Symbol.asyncDispose]() {
      await engine.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const ask = async (session: Session, text: string): Promise<void> => {
  for await (const _ of session.ask(text));
};

interface Told {
  readonly seq: number;
  readonly cause: number | null;
  readonly actor: string;
  readonly paths: readonly string[];
}

async function changesIn(session: Session): Promise<readonly Told[]> {
  const all: Told[] = [];
  for await (const { seq, cause, actor, content } of session.events({ types: ["resource.changed"] })) {
    const { files } = (content as { detail: { files: readonly FileChange[] } }).detail;
    const sign = ({ before, after }: FileChange) => (before === null ? "+" : after === null ? "-" : "~");
    all.push({ seq, cause, actor, paths: files.map((file) => `${sign(file)}${file.path}`) });
  }
  return all;
}

const seqsOf = async (session: Session, type: string): Promise<readonly number[]> => {
  const seqs: number[] = [];
  for await (const { seq } of session.events({ types: [type] })) seqs.push(seq);
  return seqs;
};

test("each tool's changes stand right before its outcome, and a look at files leaves none", async () => {
  await using place = await open([
    [use("shell", { command: "mkdir d && printf one > d/a && ln -s a d/l" })],
    [use("read_file", { path: "d/a" })],
    [use("write_file", { path: "new/b.txt", text: "b" })],
    [use("edit_file", { path: "d/a", find: "one", replace: "two" })],
    [use("shell", { command: "git init -q . 2>/dev/null; mkdir -p node_modules; touch node_modules/x; ls" })],
    [use("shell", { command: "mv d/a moved; chmod 600 moved; rm -r new; false" })],
    "Done.",
  ]);
  const { session, root } = place;
  await ask(session, "go");
  const requested = await seqsOf(session, "tool.requested");
  const settled = await seqsOf(session, "tool.settled");
  const [one, , three, four, , six] = requested;
  const changes = await changesIn(session);
  assert.deepEqual(
    changes.map(({ cause, actor, paths }) => [cause, actor, paths]),
    [
      [one, "tool:shell", ["+d", "+d/a", "+d/l"]],
      [three, "tool:write_file", ["+new", "+new/b.txt"]],
      [four, "tool:edit_file", ["~d/a"]],
      [six, "tool:shell", ["-d/a", "+moved", "-new", "-new/b.txt"]],
    ],
  );
  for (const { seq } of changes) assert.ok(settled.includes(seq + 1), `${seq} stands before an outcome`);
  const edited = settled[3];
  assert.ok(edited !== undefined);
  const { files } = await session.rewind(edited, { files: true });
  assert.deepEqual(
    files?.restored.map((path) => path.slice(root.length + 1)),
    ["d/a", "moved", "new", "new/b.txt"],
  );
  assert.equal(await readFile(join(root, "d/a"), "utf8"), "two");
  assert.deepEqual((await session.verify()).problems, []);
});

test("parallel calls leave one history, in any order", async () => {
  await using place = await open([
    [
      use("shell", { command: "printf 1 > a; sleep 0.1; printf 2 > a" }, "one"),
      use("shell", { command: "printf 3 > b; sleep 0.05; printf 4 > b" }, "two"),
      use("write_file", { path: "c", text: "5" }, "three"),
    ],
    "Done.",
  ]);
  const { session, root } = place;
  await writeFile(join(root, "a"), "0");
  const before = await pictureOf(root);
  const { seq } = await session.head();
  await ask(session, "go");
  const after = await pictureOf(root);
  const { seq: end } = await session.head();
  await session.rewind(seq, { files: true });
  assert.deepEqual(await pictureOf(root), before);
  await session.rewind(end, { files: true });
  assert.deepEqual(await pictureOf(root), after);
});

test("the changes of an interrupted command are stored, too", async () => {
  await using place = await open([[use("shell", { command: "printf 1 > a; sleep 30" })], "Done."]);
  const { session, root } = place;
  const { seq } = await session.head();
  const asked = ask(session, "go");
  for (let tries = 0; tries < 500 && (await pictureOf(root))["a"] === undefined; tries++)
    await setTimeout(10);
  await session.interrupt();
  await asked;
  const [requested] = await seqsOf(session, "tool.requested");
  assert.deepEqual(
    (await changesIn(session)).map(({ cause, paths }) => [cause, paths]),
    [[requested, ["+a"]]],
  );
  await session.rewind(seq, { files: true });
  assert.deepEqual(await pictureOf(root), {});
});

test("files stay unchanged while the session runs, after unbinding, and without the option", async () => {
  await using place = await open([[use("write_file", { path: "a", text: "1" })], "Done."]);
  const { session, root } = place;
  const { seq } = await session.head();
  await ask(session, "go");
  const held = await session.lease({ holder: "somebody" });
  await assert.rejects(session.rewind(seq, { files: true }), { code: "conflict" });
  await held.release();
  await session.rewind(seq);
  assert.equal(await readFile(join(root, "a"), "utf8"), "1");
  await session.unbind("work");
  await session.unbind("shell");
  await assert.rejects(session.rewind(seq, { files: true }), { code: "refused" });
  await assert.rejects(session.fork({ files: join(root, "fork") }), { code: "refused" });
  await session.bind({ kind: "directory", path: root, name: "work", mode: "write" });
  await assert.rejects(session.fork({ files: join(root, "fork") }), { code: "invalid" });
  await session.rewind(seq, { files: true });
  assert.deepEqual(await pictureOf(root), {});
});

test("changes of a call whose process died are recorded by the next run", async () => {
  await using place = await open([[use("write_file", { path: "c", text: "3" })], "Done."]);
  const { session, root } = place;
  await writeFile(join(root, "a"), "1");
  const before = await pictureOf(root);
  const { seq } = await session.head();
  // As a process leaves it that was killed in the middle of a call.
  const trees = [{ name: "work", root }];
  const died = watchFiles(trees, { now: () => Date.now(), session: session.id });
  const blobs = { put: async () => "", get: async () => undefined };
  const tool = defineTool({ name: "any", description: "Any.", input: z.object({}), run: () => "" });
  await died.begin([{ tool, input: {} }], { blobs });
  await writeFile(join(root, "a"), "2");
  await writeFile(join(root, "b"), "2");
  await ask(session, "go");
  assert.deepEqual(
    (await changesIn(session)).map(({ paths }) => paths),
    [["~a", "+b"], ["+c"]],
  );
  await session.rewind(seq, { files: true });
  assert.deepEqual(await pictureOf(root), before);
});

test("a tree that is too large is reported in the outcome's detail and by the rewind", async () => {
  const lines = [[use("shell", { command: "printf 1 > a" })], [use("write_file", { path: "b", text: "2" })]];
  await using place = await open([...lines, "Done."]);
  const { session, root } = place;
  await writeFile(join(root, "large"), "");
  await truncate(join(root, "large"), 300_000_000);
  const { seq } = await session.head();
  await ask(session, "go");
  const why = "what changed is not known: there are more than 268435456 bytes below work";
  const details: unknown[] = [];
  for await (const { content } of session.events({ types: ["tool.settled"] }))
    details.push((content as { detail: { unkept?: unknown } }).detail.unkept);
  assert.deepEqual(details, [[why], undefined]);
  const [unkept] = await seqsOf(session, "resource.changed");
  const { files } = await session.rewind(seq, { files: true });
  assert.deepEqual(files, { restored: [join(root, "b")], unkept: [{ seq: unkept, why }] });
  assert.equal(await readFile(join(root, "a"), "utf8"), "1");
});
