/**
 * A process that explores alternatives is killed after its appends. The same call in another process goes on
 * with the same forks: each alternative takes one turn, has one effect, and the winner is merged once.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { all } from "../runtime/place.ts";
import { sliced } from "../slice.ts";
import { asked, engineAt, type ExploreOrder } from "./explore-runner.ts";
import { newPlace } from "./store-place.ts";

/** Runs the program; true when it was killed. */
function dies(order: ExploreOrder): boolean {
  const program = join(import.meta.dirname, "explore-runner.ts");
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const ended = spawnSync(process.execPath, [program, JSON.stringify(order)], { env, encoding: "utf8" });
  assert.ok(ended.signal === "SIGKILL" || ended.status === 0, ended.stderr);
  return ended.signal === "SIGKILL";
}

async function killedAfter(dieAfter: number): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "skein-explore-kill-"));
  try {
    const [path, witness, work] = [await newPlace(folder), join(folder, "witness.txt"), join(folder, "work")];
    await mkdir(work);
    await writeFile(join(work, "way.txt"), "none\n");
    await using engine = await engineAt(path, witness);
    const bind = [
      { kind: "directory", path: work, mode: "write" },
      { kind: "tool", name: "publish" },
    ] as const;
    const session = await engine.open({ objective: "Choose a way", bind });
    await session.ask("Hello").result;
    const files = join(folder, "tries");
    const killed = dies({ path, session: session.id, witness, files, dieAfter });
    const report = await session.explore(asked(files));
    const at = `after append ${dieAfter}`;
    assert.deepEqual(
      report.alternatives.map(({ status, score }) => [status, score]),
      [
        ["done", 0],
        ["done", 1],
      ],
      at,
    );
    const { rows } = await engine.sessions();
    assert.equal(rows.length, 3, `${at}: ${rows.length} sessions`);
    for (const { session: id } of report.alternatives) {
      const fork = await engine.session(id);
      const types = ["session.forked", "checks.set", "input.received", "turn.started", "score.recorded"];
      const found = (await all(fork.events({ types }))).filter((event) => event.session === id);
      assert.deepEqual(
        types.map((type) => found.filter((event) => event.type === type).length),
        types.map(() => 1),
        `${at}: ${found.map(({ type }) => type).join(" ")}`,
      );
    }
    assert.equal((await all(session.events({ types: ["session.merged"] }))).length, 1, at);
    assert.equal((await session.items()).find(({ key }) => key === "way")?.value, "queue", at);
    const effects = (await readFile(witness, "utf8")).trim().split("\n");
    assert.deepEqual(effects.map((line) => line.split(" ")[1] ?? "").toSorted(), ["lock", "queue"], at);
    assert.equal((await engine.verify()).ok, true, at);
    return killed;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test("a killed exploration continues with the same forks, and does nothing twice", async (context) => {
  const step = sliced(6, 1);
  let appends = 1;
  let kills = 0;
  while (await killedAfter(appends)) {
    appends += step;
    kills += 1;
  }
  context.diagnostic(`${kills} kills in ${appends} appends`);
  assert.ok(appends > 15, `only ${appends} appends`);
});
