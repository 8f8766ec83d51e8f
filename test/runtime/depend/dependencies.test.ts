/** What a session stands on, what is stale of it, and who stands on a file, a commit or a table. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { DatabaseSync } from "node:sqlite";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { engineWith, scripted, use, type Line } from "../turn/scripted.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-depend-")));
after(() => rmSync(root, { recursive: true }));

const write = (name: string, text: string): string => {
  writeFileSync(join(root, name), text);
  return join(root, name);
};
const read = (path: string, more: object = {}): Line => [use("read_file", { path, ...more })];
const query = (sql: string): Line => [use("query_database", { sql })];

/** The state of each source, by its name. */
async function nowOf(session: Session, queries = false): Promise<Readonly<Record<string, string>>> {
  const rows = await session.deps({ queries });
  return Object.fromEntries(
    rows.map(({ kind, source, now }) => [`${kind} ${source.replace(`${root}/`, "")}`, now]),
  );
}

const sessionsOf = async (
  engine: Engine,
  by: Parameters<Engine["affected"]>[0],
): Promise<readonly string[]> =>
  (await engine.affected(by)).map(({ session, source }) => `${session} ${source.replace(`${root}/`, "")}`);

test("files, documents and queries are dependencies, and stale once they have changed", async () => {
  const [rates, guide] = [write("rates.json", '{"tax":20}\n'), write("guide.md", "Pay on the 1st.")];
  mkdirSync(join(root, "work"), { recursive: true });
  write("work/AGENTS.md", "Be exact.");
  write("work/a.txt", "one\ntwo\nthree\n");
  const db = join(root, "hr.db");
  const sql = new DatabaseSync(db);
  sql.exec("CREATE TABLE employees (name TEXT, pay INTEGER); INSERT INTO employees VALUES ('ann', 1)");
  const script = scripted([
    read("a.txt", { fromLine: 2, lines: 1 }),
    read("a.txt"),
    query("SELECT pay FROM employees"),
    "Done.",
  ]);
  await using engine = engineWith(script);
  const bind = [
    { kind: "directory", name: "work", path: join(root, "work") },
    { kind: "file", name: "rates", path: rates },
    { kind: "database", name: "hr", path: db },
  ] as const;
  const session = await engine.open({ objective: "Payroll", bind, files: [guide] });
  const other = await engine.open({ objective: "Other", files: [rates] });
  await session.ask("Go.").result;
  assert.deepEqual(await nowOf(session, true), {
    "query SELECT pay FROM employees": "same",
    "file work/a.txt": "same",
    "document guide.md": "same",
    "document work/AGENTS.md": "same",
  });
  const [, file] = await session.deps();
  assert.deepEqual(
    [file?.ranges, file?.reads],
    [
      [
        [2, 2],
        [1, 3],
      ],
      2,
    ],
  );
  write("work/a.txt", "one\ntwo\nfour\n");
  unlinkSync(guide);
  sql.exec("UPDATE employees SET pay = 2");
  assert.deepEqual(await nowOf(session, true), {
    "query SELECT pay FROM employees": "changed",
    "file work/a.txt": "changed",
    "document guide.md": "missing",
    "document work/AGENTS.md": "same",
  });
  assert.equal((await nowOf(session))["query SELECT pay FROM employees"], "unknown");
  assert.deepEqual(await sessionsOf(engine, { path: rates }), [`${other.id} rates.json`]);
  assert.deepEqual(await sessionsOf(engine, { path: join(root, "work", "a.txt") }), [
    `${session.id} work/a.txt`,
  ]);
  assert.deepEqual((await sessionsOf(engine, { path: join(root, "work") })).toSorted(), [
    `${session.id} work/AGENTS.md`,
    `${session.id} work/a.txt`,
  ]);
  assert.deepEqual(await sessionsOf(engine, { table: "public.Employees" }), [
    `${session.id} SELECT pay FROM employees`,
  ]);
  assert.deepEqual(await sessionsOf(engine, { table: "nothing" }), []);
  sql.close();
});

test("a commit affects the sessions that read what it changed", async () => {
  const repo = join(root, "repo");
  mkdirSync(repo);
  const git = (...words: string[]): string =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], {
      cwd: repo,
      encoding: "utf8",
    });
  git("init", "-q");
  writeFileSync(join(repo, "one.md"), "1");
  writeFileSync(join(repo, "two.md"), "2");
  git("add", ".");
  git("commit", "-qm", "first");
  writeFileSync(join(repo, "two.md"), "2 again");
  git("commit", "-qam", "second");
  await using engine = engineWith(scripted([]));
  const [one, two] = [
    await engine.open({ objective: "One", files: [join(repo, "one.md")] }),
    await engine.open({ objective: "Two", files: [join(repo, "two.md")] }),
  ];
  const affected = async (commit: string) =>
    (await engine.affected({ commit, repository: repo })).map(({ session }) => session).toSorted();
  assert.deepEqual(await affected("HEAD"), [two.id]);
  assert.deepEqual(await affected("HEAD~1"), [one.id, two.id].toSorted());
  await assert.rejects(affected("nowhere"), { code: "not-found" });
  await assert.rejects(affected("--output=x"), { code: "invalid" });
  await assert.rejects(engine.affected({ commit: "HEAD", repository: root }), { code: "not-found" });
  await assert.rejects(engine.affected({}), { code: "invalid" });
  await assert.rejects(engine.affected({ path: "a", table: "b" }), { code: "invalid" });
});

test("other sessions are dependencies; rewound and erased reads are none", async () => {
  const path = write("note.txt", "a note\n");
  await using engine = engineWith(scripted([read("note"), "Yes."]));
  const first = await engine.open({ objective: "First" });
  await first.record("fact", "rate", 20);
  const session = await engine.open({
    objective: "Next",
    from: first.id,
    bind: [{ kind: "file", name: "note", path }],
  });
  const { seq } = await session.head();
  assert.deepEqual(await nowOf(session), { [`session ${first.id}`]: "same" });
  await session.ask("Read it.").result;
  assert.deepEqual(await nowOf(session), { "file note.txt": "same", [`session ${first.id}`]: "same" });
  await first.record("fact", "rate", 25);
  assert.equal((await nowOf(session))[`session ${first.id}`], "changed");
  assert.equal((await engine.affected({ path })).length, 1);
  await session.rewind(seq);
  assert.deepEqual(await nowOf(session), { [`session ${first.id}`]: "changed" });
  await session.erase({ reason: "asked for" });
  assert.deepEqual(await nowOf(session), {});
  assert.deepEqual(await engine.affected({ path }), []);
});

test("more sessions than one search finds are all found", async () => {
  const path = write("shared.md", "shared");
  await using engine = engineWith(scripted([]));
  const all: string[] = [];
  for (let place = 0; place < 230; place++)
    all.push((await engine.open({ objective: `${place}`, files: [path] })).id);
  const found = (await engine.affected({ path })).map(({ session }) => session);
  assert.deepEqual(found.toSorted(), all.toSorted());
});
