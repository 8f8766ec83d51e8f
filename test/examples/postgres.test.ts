/** Keeps docs/postgres.md true: its SQL does what the page says, and its lines are those that users see. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";
import postgres from "postgres";
import { openEngine } from "../../src/index.ts";
import { makeRole } from "../postgres/database.ts";
import { noPostgres, ownDatabase, type PostgresPlace } from "../postgres/place.ts";
import { blocksOf } from "../repo/markdown.ts";
import { root } from "../repo/source.ts";
import { until } from "../server/until.ts";

const text = readFileSync(join(root, "docs/postgres.md"), "utf8");
const blocks = blocksOf({ path: "docs/postgres.md", text }).filter(({ marks }) => marks[0] === "sql");

/** The one block of SQL that has these words. */
function blockWith(words: string): string {
  const found = blocks.filter(({ code }) => code.includes(words));
  assert.equal(found.length, 1, words);
  return found[0]?.code ?? "";
}

suite("the SQL of docs/postgres.md", { skip: await noPostgres() }, () => {
  let place: PostgresPlace;
  let sql: postgres.Sql;
  before(async () => {
    place = await ownDatabase();
    sql = postgres(place.url, { max: 1, onnotice: () => undefined });
  });
  after(async () => {
    await sql.end();
    await place.done();
  });

  test("a store restored on a server with a lower transaction counter works", async () => {
    await using engine = await openEngine({ store: place.url });
    const session = await engine.open({ objective: "find the whales" });
    await session.append({ type: "x.note", content: { text: "one" } });
    const seqs = async () => (await engine.feed()).events.map(({ seq }) => seq);
    const hits = async () => (await engine.search("whales")).length;
    // A transaction of another database on this server may hold the feed back for a moment.
    await until(async () => (await seqs()).length === 2, 20_000);
    await sql.unsafe("UPDATE skein.events SET xid = (xid::text::bigint + 1000000000000)::text::xid8");
    await sql.unsafe("TRUNCATE skein.texts");
    assert.deepEqual([await seqs(), await hits()], [[], 0]);
    await sql.unsafe(blockWith("UPDATE skein.places")).simple();
    await session.append({ type: "x.note", content: { text: "two" } });
    await until(async () => (await seqs()).length === 3, 20_000);
    assert.deepEqual([await seqs(), await hits()], [[1, 2, 3], 1]);
    assert.equal((await engine.verify()).ok, true);
  });

  test("watches a server", async () => {
    await sql.unsafe(blockWith("pg_stat_replication")).simple();
  });

  test("sets a role that comes through a pooler", async () => {
    const { username } = await makeRole(place.url);
    await sql.unsafe(blockWith("ALTER ROLE").replaceAll("ROLE skein", `ROLE ${username}`)).simple();
  });
});

test("the lines that docs/postgres.md explains are in the sources", () => {
  const sources = globSync(["src/store/**/*.ts", "src/runtime/**/*.ts"], { cwd: root })
    .map((path) => readFileSync(join(root, path), "utf8"))
    .join("\n");
  const table = text.split("## When something is wrong")[1]?.split("\n## ")[0] ?? "";
  const lines = [...table.matchAll(/^\| (`.+?) \| \d+ \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, line = ""]) => line),
  );
  assert.ok(lines.length > 15, "the rule saw no lines");
  // What differs from one time to another is left out.
  const parts = lines.flatMap((line) => line.split(/"[^"]*"|…|\b\d[\d.]*|LATIN1|acme|ses_|fsync|records\b/));
  assert.deepEqual(
    parts.map((part) => part.trim()).filter((part) => part.length > 6 && !sources.includes(part)),
    [],
  );
});
