/** The command line on PostgreSQL: where only the address differs, and what is there for it alone. */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { SkeinError } from "../../src/core/error.ts";
import { version } from "../../src/core/version.ts";
import { makeOpening } from "../../src/cli/open/open-engine.ts";
import { runWords } from "../../src/cli/command/run.ts";
import { collectingSurface } from "../../src/cli/command/screen.ts";
import { noPostgres, postgresDriver } from "../postgres/place.ts";

async function say(store: string, ...words: readonly string[]) {
  const surface = collectingSurface(null);
  const untilStopped = () => new AbortController().signal;
  const code = await runWords(["--store", store, ...words], { surface, untilStopped });
  const { stdout, stderr } = surface.collected;
  assert.doesNotMatch(stdout + stderr, /geheim/, words.join(" "));
  return { code, stdout, stderr };
}

async function json(store: string, ...words: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await say(store, ...words, "--json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Record<string, unknown>;
}

/** Nobody is asked for the password here, and nobody is told it. */
async function newStore() {
  const url = new URL((await postgresDriver()).url);
  url.password = "geheim";
  return { store: url.href, tenant: url.searchParams.get("tenant") ?? "" };
}

suite("the command line on PostgreSQL", { skip: await noPostgres(), concurrency: true }, () => {
  test("a session is opened, written, found, counted, verified and shown", async () => {
    const { store } = await newStore();
    const id = String((await json(store, "open", "Fix login", "--label", "team=web"))["id"]);
    await json(store, "append", id, "The base rate is four.");
    await json(store, "record", id, "decision", "use-wal", "yes");
    assert.equal((await json(store, "search", "base"))["session"], id);
    assert.deepEqual(await json(store, "query", "SELECT key, decision FROM decisions"), {
      key: "use-wal",
      decision: "yes",
    });
    assert.equal((await json(store, "verify", "--all"))["ok"], true);
    const { path, driver, sessions } = await json(store, "stats");
    assert.deepEqual([driver, sessions], ["postgres", 1]);
    assert.match(String(path), /^postgres:\/\/skein@127/);
    assert.equal((await say(store, "cost", "--by", "day")).code, 0);
  });

  test("doctor looks at server, settings, layout, clock and connections", async () => {
    const { store } = await newStore();
    await say(store, "open", "o");
    const { ok, checks } = await json(store, "doctor");
    const names = (checks as readonly { readonly name: string }[]).map(({ name }) => name);
    const server = ["store", "server", "settings", "layout", "clock", "connections", "pool"];
    assert.deepEqual([ok, names], [true, ["Skein", "Node", ...server, "opens", "durability", "pages"]]);
    const nowhere = await say("postgres://skein:geheim@127.0.0.1:1/x", "doctor");
    assert.deepEqual([nowhere.code, /BAD server .*cannot be reached/.test(nowhere.stdout)], [1, true]);
  });

  test("behind its wall an engine opens no other tenant of its database, by whatever name", async () => {
    const [own, other] = [await newStore(), await newStore()];
    await say(other.store, "open", "Not theirs");
    const opening = makeOpening(own.store);
    try {
      const session = await (
        await opening.engine({ create: true, walled: true })
      ).open({ objective: "Mine" });
      const isWall = (error: SkeinError): boolean =>
        error.code === "refused" && /another tenant of the same database/.test(error.message);
      const byName = other.store.replace("127.0.0.1", "localhost");
      for (const to of [other.store, byName]) await assert.rejects(session.migrate({ to }), isWall);
      await assert.rejects(session.send("x", "Hello", { at: other.store }), isWall);
      assert.equal((await json(other.store, "stats"))["sessions"], 1);
    } finally {
      await opening.close();
    }
  });

  test("tenants are listed and set, and an exceeded quota is an error", async () => {
    const { store, tenant } = await newStore();
    const quota = { sessionsMax: 1, bytesMax: 2 ** 20, role: null };
    const use = { name: tenant, sessions: 0, bytes: 0, program: version };
    const set = await json(store, "tenants", "set", tenant, "--sessions", "1", "--bytes", "1M");
    assert.deepEqual(set, { ...use, ...quota });
    assert.equal((await say(store, "open", "one")).code, 0);
    const { stderr } = await say(store, "open", "two");
    assert.match(stderr, new RegExp(`tenant ${tenant}: quota exceeded: 1 of 1 sessions\n  hint: `));
    const { stdout } = await say(store, "tenants");
    assert.match(stdout, new RegExp(`${tenant} +1 +1 +\\d+ bytes +1.0 MiB +-`));
  });

  test("invalid tenants are refused, each with its reason", async () => {
    const { store } = await newStore();
    const wrong: readonly (readonly [string, readonly string[], RegExp])[] = [
      ["./a.db", [], /expected a store in PostgreSQL/],
      [store, ["set"], /NAME is required/],
      [store, ["list", "x"], /only allowed with set/],
      [store, ["--sessions", "1"], /only allowed with set/],
      [store, ["set", "x", "--sessions", "1K"], /--sessions: expected a quota, got "1K"/],
      [store, ["set", "x", "--bytes", "many"], /--bytes: expected a quota, got "many"/],
      [store, ["set", "a b"], /invalid name/],
    ];
    for (const [where, words, reason] of wrong) {
      const { code, stderr } = await say(where, "tenants", ...words);
      assert.notEqual(code, 0);
      assert.match(stderr, reason);
    }
  });
});
