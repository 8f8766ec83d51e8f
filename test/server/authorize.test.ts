/** Who gets in: by a token that holds, or by a login, and nobody else; and that no refusal tells more. */
import assert from "node:assert/strict";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { mock, test } from "node:test";
import {
  accessTokenText,
  parseAccessToken,
  scopes,
  withoutTokens,
} from "../../src/core/workspace/access-token.ts";
import { limit } from "../../src/core/limit.ts";
import { newToken } from "../../src/runtime/workspace/tokens.ts";
import { isProblem, problemHeaders, type Caller } from "../../src/server/auth/authorize.ts";
import type { Problem } from "../../src/protocol/problem.ts";
import { all } from "../runtime/place.ts";
import { bearing, gated, incoming, own } from "./gate.ts";

const dayMs = 86_400_000;
const read = { operation: { scope: "read" } } as const;
const write = { operation: { scope: "write" } } as const;

function known(answer: Caller | Problem): Caller {
  assert.ok(!isProblem(answer), JSON.stringify(answer));
  return answer;
}
function cookieOf(answer: { readonly setCookie: string } | Problem): string {
  assert.ok(!isProblem(answer), JSON.stringify(answer));
  return answer.setCookie;
}
const codeOf = (answer: object): string => (isProblem(answer) ? answer.code : "let in");
const wrongly = (token: string): string => token.slice(0, -1) + (token.endsWith("A") ? "B" : "A");

/** Tokens that open nothing here, each for another reason. */
async function badTokens(place: ReturnType<typeof gated>): Promise<Readonly<Record<string, string>>> {
  const { engine, other, world } = place;
  const good = await engine.addToken({ scopes: ["admin"] });
  const expired = await engine.addToken({ scopes: ["admin"], expiresAt: world.now() + dayMs });
  const revoked = await engine.addToken({ scopes: ["admin"] });
  const theirs = await other.addToken({ scopes: ["admin"] });
  await engine.revokeToken(revoked.id);
  world.pass(dayMs);
  return {
    wrong: wrongly(good.token),
    unknown: newToken(world, "default"),
    expired: expired.token,
    revoked: revoked.token,
    "of another tenant, said to be of this": accessTokenText({
      ...parseAccessToken(theirs.token)!,
      tenant: "default",
    }),
    "of no tenant": newToken(world, "nobody"),
    "no token": "hunter2",
    "too long": "x".repeat(10_000),
  };
}

test("every invalid token gets the same refusal", async () => {
  await using place = gated();
  const { authorizer } = place;
  const bad = Object.entries(await badTokens(place));
  const requests = [
    ["nothing", incoming()],
    ...bad.map(([why, token]) => [why, bearing(token)] as const),
    ["another scheme", incoming({ authorization: "Basic dXNlcjpwYXNz" })],
    ["an empty one", incoming({ authorization: "" })],
    ["a cookie that nobody made", incoming({ cookie: "skein-7717=AAAA" })],
  ] as const;
  const first = await authorizer.authorize(incoming(), read);
  assert.ok(isProblem(first));
  assert.deepEqual(
    [first.status, problemHeaders(first)],
    [401, { "www-authenticate": 'Bearer realm="skein"' }],
  );
  for (const [why, request] of requests) {
    assert.deepEqual(await authorizer.authorize(request, read), first, why);
    const page = { ...request, headers: { ...request.headers, "skein-client": "1" } };
    assert.deepEqual(await authorizer.login(page), first, why);
  }
});

test("a secret is compared in constant time, also for an unknown token", async () => {
  await using place = gated();
  const { wrong, unknown, expired, revoked } = await badTokens(place);
  const compare = mock.method(crypto, "timingSafeEqual");
  syncBuiltinESMExports();
  try {
    for (const token of [wrong, unknown, expired, revoked]) {
      const before = compare.mock.callCount();
      await place.authorizer.authorize(bearing(token!), read);
      assert.ok(compare.mock.callCount() > before);
    }
  } finally {
    compare.mock.restore();
    syncBuiltinESMExports();
  }
});

test("a token allows what its scopes allow", async () => {
  await using place = gated();
  const { authorizer, engine } = place;
  const table: Record<string, string[]> = {};
  for (const scope of scopes) {
    const { token } = await engine.addToken({ scopes: [scope] });
    const answers = await Promise.all(
      scopes.map((needed) => authorizer.authorize(bearing(token), { operation: { scope: needed } })),
    );
    table[scope] = answers.map(codeOf);
  }
  const no = "forbidden";
  assert.deepEqual(table, {
    read: ["let in", no, no, no, no],
    write: [no, "let in", no, no, no],
    settle: [no, no, "let in", no, no],
    operate: [no, no, no, "let in", no],
    admin: ["let in", "let in", "let in", "let in", "let in"],
  });
});

test("the token determines tenant and actor", async () => {
  await using place = gated();
  const { authorizer, engine, other } = place;
  const ours = await engine.addToken({ scopes: ["write"] });
  const theirs = await other.addToken({ scopes: ["write"] });
  const us = known(await authorizer.authorize(bearing(ours.token), write));
  const them = known(await authorizer.authorize(bearing(theirs.token, { "skein-tenant": "default" }), write));
  assert.deepEqual([us.tenant, us.scopes, us.actor], ["default", ["write"], `user:${ours.principal}`]);
  assert.deepEqual([them.tenant, them.actor], ["acme", `user:${theirs.principal}`]);
  const session = await us.engine.open({ objective: "Ours alone." });
  const [opened] = await all(session.events());
  assert.equal(opened?.actor, us.actor);
  const unknown = "ses_00000000000000000000000000";
  const errors = await Promise.all(
    [session.id, unknown].map((id) => them.engine.session(id).then(String, (error: Error) => error.message)),
  );
  assert.equal(errors[0]?.replace(session.id, unknown), errors[1]);
  assert.deepEqual((await them.engine.sessions()).rows, []);
});

test("an open stream learns that its token was revoked or has expired", async () => {
  await using place = gated();
  const { authorizer, engine, world } = place;
  const { token, id } = await engine.addToken({ scopes: ["read"] });
  const brief = await engine.addToken({ scopes: ["read"], expiresAt: world.now() + dayMs });
  const staying = known(await authorizer.authorize(bearing(token), read));
  const leaving = known(await authorizer.authorize(bearing(brief.token), read));
  assert.deepEqual([await staying.stands(), await leaving.stands()], [true, true]);
  await engine.revokeToken(id);
  world.pass(dayMs);
  assert.deepEqual([await staying.stands(), await leaving.stands()], [false, false]);
});

test("an answer to a problem says when to ask again, in whole seconds from one", () => {
  const headers = (status: number, retryAfterMs?: unknown) =>
    problemHeaders({ status, retryAfterMs } as unknown as Problem);
  assert.deepEqual(headers(401, 5_000), { "www-authenticate": 'Bearer realm="skein"' });
  for (const status of [429, 503]) {
    for (const [waitMs, seconds] of [
      [2_001, "3"],
      [2_000, "2"],
      [0, "1"],
      [undefined, "1"],
    ] as const)
      assert.deepEqual(headers(status, waitMs), { "retry-after": seconds });
  }
  for (const status of [400, 403, 404, 500]) assert.deepEqual(headers(status, 5_000), {});
});

test("the same token gets the same engine, and another token another", async () => {
  await using place = gated();
  const { authorizer, engine } = place;
  const [one, two] = [
    await engine.addToken({ scopes: ["read"] }),
    await engine.addToken({ scopes: ["read"] }),
  ];
  const engineOf = async (token: string) => known(await authorizer.authorize(bearing(token), read)).engine;
  const first = await engineOf(one.token);
  assert.equal(await engineOf(one.token), first);
  assert.notEqual(await engineOf(two.token), first);
});

test("a token over its rate limit stays limited after many other tokens", async () => {
  await using place = gated({ rate: { perSecond: 0.001, burst: 1 } });
  const { authorizer, engine } = place;
  const ask = async (token: string) => codeOf(await authorizer.authorize(bearing(token), read));
  const { token } = await engine.addToken({ scopes: ["read"] });
  assert.deepEqual([await ask(token), await ask(token)], ["let in", "rate-limited"]);
  for (let count = 1; count < limit.tokensMax; count++)
    await ask((await engine.addToken({ scopes: ["read"] })).token);
  assert.equal(await ask(token), "rate-limited");
});

test("one token may ask so often, and others do not wait for it", async () => {
  await using place = gated({ rate: { perSecond: 10, burst: 3 } });
  const { authorizer, engine, world } = place;
  const [busy, calm] = [
    await engine.addToken({ scopes: ["read"] }),
    await engine.addToken({ scopes: ["read"] }),
  ];
  const ask = (token: string) => authorizer.authorize(bearing(token), read);
  for (let count = 0; count < 3; count++) known(await ask(busy.token));
  const refused = await ask(busy.token);
  assert.ok(isProblem(refused));
  assert.deepEqual(
    [refused.status, refused.code, problemHeaders(refused)],
    [
      429,
      "rate-limited",
      { "retry-after": "1", "ratelimit-policy": '"token";q=3;w=1', ratelimit: '"token";r=0;t=1' },
    ],
  );
  known(await ask(calm.token));
  world.pass(100);
  known(await ask(busy.token));
  assert.equal(codeOf(await ask(busy.token)), "rate-limited");
});

test("a token may have a rate limit, which replaces that of the server", async () => {
  await using place = gated({ rate: { perSecond: 10, burst: 3 } });
  const { authorizer, engine, world } = place;
  const { token, requestsPerSecond } = await engine.addToken({ scopes: ["read"], requestsPerSecond: 50 });
  assert.equal(requestsPerSecond, 50);
  assert.deepEqual(
    (await engine.tokens()).map((one) => one.requestsPerSecond),
    [50],
  );
  const ask = () => authorizer.authorize(bearing(token), read);
  const lefts: number[] = [];
  for (let count = 0; count < 100; count++) lefts.push(known(await ask()).rate.left);
  assert.deepEqual([lefts[0], lefts.at(-1)], [99, 0]);
  const refused = await ask();
  assert.ok(isProblem(refused));
  assert.match(refused.detail, /50 requests a second with this token/);
  assert.deepEqual(problemHeaders(refused), {
    "retry-after": "1",
    "ratelimit-policy": '"token";q=100;w=2',
    ratelimit: '"token";r=0;t=2',
  });
  world.pass(1_000);
  assert.equal(known(await ask()).rate.left, 49);
  for (const wrong of [0, -1, 1.5, limit.tokenRequestsPerSecondMax + 1, "many", null])
    await assert.rejects(
      engine.addToken({ scopes: ["read"], requestsPerSecond: wrong as number }),
      { code: "invalid", message: /^addToken: requestsPerSecond: / },
      String(wrong),
    );
});

test("requests without a valid token are rate limited by address, others are not", async () => {
  await using place = gated();
  const { authorizer, engine } = place;
  const { token } = await engine.addToken({ scopes: ["read"] });
  const codes = new Set<string>();
  for (let count = 0; count <= limit.strangersBurst; count++) {
    const last = codeOf(await authorizer.authorize(bearing(wrongly(token)), read));
    codes.add(last);
    assert.equal(last, count < limit.strangersBurst ? "unauthorized" : "rate-limited");
  }
  known(await authorizer.authorize(bearing(token), read));
  const elsewhere = incoming({}, { remoteAddress: "10.0.0.9" });
  assert.equal(codeOf(await authorizer.authorize(elsewhere, read)), "unauthorized");
});

test("a page logs in once; its cookie has the rights of the token, for its own pages only", async () => {
  await using place = gated();
  const { authorizer, engine } = place;
  const { token, principal, id } = await engine.addToken({ scopes: ["write", "read"] });
  const page = { origin: own, "skein-client": "1" };
  const login = await authorizer.login({ ...bearing(token, page), method: "POST" });
  const [pair = "", ...rules] = cookieOf(login).split("; ");
  assert.deepEqual(rules, ["Max-Age=604800", "HttpOnly", "SameSite=Strict", "Path=/"]);
  assert.match(pair, /^skein-7717=[A-Za-z0-9_-]+$/);
  assert.ok(!Buffer.from(pair.slice(11), "base64url").includes(token.slice(-43)));
  const cookie = `theme=dark; ${pair}; skein-7718=other`;
  const get = known(await authorizer.authorize(incoming({ cookie }), read));
  assert.equal(get.actor, `user:${principal}`);
  const post = (headers: Record<string, string>) =>
    authorizer.authorize(incoming({ cookie, ...headers }, { method: "POST" }), write);
  known(await post(page));
  const answers = {
    "no header, no origin": await post({}),
    "the header alone": await post({ "skein-client": "1" }),
    "the origin alone": await post({ origin: own }),
    "another site, as the browser says": await post({ ...page, "sec-fetch-site": "same-site" }),
    "another origin": await post({ ...page, origin: "http://127.0.0.1:3000" }),
    "no origin at all": await post({ ...page, origin: "null" }),
    "a read for another site": await authorizer.authorize(
      incoming({ cookie, "sec-fetch-site": "cross-site" }),
      read,
    ),
  };
  for (const [why, answer] of Object.entries(answers)) assert.equal(codeOf(answer), "forbidden", why);
  await engine.revokeToken(id);
  assert.equal(codeOf(await authorizer.authorize(incoming({ cookie }), read)), "unauthorized");
});

test("an expired, foreign or altered cookie opens nothing", async () => {
  await using place = gated({ cookieKey: new Uint8Array(32).fill(7) });
  const { authorizer, engine, world, again } = place;
  const { token } = await engine.addToken({ scopes: ["read"] });
  const login = await authorizer.login(bearing(token, { "skein-client": "1" }));
  const cookie = cookieOf(login).split(";")[0]!;
  const ask = async (given: string, server = authorizer) =>
    codeOf(await server.authorize(incoming({ cookie: given }), read));
  assert.equal(await ask(cookie), "let in");
  // The same server, started again with the same key.
  assert.equal(await ask(cookie, again()), "let in");
  assert.equal(await ask(cookie, again({ cookieKey: new Uint8Array(32).fill(8) })), "unauthorized");
  assert.equal(await ask(cookie.replace("7717", "7718")), "unauthorized");
  const other = again({ port: 7718 });
  const there = incoming({ host: "127.0.0.1:7718", cookie: cookie.replace("7717", "7718") });
  assert.equal(codeOf(await other.authorize(there, read)), "unauthorized");
  for (let place = 11; place < cookie.length; place += 7) {
    const touched = `${cookie.slice(0, place)}${cookie[place] === "A" ? "B" : "A"}${cookie.slice(place + 1)}`;
    assert.equal(await ask(touched), "unauthorized", `at ${place}`);
  }
  world.pass(limit.loginMs - 1);
  assert.equal(await ask(cookie), "let in");
  world.pass(1);
  assert.equal(await ask(cookie), "unauthorized");
});

test("a page of another origin can neither log in nor log out", async () => {
  await using place = gated({ origins: ["https://skein.example.com"] });
  const { authorizer, engine } = place;
  const { token } = await engine.addToken({ scopes: ["read"] });
  const tries = [
    {},
    { "skein-client": "1", origin: "http://evil.example" },
    { "skein-client": "1", "sec-fetch-site": "cross-site" },
    // Allowed to ask, but not a page of this server.
    { "skein-client": "1", origin: "https://skein.example.com" },
  ];
  for (const headers of tries) {
    assert.equal(codeOf(await authorizer.login(bearing(token, headers))), "forbidden");
    assert.equal(codeOf(authorizer.logout(bearing(token, headers))), "forbidden");
  }
  const out = authorizer.logout(incoming({ "skein-client": "1", origin: own }));
  assert.deepEqual(out, { setCookie: "skein-7717=; Max-Age=0; HttpOnly; SameSite=Strict; Path=/" });
  const proxied = { host: "skein.example.com", origin: "https://skein.example.com", "skein-client": "1" };
  const login = await authorizer.login(bearing(token, proxied));
  assert.ok(cookieOf(login).endsWith("; Secure"));
});

test("no problem and no error repeats a token", async () => {
  await using place = gated();
  const { authorizer, engine } = place;
  const { token } = await engine.addToken({ scopes: ["read"] });
  const { secret } = parseAccessToken(token)!;
  const answers = [
    await authorizer.authorize(bearing(token), write),
    await authorizer.authorize(bearing(wrongly(token)), write),
    await authorizer.authorize(bearing(token, { host: `${token}.example` }), write),
    await authorizer.authorize(bearing(token, { origin: `http://${token}` }), write),
  ];
  for (const answer of answers) assert.ok(isProblem(answer) && !JSON.stringify(answer).includes(secret));
  const said = withoutTokens(`GET /v1/sessions/${token}?x=1 and "${token.slice(0, 60)}…"`);
  assert.equal(said, 'GET /v1/sessions/skn_…?x=1 and "skn_……"');
});
