/** After an I/O error nothing is acknowledged until the store was opened again and verified. */
import assert from "node:assert/strict";
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import type { SessionId } from "../../../src/core/ids.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { draftOf } from "../../../src/store/conformance/conformance.ts";
import type { Part, Store } from "../../../src/store/port.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { newPath, workspace } from "../../runtime/place.ts";
import { scripted } from "../../runtime/turn/scripted.ts";
import { beforeEachRun } from "./statement.ts";

const world = realWorld();
const opens = (path: string): Promise<Store> => sqliteStore({ path, world, workspace });

/** The next statement that matches meets an error of SQLite's, as the disk would bring it about. */
function breakOnce(sql: RegExp, errcode = 10, how: "run" | "get" = "run"): void {
  const stop = beforeEachRun((text) => {
    if (!sql.test(text)) return;
    stop();
    throw Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR", errcode });
  }, how);
}

/** Two appends at once, which share a transaction; each with what came of it. */
async function appendTwo(store: Store, session: SessionId): Promise<readonly (string | SkeinError)[]> {
  const part = (): Part => ({ session, expect: "exists", drafts: [draftOf({}, world.digest)] });
  const answers = await Promise.allSettled([store.append([part()]), store.append([part()])]);
  return answers.map((answer) =>
    answer.status === "rejected" ? (answer.reason as SkeinError) : answer.value.kind,
  );
}

/** A store with a session of five records. */
async function filled(path: string) {
  const store = await opens(path);
  const engine = new Engine({ store, world, models: async () => scripted([]).models });
  const session = await engine.open({ objective: "survive" });
  for (const text of ["a", "b", "c", "d"]) await session.append(text);
  return { store, engine, session };
}

test("an I/O error at the commit is an unknown outcome, and then everything is unavailable", async () => {
  const { path, remove } = newPath();
  const { store, engine, session } = await filled(path);
  const head = await session.head();
  breakOnce(/^COMMIT$/);
  assert.deepEqual(await appendTwo(store, session.id), ["unknown", "unknown"]);
  const poisoned = {
    code: "unavailable",
    message: /disabled after an I\/O error/,
    hint: /verifies it first/,
  };
  await assert.rejects(session.append("f"), poisoned);
  await assert.rejects(store.head(session.id), poisoned);
  await assert.rejects(store.putSnapshot(session.id, { seq: 1, form: 1, text: "{}" }), poisoned);
  assert.ok(existsSync(`${path}-suspect`));
  await engine.close();

  const again = await opens(path);
  assert.ok(!existsSync(`${path}-suspect`), "it was verified, so it is trusted again");
  assert.equal((await again.head(session.id))?.hash, head.hash);
  await again.close();
  remove();
});

test("an I/O error in the middle rejects every append of the batch with certainty", async () => {
  const { path, remove } = newPath();
  const { store, engine, session } = await filled(path);
  breakOnce(/^INSERT INTO records/);
  for (const error of await appendTwo(store, session.id)) {
    assert.ok(error instanceof SkeinError && error.code === "unavailable", String(error));
  }
  await engine.close();
  const again = await opens(path);
  assert.equal((await again.head(session.id))?.seq, 5);
  assert.equal((await again.list({}, { limit: 9 })).rows.length, 1);
  await again.close();
  remove();
});

test("a store that was damaged as well is refused until it is restored", async () => {
  const { path, remove } = newPath();
  const { engine, store, session } = await filled(path);
  breakOnce(/^COMMIT$/);
  assert.deepEqual(await appendTwo(store, session.id), ["unknown", "unknown"]);
  await engine.close();
  const raw = new DatabaseSync(path);
  raw.exec("UPDATE records SET content = replace(content, '\"c\"', '\"x\"') WHERE seq = 4");
  raw.close();
  const wrong = { code: "corrupt", message: /at 4: the content does not match its hash/, hint: /backup/ };
  await assert.rejects(opens(path), wrong);
  assert.ok(existsSync(`${path}-suspect`), "it stays suspect");
  await assert.rejects(opens(path), wrong);
  const fixed = new DatabaseSync(path);
  fixed.exec("UPDATE records SET content = replace(content, '\"x\"', '\"c\"') WHERE seq = 4");
  fixed.close();
  const again = await opens(path);
  assert.ok(!existsSync(`${path}-suspect`));
  await again.close();
  remove();
});

test("a full disk fails the append and nothing else", async () => {
  const { path, remove } = newPath();
  const { store, engine, session } = await filled(path);
  breakOnce(/^COMMIT$/, 13);
  for (const error of await appendTwo(store, session.id)) {
    assert.ok(error instanceof SkeinError && error.code === "unavailable", String(error));
    assert.match(`${error.message}; ${error.hint}`, /disk is full.*nothing was written/);
  }
  assert.ok(!existsSync(`${path}-suspect`));
  assert.equal((await store.head(session.id))?.seq, 5);
  assert.equal((await session.append("e")).seq, 6);
  assert.equal((await session.verify()).ok, true);
  await engine.close();
  remove();
});

test("a change with an uncertain commit ends as unknown, also on its own", async () => {
  const { path, remove } = newPath();
  const { engine, session } = await filled(path);
  breakOnce(/^(COMMIT$|INSERT INTO records)/);
  const told = await session.append("e").catch((error: unknown) => error);
  assert.ok(told instanceof SkeinError && ["unknown", "unavailable"].includes(told.code), String(told));
  await assert.rejects(session.append("f"), { code: "unavailable" });
  await engine.close();
  const again = await opens(path);
  assert.equal((await again.head(session.id))?.seq, 5);
  await again.close();
  remove();
});

test("an I/O error while watching ends nothing; the next caller gets it", async () => {
  const { path, remove } = newPath();
  const { store, engine, session } = await filled(path);
  const heard = Promise.withResolvers<void>();
  const end = store.watch(heard.resolve);
  // A lock is no trouble: it is looked again.
  breakOnce(/data_version/, 5, "get");
  await world.sleep(600);
  assert.equal((await store.head(session.id))?.seq, 5);
  breakOnce(/data_version/, 522, "get");
  await heard.promise;
  const poisoned = { code: "unavailable", message: /disabled after an I\/O error/ };
  await assert.rejects(store.head(session.id), poisoned);
  await assert.rejects(session.append("f"), poisoned);
  // Nor does one who begins to watch only now.
  store.watch(() => undefined)();
  end();
  await engine.close();
  remove();
});

const gone = { code: "unavailable", message: /the store's file was moved or removed/, hint: /restore/ };

for (const [what, take] of [
  ["moved", (path: string) => renameSync(path, `${path}.old`)],
  ["removed", (path: string) => rmSync(path)],
  ["replaced", (path: string) => [renameSync(path, `${path}.old`), writeFileSync(path, "")]],
] as const) {
  test(`a file that was ${what} refuses writes once that is noticed, and a worker reports it`, async () => {
    const { path, remove } = newPath();
    const { store, engine, session } = await filled(path);
    const told = Promise.withResolvers<string>();
    const worker = await engine.work({ onEvent: (one) => one.type === "trouble" && told.resolve(one.text) });
    assert.equal((await session.append("e")).seq, 6);
    take(path);
    assert.match(await told.promise, gone.message);
    await assert.rejects(session.append("f"), gone);
    await assert.rejects(store.head(session.id), gone);
    assert.ok(!existsSync(`${path}-suspect`), "nothing is wrong with what lies there now");
    await worker.stop();
    await engine.close();
    remove();
  });
}

test("what waits to be written when that is noticed is refused for certain", async () => {
  const { path, remove } = newPath();
  const { store, engine, session } = await filled(path);
  renameSync(path, `${path}.old`);
  const waiting = store.append([
    { session: session.id, expect: "exists", drafts: [draftOf({}, world.digest)] },
  ]);
  breakOnce(/data_version/, 522, "get");
  // The first look of all meets it, before anything is written.
  store.watch(() => undefined)();
  await assert.rejects(waiting, gone);
  await engine.close();
  remove();
});

test("it is noticed without a watcher too, after some writes", async () => {
  const { path, remove } = newPath();
  const { engine, session } = await filled(path);
  renameSync(path, `${path}.old`);
  const write = async (): Promise<void> => {
    for (let count = 0; count < 200; count++) await session.append("into the void");
  };
  await assert.rejects(write(), gone);
  await engine.close();
  remove();
});

test("a suspect store with a damaged session id is reported as damaged", async () => {
  for (const damaged of ["ses_not an id", "ses_uuuuuuuuuuuuuuuuuuuuuuuuuu"]) {
    const { path, remove } = newPath();
    const { engine } = await filled(path);
    await engine.close();
    const file = new DatabaseSync(path);
    file.prepare("UPDATE logs SET session = ? WHERE session LIKE 'ses_%'").run(damaged);
    file.close();
    writeFileSync(`${path}-suspect`, "disk I/O error\n");
    await assert.rejects(opens(path), {
      code: "corrupt",
      message: /failed verification after an I\/O error: a log of no session/,
    });
    remove();
  }
});
