/** What the proxy passes on, and what it keeps to itself. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { eventsOf, type Proxied, proxied } from "./proxied.ts";

const call = { model: "claude-sonnet-5-5", max_tokens: 10, messages: [{ role: "user", content: "one" }] };

/** Without the rules of fetch: any header, any path. */
function raw(place: Proxied, path: string, headers: Record<string, string> = {}, body: object = call) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>(
    (resolve, reject) => {
      const { port } = new URL(place.base);
      const own = { "content-type": "application/json", "x-skein-token": place.token, ...headers };
      const sent = request({ port, path: `/proxy${path}`, method: "POST", headers: own, agent: false });
      sent.on("error", reject);
      sent.on("response", (answer) => {
        let text = "";
        answer.on("data", (chunk) => (text += String(chunk)));
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
      });
      sent.end(JSON.stringify(body));
    },
  );
}

test("cookies and headers of one connection stay on it, in both directions", async () => {
  await using place = await proxied();
  place.upstream.next.push((response) =>
    response
      .writeHead(200, {
        "content-type": "text/html",
        "set-cookie": "skein-7717=stolen; Path=/",
        connection: "close, x-hop",
        "x-hop": "1",
        "access-control-allow-origin": "*",
        "x-own": "1",
      })
      .end("{}"),
  );
  const { headers } = await raw(place, "/anthropic/v1/messages", {
    cookie: "skein-7717=secret",
    connection: "close, x-private",
    "x-private": "1",
  });
  const [asked] = place.upstream.asked;
  assert.deepEqual([asked?.headers.cookie, asked?.headers["x-private"]], [undefined, undefined]);
  assert.deepEqual(
    [headers["set-cookie"], headers["x-hop"], headers["access-control-allow-origin"], headers["x-own"]],
    [undefined, undefined, undefined, "1"],
  );
  // A page of a provider must not run as a page of the console.
  assert.match(String(headers["content-security-policy"]), /default-src/);
  assert.equal(headers["x-content-type-options"], "nosniff");
});

test("a Skein token in the place of the provider's key is refused, and reaches no provider", async () => {
  await using place = await proxied();
  for (const header of ["authorization", "x-api-key"]) {
    const headers = { [header]: `Bearer ${place.token}` };
    const { status, text } = await raw(place, "/anthropic/v1/messages", headers);
    assert.equal(status, 400);
    assert.match(text, /provider's key/);
    assert.ok(!text.includes(place.token));
  }
  assert.equal((await raw(place, `/google/v1beta/models/m:generateContent?key=${place.token}`)).status, 400);
  assert.equal(place.upstream.asked.length, 0);
});

test("errors never repeat a token of the path", async () => {
  await using place = await proxied();
  const { status, text } = await raw(place, `/${place.token}/v1/messages`);
  assert.equal(status, 404);
  assert.ok(!text.includes(place.token));
});

test("a path that could be read as another one is refused", async () => {
  await using place = await proxied();
  for (const path of ["/v1/../x", "/v1/..;/x", "/v1/messages#x", "/v1/%2e%2e/x", "/v1/a%5cb"]) {
    const { status } = await raw(place, `/anthropic${path}`);
    assert.equal(status, 400, path);
  }
  assert.equal(place.upstream.asked.length, 0);
});

test("model calls are recorded at the paths of compatible providers, too", async () => {
  await using place = await proxied();
  for (const path of ["/openai/chat/completions", "/openai/api/v4/chat/completions/", "/openai/responses"])
    await raw(place, path);
  await place.recorded(3);
});

test("credentials in the settings of a request are not recorded", async () => {
  await using place = await proxied();
  const mcp_servers = [{ type: "url", url: "https://x", authorization_token: "plain words 1234" }];
  const tools = [
    { type: "mcp", headers: { Authorization: "other plain words" }, authorization: "third one" },
  ];
  await raw(place, "/anthropic/v1/messages", {}, { ...call, mcp_servers, tools });
  const [session] = await place.recorded(1);
  const text = JSON.stringify(await eventsOf(place, session));
  assert.doesNotMatch(text, /plain words|third one/);
  assert.match(text, /mcp_servers/);
});

test("digests of a conversation cannot be guessed from the log: they need the token", async () => {
  await using place = await proxied();
  await raw(place, "/anthropic/v1/messages");
  await raw(place, "/anthropic/v1/messages", {}, { ...call, model: "claude-opus-5-5" });
  const [session] = await place.recorded(2);
  const events = await eventsOf(place, session);
  const { createHash } = await import("node:crypto");
  const body = events.find(({ type }) => type === "proxy.requested")?.body;
  const plain = createHash("sha256").update(JSON.stringify(call)).digest("hex");
  assert.ok(!JSON.stringify(body).includes(plain));
  const settings = createHash("sha256").update('{"max_tokens":10}').digest("hex");
  assert.ok(!JSON.stringify(body).includes(settings));
});

test("the provider's outage may be retried by the client; a refused budget may not", async () => {
  await using place = await proxied({ upstreams: { anthropic: "http://127.0.0.1:1" } });
  const { status, headers } = await raw(place, "/anthropic/v1/messages");
  assert.deepEqual([status, headers["x-should-retry"]], [503, undefined]);
});
