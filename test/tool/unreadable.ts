/** A file that may not be read, looked at by somebody who is not root. Prints `told` when run by itself. */
import assert from "node:assert/strict";
import { chmod, lstat, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { realWorld } from "../../src/runtime/world.ts";
import { defineTool } from "../../src/tool/define.ts";
import { restoreFiles } from "../../src/tool/file-restore.ts";
import { watchFiles } from "../../src/tool/file-watch.ts";
import type { FileBlobs } from "../../src/tool/port.ts";

export async function checkUnreadable(): Promise<void> {
  const world = realWorld();
  const root = await mkdtemp(join(tmpdir(), "skein-unreadable-"));
  const kept = new Map<string, Uint8Array>();
  const blobs = {
    put: async (bytes: Uint8Array) => {
      kept.set(world.hashBytes(bytes), bytes);
      return world.hashBytes(bytes);
    },
    get: async (blob: string) => kept.get(blob),
  };
  const tool = defineTool({ name: "any", description: "Any.", input: z.object({}), run: () => "" });
  try {
    await writeFile(join(root, "closed"), "one", { mode: 0o200 });
    await writeFile(join(root, "open"), "one");
    const tree = { name: "work", root };
    await using watch = watchFiles([tree], { now: world.now, session: undefined });
    const watched = await watch.begin([{ tool, input: {} }], { blobs });
    await writeFile(join(root, "closed"), "three");
    await writeFile(join(root, "open"), "three");
    const [changed] = (await watched?.record(async (all) => all)) ?? [];
    const [closed, open] = changed?.files ?? [];
    assert.deepEqual(closed, {
      path: "closed",
      before: { kind: "file", mode: 0o200, bytes: 3 },
      after: { kind: "file", mode: 0o200, bytes: 5 },
    });
    assert.equal(open?.path, "open");
    const puts = (changed?.files ?? []).map(({ path, before, after }) => ({
      tree,
      path,
      expect: after,
      to: before,
    }));
    assert.deepEqual(await restoreFiles(world, puts, blobs), [
      { path: join(root, "closed"), why: "it cannot be read: EACCES" },
    ]);
    await chmod(join(root, "closed"), 0o600);
    const why = "the session's version could not be read, so it cannot be compared";
    assert.deepEqual(await restoreFiles(world, puts, blobs), [{ path: join(root, "closed"), why }]);
    await checkReadOnly(tree.root, blobs);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** What the session itself closed is opened again; what somebody else closed is in the way. */
async function checkReadOnly(root: string, blobs: FileBlobs): Promise<void> {
  const world = realWorld();
  const tree = { name: "work", root };
  const blob = await blobs.put(Buffer.from("in it"));
  if (typeof blob !== "string") return assert.fail("what holds no secret is kept");
  const made = { kind: "file", mode: 0o644, blob } as const;
  await mkdir(join(root, "d"));
  await writeFile(join(root, "d/a"), "in it");
  await chmod(join(root, "d"), 0o555);
  const file = { tree, path: "d/a", expect: made, to: null };
  assert.deepEqual(await restoreFiles(world, [file], blobs), [
    { path: join(root, "d/a"), why: "the directory it lies in may not be written" },
  ]);
  const folder = { tree, path: "d", expect: { kind: "directory", mode: 0o555 } as const };
  const back = { ...folder, to: { kind: "directory", mode: 0o500 } as const };
  assert.deepEqual(await restoreFiles(world, [back, file], blobs), []);
  assert.deepEqual(
    [(await lstat(join(root, "d"))).mode & 0o777, await readdir(join(root, "d"))],
    [0o500, []],
  );
}

if (import.meta.main) {
  await checkUnreadable();
  process.stdout.write("told\n");
}
