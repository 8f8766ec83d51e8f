/** Whoever comes in can ask who they are here, and what they may do. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { scopes } from "../../src/core/workspace/access-token.ts";
import { connected } from "../client/connected.ts";
import { served } from "./served.ts";

test("any valid token returns its principal, with any scope", async () => {
  await using place = await served();
  const expiresAt = 4_000_000_000_000;
  for (const scope of scopes) {
    const { token, principal } = await place.engine.addToken({
      scopes: [scope],
      expiresAt,
      requestsPerSecond: 200,
    });
    const answer = await place.fetch("/v1/me", { headers: { authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.equal(answer.headers.get("ratelimit-policy"), '"token";q=400;w=2');
    assert.match(answer.headers.get("ratelimit") ?? "", /^"token";r=\d+;t=\d+$/);
    assert.deepEqual(await answer.json(), {
      actor: `user:${principal}`,
      tenant: "default",
      scopes: [scope],
      expiresAt,
      version: "0.0.0",
    });
  }
});

test("a logged-in page gets the same, and after its logout nothing", async () => {
  await using place = await served({ scopes: ["read", "write"] });
  const page = { method: "POST", headers: { "skein-client": "1" } };
  const login = await place.fetch("/v1/login", page);
  const cookie = login.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const answer = await fetch(`${place.server.url}/v1/me`, { headers: { cookie } });
  assert.deepEqual(((await answer.json()) as { scopes: unknown }).scopes, ["read", "write"]);
  const logout = await fetch(`${place.server.url}/v1/logout`, {
    ...page,
    headers: { ...page.headers, cookie },
  });
  const cleared = logout.headers.getSetCookie()[0]?.split(";")[0] ?? "";
  const after = await fetch(`${place.server.url}/v1/me`, { headers: { cookie: cleared } });
  assert.deepEqual([after.status, after.headers.get("content-type")], [401, "application/problem+json"]);
});

test("without a token it returns nothing, and the route takes no changes", async () => {
  await using place = await served();
  assert.equal((await fetch(`${place.server.url}/v1/me`)).status, 401);
  const revoked = await place.engine.addToken({ scopes: ["admin"] });
  await place.engine.revokeToken(revoked.id);
  const headers = { authorization: `Bearer ${revoked.token}` };
  assert.equal((await place.fetch("/v1/me", { headers })).status, 401);
  const posted = await place.fetch("/v1/me", { method: "POST" });
  assert.deepEqual([posted.status, posted.headers.get("allow")], [405, "GET, HEAD"]);
});

test("a client asks by the same word", async () => {
  await using pair = await connected({ scopes: ["write"] });
  const { scopes: may, tenant, version } = await pair.client.me();
  assert.deepEqual({ may, tenant, version }, { may: ["write"], tenant: "default", version: "0.0.0" });
  await pair.client.close();
  await assert.rejects(pair.client.me(), { code: "unavailable" });
});
