/** Putting files back, cut off at any step: a second try finishes. */
import assert from "node:assert/strict";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { test } from "node:test";
import fc from "fast-check";
import { z } from "zod";
import { realWorld } from "../../src/runtime/world.ts";
import { defineTool } from "../../src/tool/define.ts";
import { restoreFiles } from "../../src/tool/file-restore.ts";
import { watchFiles } from "../../src/tool/file-watch.ts";
import { anEdit, makeEdit, pictureOf } from "../runtime/turn/file-edits.ts";
import { openFolder } from "./calling.ts";

const world = realWorld();
const tool = defineTool({ name: "any", description: "Any.", input: z.object({}), run: () => "" });

/** So many steps are still taken; then nothing happens any more, as after the end of the process. */
const steps = { left: Infinity };

for (const name of ["mkdir", "open", "rename", "rm", "rmdir", "symlink"] as const) {
  const real = files[name] as (...given: readonly unknown[]) => Promise<unknown>;
  const counted = async (...given: readonly unknown[]): Promise<unknown> => {
    if (steps.left-- > 0) return real(...given);
    throw new Error("cut off");
  };
  Object.assign(files, { [name]: counted });
}
syncBuiltinESMExports();

test("interrupted at any step, the restore can be finished", async () => {
  const edits = fc.array(anEdit, { minLength: 4, maxLength: 12 });
  const seen = { untouched: 0, midway: 0, done: 0 };
  await fc.assert(
    fc.asyncProperty(edits, edits, fc.integer({ min: 0, max: 100 }), async (first, second, share) => {
      await using folder = await openFolder();
      const root = folder.path;
      for (const edit of first) await makeEdit(root, edit);
      const before = await pictureOf(root);
      const kept = new Map<string, Uint8Array>();
      const blobs = {
        put: async (bytes: Uint8Array) => {
          kept.set(world.hashBytes(bytes), Buffer.from(bytes));
          return world.hashBytes(bytes);
        },
        get: async (blob: string) => kept.get(blob),
      };
      const tree = { name: "work", root };
      await using watch = watchFiles([tree], { now: world.now, session: undefined });
      const watched = await watch.begin([{ tool, input: {} }], { blobs });
      for (const edit of second) await makeEdit(root, edit);
      const after = await pictureOf(root);
      const changed = (await watched?.record(async (all) => all)) ?? [];
      const puts = changed.flatMap((one) =>
        one.files.map((file) => ({ tree, path: file.path, expect: file.after, to: file.before })),
      );
      steps.left = Math.floor((share / 100) * puts.length * 10);
      await restoreFiles(world, puts, blobs).catch(() => undefined);
      steps.left = Infinity;
      const cut = JSON.stringify(await pictureOf(root));
      const isDone = cut === JSON.stringify(before);
      seen[isDone ? "done" : cut === JSON.stringify(after) ? "untouched" : "midway"] += 1;
      assert.deepEqual(await restoreFiles(world, puts, blobs), []);
      assert.deepEqual(await pictureOf(root), before);
    }),
    { numRuns: 100 },
  );
  assert.ok(seen.midway > 0 && seen.untouched > 0, JSON.stringify(seen));
});
