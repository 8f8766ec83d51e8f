/** Two processes put checkpoints on one thread at once: none is lost or has the values of another branch. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../../src/index.ts";
import { SkeinSaver } from "../../../src/adapter/langgraph/langgraph.ts";
import { sliced } from "../../slice.ts";

test("two processes on one thread lose no checkpoint, and each extends the list of its parent", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-langgraph-two-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "threads.db");
  const count = sliced(15, 100);
  const runner = join(import.meta.dirname, "put-runner.ts");
  const run = (name: string): Promise<number | null> =>
    new Promise((resolve) =>
      spawn(process.execPath, [...process.execArgv, runner, path, name, String(count)], {
        stdio: "inherit",
      }).on("close", resolve),
    );
  assert.deepEqual(await Promise.all([run("one"), run("two")]), [0, 0]);

  await using engine = await openEngine({ store: path });
  assert.equal((await engine.sessions()).rows.length, 1);
  const tuples = await Array.fromAsync(
    new SkeinSaver(engine).list({ configurable: { thread_id: "shared" } }),
  );
  const messagesOf = new Map(
    tuples.map(({ checkpoint }) => [
      checkpoint.id,
      checkpoint.channel_values["messages"] as readonly string[],
    ]),
  );
  assert.equal(messagesOf.size, 2 * count);
  const last = [...messagesOf.values()].map((messages) => messages.at(-1));
  assert.equal(new Set(last).size, 2 * count);
  for (const { checkpoint, parentConfig, pendingWrites } of tuples) {
    const messages = messagesOf.get(checkpoint.id) ?? [];
    const parent = parentConfig?.configurable?.["checkpoint_id"] as string | undefined;
    assert.deepEqual(messages.slice(0, -1), parent === undefined ? [] : messagesOf.get(parent));
    assert.deepEqual(
      pendingWrites?.map(([, channel, value]) => [channel, value]),
      [["messages", messages.length]],
    );
  }
});
