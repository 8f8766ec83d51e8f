/** The recording proxy as a person starts it: `skein proxy -- PROGRAM`, and `skein serve` under SIGKILL. */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { startUpstream } from "./upstream.ts";

const main = join(import.meta.dirname, "../../../src/cli/main.ts");
const folder = mkdtempSync(join(tmpdir(), "skein-proxy-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const start = (words: readonly string[]): ChildProcess => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return spawn(process.execPath, [main, ...words], { env, stdio: ["ignore", "pipe", "pipe"] });
};

async function run(words: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = start(words);
  const texts = { out: "", err: "" };
  child.stdout?.on("data", (chunk) => (texts.out += String(chunk)));
  child.stderr?.on("data", (chunk) => (texts.err += String(chunk)));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...texts };
}

test("skein proxy runs a program, records its calls, and ends with its exit code", async () => {
  await using upstream = await startUpstream();
  const store = join(folder, "verb.db");
  const program = `
    const ask = (messages) => fetch(process.env.ANTHROPIC_BASE_URL + "/v1/messages", {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "provider-key" },
      body: JSON.stringify({ model: "claude-sonnet-5-5", max_tokens: 20, messages }),
    }).then((answer) => answer.json());
    const one = await ask([{ role: "user", content: "one" }]);
    await ask([{ role: "user", content: "one" }, { role: "assistant", content: one.content },
      { role: "user", content: "two" }]);
    process.exit(3);`;
  const words = ["proxy", "--store", store, "--upstream", `anthropic=${upstream.url}`, "--"];
  const done = await run([...words, process.execPath, "--input-type=module", "-e", program]);
  assert.deepEqual([done.code, done.err], [3, ""]);
  assert.equal(upstream.asked.length, 2);
  const listed = await run(["ps", "--store", store, "--json"]);
  assert.equal(listed.code, 0, listed.err);
  const verified = await run(["verify", "--store", store]);
  assert.equal(verified.code, 0, verified.err);
  const cost = await run(["cost", "--store", store, "--by", "model", "--json"]);
  assert.match(cost.out, /anthropic\/claude-sonnet-5-5/);
  assert.doesNotMatch(readFileSync(store).toString("latin1"), /provider-key|skn_[A-Za-z0-9_]{20}/);
  const missing = await run([...words, "/no/such/program"]);
  assert.equal(missing.code, 3);
  assert.match(missing.err, /cannot be started/);
});

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly token: string;
}

async function serveAt(store: string, upstream: string): Promise<Running> {
  const words = ["serve", "--store", store, "--port", "0", "--concurrency", "0", "--json"];
  const child = start([...words, "--upstream", `anthropic=${upstream}`]);
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const { url, tokenFile } = JSON.parse(line) as { url: string; tokenFile: string };
    return { child, url, token: readFileSync(tokenFile, "utf8").trim() };
  }
  throw new Error("the server ended");
}

const askAt = ({ url, token }: Running, text: string): Promise<Response> =>
  fetch(`${url}/proxy/anthropic/${token}/v1/messages`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "claude-sonnet-5-5",
      max_tokens: 20,
      messages: [{ role: "user", content: text }],
    }),
  });

test("a server killed while a call is forwarded leaves its intent and an unconfirmed cost", async () => {
  await using upstream = await startUpstream();
  const store = join(folder, "killed.db");
  const first = await serveAt(store, upstream.url);
  const forwarded = Promise.withResolvers<void>();
  upstream.next.push(() => forwarded.resolve());
  const lost = askAt(first, "one").catch(() => null);
  await forwarded.promise;
  first.child.kill("SIGKILL");
  await once(first.child, "close");
  assert.equal(await lost, null);
  const second = await serveAt(store, upstream.url);
  assert.equal((await askAt(second, "one")).status, 200);
  const sessions = await fetch(`${second.url}/v1/sessions`, {
    headers: { authorization: `Bearer ${second.token}` },
  });
  second.child.kill("SIGTERM");
  await once(second.child, "close");
  const { rows } = (await sessions.json()) as { rows: { session: string }[] };
  const of = rows.map(({ session }) => session);
  // Of one message alone a new process cannot know the conversation: both are whole sessions.
  const counts: string[][] = [];
  for (const session of of) {
    const { out } = await run(["log", session, "--store", store, "--json"]);
    const types = out
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { type: string }).type);
    counts.push(types.filter((type) => type.startsWith("proxy.")));
  }
  const sorted = counts.toSorted((one, other) => one.length - other.length);
  assert.deepEqual(sorted, [["proxy.requested"], ["proxy.requested", "proxy.responded"]]);
  const budget = await run(["cost", "--store", store]);
  assert.match(budget.out, /unconfirmed/);
});
