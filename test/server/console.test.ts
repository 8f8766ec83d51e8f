/** The console is given out as it was built: small, kept by browsers, and at every address of its views. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import type { PageFile } from "../../src/server/http/console-files.ts";
import { served } from "./served.ts";

const html = "<!doctype html><title>Skein</title>";
const words = Array.from({ length: 500 }, (_, at) => `word ${at}`);
const script = `export const words = ${JSON.stringify(words)};\n`;
const picture = Uint8Array.from({ length: 4_000 }, (_, at) => (at * 31) % 256);
const file = (type: string, body: string | Uint8Array, more: Partial<PageFile> = {}): PageFile => ({
  type,
  bytes: typeof body === "string" ? Buffer.from(body) : body,
  etag: "e1",
  immutable: false,
  ...more,
});
const page = new Map([
  ["/index.html", file("text/html; charset=utf-8", html)],
  ["/assets/app-1a2b.js", file("text/javascript; charset=utf-8", script, { immutable: true, etag: "a1" })],
  ["/assets/icon-77.png", file("image/png", picture, { immutable: true, etag: "p1" })],
]);

/** As a browser asks: without a token, and with what it takes. */
const asks = (url: string, encoding = "gzip, deflate, br, zstd", more: Record<string, string> = {}) =>
  fetch(url, { headers: { "accept-encoding": encoding, ...more } });

test("every view of the page is its index; below /v1 and elsewhere nothing is", async () => {
  await using place = await served({ page });
  const { url } = place.server;
  const views = ["/", "/s/ses_1", "/s/x/log", "/search?q=rate", "/agents", "/agents/payroll", "/triggers"];
  for (const path of [...views, "/workers", "/cost", "/memory", "/settings", "/?status=open"]) {
    const answer = await asks(`${url}${path}`);
    assert.equal(answer.status, 200, path);
    assert.equal(await answer.text(), html, path);
    assert.equal(answer.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal(answer.headers.get("cache-control"), "no-cache");
    assert.match(answer.headers.get("content-security-policy") ?? "", /script-src 'self';/);
  }
  for (const path of ["/v1/nothing", "/nothing", "/sessions", "/searching", "/assets/gone.js", "/assets"]) {
    const answer = await asks(`${url}${path}`);
    assert.equal(answer.status, 404, path);
    assert.equal(answer.headers.get("content-type"), "application/problem+json");
    await answer.text();
  }
  const visit = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
  assert.equal(await (await asks(`${url}/nothing`, "gzip", visit)).text(), html, "somebody went there");
  assert.equal((await asks(`${url}/v1/nothing`, "gzip", visit)).status, 404);
  assert.match(await (await asks(`${url}/api`, "gzip", visit)).text(), /<title>Skein API<\/title>/);
  const posted = await fetch(`${url}/agents`, { method: "POST" });
  assert.deepEqual([posted.status, posted.headers.get("allow")], [405, "GET, HEAD"]);
  assert.match(await (await asks(`${url}/api`)).text(), /<title>Skein API<\/title>/);
  assert.match(await (await asks(`${url}/page.js`)).text(), /openapi\.json/);
});

test("without a console the first page is that of the API", async () => {
  await using place = await served();
  const { url } = place.server;
  for (const path of ["/", "/api"])
    assert.match(await (await asks(`${url}${path}`)).text(), /<title>Skein API<\/title>/);
  assert.equal((await asks(`${url}/agents`)).status, 404);
});

test("scripts are sent as small as the browser takes them; pictures as they are", async () => {
  await using place = await served({ page });
  const path = "/assets/app-1a2b.js";
  const unpack = { br: brotliDecompressSync, gzip: gunzipSync, "": (bytes: Buffer) => bytes };
  for (const [taken, expected] of [
    ["gzip, deflate, br", "br"],
    ["gzip", "gzip"],
    ["br;q=0, gzip;q=0.5", "gzip"],
    ["identity", ""],
    ["brandy", ""],
  ] as const) {
    const { encoding, length, bytes } = await raw(place.server, path, taken);
    assert.equal(encoding ?? "", expected, taken);
    assert.equal(length, bytes.length);
    assert.equal(unpack[expected](bytes).toString(), script);
    if (expected !== "") assert.ok(bytes.length < script.length / 2);
  }
  const shown = await raw(place.server, "/assets/icon-77.png", "br");
  assert.deepEqual([shown.encoding, new Uint8Array(shown.bytes)], [undefined, picture]);
});

test("immutable files are cached for ever; browsers revalidate the rest", async () => {
  await using place = await served({ page });
  const { url } = place.server;
  const asset = await asks(`${url}/assets/app-1a2b.js`);
  assert.equal(asset.headers.get("cache-control"), "public, max-age=31536000, immutable");
  assert.equal(asset.headers.get("vary"), "Accept-Encoding");
  await asset.text();
  const index = await asks(`${url}/s/ses_1`);
  const etag = index.headers.get("etag") ?? "";
  assert.equal(etag, 'W/"e1"');
  await index.text();
  const again = await asks(`${url}/`, "br", { "if-none-match": `"other", ${etag}` });
  assert.deepEqual([again.status, await again.text(), again.headers.get("etag")], [304, "", etag]);
  const changed = await asks(`${url}/`, "br", { "if-none-match": '"other"' });
  assert.deepEqual([changed.status, await changed.text()], [200, html]);
});

test("a response to HEAD has headers only", async () => {
  await using place = await served({ page });
  const answer = await fetch(`${place.server.url}/`, { method: "HEAD" });
  assert.deepEqual(
    [answer.status, answer.headers.get("content-length"), await answer.text()],
    [200, String(html.length), ""],
  );
});

/** `fetch` would unpack it. */
async function raw({ host, port }: { host: string; port: number }, path: string, taken: string) {
  const { get } = await import("node:http");
  return new Promise<{ encoding: string | undefined; length: number; bytes: Buffer }>((resolve, reject) => {
    get({ host, port, path, headers: { "accept-encoding": taken }, agent: false }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece));
      answer.on("end", () =>
        resolve({
          encoding: answer.headers["content-encoding"],
          length: Number(answer.headers["content-length"]),
          bytes: Buffer.concat(pieces),
        }),
      );
    }).on("error", reject);
  });
}
