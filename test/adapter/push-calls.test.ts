/** Calls to URLs that clients name: what is allowed, how it is signed and sealed, and when it is repeated. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { makePushCalls, retryDelayMs } from "../../src/adapter/push-calls.ts";
import { realWorld } from "../../src/runtime/world.ts";
import { isSigned, startReceiver } from "./receiver.ts";

const secret = "0123456789abcdef0123456789abcdef";
const production = makePushCalls({ secret, allowPrivate: false });
const development = makePushCalls({ secret, allowPrivate: true });

test("only https at public addresses is allowed, unless the operator allows this machine", () => {
  const isAllowed = (calls: typeof production, url: unknown): boolean => {
    try {
      return calls.checkUrl(url) !== "";
    } catch (error) {
      assert.match(String(error), /url: expected|url: a private address/);
      return false;
    }
  };
  const table: readonly [url: unknown, inProduction: boolean, inDevelopment: boolean][] = [
    ["https://example.com/hook", true, true],
    ["http://example.com/hook", false, false],
    ["http://localhost:9/hook", false, true],
    ["http://127.0.0.1:9/hook", false, true],
    ["http://127.1.2.3/hook", false, true],
    ["http://[::1]/hook", false, true],
    ["https://localhost/hook", false, true],
    ["https://127.0.0.1/hook", false, true],
    ["http://10.0.0.1/hook", false, false],
    ["https://10.0.0.1/hook", false, true],
    ["https://169.254.169.254/latest", false, true],
    ["https://[fd00::1]/hook", false, true],
    ["http://localhost.example.com/hook", false, false],
    ["https://user:word@example.com/", false, false],
    ["ftp://example.com/", false, false],
    ["//example.com", false, false],
    ["", false, false],
    [7, false, false],
    [`https://example.com/${"a".repeat(3_000)}`, false, false],
  ];
  for (const [url, inProduction, inDevelopment] of table) {
    assert.equal(isAllowed(production, url), inProduction, `production ${String(url).slice(0, 40)}`);
    assert.equal(isAllowed(development, url), inDevelopment, `development ${String(url).slice(0, 40)}`);
  }
});

test("a name that resolves to a private address is not called", async () => {
  const resolve = async () => [{ address: "10.1.2.3", family: 4 }];
  const calls = makePushCalls({ secret, allowPrivate: false, resolve });
  const call = { url: "https://example.com/", body: "{}" };
  await assert.rejects(calls.send(realWorld(), 0, call), /is a private address/);
});

test("a call is signed with the published key; another body or another secret is not", async () => {
  await using receiver = await startReceiver(() => [200, { done: true }]);
  const call = { url: receiver.url, body: '{"a":1}', headers: { "x-own": "b" } };
  const { status, body } = await development.send(realWorld(), 1_700_000_000_123, call);
  assert.deepEqual([status, body?.toString()], [200, '{"done":true}']);
  const [received] = receiver.received;
  assert.ok(received !== undefined);
  assert.equal(received.headers["x-own"], "b");
  assert.match(String(received.headers["webhook-signature"]), /^t=1700000000,kid=ds_/);
  assert.ok(isSigned(received, [development.key]));
  assert.ok(!isSigned({ ...received, text: '{"a":2}' }, [development.key]));
  const other = makePushCalls({ secret: secret.replace("0", "1"), allowPrivate: true });
  assert.notEqual(other.key.kid, development.key.kid);
  assert.ok(!isSigned(received, [{ ...other.key, kid: development.key.kid }]));
  assert.deepEqual(production.key, development.key);
  assert.ok(!JSON.stringify(production.key).includes(secret));
});

test("a response that is long, or breaks off, is not kept", async () => {
  await using receiver = await startReceiver(() => [200, "a".repeat(100_000)]);
  const call = { url: receiver.url, body: "{}" };
  assert.deepEqual(await development.send(realWorld(), 0, call).then(({ status, body }) => [status, body]), [
    200,
    undefined,
  ]);
});

test("what is sealed opens with the same secret and name alone", () => {
  const text = 'key \u{1F511} "quoted"\n';
  const sealed = production.seal("a", text);
  assert.equal(development.open("a", sealed), text);
  assert.equal(production.seal("a", text), sealed);
  assert.notEqual(production.seal("a", `${text}.`), sealed);
  assert.equal(production.open("b", sealed), null);
  assert.equal(makePushCalls({ secret: `${secret}.`, allowPrivate: false }).open("a", sealed), null);
  assert.equal(production.open("a", `${sealed.slice(0, -2)}AA`), null);
  assert.equal(production.open("a", ""), null);
});

test("a short secret is refused", () => {
  assert.throws(() => makePushCalls({ secret: "short", allowPrivate: false }), /at least 32 characters/);
});

test("attempts are 1 s apart at first, then twice as long each, up to 60 s, with a fifth of chance", () => {
  const waits = [1, 2, 3, 6, 7, 8, 1_000].map((attempts) => retryDelayMs(attempts, 0.5));
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 32_000, 60_000, 60_000, 60_000]);
  assert.deepEqual([retryDelayMs(1, 0), retryDelayMs(1, 1)], [800, 1_200]);
});
