/** Where requests may come from: hosts, origins, other sites; and what every answer carries. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import {
  checkBinding,
  checkOrigin,
  isLoopback,
  makeGate,
  safetyHeaders,
  type GateOptions,
} from "../../src/server/http/cross-origin.ts";
import { makeRate } from "../../src/server/auth/rate-limit.ts";
import { incoming } from "./gate.ts";

const statusOf = (options: GateOptions, headers: Record<string, string>): number =>
  makeGate(options).check(incoming(headers))?.status ?? 200;

test("a server answers to its own host names only", () => {
  const local = { host: "127.0.0.1", port: 7717 };
  const hosts: [GateOptions, string, number][] = [
    [local, "127.0.0.1:7717", 200],
    [local, "localhost:7717", 200],
    [local, "LocalHost:7717", 200],
    [local, "[::1]:7717", 200],
    [local, "evil.example:7717", 421],
    [local, "evil.example", 421],
    [local, "127.0.0.1", 421],
    [local, "127.0.0.1:7718", 421],
    [local, "127.0.0.1:7717.evil.example", 421],
    [local, "localhost.evil.example:7717", 421],
    [local, "192.168.0.7:7717", 421],
    [local, "", 421],
    [{ host: "127.0.0.1", port: 80 }, "localhost", 200],
    [{ host: "192.168.0.7", port: 7717 }, "192.168.0.7:7717", 200],
    [{ host: "192.168.0.7", port: 7717 }, "localhost:7717", 421],
    [{ host: "fd00::7", port: 7717 }, "[fd00::7]:7717", 200],
    // Bound to all addresses: any of them in digits, and no name.
    [{ host: "0.0.0.0", port: 7717 }, "192.168.0.7:8080", 200],
    [{ host: "::", port: 7717 }, "[fd00::7]:7717", 200],
    [{ host: "0.0.0.0", port: 7717 }, "localhost:8080", 200],
    [{ host: "0.0.0.0", port: 7717 }, "evil.example:7717", 421],
    [{ host: "0.0.0.0", port: 7717 }, "1.2.3.4.evil.example", 421],
    // Behind a proxy.
    [{ ...local, origins: ["https://skein.example.com"] }, "skein.example.com", 200],
    [{ ...local, origins: ["https://skein.example.com"] }, "skein.example.com:7717", 421],
  ];
  for (const [options, host, status] of hosts)
    assert.equal(statusOf(options, { host }), status, `${options.host}: ${host}`);
});

test("pages of other origins may not ask, unless they were allowed by name", () => {
  const options = { host: "127.0.0.1", port: 7717, origins: ["https://app.example"] };
  const origins: [string, number][] = [
    ["http://127.0.0.1:7717", 200],
    ["https://app.example", 200],
    ["http://localhost:7717", 403],
    ["https://127.0.0.1:7717", 403],
    ["http://127.0.0.1:3000", 403],
    ["http://app.example", 403],
    ["https://app.example.evil.example", 403],
    ["null", 403],
    ["", 403],
  ];
  for (const [origin, status] of origins) assert.equal(statusOf(options, { origin }), status, origin);
  assert.equal(statusOf(options, { origin: "http://localhost:7717", host: "localhost:7717" }), 200);
});

test("behind a proxy on a separate port the host needs the port, and the documented nginx keeps it", () => {
  const origin = "https://skein.example.com:8443";
  const options = { host: "127.0.0.1", port: 7717, origins: [origin] };
  // What nginx hands on as $http_host, and as $host.
  assert.equal(statusOf(options, { origin, host: "skein.example.com:8443" }), 200);
  assert.equal(statusOf(options, { origin, host: "skein.example.com" }), 421);
  const page = readFileSync(join(import.meta.dirname, "../../docs/server.md"), "utf8");
  const [block = ""] = /^server \{\n {2}listen 443.*?^\}/ms.exec(page) ?? [];
  assert.match(block, /^ {4}proxy_set_header Host \$http_host;$/m);
  assert.match(block, /^ {4}proxy_request_buffering off;/m);
  assert.match(page, /A browser's `EventSource` treats any status but\n?\s?200 as final/);
});

test("a preflight request gets the rights of an allowed page, and any other nothing", () => {
  const gate = makeGate({ host: "127.0.0.1", port: 7717, origins: ["https://app.example/"] });
  const ask = (origin: string) => gate.preflight(incoming({ origin }, { method: "OPTIONS" }));
  assert.deepEqual(ask("https://app.example"), {
    status: 204,
    headers: {
      vary: "Origin",
      "access-control-allow-origin": "https://app.example",
      "access-control-expose-headers": "etag, location, retry-after, ratelimit, ratelimit-policy",
      "access-control-allow-methods": "GET, HEAD, POST, DELETE",
      "access-control-allow-headers":
        "authorization, content-type, idempotency-key, if-match, last-event-id, skein-client",
      "access-control-max-age": "600",
    },
  });
  assert.deepEqual(ask("http://127.0.0.1:7717"), { status: 204, headers: { vary: "Origin" } });
  assert.equal(ask("https://evil.example").status, 403);
  assert.deepEqual(gate.corsHeaders(incoming({ origin: "https://evil.example" })), { vary: "Origin" });
  const closed = makeGate({ host: "127.0.0.1", port: 7717 });
  assert.deepEqual(closed.corsHeaders(incoming({ origin: "https://app.example" })), {});
  assert.equal(closed.preflight(incoming({ origin: "https://app.example" })).status, 403);
  // No cookie ever goes along: other origins come with a token.
  assert.ok(!JSON.stringify(ask("https://app.example")).includes("credentials"));
});

test("an address that is reachable from other machines is bound only on request", () => {
  for (const host of ["127.0.0.1", "127.9.9.9", "::1", "localhost"]) {
    assert.ok(isLoopback(host), host);
    checkBinding(host, { named: false });
  }
  for (const host of ["0.0.0.0", "::", "192.168.0.7", "example.com", "127.0.0.1.evil.example", ""]) {
    assert.ok(!isLoopback(host), host);
    assert.throws(() => checkBinding(host, { named: false }), { code: "refused" });
    checkBinding(host, { named: true });
  }
});

test("an origin is a scheme, a name and perhaps a port", () => {
  assert.equal(checkOrigin("https://app.example/"), "https://app.example");
  assert.equal(checkOrigin("http://localhost:3000"), "http://localhost:3000");
  for (const wrong of [
    "*",
    "app.example",
    "https://app.example/path",
    "ftp://app.example",
    "https://a:b@c",
    "",
  ])
    assert.throws(() => checkOrigin(wrong), { code: "invalid" }, wrong);
});

test("every answer carries what keeps a page to itself", () => {
  assert.deepEqual(safetyHeaders(["sha256-abc="]), {
    "content-security-policy":
      "default-src 'self'; script-src 'self' 'sha256-abc='; style-src 'self'; img-src 'self' blob: data:; " +
      "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; " +
      "frame-ancestors 'none'; object-src 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  });
});

test("in any period no key gets more than a full bucket and its refill", () => {
  const steps = fc.array(fc.tuple(fc.nat({ max: 300 }), fc.nat({ max: 30 })), { maxLength: 40 });
  fc.assert(
    fc.property(
      steps,
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 20 }),
      (all, perSecond, burst) => {
        let nowMs = 0;
        let letIn = 0;
        const rate = makeRate({ perSecond, burst, keysMin: 10, clock: () => nowMs });
        for (const [passedMs, asks] of all) {
          nowMs += passedMs;
          for (let ask = 0; ask < asks; ask++) if (rate.take("one").waitMs === 0) letIn += 1;
          assert.ok(letIn <= burst + (nowMs * perSecond) / 1_000 + 1e-6);
        }
        // Whoever waits as long as they were told gets one.
        const { waitMs } = rate.take("one");
        nowMs += waitMs;
        assert.ok(waitMs === 0 || rate.take("one").waitMs === 0);
      },
    ),
    { numRuns: 200 },
  );
});

test("the cache has a size, and the most recently used key stays longest", () => {
  const rate = makeRate({ perSecond: 1, burst: 1, keysMin: 2, clock: () => 0 });
  const wait = (key: string): number => rate.take(key).waitMs;
  assert.deepEqual([wait("a"), wait("b"), wait("a")], [0, 0, 1_000]);
  // The third pushes out b, not a.
  assert.deepEqual([wait("c"), wait("a"), wait("b")], [0, 1_000, 0]);
});
