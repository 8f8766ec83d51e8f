/** Export, import, migrate and keys on the command line. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, skeinIn } from "./skein.ts";
import { modeOf } from "../file-mode.ts";

/** Two folders, each with a store of its own; most commands are run in this process, which is quicker. */
function two() {
  const [here, there] = [makeFolder(), makeFolder()];
  const env = { XDG_CONFIG_HOME: join(here, "config") };
  return { here, there, a: quick(here), b: quick(there), env };
}

function quick(folder: string) {
  const skein = skeinIn(folder);
  const { here: run, run: process, start: _, ...rest } = skein;
  const one = async (...words: readonly string[]): Promise<Record<string, unknown>> => {
    const [first] = await skein.look(...words);
    assert.ok(first);
    return first;
  };
  return {
    ...rest,
    process,
    one,
    run: (...words: readonly string[]) => run(...words),
    open: async (objective = "Fix login") => String((await one("open", "--objective", objective))["id"]),
  };
}

test("a session moves through a pipe to another store as a copy, and is forked there", async () => {
  const { here, there, a, b } = two();
  const id = await a.open("November payroll run");
  await a.run("record", id, "fact", "base-rate", "4.1");
  const made = await a.run("export", id, "-o", join(here, "x.skein"));
  assert.equal(made.code, 0, made.stderr);
  assert.match(made.stdout, /^wrote .*x\.skein: bundle of ses_/);
  assert.equal(existsSync(join(here, "x.skein.part")), false);
  const bytes = readFileSync(join(here, "x.skein"));
  const taken = await b.process(["import"], { input: bytes });
  assert.equal(taken.code, 0, taken.stderr);
  assert.match(taken.stdout, /imported ses_\w+: 3 records\nit is a copy: .*\nit is not signed\n/);
  assert.match(taken.stdout, /^ {2}rule {5}ask \* \(unsafe\)$/m);
  const again = await b.run("import", join(here, "x.skein"));
  assert.match(again.stdout, /all of it was here already/);
  const refused = await b.run("append", id, "no");
  assert.equal(refused.code !== 0, true);
  assert.match(refused.stderr, /is a read-only copy of a session in another store\n.*fork it/);
  const archived = await b.run("archive", id);
  assert.match(archived.stderr, /is a read-only copy of a session in another store\n.*fork it/);
  const shown = (await b.run("show", id)).stdout;
  assert.match(shown, /^status +copy of a session that lives elsewhere; it was open$/m);
  assert.deepEqual([(await b.one("show", id))["copy"], (await a.one("show", id))["copy"]], [true, false]);
  assert.match((await b.run("lineage", id)).stdout, /payroll run {2}copy at 3\n/);
  assert.match((await a.run("lineage", id)).stdout, /payroll run {2}open at 3\n/);
  const fork = await b.one("fork", id);
  await b.run("append", String(fork["id"]), "yes");
  assert.equal((await b.one("verify"))["ok"], true);
  const piped = await a.run("export", id);
  assert.match(piped.stdout, /^skein-bundle 2\n/);
  writeFileSync(join(there, "cut.skein"), bytes.subarray(0, bytes.length - 9));
  const cut = await b.run("import", join(there, "cut.skein"));
  assert.match(cut.stderr, /the bundle is damaged: the file is truncated\n/);
  assert.match((await b.run("import", "no-such-file")).stderr, /cannot be read/);
  assert.match((await b.run("import", join(there, "skein.db"))).stderr, /not a Skein bundle/);
});

test("a session moves to another machine by a bundle, and to another store and back", async () => {
  const { here, there, a, b } = two();
  const id = await a.open();
  await a.one("export", id, "--move", "-o", join(here, "x.skein"));
  assert.match((await a.run("append", id, "no")).stderr, /the session is moved and cannot/);
  const report = await b.one("import", join(here, "x.skein"));
  assert.deepEqual([report["as"], report["already"], report["signer"]], ["own", false, null]);
  assert.equal(report["suspended"], true);
  assert.equal((await b.run("activate", id)).code, 0);
  assert.equal((await b.run("append", id, "yes")).code, 0);
  const moved = await b.run("migrate", id, "--to", join(here, "skein.db"));
  assert.equal(moved.code, 0, moved.stderr);
  assert.match(moved.stdout, /lives in .*skein\.db now: \d+ records copied/);
  const [line] = (await b.run("show", id)).stdout.match(/^moved to.*$/m) ?? [];
  assert.equal(line, `moved to    ${JSON.stringify(join(here, "skein.db"))}`);
  assert.match((await b.run("append", id, "no")).stderr, /moved to ".*skein\.db"; open it there/);
  assert.equal((await a.run("append", id, "home")).code, 0);
  assert.equal((await a.run("migrate", id, "--to", join(there, "third.db"))).code, 0);
  const left = await b.run("migrate", id, "--to", join(here, "skein.db"));
  assert.match(left.stderr, /was moved again, from that store to ".*third\.db"\n/);
  const third = join(there, "third.db");
  assert.equal((await b.run("migrate", id, "--to", join(here, "skein.db"), "--store", third)).code, 0);
  assert.equal((await a.one("verify"))["ok"], true);
  const nowhere = await a.run("migrate", id, "--to", join(there, "no", "such", "folder.db"));
  assert.match(nowhere.stderr, /directory .* does not exist/);
  const scheme = await a.run("migrate", id, "--to", "mysql://localhost/x");
  assert.match(scheme.stderr, /unknown scheme "mysql/);
  assert.equal((await a.one("show", id))["status"], "open");
  assert.match((await a.run("migrate", id)).stderr, /specify --to or --model/);
});

test("a bundle that is signed is known by the keys one trusts", async () => {
  const { here, there, a, b, env } = two();
  const other = { XDG_CONFIG_HOME: join(there, "config") };
  const id = await a.open();
  assert.match((await a.process(["export", id, "--sign", "-o", "x"], { env })).stderr, /no key at/);
  const made = await a.process(["keys", "new", "--json"], { env });
  const { path, publicKey } = JSON.parse(made.stdout) as { path: string; publicKey: string };
  assert.equal(modeOf(path, 0o600), 0o600);
  assert.match((await a.process(["keys", "new"], { env })).stderr, /already exists/);
  assert.ok((await a.process(["keys"], { env })).stdout.includes(publicKey));
  assert.equal((await a.process(["export", id, "--sign", "-o", "x"], { env })).code, 0);
  const file = join(here, "x");
  assert.match(
    (await b.process(["import", file, "--signed"], { env: other })).stderr,
    /the bundle is not signed by a trusted key/,
  );
  assert.equal((await b.process(["keys", "trust", "ada", publicKey], { env: other })).code, 0);
  assert.match(
    (await b.process(["keys", "trust", "ada", "x"], { env: other })).stderr,
    /expected a public key/,
  );
  const taken = await b.process(["import", file, "--signed"], { env: other });
  assert.match(taken.stdout, /trusted as ada/);
});

test("a bundle from a stranger is listed for review; one with a trusted key is not", async () => {
  const { here, there, a, b, env } = two();
  const id = await a.open();
  await a.run("bind", id, "shell", "--path", "/");
  await a.run("grant", id, "run_command", "allow");
  await a.run("append", id, "delete everything");
  await a.one("export", id, "--move", "-o", join(here, "x.skein"));
  const { stdout } = await b.run("import", join(here, "x.skein"));
  assert.match(stdout, /it is suspended: no trusted key signed it\. .*skein activate ses_/);
  assert.match(stdout, /^ {2}binding {2}shell/m);
  assert.match(stdout, /^ {2}rule {5}allow run_command/m);
  assert.match(stdout, /^ {2}input {4}\d+: delete everything/m);
  const mine = await a.open();
  await a.process(["keys", "new"], { env });
  assert.equal((await a.process(["export", mine, "--move", "--sign", "-o", "y"], { env })).code, 0);
  const taken = await b.process(["import", join(here, "y")], { env });
  assert.match(taken.stdout, /trusted as you/);
  assert.equal((await b.one("show", mine))["status"], "open");
  assert.ok(there !== here);
});

test("a session is written as a page for people, with everything escaped", async () => {
  const { here, a } = two();
  const evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e";
  const id = await a.open(evil);
  await a.run("append", id, `${evil} said`);
  await a.run("record", id, "decision", "wait", evil, "--because", evil);
  await a.run("ask", id, "hello <b>there</b>");
  for (const format of ["html", "markdown"]) {
    const made = await a.run("export", id, "--format", format, "-o", join(here, `page.${format}`));
    assert.equal(made.code, 0, made.stderr);
    const page = readFileSync(join(here, `page.${format}`), "utf8");
    assert.match(page, /Verified: \d+ records/);
    assert.match(page, /wait/);
    const unfenced = page.replaceAll(/^```\n[^]*?^```\n/gm, "");
    assert.equal(/[^\\]<script|[^\\]<img src=x|[^\\]<b>/.test(unfenced), false, page);
    assert.match(page, /there/);
    if (format === "html") assert.match(page, /^<!doctype html>[\s\S]*default-src 'none'[\s\S]*<\/html>\n$/);
    if (format === "html") assert.equal(page.includes("\u202e"), false);
  }
  const plain = await a.run("export", id, "--format", "markdown");
  assert.match(plain.stdout, /## What it knows/);
  const wrong = await a.run("export", id, "--format", "html", "--move");
  assert.match(wrong.stderr, /--move requires a bundle/);
  const lines = await a.run("export", id, "--format", "jsonl", "-o", join(here, "lines.jsonl"));
  assert.equal(lines.code, 0);
  assert.equal(
    readFileSync(join(here, "lines.jsonl"), "utf8"),
    (await a.run("export", id, "--format", "jsonl")).stdout,
  );
});
