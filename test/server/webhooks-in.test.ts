/** Webhooks that come in: a call by a token in the path, and by nothing else. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { limit } from "../../src/core/limit.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { makeWebhooksIn } from "../../src/server/http/webhooks-in.ts";
import { served, type Served } from "./served.ts";

async function hooked(
  options: { readonly tenants?: (own: () => Engine) => (tenant: string) => Promise<Engine | null> } = {},
): Promise<Served> {
  let place: Served | null = null;
  const own = (): Engine => (place as Served).engine;
  const one = async (tenant: string): Promise<Engine | null> => (tenant === "default" ? own() : null);
  const tenants = options.tenants?.(own) ?? one;
  place = await served({ besides: [makeWebhooksIn({ world: realWorld(), tenants })] });
  return place;
}

/** As somebody does who has no token of the server. */
async function call(
  { server }: Served,
  token: string,
  init: RequestInit = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> {
  const response = await fetch(`${server.url}/v1/hooks/${token}`, { method: "POST", ...init });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test("a call of a webhook fires its trigger once for each delivery", async () => {
  await using place = await hooked();
  const session = await place.engine.open({ objective: "Listen" });
  const { token = "" } = await session.trigger("push", { kind: "webhook" });
  const headers = { "x-github-delivery": "d1", "content-type": "application/octet-stream" };
  const answers = [];
  for (const body of ["first", "first", "first"]) answers.push(await call(place, token, { headers, body }));
  answers.push(await call(place, token));
  assert.deepEqual(answers, [
    { status: 202, body: { session: session.id, duplicate: false } },
    { status: 202, body: { session: session.id, duplicate: true } },
    { status: 202, body: { session: session.id, duplicate: true } },
    { status: 202, body: { session: session.id, duplicate: false } },
  ]);
  const fired = (await place.engine.feed({ limit: 100 })).events.filter(
    ({ type }) => type === "trigger.fired",
  );
  assert.equal(fired.length, 2);
});

test("whatever is wrong with a token, the answer is the same", async () => {
  await using place = await hooked();
  const session = await place.engine.open({ objective: "Listen" });
  const { token = "" } = await session.trigger("push", { kind: "webhook" });
  await session.trigger("gone", { kind: "webhook" });
  const { token: gone = "" } = await session.trigger("gone", { kind: "webhook" });
  await session.untrigger("gone");
  const [log = "", mark = "", secret = ""] = token.split(".");
  const wrong = [
    "x",
    gone,
    `${log}.${mark}.${secret.slice(0, -1)}${secret.endsWith("A") ? "E" : "A"}`,
    `${log}.000000000000.${secret}`,
    `ses_00000000000000000000000000.${mark}.${secret}`,
    `other~${token}`,
    `default~${token}~x`,
    `${token}x`,
    "a".repeat(1_500),
    "%2e%2e%2f",
    place.token,
  ];
  const answers = new Set<string>();
  for (const one of wrong) answers.add(JSON.stringify(await call(place, one)));
  assert.deepEqual(
    [...answers].map((one) => (JSON.parse(one) as { status: number }).status),
    [404],
  );
  assert.equal((await call(place, `default~${token}`)).status, 202);
  assert.deepEqual(place.troubles, []);
});

test("a webhook that wants a signature takes no call without it", async () => {
  process.env["TEST_HOOK_SECRET"] = "a long secret of the test";
  await using place = await hooked();
  const session = await place.engine.open({ objective: "Listen" });
  const { token = "" } = await session.trigger("push", { kind: "webhook", secret: "TEST_HOOK_SECRET" });
  const body = '{"ref":"main"}';
  const signature = createHmac("sha256", "a long secret of the test").update(body).digest("hex");
  const signed = (text: string) => ({ body, headers: { "x-hub-signature-256": `sha256=${text}` } });
  assert.deepEqual(
    [
      (await call(place, token, { body })).status,
      (await call(place, token, signed("0".repeat(64)))).status,
      (await call(place, token, signed(signature))).status,
    ],
    [409, 409, 202],
  );
  delete process.env["TEST_HOOK_SECRET"];
});

test("bodies have a limit, other methods are refused, and so are cross-origin pages", async () => {
  await using place = await hooked();
  const session = await place.engine.open({ objective: "Listen" });
  const { token = "" } = await session.trigger("push", { kind: "webhook" });
  const statuses = [
    await call(place, token, { body: "a".repeat(limit.webhookBytesMax) }),
    await call(place, token, { body: "a".repeat(limit.webhookBytesMax + 1) }),
    await call(place, token, { method: "PUT" }),
    await call(place, token, { body: new Uint8Array([0xff, 0xfe]) }),
    await call(place, token, { headers: { "content-encoding": "gzip" }, body: "x" }),
    await call(place, token, { headers: { origin: "https://evil.example" } }),
  ].map(({ status }) => status);
  assert.deepEqual(statuses, [202, 413, 405, 400, 415, 403]);
});

test("guessing tokens is rate limited, and a valid one is still accepted", async () => {
  await using place = await hooked();
  const session = await place.engine.open({ objective: "Listen" });
  const { token = "" } = await session.trigger("push", { kind: "webhook" });
  const tries = await Promise.all(
    Array.from({ length: limit.strangersBurst * 2 }, (_, place_) => call(place, `guess-${place_}`)),
  );
  const statuses = new Set(tries.map(({ status }) => status));
  assert.deepEqual(statuses, new Set([404, 429]));
  assert.equal((await call(place, token)).status, 202);
});

test("a webhook of another tenant is named with it, and is not found without", async () => {
  await using other = await served();
  await using place = await hooked({
    tenants: (own) => async (tenant) =>
      tenant === "default" ? own() : tenant === "other" ? other.engine : null,
  });
  const session = await other.engine.open({ objective: "Elsewhere" });
  const { token = "" } = await session.trigger("push", { kind: "webhook" });
  assert.equal((await call(place, token)).status, 404);
  assert.equal((await call(place, `other~${token}`)).status, 202);
});
