/** A model that fails, as people see it: what is on standard output, what is told, and how to go on. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { collectingSurface, makeScreen } from "../../src/cli/command/screen.ts";
import { makeHearing } from "../../src/cli/chat/turn-printer.ts";
import type { SessionUpdate } from "../../src/runtime/turn/ask.ts";
import { startWire, type WireReply, type WireServer } from "../model/wire/server.ts";
import { makeFolder, skeinIn } from "./skein.ts";

const says = (text: string): WireReply => ({ reply: "answer", answer: { blocks: [{ type: "text", text }] } });

/** A session with a model at a server that answers by a script; only the environment knows the server. */
async function makeSession(script: readonly WireReply[]) {
  const server = await startWire("compatible", script);
  const folder = makeFolder();
  const skein = skeinIn(folder);
  const env = { FAKE_BASE_URL: server.url, FAKE_API_KEY: "sk-very-secret" };
  const [opened] = await skein.look("open", "Try", "--model", "fake/one");
  const id = String(opened!["id"]);
  const run = (...words: readonly string[]) => skein.run(words, { env });
  const close = (): Promise<void> => (server satisfies WireServer).close();
  return { skein, id, run, folder, [Symbol.asyncDispose]: close };
}

suite("a model that fails", { concurrency: 4 }, () => {
  test("leaves nothing of a broken stream on standard output", async () => {
    const answer = { blocks: [{ type: "text", text: "Half of it, and the rest." }] } as const;
    const script = [{ reply: "cut", answer, events: 2 } as const, says("Whole.")];
    await using place = await makeSession(script);
    const { code, stdout, stderr } = await place.run("ask", place.id, "hello");
    assert.deepEqual([code, stdout], [0, "Whole.\n"], stderr);
    assert.match(stderr, /^fake\/one: dropped: .*\nretrying \(2 of 6\)\n$/);
  });

  test("with a long Retry-After is not retried, and the message says how long", async () => {
    const headers = { "retry-after": "3600" };
    await using place = await makeSession([{ reply: "trouble", trouble: "rate-limited", headers }]);
    const { code, stdout, stderr } = await place.run("ask", place.id, "hello");
    assert.deepEqual([code, stdout], [7, ""], stderr);
    assert.match(stderr, /rate-limited: .*\(retry after 60 minutes\)$/m);
    assert.doesNotMatch(stderr, /retrying/);
    assert.match(stderr, /^to try again: \S*skein activate \w{8}; then: \S*skein run \w{8}$/m);
  });

  test("waits for no verdict: allow is refused, and starts nothing", async () => {
    const headers = { "retry-after": "3600" };
    await using place = await makeSession([{ reply: "trouble", trouble: "rate-limited", headers }]);
    await place.run("ask", place.id, "hello");
    const before = await place.skein.look("state", place.id);
    assert.equal(before[0]!["status"], "suspended");
    const { code, stderr } = await place.run("answer", place.id, "allow");
    assert.equal(code, 1, stderr);
    assert.match(stderr, /^skein: answer: allow: no tool call waits for approval\n {2}hint: to try again: /);
    assert.deepEqual(await place.skein.look("state", place.id), before);
    assert.equal((await place.run("answer", place.id, "--text", "the key is paid for")).code, 0);
  });

  test("because the provider does not know it can be replaced, as the hint says", async () => {
    await using place = await makeSession([{ reply: "trouble", trouble: "unknown-model" }, says("Here.")]);
    const { skein, id, run } = place;
    const asked = await run("ask", id, "hello");
    assert.equal(asked.code, 7, asked.stderr);
    const patterns = [
      /skein (migrate \w{8} --model )PROVIDER/,
      /skein (activate \w{8})/,
      /skein (run \w{8})/,
    ];
    const [migrate = "", activate = "", goOn = ""] = patterns.map(
      (pattern) => pattern.exec(asked.stderr)?.[1] ?? "",
    );
    const moved = await run(...`${migrate}fake/two`.split(" "));
    assert.equal(moved.code, 0, moved.stderr);
    assert.equal((await run(...activate.split(" "))).code, 0);
    const ran = await run(...goOn.split(" "));
    assert.deepEqual([ran.code, ran.stdout], [0, "Here.\n"], ran.stderr);
    assert.equal((await skein.look("state", id))[0]!["model"], "fake/two");
  });

  test("never gets its key into the log or onto the screen", async () => {
    const body = { error: { message: "bad key sk-very-secret" } };
    await using place = await makeSession([{ reply: "status", status: 401, body }]);
    const { code, stdout, stderr } = await place.run("ask", place.id, "hello");
    assert.equal(code, 7);
    assert.match(stderr, /auth: bad key \[key\]/);
    const shown = `${stdout}${stderr}${(await place.run("log", place.id, "--json")).stdout}`;
    assert.doesNotMatch(shown, /very-secret/);
    const store = ["skein.db", "skein.db-wal"].map((name) => {
      try {
        return readFileSync(join(place.folder, name), "latin1");
      } catch {
        return "";
      }
    });
    assert.equal(store.join("").includes("very-secret"), false);
  });

  test("or a server that does not start leaves the input waiting, and says so", async () => {
    const skein = skeinIn(makeFolder());
    const [opened] = await skein.look("open", "Try", "--model", "offline/offline");
    const id = String(opened!["id"]);
    await skein.look("bind", id, "mcp", "--name", "srv", "--command", "/bin/false");
    const { code, stdout, stderr } = await skein.here("ask", id, "hello");
    assert.deepEqual([code, stdout], [4, ""], stderr);
    assert.match(stderr, /"srv": connection failed: it ended with exit code 1$/m);
    assert.match(stderr, new RegExp(`the input is queued; skein run ${id.slice(-8)} processes it$`, "m"));
    await skein.look("unbind", id, "srv");
    assert.match((await skein.here("run", id)).stdout, /offline model/);
    assert.match(
      (await skein.here("help")).stdout,
      /^ {2}4 +unavailable now: .*; ask keeps its input queued$/m,
    );
  });
});

test("an MCP server dies in an unsafe call: the outcome is unknown until a person settles it", async () => {
  const skein = skeinIn(makeFolder());
  const [opened] = await skein.look("open", "Try", "--model", "offline/offline", "--bind", "shell");
  const id = String(opened!["id"]);
  const server = join(import.meta.dirname, "..", "tool", "mcp-server.ts");
  const command = [process.execPath, server, "well"].flatMap((word) => ["--command", word]);
  await skein.look("bind", id, "mcp", "--name", "srv", ...command);
  const shown = (await skein.here("show", id)).stdout;
  assert.match(shown, /^may use +shell {2}mcp srv$/m);
  const asked = await skein.here("ask", id, "call srv_die {}", "--yes");
  assert.equal(asked.code, 7, asked.stderr);
  assert.match(asked.stderr, /← srv_die unknown in .*exit code 4; the effect is unknown/);
  const answered = await skein.here("answer", id, "--text", "It did.");
  assert.match(answered.stdout, /^answered at \d+ of ses_/);
  assert.equal((await skein.here("run", id)).code, 0);
});

test("on a terminal a broken stream is marked, and the answer begins anew", async () => {
  const surface = collectingSurface(80);
  const hearing = makeHearing(makeScreen(surface, false), { note: (text) => surface.out(`${text}\n`) });
  const event = (seq: number, type: string, more: object = {}) =>
    ({
      session: "ses_x",
      seq,
      type,
      actor: "system",
      turn: 1,
      cause: null,
      body: {},
      erased: false,
      ...more,
    }) as unknown as SessionUpdate;
  const delta = (requestSeq: number, text: string): SessionUpdate => ({
    type: "delta",
    requestSeq,
    delta: { type: "text", text },
  });
  const heard = [
    event(1, "model.requested", { body: { attempt: 1 } }),
    delta(1, "Half of"),
    event(2, "model.failed", { cause: 1, body: { model: "fake/one", error: "dropped", retryable: true } }),
    event(3, "model.requested", { body: { attempt: 2 } }),
    delta(3, "Whole"),
    delta(3, "."),
    event(4, "model.responded", { cause: 3, content: { blocks: [{ type: "text", text: "Whole." }] } }),
  ];
  for (const one of heard) await hearing.hear(one);
  assert.equal(
    surface.collected.stdout,
    "Half of … (interrupted)\nfake/one: dropped\nretrying (2 of 6)\nWhole.\n",
  );
});
