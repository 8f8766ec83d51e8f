/** Explorations: alternatives run in forks, are scored and compared, and the winner comes back. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { ModelCall } from "../../../src/model/port.ts";
import { openEngine, type Engine } from "../../../src/index.ts";
import { kind } from "../../kind.ts";
import { scripted, use, type Line } from "../turn/scripted.ts";

/** Does what the last input asks: writes a file and records a decision. */
function answer(call: ModelCall): Line {
  const last = call.parts.findLast((part) => part.part === "message");
  if (last?.part === "message" && last.role !== "user") return "Done.";
  const text = JSON.stringify(last);
  if (text.includes("Judge the work"))
    return text.includes("way: queue") ? "Good.\n\nSCORE: 0.9" : "So so.\n\nSCORE: 0.3";
  const way = /Use a (\w+)/.exec(text)?.[1];
  if (way === undefined) return "Noted.";
  return [
    use("write_file", { path: "way.txt", text: `${way}\n` }, `w-${way}`),
    use("record", { kind: "decision", key: "way", value: way, because: "tried" }, `r-${way}`),
  ];
}

interface Place extends AsyncDisposable {
  readonly engine: Engine;
  readonly directory: string;
  readonly tries: string;
  readonly calls: readonly ModelCall[];
}

async function place(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), "skein-explore-"));
  const directory = join(folder, "work");
  const { mkdirSync } = await import("node:fs");
  mkdirSync(directory);
  writeFileSync(join(directory, "way.txt"), "none\n");
  const script = scripted([answer]);
  const engine = await openEngine({ store: kind().place(), models: script.models });
  return {
    engine,
    directory,
    tries: join(folder, "tries"),
    calls: script.calls,
    async [Symbol.asyncDispose]() {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const alternatives = ["Use a lock", "Use a queue", "Use a timer"];

test("each alternative runs on files of its own; the winner's items come back", async () => {
  await using at = await place();
  const { engine, directory, tries } = at;
  const bind = [{ kind: "directory" as const, path: directory, mode: "write" as const }];
  const session = await engine.open({ objective: "Choose a way", bind, budget: { steps: 30 } });
  await session.ask("Hello").result;
  const before = await session.head();
  const judge = ["file: way.txt", "file (queue): way.txt contains queue"];
  const report = await session.explore({ alternatives, judge, files: tries, merge: true });
  assert.equal(report.atSeq, before.seq);
  assert.deepEqual(
    report.alternatives.map(({ objective, status, score, passed }) => [objective, status, score, passed]),
    [
      ["Use a lock", "done", 0.5, false],
      ["Use a queue", "done", 1, true],
      ["Use a timer", "done", 0.5, false],
    ],
  );
  const [lock, queue] = report.alternatives;
  assert.equal(report.winner, queue?.session);
  assert.deepEqual(report.merged?.conflicts, []);
  assert.equal((await session.items()).find(({ key }) => key === "way")?.value, "queue");
  assert.equal(readFileSync(join(directory, "way.txt"), "utf8"), "none\n", "the session's own files stay");
  assert.equal(readFileSync(join(lock?.directory ?? "", "way.txt"), "utf8"), "lock\n");
  assert.equal(readFileSync(join(queue?.directory ?? "", "way.txt"), "utf8"), "queue\n");
  const loser = await engine.session(lock?.session ?? "");
  assert.equal(
    (await loser.items()).find(({ key }) => key === "way")?.value,
    "lock",
    "losers keep their logs",
  );
  assert.equal((await loser.fold()).standing.limits.steps, 9, "an equal share of what was left");
  assert.equal((await loser.fold()).standing.scores.get("explore")?.value, 0.5);
  // The same call again is the same exploration: nothing runs, nothing is merged twice.
  const asked = at.calls.length;
  const head = await session.head();
  assert.deepEqual(await session.explore({ alternatives, judge, files: tries, merge: true }), report);
  assert.deepEqual([at.calls.length, (await session.head()).seq], [asked, head.seq]);
  const other = await session.explore({ alternatives, judge, files: tries, name: "once more" });
  assert.notEqual(other.winner, report.winner);
  assert.equal(other.merged, null);
  assert.equal((await engine.verify()).ok, true);
});

test("a reviewer scores; without checks nobody wins; a person's check decides later", async () => {
  await using at = await place();
  const { engine, directory } = at;
  const bind = [{ kind: "directory" as const, path: directory, mode: "write" as const }];
  const session = await engine.open({ objective: "Choose a way", bind });
  const two = alternatives.slice(0, 2);
  const scored = await session.explore({ alternatives: two, judge: ["review: Is it a queue?"] });
  assert.deepEqual(
    scored.alternatives.map(({ score, passed }) => [score, passed]),
    [
      [0.3, false],
      [0.9, true],
    ],
  );
  assert.equal(scored.winner, scored.alternatives[1]?.session);
  const unscored = await session.explore({ alternatives: two });
  assert.deepEqual([unscored.winner, unscored.alternatives[0]?.score], [null, null]);
  const asked = { alternatives: two, judge: ["person: Which one?"] };
  const waiting = await session.explore(asked);
  assert.deepEqual(
    waiting.alternatives.map(({ status, why }) => [status, why]),
    [
      ["blocked", "person waits for a person"],
      ["blocked", "person waits for a person"],
    ],
  );
  await (await engine.session(waiting.alternatives[0]?.session ?? "")).check({ pass: "person" });
  await (await engine.session(waiting.alternatives[1]?.session ?? "")).check({ fail: "person" });
  assert.equal((await session.explore(asked)).winner, waiting.alternatives[0]?.session);
});

test("bad input is refused, and nothing is forked", async () => {
  await using at = await place();
  const session = await at.engine.open({ objective: "Choose a way" });
  const refused = (options: object, message: RegExp) =>
    assert.rejects(session.explore(options as never), { code: "invalid", message });
  await refused({ alternatives: ["one"] }, /explore: alternatives/);
  await refused({ alternatives, judge: ["nonsense"] }, /judge/);
  await refused({ alternatives, budget: { steps: -1 } }, /budget/);
  await refused({ alternatives, nope: 1 }, /nope/);
  await assert.rejects(
    at.engine
      .as("agent:worker@1")
      .session(session.id)
      .then((one) => one.explore({ alternatives, judge: ["person: ok?"] })),
    {
      code: "refused",
    },
  );
  assert.equal((await at.engine.sessions()).rows.length, 1);
});
