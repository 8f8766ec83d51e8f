/** A plan whose runs are killed again and again: the last one finishes it, and every ticket is done once. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { kind } from "../kind.ts";
import { newRepository } from "./ticket-place.ts";

const runner = join(import.meta.dirname, "ticket-runner.ts");
const plan = [
  '## a: A\nwrite "alpha" to a.txt',
  '## b: B\nwrite "beta" to b.txt',
  '## c: C\nafter: a, b\nwrite "gamma" to c.txt',
].join("\n");

/** Killed a moment after it has said so many lines; true when it came to its end before. */
async function killed(words: readonly string[], lines: number, laterMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [runner, ...words], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  let heard = 0;
  let timer: NodeJS.Timeout | undefined;
  for await (const _ of createInterface({ input: child.stdout }))
    if (++heard === lines) timer = setTimeout(() => child.kill("SIGKILL"), laterMs);
  const [code] = (await exited) as [number | null];
  clearTimeout(timer);
  return code === 0;
}

test("a plan killed at any point resumes, and every ticket is done once", async () => {
  using repository = newRepository();
  const folder = mkdtempSync(join(tmpdir(), "skein-tickets-store-"));
  try {
    const [file, store] = [join(folder, "plan.md"), kind().placeIn(join(folder, "skein.db"))];
    writeFileSync(file, plan);
    let kills = 0;
    const places = [
      [1, 15],
      [2, 60],
      [1, 350],
      [2, 400],
    ] as const;
    for (const [lines, laterMs] of places)
      if (!(await killed([repository.top, file, store], lines, laterMs))) kills += 1;
    assert.ok(kills >= 3, `it was killed only ${kills} times`);
    assert.equal(await killed([repository.top, file, store], 1_000, 0), true);

    await using engine = await openEngine({ store, create: false });
    const { rows } = await engine.sessions({ labels: { plan: "plan" } });
    const seen = rows.map(({ labels, status }) => `${labels["ticket"]} ${status}`);
    assert.deepEqual(seen.toSorted(), ["a closed", "b closed", "c closed"]);
    for (const { session: id, labels } of rows) {
      const types: string[] = [];
      const session = await engine.session(id);
      const wanted = ["input.received", "turn.started", "session.closed"];
      for await (const { type } of session.events({ types: wanted })) types.push(type);
      assert.deepEqual(types, wanted, String(labels["ticket"]));
    }
    assert.deepEqual(repository.subjects("skein/plan/a"), ["ticket a: A"]);
    assert.deepEqual(repository.subjects("skein/plan/b"), ["ticket b: B"]);
    assert.deepEqual(
      repository.subjects("skein/plan/c").filter((line) => line.startsWith("ticket c: C")),
      ["ticket c: C"],
    );
    const tree = repository.worktree("plan", "c");
    const texts = ["a", "b", "c"].map((name) => readFileSync(join(tree, `${name}.txt`), "utf8").trim());
    assert.deepEqual(texts, ["alpha", "beta", "gamma"]);
    assert.ok(!existsSync(join(repository.top, "a.txt")), "the checkout itself is as it was");
    assert.equal((await engine.verify()).ok, true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
