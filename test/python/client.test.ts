/** The Python client against a server: what each scenario prints. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { describePythonClient, pythonClientFile } from "../../docs/python/client.ts";
import { operationIds } from "../../src/call/operations.ts";
import { say, use } from "../runtime/turn/scripted.ts";
import { startServer } from "../server/server-child.ts";
import { served, type Served } from "../server/served.ts";
import { needsPython, openAnswering, openRelay, runPython, runScenario } from "./python.ts";

const root = join(import.meta.dirname, "../..");
const at = ({ server, token }: Served) => ({ url: server.url, token });

test("the file is current (npm run docs writes it)", () => {
  assert.ok(readFileSync(join(root, pythonClientFile), "utf8") === describePythonClient());
});

test("every call has a method, in both clients", () => {
  const text = describePythonClient();
  const [, sync = "", async = ""] = text.split(/^class _ClientBase|^class _AsyncClientBase/m);
  for (const id of operationIds) {
    const [, call = ""] = id.split(".");
    const name = call.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const method = new RegExp(`^    (?:async )?def ${name}_?\\(`, "m");
    for (const [kind, part] of Object.entries({ sync, async })) assert.match(part, method, `${kind} ${id}`);
  }
});

suite("with the system's Python", { ...needsPython, concurrency: 2 }, () => {
  test("every annotation can be evaluated, and every global name exists", async () => {
    const { hints, unknown } = await runPython([join(import.meta.dirname, "annotations.py")]);
    assert.deepEqual([Number(hints) > 400, unknown], [true, []]);
  });

  test("open, ask with deltas, record, find, fork; hostile text comes back equal", async () => {
    await using place = await served({ lines: [[say("Hel"), say("lo ✓ 🧶")], "Again."] });
    const printed = await runScenario("ask", at(place));
    const { session, seqs, types, result, ...rest } = printed as {
      session: string;
      seqs: number[];
      types: string[];
      result: { status: string };
    };
    assert.deepEqual(rest, {
      deltas: "Hello ✓ 🧶",
      again: "open",
      items: [["base-rate", { value: 4.1, none: null }]],
      input: 'Zürich 你好 🧶 \u202e "quotes" \\ \r\n\t </script> ${x} \u2028',
      found: true,
      suffix: session,
      me: ["admin"],
      fork: true,
    });
    assert.equal(result.status, "open");
    assert.deepEqual(
      seqs,
      seqs.map((_, index) => (seqs[0] ?? 0) + index),
    );
    assert.ok(types.includes("model.responded") && types.at(-1) === "lease.released", types.join());
  });

  test("errors have a code, a status, a field and a hint; nothing is written", async () => {
    await using place = await served();
    const { repr, log, ...errors } = await runScenario("errors", at(place));
    const named = Object.fromEntries(
      Object.entries(errors).map(([name, error]) => [name, (error as unknown[] | null)?.slice(0, 3)]),
    );
    assert.deepEqual(named, {
      field: ["invalid", 400, "budget.tokens"],
      missing: ["not-found", 404, null],
      nul: ["invalid", 400, "input"],
      surrogate: ["invalid", null, null],
      set: ["invalid", null, null],
      nan: ["invalid", null, null],
      large: ["invalid", null, null],
      keys: ["invalid", null, null],
      match: ["precondition-failed", 412, "If-Match"],
      token: ["unauthorized", 401, null],
      header: ["invalid", null, null],
      url: ["invalid", null, null],
      source: ["invalid", null, null],
    });
    assert.deepEqual(log, ["session.opened"]);
    assert.ok(!String(repr).includes(place.token));
  });

  test("pages are read to the end, forward and backward", async () => {
    await using place = await served();
    const printed = await runScenario("pages", at(place));
    assert.deepEqual(new Set(Object.values(printed)), new Set([true]), JSON.stringify(printed));
  });

  test("an external call is settled once", async () => {
    await using place = await served({ lines: [[use("order", { article: "pen" })], "Done."] });
    const printed = await runScenario("settle", at(place));
    assert.deepEqual(printed, {
      by: "tool",
      seq: true,
      duplicate: [false, true],
      other: ["conflict", 409, null, true],
      after: "open",
    });
  });

  test("large blobs are streamed both ways", async () => {
    await using place = await served();
    const { missing, ...printed } = await runScenario("blobs", at(place));
    assert.deepEqual(new Set(Object.values(printed)), new Set([true]), JSON.stringify(printed));
    assert.deepEqual((missing as unknown[]).slice(0, 2), ["not-found", 404]);
  });

  test("asyncio: streams, cancellation, uploads, pages", async () => {
    await using place = await served({ lines: [[say("Hel"), say("lo")], "Again."] });
    const printed = await runScenario("in_async", at(place));
    assert.deepEqual(printed, {
      deltas: "Hello",
      status: "open",
      items: 21,
      seqs: true,
      canceled: true,
      over: [],
      field: "budget.tokens",
      blob: 10_000,
      events: true,
      sessions: true,
      fork: true,
      watch: "open",
    });
  });

  test("closing a stream or the client ends a read in another thread", async () => {
    await using place = await served();
    const { ended, after } = await runScenario("close", at(place));
    assert.deepEqual(ended, ["end", false, "the client is closed", false]);
    assert.deepEqual(after, ["unavailable", null, null, false]);
  });

  test("a change whose response was lost takes effect once", async () => {
    const dropped = new Set<string>();
    await using relay = await openRelay((_, _connection, request) => {
      const keys = [...request.matchAll(/^idempotency-key: (.+)\r$/gim)].map(([, key = ""]) => key);
      const key = keys.at(-1);
      if (key === undefined || dropped.has(key)) return null;
      dropped.add(key);
      return 0;
    });
    await using place = await served({ origins: [relay.url] });
    relay.lead(place.server.port);
    const printed = await runScenario("dropped", { url: relay.url, token: place.token });
    const kept = createHash("sha256").update("kept").digest("hex");
    assert.deepEqual(printed, { sessions: 1, items: 5, inputs: 1, by: "open", kept });
    assert.equal(dropped.size, 8);
  });

  test("a stream that is cut in an answer continues after its last event", async () => {
    let cuts = 0;
    await using relay = await openRelay((bytes) => {
      const delta = bytes.indexOf("event: delta");
      if (delta < 0 || cuts > 0) return null;
      cuts += 1;
      return bytes.indexOf("\n\n", delta) + 2;
    });
    const lines = [[say("one "), say("two "), say("three")]];
    await using place = await served({ lines, origins: [relay.url] });
    relay.lead(place.server.port);
    const printed = await runScenario("half", { url: relay.url, token: place.token });
    const seqs = printed["seqs"] as number[];
    assert.deepEqual(
      seqs,
      seqs.map((_, index) => (seqs[0] ?? 0) + index),
    );
    assert.deepEqual([printed["deltas"], printed["status"], cuts], ["one ", "open", 1]);
    assert.deepEqual(printed["answer"], ["one "]);
  });

  test("the client waits as long as Retry-After says, and fails clearly without an answer", async () => {
    let requests = 0;
    await using limited = await openAnswering((answer) => {
      requests += 1;
      const problem = { code: "rate-limited", detail: "too many requests", status: 429 };
      if (requests === 1) answer.writeHead(429, { "retry-after": "1" }).end(JSON.stringify(problem));
      else answer.writeHead(200).end(JSON.stringify({ actor: "user:prn_1" }));
    });
    assert.deepEqual(await runScenario("limited", { url: limited.url, token: "skn_1" }), {
      actor: true,
      waited: true,
    });
    assert.equal(requests, 2);
    await using silent = await openAnswering(() => undefined);
    assert.deepEqual(await runScenario("silent", { url: silent.url, token: "skn_1" }), {
      read: ["unavailable", null, null, true],
      change: ["unknown", null, null, true],
    });
  });

  const openssl = spawnSync("openssl", ["version"]).status === 0;
  test(
    "https, with certificates of one's own",
    { skip: !openssl && "there is no openssl here" },
    async (t) => {
      const folder = mkdtempSync(join(tmpdir(), "skein-python-tls-"));
      t.after(() => rmSync(folder, { recursive: true }));
      const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
      const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
      const made = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        key,
        "-out",
        cert,
        ...subject,
      ];
      assert.equal(spawnSync("openssl", made).status, 0);
      const tls = { key: readFileSync(key), cert: readFileSync(cert) };
      let connections = 0;
      await using server = await openAnswering((answer, { url = "", headers }) => {
        if (url === "/v1/me") return answer.end(JSON.stringify({ actor: "user:prn_1" }));
        connections += 1;
        const next = Number(headers["last-event-id"] ?? 0) + 1;
        answer.writeHead(200, { "content-type": "text/event-stream" });
        const event = { seq: next, type: "x.one", session: "ses_1" };
        const frame = `id: ${next}\ndata: ${JSON.stringify(event)}\n\n`;
        if (next < 3) return answer.write(frame, () => setTimeout(() => answer.destroy(), 20));
        answer.write(frame);
        return answer.end("event: end\ndata: {}\n\n");
      }, tls);
      const printed = await runScenario("https", { url: server.url, token: cert });
      assert.deepEqual(printed, {
        actor: "user:prn_1",
        events: [1, 2, 3],
        untrusted: ["unavailable", null, null, true],
      });
      assert.equal(connections, 3);
    },
  );

  test("the server is killed while a program writes and follows: nothing lost, nothing twice", async () => {
    const folder = mkdtempSync(join(tmpdir(), "skein-python-"));
    const store = join(folder, "skein.db");
    let server = await startServer(store);
    const { port, token } = server;
    let kills = 0;
    let restarts = Promise.resolve();
    const restart = async (): Promise<void> => {
      await server.kill();
      server = await startServer(store, port);
      kills += 1;
    };
    try {
      const url = `http://127.0.0.1:${port}`;
      const printed = await runScenario("restart", { url, token }, ({ written }) => {
        if (written !== undefined) restarts = restarts.then(restart);
      });
      await restarts;
      const { head, ...rest } = printed;
      assert.deepEqual(rest, { seen: true, fed: true, items: true, events: 30 });
      assert.ok(Number(head) >= 32 && kills === 2, `${JSON.stringify(printed)} after ${kills} kills`);
    } finally {
      await restarts.catch(() => undefined);
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    }
  });
});
