/** Ways out of a sandbox that need more than one step: planted files, moved folders, replaced links. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync } from "node:fs";
import {
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { StoredBinding } from "../../src/tool/port.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { scripted, use } from "../runtime/turn/scripted.ts";
import { noBubblewrap } from "./bubblewrap.ts";
import { callTool, failure, openFolder, type Called } from "./calling.ts";

const skip = await noBubblewrap();
const world = realWorld();
const shell: StoredBinding = { kind: "shell", name: "sandbox", mode: "read", sandbox: true };
const exitOf = ({ detail }: Called): unknown => (detail as { exit: unknown }).exit;

/** One run of a session: its tools are opened anew. */
async function openRun(bound: readonly StoredBinding[], hidden: readonly string[] = []) {
  const box = await makeToolSource({ world, hidden }).open(bound, { signal: new AbortController().signal });
  return {
    run: (command: string) => callTool(box.tools, "shell", { command }),
    call: (name: string, input: object) => callTool(box.tools, name, input),
    [Symbol.asyncDispose]: () => box[Symbol.asyncDispose](),
  };
}

/** Open files of the process that runs Skein, as a script or a supervisor leaves them. */
for (const kind of ["sandbox", "plain"]) {
  test(`a ${kind} shell inherits no open files`, { skip: kind === "sandbox" && skip }, async () => {
    await using folder = await openFolder();
    const secret = join(folder.path, "secret.txt");
    await writeFile(secret, "private words");
    await using handle = await open(secret, "r+");
    // Node itself sees to what it inherits in one row from 3 on, and not to what lies behind a gap.
    const files = Array.from({ length: 253 }, (_, place) => (place % 50 === 49 ? handle.fd : "ignore"));
    const command =
      "for f in /proc/self/fd/*; do n=${f##*/}; [ $n -gt 2 ] || continue; " +
      "cat $f 2>/dev/null; echo gone > $f; readlink $f; done; echo looked";
    const args = [join(import.meta.dirname, "sandbox-runner.ts"), await mkdtemp(join(folder.path, "w"))];
    const child = spawn(process.execPath, ["--conditions=skein-source", ...args, command, kind], {
      stdio: ["ignore", "pipe", "inherit", ...files],
    });
    const [said] = await Promise.all([text(child.stdout ?? Readable.from([])), once(child, "exit")]);
    assert.match(said, /looked/);
    assert.doesNotMatch(said, /private words|secret\.txt/);
    assert.equal(await readFile(secret, "utf8"), "private words");
  });
}

describe("the store in a directory that a sandbox may write", { skip }, () => {
  const writes = (name: string) => [
    `echo x > ${name}`,
    `echo x >> ${name}`,
    `ln -s /tmp/x ${name}`,
    `mkdir ${name}`,
    `echo x > other; mv other ${name}`,
    `rm -f ${name} && echo x > ${name}`,
  ];

  test("has no journal and no token that a command made", async () => {
    await using folder = await openFolder();
    const store = join(folder.path, "skein.db");
    const work: StoredBinding = { kind: "directory", name: "w", mode: "write", path: folder.path };
    await using engine = await openEngine({ store, env: {}, models: scripted([]).models });
    await engine.open({ objective: "Stay" });
    await using place = await openRun([work, shell], [store]);
    for (const name of ["-journal", ".token", "-wal", "-shm", ""].map((ending) => `skein.db${ending}`)) {
      for (const way of writes(name)) assert.notEqual(exitOf(await place.run(way)), 0, way);
      const found = lstatSync(join(folder.path, name));
      assert.ok(found.isFile(), name);
      if (/journal|token/.test(name)) assert.equal(found.size, 0, name);
    }
    assert.deepEqual((await place.run("echo made > made.txt")).detail, { exit: 0, changed: ["made.txt"] });
    assert.equal((await engine.verify()).ok, true);
  });

  test("keeps its folder, and every folder on the way to it", async () => {
    await using folder = await openFolder();
    const store = join(folder.path, "sub", "deep", "skein.db");
    await mkdir(join(folder.path, "sub", "deep"), { recursive: true });
    await writeFile(store, "chained records");
    const work: StoredBinding = { kind: "directory", name: "w", mode: "write", path: folder.path };
    await using place = await openRun([work, shell], [store]);
    for (const way of ["mv sub sub2", "mv sub/deep sub/x", "rm -rf sub", "mv sub/deep/skein.db x"]) {
      assert.notEqual(exitOf(await place.run(way)), 0, way);
      assert.equal(await readFile(store, "utf8"), "chained records", way);
    }
    assert.equal(exitOf(await place.run("echo made > sub/deep/made.txt; cat sub/deep/made.txt")), 0);
  });

  test("is opened after a session tried to replace it", async () => {
    await using folder = await openFolder();
    const store = join(folder.path, "skein.db");
    const plant = `printf forged > skein.db-journal; printf token > skein.db.token; echo tried`;
    const models = scripted([[use("shell", { command: plant })], "Done."]).models;
    {
      await using engine = await openEngine({ store, env: {}, models });
      const bind = [{ kind: "shell", sandbox: true, mode: "write", path: folder.path }] as const;
      const session = await engine.open({ objective: "Plant", bind });
      for await (const _ of session.ask("Go"));
    }
    await using engine = await openEngine({ store, env: {}, models });
    assert.equal((await engine.verify()).ok, true);
    const sizes = ["-journal", ".token"].map(async (ending) => (await stat(`${store}${ending}`)).size);
    assert.deepEqual(await Promise.all(sizes), [0, 0]);
  });
});

describe("a binding inside of a writable one", { skip }, () => {
  /** `p` is bound for writing, and `p/x/sub` besides. */
  async function openPlace(more: Partial<StoredBinding> = {}) {
    const folder = await openFolder();
    const [work, outside] = [join(folder.path, "p"), join(folder.path, "outside")];
    await mkdir(join(work, "x", "sub"), { recursive: true });
    await mkdir(outside);
    await writeFile(join(outside, "private.txt"), "private words");
    const bound: StoredBinding[] = [
      { kind: "directory", name: "w", mode: "write", path: work },
      { kind: "directory", name: "inner", mode: "write", path: join(work, "x", "sub"), ...more },
      shell,
    ];
    return { ...folder, work, outside, bound };
  }

  test("does not lead out through a link that a command made", async () => {
    for (const mode of ["read", "write"] as const) {
      await using place = await openPlace({ mode });
      await using first = await openRun(place.bound);
      await first.run(`mv x old && mkdir x && ln -s ${place.outside} x/sub`);
      assert.ok(lstatSync(join(place.work, "x", "sub")).isSymbolicLink());
      assert.match(
        await failure(openRun(place.bound)),
        /^refused: "inner": the path contains the symbolic link .*x\/sub/,
      );
      // The first run still has its tools open.
      assert.match(await failure(first.run("cat x/sub/private.txt")), /moved or replaced by a link/);
      assert.match(await failure(first.call("list_files", { path: "inner" })), /^refused: /);
      assert.match(await failure(first.call("read_file", { path: "inner/private.txt" })), /^refused: /);
    }
  });

  test("is refused however the link is reached", async () => {
    await using place = await openPlace();
    await using without = await openRun([...place.bound.slice(0, 1), shell]);
    const alias = join(place.path, "alias");
    await symlink(place.work, alias);
    const inner = (path: string): StoredBinding => ({ kind: "directory", name: "inner", mode: "read", path });
    const spelled = join(alias, "x", "sub");
    {
      // A link that the session could not have made is followed.
      await using fine = await openRun([...place.bound.slice(0, 1), inner(spelled), shell]);
      assert.equal(exitOf(await fine.run("ls x/sub")), 0);
    }
    const ways = [
      `ln -s ${place.outside} x`,
      "ln -s ../outside x",
      `ln -s ${place.work}/y x; ln -s ${place.outside} y`,
    ];
    for (const way of ways) {
      await without.run(`rm -rf x y; ${way}`);
      await mkdir(join(place.outside, "sub"), { recursive: true });
      for (const path of [join(place.work, "x", "sub"), spelled])
        assert.match(
          await failure(openRun([...place.bound.slice(0, 1), inner(path), shell])),
          /^refused: /,
          way,
        );
    }
  });

  test("a bound file, shell or database follows the same rules", async () => {
    await using place = await openPlace();
    new DatabaseSync(join(place.outside, "other.db")).exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    new DatabaseSync(join(place.work, "x", "own.db")).exec("CREATE TABLE t (a)");
    const [work] = place.bound;
    assert.ok(work !== undefined);
    const database: StoredBinding = {
      kind: "database",
      name: "db",
      mode: "write",
      path: join(place.work, "x", "own.db"),
    };
    await using before = await openRun([work, database, shell]);
    assert.match((await before.call("query_database", { sql: "SELECT count(*) FROM t" })).text, /0/);
    await rename(join(place.work, "x"), join(place.work, "old"));
    await symlink(place.outside, join(place.work, "x"));
    await rename(join(place.outside, "other.db"), join(place.outside, "own.db"));
    assert.match(await failure(before.call("query_database", { sql: "SELECT a FROM t" })), /^refused: /);
    for (const one of [
      database,
      { ...database, kind: "file", path: join(place.work, "x", "private.txt") },
      { ...shell, name: "second", path: join(place.work, "x") },
    ] satisfies StoredBinding[])
      assert.match(
        await failure(openRun([work, one, shell])),
        /^refused: .*contains the symbolic link/,
        one.kind,
      );
    await rm(join(place.work, "x"));
    assert.deepEqual(await readdir(place.work), ["old"]);
  });

  test("the mounted directory is compared with the checked one", async () => {
    await using place = await openPlace();
    // Swaps the directory in the moment between the check and the mount.
    const swapping = {
      ...world,
      spawnPiped: async (...given: Parameters<typeof world.spawnPiped>) => {
        if (given[0].includes("cat private.txt")) {
          await rename(place.work, `${place.work}-old`);
          await symlink(place.outside, place.work);
        }
        return world.spawnPiped(...given);
      },
    };
    const [work] = place.bound;
    assert.ok(work !== undefined);
    const box = await makeToolSource({ world: swapping }).open([work, shell], {
      signal: new AbortController().signal,
    });
    const called = await callTool(box.tools, "shell", { command: "cat private.txt" });
    assert.match(called.text, /not run: .* was replaced/);
    assert.doesNotMatch(called.text, /private words/);
  });
});
