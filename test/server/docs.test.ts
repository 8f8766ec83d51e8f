/** The docs are served at /docs, without a token, with the headers of every response. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PageFile } from "../../src/server/http/console-files.ts";
import { served } from "./served.ts";

const file = (type: string, body: string, immutable = false): PageFile => ({
  type,
  bytes: Buffer.from(body),
  etag: body.slice(0, 4),
  immutable,
});
const html = "text/html; charset=utf-8";
const files = new Map([
  ["/index.html", file(html, "home")],
  ["/tools.html", file(html, "tools")],
  ["/api/engine.html", file(html, "engine")],
  ["/404.html", file(html, "missing")],
  ["/assets/site-1a.js", file("text/javascript; charset=utf-8", "script", true)],
]);
const page = new Map([["/index.html", file(html, "console")]]);
const visit = { accept: "text/html,*/*;q=0.8" };

test("pages are served below /docs, with and without .html", async () => {
  let reads = 0;
  await using place = await served({ page, docs: async () => (reads++, files) });
  const { url } = place.server;
  assert.equal(reads, 0, "read when the first request comes");
  for (const [path, text] of [
    ["/docs/", "home"],
    ["/docs", "home"],
    ["/docs/tools.html", "tools"],
    ["/docs/tools", "tools"],
    ["/docs/api/engine", "engine"],
    ["/docs/tools?q=1", "tools"],
  ] as const) {
    const answer = await fetch(`${url}${path}`, { headers: visit });
    assert.deepEqual([path, answer.status, await answer.text()], [path, 200, text]);
    assert.match(answer.headers.get("content-security-policy") ?? "", /script-src 'self';/);
    assert.equal(answer.headers.get("x-frame-options"), "DENY");
    assert.equal(answer.headers.get("cache-control"), "no-cache");
  }
  assert.equal(reads, 1);
  const moved = await fetch(`${url}/docs`, { redirect: "manual" });
  assert.deepEqual([moved.status, moved.headers.get("location")], [308, "docs/"]);
  const asset = await fetch(`${url}/docs/assets/site-1a.js`);
  assert.match(asset.headers.get("cache-control") ?? "", /immutable/);
  assert.equal(await (await fetch(`${url}/`, { headers: visit })).text(), "console");
});

test("a page that does not exist is a page for browsers and a problem for programs", async () => {
  await using place = await served({ page, docs: async () => files });
  const { url } = place.server;
  for (const path of ["/docs/nothing", "/docs/api/", "/docs/tools/", "/docs/%00"]) {
    const shown = await fetch(`${url}${path}`, { headers: visit });
    assert.notEqual(shown.status, 200, path);
    await shown.text();
  }
  const shown = await fetch(`${url}/docs/nothing`, { headers: visit });
  assert.deepEqual([shown.status, await shown.text()], [404, "missing"]);
  const asked = await fetch(`${url}/docs/nothing`, { headers: { accept: "application/json" } });
  assert.deepEqual([asked.status, asked.headers.get("content-type")], [404, "application/problem+json"]);
  const posted = await fetch(`${url}/docs/tools`, { method: "POST" });
  assert.deepEqual([posted.status, posted.headers.get("allow")], [405, "GET, HEAD"]);
});

test("a server without a built site has no /docs", async () => {
  await using place = await served({ page, docs: async () => null });
  assert.equal((await fetch(`${place.server.url}/docs/`, { headers: visit })).status, 404);
});
