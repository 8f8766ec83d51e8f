/** Requests: keys, expectations, and what is wrong with one, told by its field. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import type { Problem } from "../../src/protocol/problem.ts";
import { all } from "../runtime/place.ts";
import { fine, served, type Answered } from "./served.ts";

const problem = ({ status, body }: Answered): unknown[] => {
  const { code, field } = body as Problem;
  return field === undefined ? [status, code] : [status, code, field];
};

test("a change with an Idempotency-Key is done once, also after a restart of the server", async () => {
  await using place = await served();
  const headers = { "idempotency-key": "k1" };
  const open = { params: { objective: "Once" }, headers };
  const [first, second] = await Promise.all([
    place.call("engine.open", open),
    place.call("engine.open", open),
  ]);
  assert.deepEqual(first.body, second.body);
  const { session } = fine(first) as { session: string };
  assert.equal(first.headers.get("location"), `/v1/sessions/${session}`);
  const other = await place.call("engine.open", { params: { objective: "Other" }, headers });
  assert.deepEqual(problem(other), [409, "conflict", "Idempotency-Key"]);

  const on = (id: string) => ({ id, headers: { "idempotency-key": "k2" } });
  const forks = [
    await place.call("session.fork", on(session)),
    await place.call("session.fork", on(session)),
  ];
  assert.deepEqual(fine(forks[0]!), fine(forks[1]!));
  const keyed = { ...on(session), params: { name: "login" }, headers: { "idempotency-key": "k3" } };
  fine(await place.call("session.rename", keyed));

  // Another server on the same store has kept no answer: the log knows.
  await using again = await place.again();
  const ask = async (path: string, key: string, body: object): Promise<unknown> => {
    const response = await fetch(`${again.url}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${place.token}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(body),
    });
    return response.json();
  };
  assert.deepEqual(await ask("/v1/sessions", "k1", { objective: "Once" }), { session });
  assert.deepEqual(await ask(`/v1/sessions/${session}/fork`, "k2", {}), forks[0]?.body);
  const renamed = (await ask(`/v1/sessions/${session}/rename`, "k3", { name: "login" })) as object;
  assert.deepEqual(renamed, { seq: 2, headSeq: 2, duplicate: true });
  assert.equal((await all((await place.engine.session(session)).events())).length, 2);
});

test("HEAD gives the header of what GET gives, and never a stream", async () => {
  await using place = await served();
  const { id } = await place.engine.open({ objective: "Be looked at" });
  const own = ["head", "records", "events?follow=true"].map((rest) => `/v1/sessions/${id}/${rest}`);
  for (const path of ["/v1/sessions", ...own]) {
    const answer = await place.fetch(path, { method: "HEAD" });
    assert.deepEqual([answer.status, await answer.text()], [200, ""], path);
  }
  const { headers } = await place.fetch(`/v1/sessions/${id}/head`, { method: "HEAD" });
  assert.equal(headers.get("etag"), '"1"');
  assert.equal((await place.fetch("/v1/sessions/ses_00/head", { method: "HEAD" })).status, 404);
  const changes = await place.fetch(`/v1/sessions/${id}/append`, { method: "HEAD" });
  assert.deepEqual([changes.status, changes.headers.get("allow")], [405, "POST"]);
  const typeOf = async (rest: string): Promise<string | null> =>
    (await place.fetch(`/v1/sessions/${id}/${rest}`, { method: "HEAD" })).headers.get("content-type");
  assert.equal(await typeOf("events?follow=true"), "text/event-stream; charset=utf-8");
  assert.equal(await typeOf("events"), "application/json; charset=utf-8");
});

test("OPTIONS says which methods an address takes", async () => {
  await using place = await served();
  const asked = async (path: string): Promise<unknown[]> => {
    const { status, headers } = await place.fetch(path, { method: "OPTIONS" });
    return [status, headers.get("allow")];
  };
  assert.deepEqual(await asked("/v1/sessions"), [204, "POST, GET, HEAD, OPTIONS"]);
  assert.deepEqual(await asked("/v1/sessions/ses_00/append"), [204, "POST, OPTIONS"]);
  assert.deepEqual(await asked("/v1/login"), [204, "POST, OPTIONS"]);
  for (const path of ["/v1/me", "/healthz", "/openapi.json", "/api"])
    assert.deepEqual(await asked(path), [204, "GET, HEAD, OPTIONS"], path);
  assert.deepEqual(await asked("/v1/nowhere"), [404, null]);
});

test("a query that is not UTF-8 is refused, as a path and a body are", async () => {
  await using place = await served();
  for (const query of ["text=%ff", "text=a%", "text=%c3%28", "limit=1&text=%ed%a0%80"]) {
    const response = await place.fetch(`/v1/search?${query}`);
    const { code, field } = (await response.json()) as Problem;
    assert.deepEqual([response.status, code, field], [400, "invalid", "text"], query);
  }
  assert.equal((await place.fetch("/v1/search?text=%C3%A9+a%2Bb")).status, 200);
});

test("a hook at a private address is refused at once, unless the server allows it", async () => {
  const hook = { name: "ops", events: ["turn.ended"], secret: "OPS" };
  await using place = await served();
  for (const host of ["127.0.0.1", "169.254.169.254", "0x7f.1", "10.1.2.3:99", "[::1]", "localhost:8000"]) {
    const set = await place.call("engine.setHook", { params: { ...hook, url: `http://${host}/x` } });
    assert.deepEqual(problem(set), [409, "refused", "url"], host);
  }
  fine(await place.call("engine.setHook", { params: { ...hook, url: "https://example.com/x" } }));
  await using inside = await served({ privateHooks: true });
  fine(await inside.call("engine.setHook", { params: { ...hook, url: "http://127.0.0.1:9/x" } }));
});

test("where the library's call takes a key, the header is that key", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Keys" });
  const headers = { "idempotency-key": "mine" };
  const append = (records: string) =>
    place.call("session.append", { id: session.id, params: { records }, headers });
  assert.deepEqual(fine(await append("a")), { seq: 2, headSeq: 2, duplicate: false });
  assert.deepEqual(fine(await append("a")), { seq: 2, headSeq: 2, duplicate: true });
  assert.deepEqual(await session.append("c", { key: "mine" }), { seq: 2, headSeq: 2, duplicate: true });
});

test("If-Match holds a change to a position, in the write itself", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Match" });
  const record = (match: string, key?: string) =>
    place.call("session.record", {
      id: session.id,
      params: { kind: "fact", key: "k", value: 1 },
      headers: { "if-match": match, ...(key === undefined ? {} : { "idempotency-key": key }) },
    });
  const done = await record('"1"', "once");
  assert.deepEqual(fine(done), { seq: 2, headSeq: 2, duplicate: false });
  assert.equal(done.headers.get("etag"), '"2"');
  assert.deepEqual(problem(await record('"1"')), [412, "precondition-failed", "If-Match"]);
  assert.equal((fine(await record('"1"', "once")) as { duplicate: boolean }).duplicate, true);
  assert.deepEqual(problem(await record("nine")), [400, "invalid", "If-Match"]);
  const many = await Promise.all(Array.from({ length: 8 }, () => record('"2"')));
  assert.deepEqual(
    many.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, ...Array.from({ length: 7 }, () => 412)],
  );
  const away = await place.call("session.fork", { id: session.id, headers: { "if-match": '"1"' } });
  assert.deepEqual(problem(away), [412, "precondition-failed", "If-Match"]);
  const gone = await place.call("engine.delete", { id: session.id, headers: { "if-match": '"1"' } });
  assert.deepEqual(problem(gone), [412, "precondition-failed", "If-Match"]);
  const none = await place.call("engine.open", {
    params: { objective: "x" },
    headers: { "if-match": '"1"' },
  });
  assert.deepEqual(problem(none), [400, "invalid", "If-Match"]);
});

test("an invalid field is reported by name, with a hint", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Wrong" });
  const post = async (path: string, body: string, type = "application/json"): Promise<unknown[]> => {
    const response = await place.fetch(path, { method: "POST", headers: { "content-type": type }, body });
    return problem({ status: response.status, headers: response.headers, body: await response.json() });
  };
  const open = (body: unknown): Promise<unknown[]> => post("/v1/sessions", JSON.stringify(body));
  assert.deepEqual(await open({ objektive: "x" }), [400, "invalid", "objektive"]);
  assert.deepEqual(await open({ objective: 7 }), [400, "invalid", "objective"]);
  assert.deepEqual(await open({ objective: "x", bind: [{ kind: "car" }] }), [400, "invalid", "bind[0].kind"]);
  assert.deepEqual(await open({ objective: "x", wake: [{ kind: "at" }] }), [400, "invalid", "wake[0].at"]);
  assert.deepEqual(await open({ objective: "a\0b" }), [400, "invalid", "objective"]);
  assert.deepEqual(await open({}), [400, "invalid", "objective"]);
  assert.deepEqual(await open({ objective: " " }), [400, "invalid", "objective"]);
  assert.deepEqual(await post("/v1/sessions", "{"), [400, "invalid", ""]);
  assert.deepEqual(await post("/v1/sessions", "[]"), [400, "invalid", ""]);
  assert.deepEqual(await post("/v1/sessions", "x", "text/plain"), [415, "wrong-type"]);
  for (const charset of ["utf-16", "iso-8859-1", '"UTF-16"'])
    assert.deepEqual(await post("/v1/sessions", "{}", `application/json; charset=${charset}`), [
      415,
      "wrong-type",
    ]);
  for (const charset of ["utf-8", '"UTF-8"', "us-ascii"])
    assert.equal((await post("/v1/sessions", "{}", `application/json; charset=${charset}`))[0], 400, charset);
  const path = `/v1/sessions/${session.id}`;
  const deep = `{"kind":"fact","key":"k","value":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  assert.deepEqual((await post(`${path}/record`, deep)).slice(0, 2), [400, "invalid"]);
  const large = JSON.stringify({ records: "x".repeat(limit.requestBodyBytesMax) });
  assert.deepEqual(await post(`${path}/append`, large), [413, "too-large"]);
  assert.deepEqual(await post(`${path}/nothing`, "{}"), [404, "no-route"]);
  assert.deepEqual(await post("/v1/sessions/ses_00000000000000000000000000/append", '{"records":"x"}'), [
    404,
    "not-found",
  ]);
  const wrong = await place.fetch(`${path}/state`, { method: "PUT" });
  assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, HEAD"]);
  const form = await place.fetch(`${path}/state`, { headers: { accept: "text/html" } });
  assert.equal(form.status, 406);
  const query = await place.fetch(`${path}/state?atSeq=1.5`);
  assert.deepEqual(((await query.json()) as Problem).field, "atSeq");
  const early = await place.fetch(`${path}/events?fromSeq=0`);
  assert.equal(((await early.json()) as Problem).detail, "events: fromSeq: expected at least 1, got 0");
  const long = await place.fetch(`/v1/${"x".repeat(limit.requestPathCharsMax)}`);
  assert.equal(long.status, 414);
  assert.equal(query.headers.get("content-type"), "application/problem+json");
  const said = (await (await place.fetch("/v1/sessions?statos=open")).json()) as Problem;
  assert.deepEqual(said, {
    type: "urn:skein:problem:invalid",
    title: "Invalid input",
    status: 400,
    detail: 'sessions: unknown field "statos"',
    code: "invalid",
    hint: 'did you mean "status"?',
    field: "statos",
  });
  assert.deepEqual(place.troubles, []);
});

test("a body may be as long as the limit and no longer, also when it does not say how long", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Long" });
  const send = (bytes: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const asked = request(
        `${place.server.url}/v1/sessions/${session.id}/scratch`,
        {
          method: "POST",
          headers: { authorization: `Bearer ${place.token}`, "content-type": "application/json" },
        },
        (response) => {
          response.resume();
          response.on("end", () => resolve(response.statusCode ?? 0));
        },
      );
      asked.on("error", reject);
      const text = '{"key":"k","value":1}';
      asked.write(text);
      asked.end(" ".repeat(bytes - text.length));
    });
  assert.equal(await send(limit.requestBodyBytesMax), 200);
  assert.equal(await send(limit.requestBodyBytesMax + 1), 413);
});

test("events come in pages, and each says where the next one starts", async () => {
  await using place = await served();
  const session = await place.engine.open({ objective: "Pages" });
  for (let count = 0; count < 5; count++) await session.append(`${count}`);
  const page = async (params: object): Promise<unknown[]> => {
    const body = fine(await place.call("session.events", { id: session.id, params: { ...params } }));
    const { events, next } = body as { events: { seq: number }[]; next: number | null };
    return [events.map(({ seq }) => seq), next];
  };
  assert.deepEqual(await page({ limit: 4 }), [[1, 2, 3, 4], 5]);
  assert.deepEqual(await page({ limit: 4, fromSeq: 5 }), [[5, 6], null]);
  assert.deepEqual(await page({ limit: 2, reverse: true }), [[6, 5], 4]);
  assert.deepEqual(await page({ limit: 2, after: 3, types: ["input.received"] }), [[4, 5], 6]);
});

test("a name that would be passed over in labels is refused", async () => {
  await using place = await served();
  const labels = encodeURIComponent('{"__proto__":"x"}');
  const session = await place.engine.open({ objective: "Seen by nobody who filters" });
  const listed = await place.fetch(`/v1/sessions?labels=${labels}`);
  assert.deepEqual([listed.status, ((await listed.json()) as Problem).field], [400, "labels"]);
  const set = await place.fetch(`/v1/sessions/${session.id}/label`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"set":{"__proto__":"x"}}',
  });
  assert.deepEqual([set.status, ((await set.json()) as Problem).field], [400, "set"]);
});

test("headers of which only one can be meant come once, and bodies are not encoded", async () => {
  await using place = await served();
  const { port } = new URL(place.server.url);
  const own = { Host: `127.0.0.1:${port}`, Authorization: `Bearer ${place.token}`, "Content-Length": "0" };
  const told = (...more: readonly string[]): Promise<unknown[]> =>
    new Promise((resolve, reject) => {
      const headers = [...Object.entries(own).flat(), ...more];
      const path = "/v1/deliver";
      request({ method: "POST", port, host: "127.0.0.1", path, headers, setHost: false }, (answer) => {
        let text = "";
        answer.on("data", (piece: Buffer) => (text += piece.toString()));
        answer.on("end", () => resolve([answer.statusCode, (JSON.parse(text) as Problem).field]));
      })
        .on("error", reject)
        .end();
    });
  assert.deepEqual(await told("Idempotency-Key", "one"), [200, undefined]);
  assert.deepEqual(await told("Host", "evil.example"), [400, "Host"]);
  assert.deepEqual(await told("authorization", own.Authorization), [400, "Authorization"]);
  assert.deepEqual(await told("Idempotency-Key", "a", "idempotency-key", "b"), [400, "Idempotency-Key"]);
  assert.deepEqual(await told("If-Match", '"1"', "If-Match", '"2"'), [400, "If-Match"]);
});

test("a body that is encoded on its way is refused", async () => {
  await using place = await served();
  const { port } = new URL(place.server.url);
  const socket = connect(Number(port), "127.0.0.1").setEncoding("utf8");
  const lines = ["POST /v1/sessions HTTP/1.1", `Host: 127.0.0.1:${port}`, "Transfer-Encoding: gzip, chunked"];
  socket.write(`${[...lines, `Authorization: Bearer ${place.token}`].join("\r\n")}\r\n\r\n0\r\n\r\n`);
  const [answer] = (await once(socket, "data")) as [string];
  socket.destroy();
  assert.match(answer, /^HTTP\/1.1 400 [^]*"field":"Transfer-Encoding"/);
});

test("an unreadable request, or one without Host, gets a problem response", async () => {
  await using place = await served();
  const { port } = new URL(place.server.url);
  const raw = (text: string): Promise<readonly [line: string, body: Problem]> =>
    new Promise((resolve, reject) => {
      let answer = "";
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(text));
      socket.on("data", (chunk) => (answer += String(chunk))).on("error", reject);
      socket.on("close", () => {
        const [head = "", body = ""] = answer.split("\r\n\r\n");
        resolve([head.split("\r\n")[0] ?? "", JSON.parse(body) as Problem]);
      });
    });
  const end = "Connection: close\r\n\r\n";
  for (const version of ["1.0", "1.1"]) {
    const [line, body] = await raw(`GET /healthz HTTP/${version}\r\n${end}`);
    assert.deepEqual([line, body.code, body.field], ["HTTP/1.1 400 Bad Request", "invalid", "Host"]);
  }
  const [empty, misdirected] = await raw(`GET /v1/sessions HTTP/1.1\r\nHost:\r\n${end}`);
  assert.deepEqual([empty, misdirected.code], ["HTTP/1.1 421 Misdirected Request", "misdirected"]);
  const [large, tooLarge] = await raw(
    `GET / HTTP/1.1\r\nx: ${"x".repeat(limit.requestHeaderBytesMax)}\r\n${end}`,
  );
  assert.equal(large, "HTTP/1.1 431 Request Header Fields Too Large");
  assert.equal(tooLarge.code, "header-too-large");
  assert.equal((await raw("nonsense\r\n\r\n"))[0], "HTTP/1.1 400 Bad Request");
});

test("a repeated call with the same key returns the first answer, and writes nothing", async () => {
  await using place = await served({ lines: ["Hello there."] });
  const session = await place.engine.open({ objective: "Greet" });
  const ask = async (): Promise<readonly string[]> => {
    const given = { id: session.id, params: { input: "Hi" }, headers: { "idempotency-key": "k" } };
    const text = String(fine(await place.call("session.ask", given)));
    return [...text.matchAll(/^event: (.*)$/gm)]
      .map(([, type = ""]) => type)
      .filter((type) => type !== "delta");
  };
  const first = await ask();
  assert.equal(first.at(-1), "ran");
  const { seq } = await session.head();
  assert.deepEqual([await ask(), await ask()], [first, first]);
  assert.equal((await session.head()).seq, seq);
});

test("what only the engine finds wrong has a field, too", async () => {
  await using place = await served({ otherStores: true });
  const { id } = await place.engine.open({ objective: "Fields" });
  const told = async (...given: Parameters<typeof place.call>): Promise<unknown[]> =>
    problem(await place.call(...given));
  const invalid = (field: string): unknown[] => [400, "invalid", field];
  assert.deepEqual(await told("session.state", { id: "../../x" }), invalid("id"));
  assert.deepEqual(await told("session.rename", { id: "no id", params: { name: "x" } }), invalid("id"));
  assert.deepEqual(await told("session.merge", { id, params: { from: "x.y.z" } }), invalid("from"));
  assert.deepEqual(await told("engine.send", { params: { to: "\u{1f600}", message: 1 } }), invalid("to"));
  assert.deepEqual(await told("engine.lineage", { params: { session: "a b" } }), invalid("session"));
  assert.deepEqual(await told("session.migrate", { id, params: {} }), invalid("model"));
  const token = { params: { scopes: ["read"], expiresAt: 1 } };
  assert.deepEqual(await told("engine.addToken", token), invalid("expiresAt"));
  assert.deepEqual(await told("engine.revokeToken", { params: { token: "x" } }), invalid("token"));
  assert.deepEqual(await told("engine.sessions", { params: { cursor: "x" } }), invalid("cursor"));
  for (const after of ["nowhere", "1~ses_x~1"])
    for (const follow of [false, true])
      assert.deepEqual(await told("engine.feed", { params: { after, follow } }), invalid("after"));
  const last = { params: { follow: true }, headers: { "last-event-id": "nowhere" } };
  assert.deepEqual(await told("engine.feed", last), invalid("Last-Event-ID"));
  const ahead = { params: { after: "999999" } };
  assert.deepEqual(await told("engine.feed", ahead), invalid("after"));
  const cron = { kind: "cron", cron: "60 25 * * *" };
  const mars = { kind: "cron", cron: "0 9 * * *", zone: "Mars/Base" };
  const wake = { params: { objective: "x", wake: [{ kind: "message" }, cron] } };
  assert.deepEqual(await told("engine.open", wake), invalid("wake[1].cron"));
  for (const [spec, field] of [
    [cron, "spec.cron"],
    [mars, "spec.zone"],
    [{ kind: "at", at: 1 }, "spec.at"],
  ] as const) {
    assert.deepEqual(await told("session.trigger", { id, params: { name: "t", spec } }), invalid(field));
    const template = { name: "t", spec, open: { objective: "x" } };
    assert.deepEqual(await told("engine.trigger", { params: template }), invalid(field));
  }
  const half = { params: { limits: { tokens: 0.5 } }, id };
  assert.deepEqual(await told("session.budget", half), invalid("limits.tokens"));
  const { detail } = (await place.call("session.budget", half)).body as Problem;
  assert.match(detail, /limits.tokens: expected a whole number, got 0.5/);
});

test("the description names the cookie as it is", async () => {
  await using place = await served();
  const api = (await (await place.fetch("/openapi.json")).json()) as {
    readonly components: { readonly securitySchemes: { readonly cookie: { readonly name: string } } };
  };
  const headers = { "skein-client": "1" };
  const login = await place.fetch("/v1/login", { method: "POST", headers });
  const [name] = (login.headers.get("set-cookie") ?? "").split("=");
  assert.equal(api.components.securitySchemes.cookie.name, name);
});
