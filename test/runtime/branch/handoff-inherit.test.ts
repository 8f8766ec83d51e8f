/** Handoffs of handoffs: what was taken over and not settled goes on to the next session. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { all, inMemory } from "../place.ts";

/** The handoff that a session began with. */
async function handoffIn(session: Session): Promise<{ readonly text: string }> {
  const [document] = await all(session.events({ types: ["document.loaded"] }));
  return document?.content as { text: string };
}

const pointer = (session: Session, seq: number): string => `[${session.id.slice(-8)}@${seq}]`;

test("inherited items that are not settled are handed on, with their own pointers", async () => {
  await using place = inMemory();
  const { engine } = place;
  const first = await engine.open({ objective: "Fix login" });
  await first.record("decision", "storage", "SQLite", { because: "it is one file" });
  await first.record("task", "tests", "Write tests");
  await first.record("task", "docs", "Write docs");
  await first.record("fact", "port", 8080);
  await first.record("decision", "cache", "Redis");
  await first.record("artifact", "report", "report.pdf");
  const second = await engine.open({ from: first.id });
  // What the first one does later is not what was handed over.
  await first.record("task", "later", "Write later");
  const third = await second.clear({ handoff: true });
  const carried = (await handoffIn(third)).text;
  for (const line of [
    `${pointer(first, 2)} storage: SQLite; because it is one file`,
    `${pointer(first, 3)} tests: Write tests`,
    `${pointer(first, 4)} docs: Write docs`,
    `${pointer(first, 5)} port: 8080`,
    `${pointer(first, 6)} cache: Redis`,
    `${pointer(first, 7)} report: report.pdf`,
    `${pointer(first, 3)} Go on with the open tasks, in their order: first tests.`,
  ])
    assert.ok(carried.includes(`\n- ${line}\n`), `${line}\n${carried}`);
  assert.doesNotMatch(carried, /None is recorded|Nothing is left open|later/);

  await third.record("task", "tests", "Write tests", { status: "done" });
  await third.record("decision", "storage", "PostgreSQL");
  await third.record("decision", "cache", "none");
  await third.retract("decision", "cache");
  const { text } = await handoffIn(await engine.open({ from: third.id }));
  assert.ok(text.includes(`\n- ${pointer(first, 4)} docs: Write docs\n`), text);
  assert.ok(text.includes(`\n- ${pointer(third, 4)} storage: PostgreSQL\n`), text);
  assert.doesNotMatch(text, /SQLite|Redis|Write tests/);

  // A fresh start takes nothing over.
  const fresh = await third.clear();
  assert.match((await fresh.handoff()).text, /Nothing is left open/);
});

test("the handoff of a deleted session is handed on", async () => {
  await using place = inMemory();
  const { engine } = place;
  const first = await engine.open({ objective: "Fix login" });
  await first.record("decision", "storage", "SQLite", { because: "it is one file" });
  await first.record("task", "tests", "Write tests");
  await first.record("task", "docs", "Write docs");
  const second = await engine.open({ from: first.id });
  await first.close();
  await engine.delete(first.id);
  await second.record("task", "docs", "Write docs", { status: "done" });
  const third = await engine.open({ from: second.id });
  const quoted = (session: Session): string[] => {
    const from = `${pointer(session, 2)} from ${first.id.slice(-8)}`;
    return [
      `- ${from}@2, which is not here: storage: SQLite; because it is one file`,
      `- ${from}@3, which is not here: tests: Write tests`,
    ];
  };
  const carried = (text: string): string[] => text.split("\n").filter((line) => line.includes("not here"));
  assert.deepEqual(carried((await handoffIn(third)).text), quoted(second));
  assert.doesNotMatch((await handoffIn(third)).text, /Nothing is left open|Write docs/);
  await second.close();
  await engine.delete(second.id);
  assert.deepEqual(carried((await third.handoff()).text), quoted(third));
});
