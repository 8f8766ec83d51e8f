/** What a server says of itself: figures, whether it is well, and one line for each request. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { realWorld } from "../../src/runtime/world.ts";
import { makeRequestLog, troubleLine } from "../../src/server/outbound/request-log.ts";
import type { CompletedRequest } from "../../src/server/http/server.ts";
import { makeMetrics } from "../../src/server/outbound/metrics.ts";
import { fine, served } from "./served.ts";
import { until } from "./until.ts";

/** The value of one series; undefined when it is not there. */
function figure(text: string, series: string): number | undefined {
  const line = text.split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

test("the metrics cover requests, sessions, streams and the store", async () => {
  const metrics = makeMetrics(realWorld());
  await using place = await served({
    besides: [metrics.beside],
    onRequest: metrics.observe,
    streaming: metrics.streaming,
  });
  const following = await metrics.follow(place.engine, (error) => assert.fail(String(error)));
  const { session } = fine(
    await place.call("engine.open", { params: { objective: "Count", name: "a" } }),
  ) as { session: string };
  await place.call("engine.open", { params: { objective: "Count" } });
  await place.call("engine.open", { params: { nonsense: 1 } });
  const over = new AbortController();
  const stream = await place.fetch(`/v1/sessions/${session}/events?follow=true`, { signal: over.signal });
  const read = async (): Promise<string> => (await place.fetch("/metrics")).text();
  await until(async () => figure(await read(), 'skein_events_total{type="session.opened"}') === 2);
  const response = await place.fetch("/metrics");
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const text = await response.text();
  const wanted: Record<string, number> = {
    'skein_requests_total{operation="engine.open",status="2xx"}': 2,
    'skein_requests_total{operation="engine.open",status="4xx"}': 1,
    'skein_request_seconds_count{operation="engine.open"}': 3,
    'skein_request_seconds_bucket{operation="engine.open",le="+Inf"}': 3,
    skein_streams_open: 1,
    'skein_sessions{status="open"}': 2,
    'skein_sessions{status="suspended"}': 0,
    skein_sessions_stored: 2,
    skein_sessions_due: 0,
    skein_sessions_leased: 0,
    skein_workers: 0,
  };
  const found = Object.fromEntries(Object.keys(wanted).map((series) => [series, figure(text, series)]));
  assert.deepEqual(found, wanted);
  assert.ok((figure(text, "skein_store_records") ?? 0) >= 3);
  assert.ok((figure(text, "skein_feed_lag_seconds") ?? -1) >= 0);
  over.abort();
  await stream.body?.cancel().catch(() => null);
  await until(async () => figure(await read(), "skein_streams_open") === 0);
  await following.stop();
});

test("every line of the figures is one that Prometheus reads", async () => {
  const metrics = makeMetrics(realWorld());
  await using place = await served({ besides: [metrics.beside], onRequest: metrics.observe });
  await place.call("engine.sessions");
  const text = await (await place.fetch("/metrics")).text();
  const form = /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z]+="[^"\n]*"(,[a-z]+="[^"\n]*")*\})? [0-9.e+-]+)$/;
  assert.ok(text.endsWith("\n"));
  const lines = text.trimEnd().split("\n");
  assert.ok(lines.length > 20);
  assert.deepEqual(
    lines.filter((line) => !form.test(line)),
    [],
  );
});

test("figures are for tokens that may operate, and are those of one tenant", async () => {
  const metrics = makeMetrics(realWorld());
  metrics.observe({ ...asked, tenant: "other", operation: "engine.search" });
  metrics.streaming(1, "other");
  await using place = await served({ besides: [metrics.beside], onRequest: metrics.observe });
  const { token: reader } = await place.engine.addToken({ scopes: ["read", "write"] });
  const { token: operator } = await place.engine.addToken({ scopes: ["operate"] });
  const ask = (token: string, method = "GET"): Promise<Response> =>
    place.fetch("/metrics", { method, headers: { authorization: `Bearer ${token}` } });
  assert.deepEqual(
    [(await ask("none")).status, (await ask(reader)).status, (await ask(operator, "POST")).status],
    [401, 403, 405],
  );
  const text = await (await ask(operator)).text();
  assert.equal(text.includes("engine.search"), false);
  assert.equal(figure(text, "skein_streams_open"), 0);
});

test("health needs no token; readiness holds only while the store answers", async () => {
  let ready = true;
  await using place = await served({ isReady: async () => ready });
  const ask = async (path: string): Promise<number> =>
    (await fetch(`${place.server.url}${path}`, { method: "GET" })).status;
  assert.deepEqual([await ask("/healthz"), await ask("/readyz")], [200, 200]);
  ready = false;
  assert.deepEqual([await ask("/healthz"), await ask("/readyz")], [200, 503]);
});

const asked: CompletedRequest = {
  method: "POST",
  path: "/v1/sessions",
  operation: "engine.open",
  status: 200,
  ms: 1.23456,
  tenant: "default",
  actor: "user:prn_0",
};

test("a request is one line, for programs or for people", () => {
  const lines: string[] = [];
  const now = (): number => Date.UTC(2026, 10, 1, 12, 30, 0, 5);
  for (const form of ["none", "json", "text"] as const)
    makeRequestLog({ form, now, write: (line) => lines.push(line) })(asked);
  assert.deepEqual(lines, [
    '{"at":"2026-11-01T12:30:00.005Z","level":"info","message":"request","method":"POST",' +
      '"path":"/v1/sessions","operation":"engine.open","status":200,"ms":1.235,"tenant":"default",' +
      '"actor":"user:prn_0"}',
    "12:30:00.005 200 POST /v1/sessions 1.2 ms user:prn_0",
  ]);
});

test("no line holds a token, a query, a body or what moves a cursor", async () => {
  const lines: string[] = [];
  const logs = (["json", "text"] as const).map((form) =>
    makeRequestLog({ form, now: () => 0, write: (line) => lines.push(line) }),
  );
  await using place = await served({ onRequest: (completed) => logs.forEach((log) => log(completed)) });
  await place.call("engine.open", { params: { objective: "sesame" } });
  await place.fetch("/v1/search?text=sesame");
  await place.fetch(`/v1/sessions/${place.token}/events`);
  await place.fetch("/v1/hooks/ses_sesame.aaaaaaaaaaaa.sesame", { method: "POST", body: "sesame" });
  await place.fetch("/%1b[2Jx");
  makeRequestLog({ form: "text", now: () => 0, write: (line) => lines.push(line) })({
    ...asked,
    path: "/\u001b[2J",
  });
  await until(async () => lines.length >= 11);
  const text = lines.join("\n");
  for (const secret of ["sesame", place.token.slice(-20), "\u001b"])
    assert.equal(text.includes(secret), false, secret);
  assert.ok(text.includes("/v1/hooks/…"));
});

test("where the log is JSON, trouble is a line of it too", () => {
  const line = troubleLine({ form: "json", now: () => 0 }, 'hook "ops": the receiver responded with 302');
  assert.deepEqual(JSON.parse(line ?? ""), {
    at: "1970-01-01T00:00:00.000Z",
    level: "error",
    message: "trouble",
    trouble: 'hook "ops": the receiver responded with 302',
  });
  assert.equal(troubleLine({ form: "text", now: () => 0 }, "anything"), null);
});
