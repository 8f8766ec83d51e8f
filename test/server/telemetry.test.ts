/** Traces and figures for a collector: what they say, and that nobody waits for it. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import { ModelError } from "../../src/model/port.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { makeOtlp, otlpFrom, type Otlp, type Span } from "../../src/server/outbound/otlp.ts";
import { makeTelemetry } from "../../src/server/outbound/telemetry.ts";
import { names } from "../../src/server/outbound/telemetry-names.ts";
import { say, use, type Line } from "../runtime/turn/scripted.ts";
import { served } from "./served.ts";
import { until } from "./until.ts";

/** The spans of what a session does, as they come. */
async function spansOf(lines: readonly Line[], count: number): Promise<{ spans: Span[]; session: string }> {
  await using place = await served({ lines });
  const spans: Span[] = [];
  const otlp: Pick<Otlp, "span" | "measure"> = {
    span: (span) => void spans.push(span),
    measure: () => undefined,
  };
  const following = await makeTelemetry(otlp).follow(place.engine, (error) => assert.fail(String(error)));
  const session = await place.engine.open({ objective: "Trace me" });
  for await (const _ of session.ask("sesame")) continue;
  await until(async () => spans.length >= count);
  await following.stop();
  return { spans, session: session.id };
}

test("a turn is one trace: the agent, its model calls and its tool calls", async () => {
  const record = use("record", { kind: "fact", key: "a", value: "sesame" }, "c1");
  const { spans, session } = await spansOf([[say("Now."), record], "Done with sesame."], 4);
  const [, , , root] = spans;
  const shown = spans.map(({ name, kind, traceId, parentSpanId, attributes, error }) => ({
    name,
    kind,
    isIn: traceId === root?.traceId && parentSpanId === root?.spanId,
    session: attributes[names.conversation],
    operation: attributes[names.operation],
    error,
  }));
  const common = { session, error: undefined };
  assert.deepEqual(shown, [
    { ...common, name: "chat scripted", kind: "client", isIn: true, operation: "chat" },
    { ...common, name: "execute_tool record", kind: "internal", isIn: true, operation: "execute_tool" },
    { ...common, name: "chat scripted", kind: "client", isIn: true, operation: "chat" },
    { ...common, name: "invoke_agent default", kind: "internal", isIn: false, operation: "invoke_agent" },
  ]);
  const [model, tool] = spans;
  assert.equal(model?.attributes["gen_ai.provider.name"], "test");
  assert.equal(model?.attributes["gen_ai.usage.input_tokens"], 100);
  assert.equal(model?.attributes["gen_ai.usage.output_tokens"], 10);
  assert.deepEqual(model?.attributes["gen_ai.response.finish_reasons"], ["tool-calls"]);
  assert.equal(tool?.attributes["gen_ai.tool.name"], "record");
  assert.equal(tool?.attributes["gen_ai.tool.call.id"], "c1");
  for (const span of spans) {
    assert.match(span.traceId, /^[0-9a-f]{32}$/);
    assert.match(span.spanId, /^[0-9a-f]{16}$/);
    assert.ok(span.startMs <= span.endMs && span.startMs >= (root?.startMs ?? 0));
  }
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, 4);
  // What was said stays here.
  assert.equal(JSON.stringify(spans).includes("sesame"), false);
});

test("what failed says how", async () => {
  const { spans } = await spansOf([new ModelError("overloaded", "no"), "Done."], 1);
  const [failed] = spans;
  assert.equal(failed?.name, "chat scripted");
  assert.equal(failed?.error, "overloaded");
});

interface Received {
  readonly path: string;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: unknown;
}

async function collector(answer: () => number) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      received.push({ path: request.url ?? "", headers: request.headers, body: JSON.parse(text) });
      response.writeHead(answer()).end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    received,
    endpoint: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const span: Span = {
  traceId: "0123456789abcdef0123456789abcdef",
  spanId: "0123456789abcdef",
  parentSpanId: "fedcba9876543210",
  name: "chat m",
  kind: "client",
  startMs: 1_700_000_000_123,
  endMs: 1_700_000_001_123,
  attributes: { a: "text", n: 7, half: 0.5, list: ["x"] },
  error: "rate-limit",
};

const resource = {
  attributes: [
    { key: "service.name", value: { stringValue: "skein" } },
    { key: "service.version", value: { stringValue: "1.2.3" } },
  ],
};
const scope = { name: "skein", version: "1.2.3" };
const sentSpan = {
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  name: "chat m",
  kind: 3,
  startTimeUnixNano: "1700000000123000000",
  endTimeUnixNano: "1700000001123000000",
  attributes: [
    { key: "a", value: { stringValue: "text" } },
    { key: "n", value: { intValue: "7" } },
    { key: "half", value: { doubleValue: 0.5 } },
    { key: "list", value: { arrayValue: { values: [{ stringValue: "x" }] } } },
    { key: "error.type", value: { stringValue: "rate-limit" } },
  ],
  status: { code: 2 },
};
const tracesBody = { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: [sentSpan] }] }] };
const sentMetric = {
  name: "http.server.request.duration",
  unit: "s",
  histogram: {
    aggregationTemporality: 2,
    dataPoints: [
      {
        attributes: [
          { key: "http.request.method", value: { stringValue: "POST" } },
          { key: "http.response.status_code", value: { intValue: "200" } },
          { key: "http.route", value: { stringValue: "/v1/sessions/{id}/append" } },
        ],
        startTimeUnixNano: "1700000002000000000",
        timeUnixNano: "1700000002000000000",
        count: "1",
        sum: 0.03,
        bucketCounts: ["0", "0", "0", "1", ...Array.from({ length: 11 }, () => "0")],
        explicitBounds: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
      },
    ],
  },
};
const metricsBody = { resourceMetrics: [{ resource, scopeMetrics: [{ scope, metrics: [sentMetric] }] }] };

test("spans and figures go out as OTLP says", async () => {
  await using place = await collector(() => 200);
  const world = { now: () => 1_700_000_002_000, sleep: realWorld().sleep };
  const service = { name: "skein", version: "1.2.3" };
  const headers = { "x-key": "k" };
  const otlp = makeOtlp({ ...place, headers, service, world, trouble: assert.ifError, everyMs: 60_000 });
  const telemetry = makeTelemetry(otlp);
  telemetry.observe({
    method: "POST",
    path: "/v1/sessions/x/append",
    operation: "session.append",
    status: 200,
    ms: 30,
    tenant: "default",
    actor: null,
  });
  otlp.span(span);
  await otlp.stop();
  assert.deepEqual(
    place.received.map(({ path, headers: given, body }) => ({ path, key: given["x-key"], body })),
    [
      { path: "/v1/traces", key: "k", body: tracesBody },
      { path: "/v1/metrics", key: "k", body: metricsBody },
    ],
  );
});

const idOf = (number: number): string => number.toString(16).padStart(16, "0");
const numbered = (number: number): Span => ({ ...span, spanId: idOf(number) });
const idsIn = ({ body }: Received): string[] =>
  (body as typeof tracesBody).resourceSpans[0]?.scopeSpans[0]?.spans.map(({ spanId }) => spanId) ?? [];

test("the newest spans wait for an unreachable collector, which is reported once", async () => {
  let status = 503;
  await using place = await collector(() => status);
  const troubles: unknown[] = [];
  const trouble = (error: unknown): void => void troubles.push(error);
  const service = { name: "skein", version: "1" };
  const otlp = makeOtlp({ ...place, service, world: realWorld(), trouble, everyMs: 60_000 });
  const count = limit.telemetrySpansMax + 5;
  for (let at = 0; at < count; at++) otlp.span(numbered(at));
  assert.equal(otlp.dropped, 5);
  for (status of [429, 502, 503, 504]) await otlp.flush();
  const going = otlp.flush();
  // What is under way counts, too, when it comes back.
  otlp.span(numbered(count));
  await going;
  assert.equal(otlp.dropped, 6);
  assert.equal(troubles.length, 1);
  place.received.length = 0;
  status = 200;
  await otlp.stop();
  assert.equal(otlp.dropped, 6);
  const expected = Array.from({ length: limit.telemetrySpansMax }, (_, at) => idOf(at + 6));
  assert.deepEqual(place.received.flatMap(idsIn), expected);
});

test("spans wait for an unreachable collector, and refused ones are not sent again", async () => {
  const down = await collector(() => 200);
  await down[Symbol.asyncDispose]();
  const service = { name: "skein", version: "1" };
  const trouble = (): void => undefined;
  const options = { service, world: realWorld(), trouble, everyMs: 60_000 };
  const away = makeOtlp({ ...options, endpoint: down.endpoint });
  away.span(span);
  await away.flush();
  assert.equal(away.dropped, 0);
  await away.stop();
  await using place = await collector(() => 400);
  const refused = makeOtlp({ ...options, endpoint: place.endpoint });
  refused.span(span);
  await refused.flush();
  await refused.stop();
  assert.equal(refused.dropped, 1);
  assert.equal(place.received.length, 1);
});

test("nothing is sent unless the environment, or an option, says where", () => {
  assert.equal(otlpFrom({}), null);
  assert.equal(otlpFrom({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318", OTEL_SDK_DISABLED: "true" }), null);
  assert.deepEqual(
    otlpFrom({
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://c:4318",
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20x, y=1",
      OTEL_SERVICE_NAME: "mine",
    }),
    { endpoint: "http://c:4318", headers: { authorization: "Bearer x", y: "1" }, serviceName: "mine" },
  );
  assert.throws(() => otlpFrom({}, "nowhere"), { code: "invalid" });
});
