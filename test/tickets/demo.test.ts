/**
 * A project on a real repository: twelve tickets that depend on each other, checks that fail at first, a
 * conflict, and two processes that are killed three times each. Done twice, it comes to the same base tree,
 * the same statuses and the same item values, and no effect happened twice.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { openEngine } from "../../src/index.ts";
import { makeRandom, type Random } from "../crash/random.ts";
import { all } from "../runtime/place.ts";
import { isLong } from "../slice.ts";
import type { DemoOrder } from "./demo-runner.ts";
import { newRepository } from "./ticket-place.ts";

const program = join(import.meta.dirname, "demo-runner.ts");

/** Which tickets each one follows. */
const project: Readonly<Record<string, readonly string[]>> = {
  t1: [],
  t2: ["t1"],
  t3: ["t1"],
  t4: ["t2", "t3"],
  t5: ["t1"],
  t6: ["t4"],
  t7: ["t5"],
  t8: ["t6"],
  t9: ["t2"],
  t10: ["t9"],
  t11: ["t7"],
  t12: ["t8"],
};
/** The slice of it that has all of: a failing check, a conflict, dependencies. */
const small = ["t1", "t2", "t3", "t5", "t9"];

const planText = (ids: readonly string[]): string =>
  ids
    .map((id) => {
      const after = (project[id] ?? []).filter((one) => ids.includes(one));
      const lines = [`## ${id}: Ticket ${id}`, `accept: command (final): grep -q final ${id}.txt`];
      return [...lines, ...(after.length === 0 ? [] : [`after: ${after.join(", ")}`]), `Do ${id}.`].join(
        "\n",
      );
    })
    .join("\n\n");

/** Starts the program; killed with its children after so many lines and a moment, unless it ends before. */
async function runs(order: DemoOrder, kill: { readonly lines: number; readonly laterMs: number } | null) {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, [program, JSON.stringify(order)], {
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const exited = once(child, "close");
  let lines = 0;
  let end: string | null = null;
  let timer: NodeJS.Timeout | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("end ")) end = line.slice(4);
    if (++lines !== kill?.lines) continue;
    timer = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), kill.laterMs);
  }
  const [code, signal] = (await exited) as [number | null, string | null];
  clearTimeout(timer);
  assert.ok(code === 0 || signal === "SIGKILL", errors);
  return { end, killed: signal === "SIGKILL" };
}

interface Told {
  readonly tree: string;
  readonly end: unknown;
  readonly effects: readonly string[];
}

async function lived(
  ids: readonly string[],
  rounds: number,
  random: Random,
  context: TestContext,
): Promise<Told> {
  using repository = newRepository();
  const folder = mkdtempSync(join(tmpdir(), "skein-demo-"));
  try {
    const [store, plan, witness] = ["skein.db", "plan.md", "witness.txt"].map((name) => join(folder, name));
    assert.ok(store !== undefined && plan !== undefined && witness !== undefined);
    writeFileSync(plan, planText(ids));
    repository.git("branch", "integration");
    const order = { top: repository.top, plan, store, witness, base: "integration" };
    let kills = 0;
    for (let round = 0; round < rounds; round++) {
      const drawn = () => ({ lines: 1 + random.below(2 + ids.length), laterMs: random.below(250) });
      const ended = await Promise.all([runs(order, drawn()), runs(order, drawn())]);
      kills += ended.filter(({ killed }) => killed).length;
    }
    context.diagnostic(`${kills} of ${2 * rounds} were killed`);
    assert.ok(kills >= rounds, `only ${kills} kills`);
    const [one, other] = await Promise.all([runs(order, null), runs(order, null)]);
    assert.deepEqual(JSON.parse(one.end ?? ""), JSON.parse(other.end ?? ""), "both say the same");
    const tree = repository.git("rev-parse", "integration^{tree}");
    assert.equal(repository.git("show", "integration:shared.txt"), "from t5\nfrom t9");
    for (const id of ids) assert.equal(repository.git("show", `integration:${id}.txt`), `${id} final`);
    assert.equal(repository.git("status", "--porcelain"), "");
    await judgeMoves(store, repository.git("reflog", "--format=%H %gs", "integration"));
    const effects = readFileSync(witness, "utf8").trim().split("\n");
    return { tree, end: JSON.parse(one.end ?? ""), effects: effects.map((line) => line.split(" ")[1] ?? "") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The base was moved to nothing but commits whose checks had passed. */
async function judgeMoves(store: string, reflog: string): Promise<void> {
  await using engine = await openEngine({ store, create: false });
  assert.equal((await engine.verify()).ok, true);
  const passed = new Set<string>();
  const { rows } = await engine.sessions({ labels: { plan: "plan" }, limit: 200 });
  for (const { session: id } of rows)
    for (const { body } of await all((await engine.session(id)).events({ types: ["check.ran"] }))) {
      const { status, commit = "" } = body as { status: string; commit?: string };
      if (status === "passed") passed.add(commit);
    }
  const moves = reflog.split("\n").filter((line) => line.includes("skein merge: ticket"));
  assert.ok(moves.length > 0);
  for (const line of moves) assert.ok(passed.has(line.slice(0, 40)), line);
}

test("with failing checks, a conflict and kills a project comes to the same end twice", async (context) => {
  const ids = isLong ? Object.keys(project) : small;
  const seed = Number(process.env["SKEIN_TEST_SEED"] ?? 1);
  context.diagnostic(`seed ${seed}`);
  const tried: Told[] = [];
  for (const more of [0, 1])
    tried.push(await lived(ids, isLong ? 3 : 1, makeRandom(seed * 7_919 + more), context));
  const [first, second] = tried;
  assert.deepEqual(first?.effects.toSorted(), ids.toSorted(), "each effect once");
  assert.deepEqual(second?.effects.toSorted(), ids.toSorted(), "each effect once");
  assert.equal(first?.tree, second?.tree);
  assert.deepEqual(first?.end, second?.end);
  const { statuses, merged, items } = (first?.end ?? {}) as {
    statuses: string[];
    merged: string[];
    items: Record<string, unknown>;
  };
  assert.deepEqual(
    statuses,
    ids.map((id) => `${id} done`),
  );
  assert.deepEqual(
    merged,
    ids.map((id) => `${id} merged`),
  );
  assert.deepEqual(items, Object.fromEntries(ids.map((id) => [id, `value of ${id}`])));
});
