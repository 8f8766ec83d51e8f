/** MCP servers, good and broken, over stdio and HTTP; and that nothing of them is left. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { realWorld } from "../../src/runtime/world.ts";
import type { McpWorld } from "../../src/tool/mcp-stdio.ts";
import { mcpTools } from "../../src/tool/mcp.ts";
import { OutcomeUnknown, type StoredBinding, type OuterTool } from "../../src/tool/port.ts";
import { callTool, failure, outerTool } from "./calling.ts";
import { answer } from "./mcp-server.ts";

const program = new URL("./mcp-server.ts", import.meta.url).pathname;
const secrets: Readonly<Record<string, string>> = { TOKEN: "s3cr3t-value", PATH: process.env["PATH"] ?? "" };

interface Place extends AsyncDisposable {
  readonly tools: readonly OuterTool[];
  readonly pids: readonly number[];
}

/** The processes that were started are noted, so that it can be seen that they are gone. */
async function openServers(...bound: readonly Partial<StoredBinding>[]): Promise<Place> {
  const pids: number[] = [];
  const real = realWorld();
  const world: McpWorld = {
    ...real,
    secret: (name) => secrets[name],
    spawnPiped: async (...given) => {
      const child = await real.spawnPiped(...given);
      pids.push(child.pid);
      return child;
    },
  };
  const opened = new AsyncDisposableStack();
  const whole = bound.map((one): StoredBinding => ({ kind: "mcp", name: "srv", mode: "read", ...one }));
  try {
    const mcp = await mcpTools(world, whole, opened, new AbortController().signal);
    return { tools: mcp.tools(), pids, [Symbol.asyncDispose]: () => opened.disposeAsync() };
  } catch (error) {
    await opened.disposeAsync();
    for (const pid of pids) assert.deepEqual(await groupOf(pid), [], "nothing is left of what did not open");
    throw error;
  }
}

const stdio = (way = "well", more: Partial<StoredBinding> = {}): Partial<StoredBinding> => ({
  command: [process.execPath, program, way],
  ...more,
});

/** Living processes of a group. */
async function groupOf(leader: number): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: number[] = [];
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
    const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(group) === leader && state !== "Z" && state !== "X") found.push(pid);
  }
  return found;
}

describe("over stdio", () => {
  test("tools have the server's name in front, names that all take, and their declared effect", async () => {
    await using place = await openServers(stdio());
    const cut = `srv_long_${"x".repeat(48)}_`;
    assert.deepEqual(
      place.tools.map(({ name, effect }) => `${name.startsWith(cut) ? cut : name} ${effect}`),
      [
        "srv_babble unsafe",
        "srv_die unsafe",
        "srv_echo read",
        "srv_env unsafe",
        "srv_every_thing unsafe",
        `${outerName(place.tools, 5)} unsafe`,
        "srv_fail unsafe",
        "srv_hang unsafe",
        "srv_large unsafe",
        `${cut} unsafe`,
        "srv_media read",
        "srv_newer unsafe",
        "srv_refuse unsafe",
        "srv_set idempotent",
        "srv_slow unsafe",
        "srv_structure unsafe",
      ],
    );
    assert.match(outerName(place.tools, 5), /^srv_every_thing_[0-9a-f]{6}$/);
    assert.ok(place.tools.every(({ name }) => /^[a-zA-Z0-9_-]{1,64}$/.test(name)));
    assert.equal(outerTool(place.tools, outerName(place.tools, 5)).description, "All of it");
  });

  test("texts, images, structure and errors come through", async () => {
    await using place = await openServers(stdio());
    assert.deepEqual(await callTool(place.tools, "srv_echo", { text: "hello" }), { text: "hello" });
    assert.deepEqual(await callTool(place.tools, "srv_set", { text: "x" }), {
      text: '{"set":"x"}',
      detail: { structured: { set: "x" } },
    });
    assert.deepEqual(await callTool(place.tools, "srv_every_thing", {}), {
      text:
        "one\n[audio, audio/wav, which cannot be shown]\n[notes: file:///notes]\n[file:///a]\ntwo\n" +
        "[file:///b, application/x-b, which cannot be shown]",
      detail: { structured: { n: 1 } },
      images: ["image/png"],
    });
    assert.deepEqual(await callTool(place.tools, outerName(place.tools, 5), {}), {
      text: "[it gave nothing back]",
    });
    assert.deepEqual(await callTool(place.tools, "srv_fail", {}), { text: "no such thing", isError: true });
    assert.match(await failure(callTool(place.tools, "srv_echo", {})), /invalid arguments: .*text/);
    assert.match(await failure(callTool(place.tools, "srv_echo", [])), /arguments: expected an object/);
    assert.match(
      await failure(callTool(place.tools, "srv_refuse", {})),
      /^unavailable: MCP server "srv" rejected the call: .*not like this/,
    );
  });

  test("an error that the server sends is its answer, whatever its code", async () => {
    await using place = await openServers(stdio());
    for (const code of [-32_000, -32_001, -32_603, 1_001]) {
      assert.equal(
        await failure(callTool(place.tools, "srv_refuse", { code })),
        `unavailable: MCP server "srv" rejected the call: MCP error ${code}: not like this`,
      );
    }
  });

  test("content of an unknown kind or with bad base64 is kept as JSON", async () => {
    await using place = await openServers(stdio());
    assert.deepEqual(await callTool(place.tools, "srv_newer", {}), {
      text: '{"type":"hologram","depth":3}\n{"type":"image","data":"%%%","mimeType":"image/png"}\ndone',
    });
  });

  test("it gets named secrets and plain values, nothing else, and secrets do not come back", async () => {
    process.env["SKEIN_TEST_LEAK"] = "leak";
    await using place = await openServers(
      stdio("well", { secrets: ["TOKEN"], options: { env: { PLAIN: "p" } } }),
    );
    delete process.env["SKEIN_TEST_LEAK"];
    assert.deepEqual(await callTool(place.tools, "srv_env", {}), { text: "[TOKEN] p undefined" });
  });

  test("one that prints a banner first works all the same", async () => {
    await using place = await openServers(stdio("banner"));
    assert.deepEqual(await callTool(place.tools, "srv_echo", { text: "hello" }), { text: "hello" });
  });

  test("one that is slow but says so is waited for, one that hangs or is interrupted is not", async () => {
    await using place = await openServers(stdio("well", { options: { timeoutMs: 700 } }));
    const [slow, hung] = await Promise.all([
      callTool(place.tools, "srv_slow", {}),
      failure(callTool(place.tools, "srv_hang", {})),
    ]);
    assert.deepEqual(slow, { text: "at last" });
    assert.match(
      hung,
      /^error: MCP server "srv" did not respond to the call: .*timed out.*effect is unknown$/,
    );
    const call = new AbortController();
    const running = failure(callTool(place.tools, "srv_hang", {}, call.signal));
    await setTimeout(50);
    call.abort(new Error("interrupted"));
    assert.equal(await running, "error: interrupted");
  });

  test("a server that dies, sends garbage or never stops in a call fails it, and later ones", async () => {
    await using place = await openServers(stdio());
    // Whether the server did what it was asked to, nobody knows.
    const isUnknown = (error: unknown): boolean => error instanceof OutcomeUnknown;
    await assert.rejects(callTool(place.tools, "srv_babble", {}), isUnknown);
    assert.deepEqual(await callTool(place.tools, "srv_echo", { text: "still here" }), { text: "still here" });
    const died =
      'error: MCP server "srv" did not respond to the call: it ended with exit code 4; ' +
      "the effect is unknown";
    assert.equal(await failure(callTool(place.tools, "srv_die", {})), died);
    // It was never asked: that is an error like any other.
    for (const name of ["srv_echo", "srv_env"]) {
      const gone = failure(callTool(place.tools, name, { text: "x" }));
      assert.equal(await gone, 'unavailable: MCP server "srv": connection closed: it ended with exit code 4');
    }
    await using other = await openServers(stdio());
    await assert.rejects(callTool(other.tools, "srv_large", {}), isUnknown);
    await using third = await openServers(stdio());
    const reason = await failure(callTool(third.tools, "srv_large", {}));
    assert.match(reason, /it was stopped: it sent a message of more than 33554432 bytes/);
    assert.doesNotMatch(reason, /SIGKILL/);
  });

  test("a call that only reads is an error when the server dies in it", async () => {
    await using place = await openServers(stdio());
    const reading = failure(callTool(place.tools, "srv_echo", { text: "die" }));
    assert.match(await reading, /^unavailable: .*did not respond to the call: it ended with exit code 5$/);
  });

  test("the whole process group is killed at the end, however stubborn", async () => {
    await using place = await openServers(stdio("stubborn"));
    const [leader = 0] = place.pids;
    assert.equal((await groupOf(leader)).length, 2);
    await place[Symbol.asyncDispose]();
    assert.deepEqual(await groupOf(leader), []);
  });
});

describe("servers that do not work", () => {
  test("report the failure, and leave nothing running", async () => {
    const quick = { options: { openMs: 1_500 } };
    const cases: readonly [Partial<StoredBinding>, RegExp][] = [
      [{ command: ["/nonexistent/server"] }, /^unavailable: .* "srv": cannot start: .*ENOENT/],
      [stdio("dies"), /^unavailable: .*it ended with exit code 3; stderr: no configuration found$/],
      [stdio("hangs", quick), /^unavailable: .*timed out/],
      [stdio("babbles"), /^unavailable: .*it printed a line that is not JSON-RPC: "<html>hello<\/html>"/],
      [stdio("endless"), /^unavailable: .*more than 50 pages/],
      [{ command: ["/bin/true"] }, /^unavailable: .*connection failed: it ended with exit code 0$/],
      [
        { command: ["/bin/sh", "-c", "exec 0<&-; sleep 0.3; echo cannot find config >&2; exit 3"] },
        /^unavailable: .*connection failed: it ended with exit code 3; stderr: cannot find config$/,
      ],
      [{ command: [] }, /^invalid: .*neither a command nor a URL/],
      [{ url: "not a url" }, /^invalid: .*neither a command nor a URL/],
      [stdio("well", { options: { timeout: 3 } }), /^invalid: MCP server "srv": invalid options/],
      [stdio("well", { secrets: ["NONE"] }), /^unavailable: "srv": secret NONE is not set/],
    ];
    const told = await Promise.all(cases.map(([bound]) => failure(openServers(bound))));
    for (const [place, message] of told.entries()) assert.match(message, cases[place]![1]);
  });

  test("take the good ones with them: opening is all or nothing", async () => {
    assert.match(
      await failure(openServers(stdio(), stdio("dies", { name: "bad" }))),
      /"bad": connection failed/,
    );
  });
});

describe("over HTTP", () => {
  async function openHttp(
    handle: (request: IncomingMessage, response: ServerResponse, body: string) => void,
  ): Promise<AsyncDisposable & { readonly url: string }> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("end", () => handle(request, response, Buffer.concat(parts).toString()));
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    return {
      url: `http://127.0.0.1:${port}/mcp`,
      [Symbol.asyncDispose]: async () => {
        server.closeAllConnections();
        await new Promise((resolve) => void server.close(resolve));
      },
    };
  }

  test("a server works as well, with its secret in a header", async () => {
    const seen: (string | undefined)[] = [];
    await using http = await openHttp((request, response, body) => {
      seen.push(request.headers.authorization);
      if (request.method !== "POST") return void response.writeHead(405).end();
      const reply = answer(JSON.parse(body) as Parameters<typeof answer>[0]);
      if (reply === undefined) return void response.writeHead(202).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`event: message\ndata: ${JSON.stringify(reply)}\n\n`);
    });
    await using place = await openServers({ url: http.url, secrets: ["TOKEN"] });
    assert.deepEqual(await callTool(place.tools, "srv_echo", { text: "hello" }), { text: "hello" });
    assert.deepEqual([...new Set(seen)], ["Bearer s3cr3t-value"]);
  });

  test("a connection that is lost in a call leaves its outcome unknown; a refusal does not", async () => {
    const ways: Readonly<Record<string, (response: ServerResponse) => void>> = {
      set: (response) => void response.destroy(),
      env: (response) => void response.destroy(),
      hang: (response) => void response.writeHead(502).end("bad gateway"),
      fail: (response) => void response.writeHead(403).end("no"),
    };
    await using http = await openHttp((request, response, body) => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const message = JSON.parse(body) as Parameters<typeof answer>[0];
      const way = ways[message.params?.name ?? ""];
      if (way !== undefined) return way(response);
      const reply = answer(message);
      if (reply === undefined) return void response.writeHead(202).end();
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
    });
    await using place = await openServers({ url: http.url });
    const unknown = /^error: .*did not respond to the call: .*the effect is unknown$/;
    assert.match(await failure(callTool(place.tools, "srv_env", {})), unknown);
    assert.match(await failure(callTool(place.tools, "srv_hang", {})), unknown);
    const setting = failure(callTool(place.tools, "srv_set", { text: "x" }));
    assert.match(await setting, /^unavailable: .*did not respond to the call/);
    assert.match(await failure(callTool(place.tools, "srv_fail", {})), /^unavailable: .*rejected the call/);
    await http[Symbol.asyncDispose]();
    assert.match(await failure(callTool(place.tools, "srv_env", {})), /^unavailable: .*cannot be reached/);
  });

  test("a stream that ends without its answer is noticed at once", { timeout: 60_000 }, async () => {
    const sse = { "content-type": "text/event-stream" };
    const gone = (response: ServerResponse) => setTimeout(50).then(() => response.destroy());
    let resumed = 0;
    const ways: Readonly<Record<string, (response: ServerResponse, id: number | undefined) => void>> = {
      // Without a word, after a heartbeat, by an orderly end, and with an event that could be resumed from.
      env: (response) => void (response.writeHead(200, sse).flushHeaders(), gone(response)),
      hang: (response) => void (response.writeHead(200, sse).write(": heartbeat\n\n"), gone(response)),
      fail: (response) => void response.writeHead(200, sse).end(": bye\n\n"),
      echo: (response) => void response.writeHead(200, sse).end(": bye\n\n"),
      die: (response) => void response.writeHead(200, sse).end("id: 1\nretry: 100\ndata:\n\n"),
      slow: (response, id) => void response.writeHead(200, sse).end(`id: r${id}\nretry: 100\ndata:\n\n`),
    };
    await using http = await openHttp((request, response, body) => {
      const last = String(request.headers["last-event-id"] ?? "");
      if (request.method === "GET" && last.startsWith("r")) {
        resumed += 1;
        const result = { content: [{ type: "text", text: "resumed" }] };
        const reply = { jsonrpc: "2.0", id: Number(last.slice(1)), result };
        return void response.writeHead(200, sse).end(`data: ${JSON.stringify(reply)}\n\n`);
      }
      if (request.method !== "POST") return void response.writeHead(405).end();
      const message = JSON.parse(body) as Parameters<typeof answer>[0];
      const way = ways[message.params?.name ?? ""];
      if (way !== undefined) return way(response, message.id);
      const reply = answer(message);
      if (reply === undefined) return void response.writeHead(202).end();
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
    });
    await using place = await openServers({ url: http.url });
    const unknown =
      /^error: .*did not respond to the call: .*closed before the answer came.*effect is unknown$/;
    for (const name of ["srv_env", "srv_hang", "srv_fail"])
      assert.match(await failure(callTool(place.tools, name, {})), unknown, name);
    const reading = failure(callTool(place.tools, "srv_echo", { text: "x" }));
    assert.match(await reading, /^unavailable: .*did not respond to the call/);
    assert.deepEqual([await callTool(place.tools, "srv_slow", {}), resumed], [{ text: "resumed" }, 1]);
    const dying = failure(callTool(place.tools, "srv_die", {}));
    await setTimeout(30);
    await http[Symbol.asyncDispose]();
    assert.match(await dying, unknown);
  });

  test("servers that are missing, refuse, hang or send invalid data cause clear errors", async () => {
    await using refusing = await openHttp((_, response) => void response.writeHead(401).end("no"));
    await using babbling = await openHttp((_, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<html>");
    });
    await using hanging = await openHttp(() => undefined);
    const options = { openMs: 700 };
    for (const url of [refusing.url, babbling.url, hanging.url, "http://127.0.0.1:1/mcp"])
      assert.match(
        await failure(openServers({ url, options })),
        /^unavailable: MCP server "srv": connection failed: ./,
      );
  });
});

const outerName = (tools: readonly OuterTool[], place: number): string => tools[place]?.name ?? "";
