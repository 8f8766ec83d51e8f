/** `skein scan`, and what the command line registers as secret by itself. */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import { makeFolder, skeinIn } from "./skein.ts";

const early = "got-in-early-42";

/** A store from before anybody registered anything. */
async function withEarlySecret() {
  const folder = makeFolder();
  const store = join(folder, "skein.db");
  await using engine = await openEngine({ store, durability: "process", secrets: { looksLike: false } });
  const session = await engine.open({ objective: "Early" });
  const blob = await engine.putBlob(Buffer.from(`in a file: ${early}`));
  await session.input([
    { type: "text", text: `use ${early}, and password=hunter22` },
    { type: "file", blob, mediaType: "text/plain" },
  ]);
  const clean = await engine.open({ objective: "Clean", labels: { team: early } });
  return { folder, store, skein: skeinIn(folder), id: session.id, clean: clean.id };
}

test("scan names each find and how to erase it, shows no value, and exits with 1", async () => {
  const { store, skein, id, clean } = await withEarlySecret();
  const env = { DB_PASSWORD: early };
  const { code, stdout } = await skein.run(["scan", "--store", store], { env });
  assert.equal(code, 1);
  assert.ok(!stdout.includes(early) && !stdout.includes("hunter22"));
  assert.match(stdout, new RegExp(`${id}@2 +input.received +DB_PASSWORD +use \\[redacted: DB_PASSWORD\\]`));
  assert.match(stdout, new RegExp(`${id}@2 +input.received +password\\?`));
  assert.match(stdout, /in a file: \[redacted: DB_PASSWORD\]/);
  assert.match(stdout, new RegExp(`^ {2}skein erase ${id} --seq 2$`, "m"));
  assert.match(stdout, /found: 4 secrets in 3 records of 2 sessions/);
  assert.match(stdout, /cannot be erased: delete the session/);
  const json = await skein.run(["scan", id, "--json", "--store", store], { env });
  const report = JSON.parse(json.stdout) as { findings: Record<string, unknown>[] };
  const place = { session: id, seq: 2, owner: id, elsewhere: false };
  const found = { ...place, type: "input.received", erase: `skein erase ${id} --seq 2` };
  const first = "use [redacted: DB_PASSWORD], and password=";
  const registered = { kind: "DB_PASSWORD", registered: true };
  assert.deepEqual(report, {
    sessions: 1,
    records: 2,
    findings: [
      { ...found, ...registered, where: "content", preview: first },
      {
        ...found,
        kind: "password",
        registered: false,
        where: "content",
        preview: ", and password=[redacted: password]",
      },
      { ...found, ...registered, where: "blob", preview: "in a file: [redacted: DB_PASSWORD]" },
    ],
    more: 0,
    notLookedFor: [],
  });
  const last = await skein.run(["scan", clean, "--json", "--store", store], { env });
  const [body] = (JSON.parse(last.stdout) as { findings: Record<string, unknown>[] }).findings;
  assert.deepEqual([body?.["where"], body?.["erase"]], ["body", null]);
});

test("content of a parent or another store is erased by the printed command", async () => {
  const { store, skein, id } = await withEarlySecret();
  const env = { DB_PASSWORD: early };
  const fork = (await skein.run(["fork", id, "--store", store], { env })).stdout.trim();
  const shared = await skein.run(["scan", fork, "--store", store], { env });
  assert.match(shared.stdout, new RegExp(`^ {2}skein erase ${id} --seq 2$`, "m"));
  const moving = ["export", id, "--move", "--output", "moved.skein", "--store", store];
  assert.equal((await skein.run(moving, { env })).code, 0);
  const moved = await skein.run(["scan", id, "--store", store], { env });
  assert.doesNotMatch(moved.stdout, /skein erase/);
  assert.match(moved.stdout, new RegExp(`and delete what is left here:\n {2}skein delete ${id}$`, "m"));
  const gone = await skein.run(["delete", id, "--yes", "--store", store], { env });
  assert.equal(gone.code, 0, gone.stderr);
});

test("scan and doctor say which names of the configuration are not set or cannot be found", async () => {
  const { folder, store, skein } = await withEarlySecret();
  const config = join(folder, ".config", "skein");
  mkdirSync(config, { recursive: true });
  const names = ["HR_LOGIN", "HR_PIN", "HR_WORD"];
  writeFileSync(join(config, "config.json"), JSON.stringify({ secrets: { names } }));
  const env = { HR_PIN: "1234", HR_WORD: "long-enough" };
  const { stdout } = await skein.run(["scan", "--store", store], { env });
  assert.match(stdout, /^not looked for: HR_LOGIN of secrets.names is not set$/m);
  assert.match(stdout, /^not looked for: HR_PIN of secrets.names is too short or too long to be found$/m);
  assert.doesNotMatch(stdout, /HR_WORD/);
  const doctor = await skein.run(["doctor", "--store", store], { env });
  assert.match(doctor.stdout, /^BAD secrets +HR_LOGIN of secrets.names is not set$/m);
  assert.equal(doctor.code, 1);
});

test("erased content is not found again, and no finding exits with 0", async () => {
  const { store, skein, id } = await withEarlySecret();
  const env = { DB_PASSWORD: early };
  await skein.run(["erase", id, "--seq", "2", "--yes", "--store", store], { env });
  const { code, stdout } = await skein.run(["scan", id, "--store", store], { env });
  assert.match(stdout, /^none: \d+ records of 1 session$/m);
  assert.equal(code, 0);
  assert.equal((await skein.run(["scan", "nosuch", "--store", store])).code, 3);
});

test("variables that are called so and names of the configuration are registered", async () => {
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const config = join(folder, ".config", "skein");
  mkdirSync(config, { recursive: true });
  const secrets = { names: ["PLAIN_NAME"], looksLike: false };
  const providers = { mine: { url: "http://localhost:1/v1", key: "key-in-the-file" } };
  writeFileSync(join(config, "config.json"), JSON.stringify({ providers, secrets }));
  const env = {
    ACME_API_KEY: "acme-key-1",
    github_token: "github-token-2",
    DB_PASSWD: "passwd-value-3",
    PLAIN_NAME: "plainword",
    SSH_KEY: "/home/ann/.ssh/id",
    MODE_TOKEN: "development",
    MONKEY: "monkey-value-4",
  };
  const objective = `${Object.values(env).join(" ")} key-in-the-file password=hunter22`;
  const { stdout } = await skein.run(["open", objective, "--store", "s.db"], { env });
  const shown = await skein.run(["show", stdout.trim(), "--json", "--store", "s.db"], { env });
  const redacted = ["ACME_API_KEY", "github_token", "DB_PASSWD", "PLAIN_NAME"].map(
    (one) => `[redacted: ${one}]`,
  );
  assert.equal(
    (JSON.parse(shown.stdout) as { objective: string }).objective,
    `${redacted.join(" ")} /home/ann/.ssh/id development monkey-value-4 ` +
      "[redacted: MINE_API_KEY] password=hunter22",
  );
  writeFileSync(join(config, "config.json"), JSON.stringify({ secrets: { name: ["A"] } }));
  const wrong = await skein.run(["open", "Wrong", "--store", "s.db"], { env });
  assert.match(wrong.stderr, /unknown field "secrets.name"/);
  assert.equal(wrong.code, 2);
});
