/** Retention that is killed anywhere: nothing is damaged or done halfway, and the next run finishes. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { openEngine, type Engine } from "../../../src/index.ts";
import { kind } from "../../kind.ts";
import { newPath } from "../place.ts";

const sessions = 30;
const runner = join(import.meta.dirname, "retain-runner.ts");

/** A third is to be packed, a third archived, a third deleted; of one that goes a fork stays. */
async function populate(engine: Engine): Promise<void> {
  await engine.setPolicy("default", { do: "pack", after: "0d" });
  await engine.setPolicy("shelf", { do: "archive", after: "0d", match: { labels: { kind: "shelf" } } });
  await engine.setPolicy("trash", { do: "delete", after: "0d", match: { labels: { kind: "trash" } } });
  for (let n = 0; n < sessions; n++) {
    const label = ["keep", "shelf", "trash"][n % 3] ?? "";
    const session = await engine.open({ objective: `${n}`, labels: { kind: label } });
    for (let part = 0; part < 4; part++)
      await session.append(
        Array.from({ length: 40 }, () => ({ type: "x.note", content: { text: "lorem ".repeat(50) } })),
      );
    if (n === 2) await session.fork({ atSeq: 20, objective: "a fork" });
    if (label !== "keep") await session.close();
  }
}

/** Kills it once it has looked at so many sessions, and a little later; true when it had ended before. */
async function killed(path: string, after: number, laterMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [runner, path], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const kill = (): void => void child.kill("SIGKILL");
  let timer: NodeJS.Timeout | undefined;
  for await (const line of createInterface({ input: child.stdout }))
    if (line === (after === 0 ? "begin" : `${after}`)) timer = setTimeout(kill, laterMs);
  const [code] = (await exited) as [number | null];
  clearTimeout(timer);
  return code === 0;
}

test("killed again and again, it damages nothing, and the next run finishes", async () => {
  const { path: file, remove } = newPath();
  const path = kind().placeIn(file);
  try {
    {
      await using engine = await openEngine({ store: path, durability: "process" });
      await populate(engine);
    }
    let kills = 0;
    for (const [after, laterMs] of [
      [1, 0],
      [2, 3],
      [0, 20],
      [4, 1],
    ] as const) {
      if (!(await killed(path, after, laterMs))) kills += 1;
      await using engine = await openEngine({ store: path, durability: "process" });
      const { ok, problems } = await engine.verify();
      assert.deepEqual([ok, problems], [true, []]);
    }
    assert.ok(kills >= 2, `it was killed only ${kills} times`);
    await using engine = await openEngine({ store: path, durability: "process" });
    await engine.retain();
    const { rows } = await engine.sessions({ limit: 100 });
    const counted = Map.groupBy(rows, ({ labels, status }) => `${labels["kind"] ?? "fork"} ${status}`);
    assert.deepEqual(
      new Map([...counted].map(([what, found]) => [what, found.length])),
      new Map([
        ["fork open", 1],
        ["shelf archived", 10],
        ["keep open", 10],
      ]),
    );
    const again = await engine.retain();
    assert.deepEqual([again.done, again.swept, (await engine.stats()).unscrubbed], [[], true, false]);
    assert.equal((await engine.verify()).ok, true);
  } finally {
    remove();
  }
});
