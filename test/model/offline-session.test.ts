/** Whole turns of a session with the offline model: the engine's own loop, tools and log. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { memoryStore } from "../../src/store/memory/store.ts";
import { makeToolSource } from "../../src/tool/source.ts";
import { offlineModel } from "../../src/model/offline.ts";
import { workspace } from "../runtime/place.ts";

function offlineEngine(): Engine {
  const world = realWorld();
  const offline = offlineModel();
  return new Engine({
    store: memoryStore({ world, workspace }),
    world,
    models: async () => ({ byDefault: offline.name, model: async () => offline, list: () => [] }),
    tools: async () => makeToolSource({ world }),
  });
}

/** What is heard as the answer comes. */
async function ask(session: Session, text: string): Promise<string> {
  let said = "";
  for await (const event of session.ask(text)) {
    const { delta } = event as { readonly delta?: { readonly type: string; readonly text: string } };
    if (delta?.type === "text") said += delta.text;
  }
  return said;
}

test("a newcomer's first session: files, facts, decisions, and recorded items", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-offline-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "rates.json"), '{"base-rate": 4.1}\n');
  await using engine = offlineEngine();
  const session = await engine.open({ objective: "Learn the rates" });

  assert.match(await ask(session, "read rates.json"), /offline model.*Bind a file or directory: skein bind/s);
  await session.bind({ kind: "directory", path: folder, mode: "write" });
  assert.equal(await ask(session, "read rates.json"), 'rates.json says:\n\n{"base-rate": 4.1}');
  assert.equal(await ask(session, "what is base-rate?"), "base-rate is 4.1, as the context says.");
  assert.equal(
    await ask(session, "remember base-rate is 4.1 and decide use it because it is the newest"),
    "Recorded the fact base-rate: 4.1.\n\nRecorded the decision use-it: use it.",
  );
  assert.deepEqual(
    (await session.items()).map(({ kind, key, value }) => [kind, key, value]),
    [
      ["decision", "use-it", "use it"],
      ["fact", "base-rate", 4.1],
    ],
  );
  assert.equal(
    await ask(session, 'write "rate: 4.1" to notes.txt and then replace 4.1 with 4.2 in notes.txt'),
    "Created notes.txt (9 bytes).\n\nReplaced once in notes.txt, first in line 1.",
  );
  assert.equal(readFileSync(join(folder, "notes.txt"), "utf8"), "rate: 4.2");
  assert.equal(await ask(session, "find *.txt"), "Files that match *.txt:\n\nnotes.txt");
  assert.match(await ask(session, "grep rate in notes.txt"), /notes\.txt:1: rate: 4\.2$/);
  assert.match(
    await ask(session, "read missing.txt and then list files"),
    /^I could not read missing\.txt: .*Not done: list files\.$/s,
  );
  assert.equal(await ask(session, "recall facts"), "- base-rate is 4.1");
  assert.equal(await ask(session, "why did we use it?"), "Because it is the newest (decision use-it).");

  const { budget } = await session.state();
  assert.equal(budget.used.nanoUsd, 0, "it costs nothing, and that is known");
  for await (const { seq } of session.events({ types: ["model.requested"] })) {
    assert.equal((await session.context({ atSeq: seq })).matches, true, `request at ${seq}`);
  }
});

test("sessions message each other, fork and sleep on command", async () => {
  await using engine = offlineEngine();
  const [first, second] = [await engine.open({ objective: "A" }), await engine.open({ objective: "B" })];
  assert.match(await ask(first, `send remember cap is 9 to ${second.id}`), /Sent to ses_\w+\.$/);
  await second.run();
  assert.deepEqual(
    (await second.items()).map(({ key, value }) => [key, value]),
    [["cap", 9]],
  );
  const said = await ask(first, "remember floor is 2 and then fork to try another way");
  const [, child = ""] = /Forked: (ses_\w+)\.$/.exec(said) ?? [];
  assert.deepEqual(
    (await (await engine.session(child)).items()).map(({ key }) => key),
    ["floor"],
  );
  assert.match(await ask(first, "sleep for 2 hours"), /I sleep when this turn has ended\.$/);
  assert.equal((await first.state()).status, "sleeping");
});

test("a turn of several windows compacts itself and does everything once", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skein-offline-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const names = Array.from({ length: 9 }, (_, place) => `f${place}.txt`);
  for (const name of names) writeFileSync(join(folder, name), `words of ${name}, `.repeat(1_200));
  await using engine = offlineEngine();
  await engine.addAgent({ name: "reader", instructions: "Read.", compaction: { strategy: "extract" } });
  const session = await engine.open({
    objective: "Read it all",
    agent: "reader",
    bind: [{ kind: "directory", path: folder }],
  });
  await ask(session, "The ceiling is 12.");
  await ask(session, `${names.map((name) => `read ${name}`).join(" and then ")} and then remember last is 1`);
  const read: unknown[] = [];
  for await (const { content } of session.events({ types: ["tool.requested"] })) {
    const { path } = (content as { readonly input: { readonly path?: string } }).input;
    if (path !== undefined) read.push(path);
  }
  assert.deepEqual(read, names);
  let compactions = 0;
  for await (const _ of session.events({ types: ["transcript.compacted"] })) compactions += 1;
  assert.ok(compactions >= 2, `${compactions} compactions`);
  assert.deepEqual(
    (await session.items()).map(({ kind, key, value }) => [kind, key, value]),
    [
      ["fact", "ceiling", "12"],
      ["fact", "last", 1],
    ],
  );
  assert.match(await ask(session, "what is the ceiling?"), /ceiling is 12\.$/);
});
