/** Tokens: who comes with one, what becomes of one that is revoked, and that a secret is nowhere. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import {
  accessTokenText,
  allows,
  parseAccessToken,
  scopes,
} from "../../../src/core/workspace/access-token.ts";
import { SkeinError } from "../../../src/core/error.ts";
import { isTokenId, makeTokenId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import { newToken } from "../../../src/runtime/workspace/tokens.ts";
import { openEngine } from "../../../src/index.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { memoryStore } from "../../../src/store/memory/store.ts";
import { madeWorld, startOfTime } from "../made-world.ts";
import { all, inFile, inMemory, workspace } from "../place.ts";
import { twoInMemory } from "../two-stores.ts";
import { noFile } from "../../kind.ts";
import { internalsOf } from "../../../src/runtime/engine/internals.ts";

const dayMs = 86_400_000;
const isInvalid = (about: RegExp) => (error: unknown) =>
  error instanceof SkeinError && error.code === "invalid" && about.test(error.message);

/** Another token with the same id. */
const wrongly = (token: string): string => token.slice(0, -1) + (token.endsWith("A") ? "B" : "A");

test("a request with a token acts as its principal, with its scopes; it is shown once", async () => {
  await using place = inMemory();
  const { engine, world } = place;
  const issued = await engine.addToken({ name: "nightly build", scopes: ["write", "read"] });
  const { token, ...entry } = issued;
  const { id, principal } = entry;
  assert.ok(isTokenId(id));
  assert.deepEqual(entry, {
    id,
    name: "nightly build",
    scopes: ["read", "write"],
    principal,
    status: "valid",
    issuedAt: world.now(),
    issuedBy: entry.issuedBy,
    expiresAt: null,
    revokedAt: null,
    revokedBy: null,
    session: null,
    requestsPerSecond: null,
  });
  assert.match(token, /^skn_ZGVmYXVsdA_[0-9a-z]{26}_[A-Za-z0-9_-]{43}$/);
  const actor = `user:${principal}`;
  const scoped = { scopes: ["read", "write"], principal, actor };
  const limits = { expiresAt: null, session: null, requestsPerSecond: null };
  const holder = { id, tenant: "default", ...scoped, ...limits };
  assert.deepEqual(await engine.checkToken(token), holder);
  assert.deepEqual(await engine.tokens(), [entry]);
});

test("every other token is refused alike: wrong, unknown, of others, expired, revoked, none", async () => {
  await using place = inMemory();
  const { engine, world } = place;
  const good = await engine.addToken({ scopes: ["read"] });
  const brief = await engine.addToken({ scopes: ["read"], expiresAt: world.now() + dayMs });
  const gone = await engine.addToken({ scopes: ["read"], name: "gone" });
  assert.notEqual(await engine.checkToken(brief.token), null);
  world.pass(dayMs - 1);
  assert.notEqual(await engine.checkToken(brief.token), null);
  world.pass(1);
  await engine.revokeToken(gone.id, { reason: "lost" });
  const other = accessTokenText({ ...parseAccessToken(good.token)!, tenant: "acme" });
  const refused = [
    wrongly(good.token),
    newToken(world, "default"),
    other,
    brief.token,
    gone.token,
    "",
    "skn_",
  ];
  for (const token of refused) assert.equal(await engine.checkToken(token), null, token);
  assert.equal(await engine.checkToken(undefined as unknown as string), null);
  assert.notEqual(await engine.checkToken(good.token), null);
  const named = async (options: { all?: boolean }) =>
    (await engine.tokens(options)).map(({ id, status }) => [id, status]);
  assert.deepEqual(await named({}), [[good.id, "valid"]]);
  assert.deepEqual(await named({ all: true }), [
    [gone.id, "revoked"],
    [brief.id, "expired"],
    [good.id, "valid"],
  ]);
});

test("a token is revoked by any suffix of its id, once; the log has the actor and reason", async () => {
  await using place = inMemory();
  const { engine, store } = place;
  const { id } = await engine.addToken({ scopes: ["admin"] });
  const boss = engine.as("user:prn_01hf7yat00000000000000000p");
  const revoked = await boss.revokeToken(id.slice(-6), { reason: "left the house" });
  assert.deepEqual([revoked.status, revoked.revokedBy], ["revoked", "user:prn_01hf7yat00000000000000000p"]);
  assert.deepEqual(await boss.revokeToken(id), revoked);
  const records = await store.read(store.workspace, { fromSeq: 1, toSeq: 9, limit: 9, contents: true });
  assert.deepEqual(
    records.map(({ type, content }) => [type, content]),
    [
      ["token.issued", null],
      ["token.revoked", '{"reason":"left the house"}'],
    ],
  );
  await assert.rejects(engine.revokeToken("zzzz"), { code: "not-found" });
  const { token } = await engine.addToken({ scopes: ["admin"] });
  await assert.rejects(
    engine.revokeToken(token),
    (error: SkeinError) => !error.message.includes(token.slice(-43)),
  );
});

test("an ending that several tokens have revokes none of them", async () => {
  await using place = inMemory();
  const { engine, world } = place;
  const random = world.random(10);
  const ids = await Promise.all(
    [1, 2].map(async (nowMs) => {
      const token = newToken(world, "default", makeTokenId({ nowMs, random }));
      return (await engine.addToken({ scopes: ["read"], token })).id;
    }),
  );
  const ending = ids[0]?.slice(-4) ?? "";
  await assert.rejects(engine.revokeToken(ending), isInvalid(/matches more than one token/));
  for (const wrong of [ending.slice(1), ids[0]?.toUpperCase(), 7])
    await assert.rejects(engine.revokeToken(wrong as never), isInvalid(/expected a token id/));
  assert.equal((await engine.tokens()).length, 2);
  assert.equal((await engine.revokeToken(ids[0] ?? "")).id, ids[0]);
});

test("another process knows a new token at once, and a revoked one within a second", async () => {
  await using place = await inFile();
  const { engine } = place;
  const other = await place.again();
  const first = await engine.addToken({ scopes: ["read"] });
  assert.notEqual(await other.engine.checkToken(first.token), null);
  const second = await engine.addToken({ scopes: ["read"] });
  assert.notEqual(await other.engine.checkToken(second.token), null);
  await engine.revokeToken(second.id);
  assert.equal(await engine.checkToken(second.token), null);
  other.world.pass(1_000);
  assert.equal(await other.engine.checkToken(second.token), null);
  assert.notEqual(await other.engine.checkToken(first.token), null);
});

test("a given token is issued once, however often it is requested", async () => {
  await using place = inMemory();
  const { engine, world, store } = place;
  const token = newToken(world, "default");
  const once = await engine.addToken({ scopes: ["read"], token });
  assert.deepEqual(await engine.addToken({ scopes: ["read"], token }), once);
  assert.equal((await store.head(store.workspace))?.seq, 1);
  await assert.rejects(engine.addToken({ scopes: ["read"], token: wrongly(token) }), { code: "refused" });
  await engine.revokeToken(once.id);
  await assert.rejects(engine.addToken({ scopes: ["read"], token }), { code: "refused" });
});

test("an invalid token is refused before anything is written", async () => {
  await using place = inMemory();
  const { engine, store, world } = place;
  const wrong: [object, RegExp][] = [
    [{ scopes: [] }, /scopes: expected at least 1 entry/],
    [{ scopes: ["raed"] }, /scopes.*: expected one of read, write, settle, operate, admin, got "raed"/],
    [{}, /scopes: missing/],
    [{ scopes: ["read"], name: "" }, /name: a name or key cannot be empty/],
    [{ scopes: ["read"], name: "two\nlines" }, /name: a name or key is one line/],
    [{ scopes: ["read"], expiresAt: world.now() }, /expected a future time/],
    [{ scopes: ["read"], expiresAt: "tomorrow" }, /expiresAt: expected/],
    [{ scopes: ["read"], principal: "alice" }, /expected a principal id/],
    [{ scopes: ["read"], token: newToken(world, "acme") }, /expected a token of tenant "default"/],
    [{ scopes: ["read"], scope: "read" }, /unknown option "scope"/],
  ];
  for (const [options, about] of wrong) {
    await assert.rejects(engine.addToken(options as never), isInvalid(about), JSON.stringify(options));
  }
  assert.equal(await store.head(store.workspace), undefined);
});

test("a workspace has so many tokens that hold, and room again when one does not", async () => {
  await using place = inMemory();
  const { engine, world } = place;
  const ids: string[] = [];
  for (let count = 0; count < limit.tokensMax; count++) {
    const expiresAt = count === 0 ? { expiresAt: world.now() + 1 } : {};
    ids.push((await engine.addToken({ scopes: ["read"], ...expiresAt })).id);
  }
  await assert.rejects(engine.addToken({ scopes: ["read"] }), { code: "refused" });
  world.pass(1);
  await engine.addToken({ scopes: ["read"] });
  await assert.rejects(engine.addToken({ scopes: ["read"] }), { code: "refused" });
  await engine.revokeToken(ids[1]!);
  await engine.addToken({ scopes: ["read"] });
});

test(
  "the secret is nowhere in the store, and is redacted when a session repeats it",
  { skip: noFile() },
  async () => {
    await using place = await inFile();
    const { engine, path } = place;
    const { token } = await engine.addToken({ scopes: ["admin"], name: "mine" });
    const session = await engine.open({ objective: "Keep a secret." });
    await session.append(`Use ${token} for it.`);
    await session.record("fact", "note", { text: `token ${token}` });
    const events = JSON.stringify(await all(session.events()));
    assert.match(events, /\[redacted: skein-token\]/);
    assert.ok(!events.includes(token));
    await engine.close();
    const bytes = Buffer.concat(
      [path, `${path}-wal`].flatMap((file) => {
        try {
          return [readFileSync(file)];
        } catch {
          return [];
        }
      }),
    );
    assert.ok(bytes.includes("token.issued"));
    assert.ok(!bytes.includes(parseAccessToken(token)!.secret));
  },
);

test("engine.as acts as that actor, on the same store", async () => {
  await using place = inMemory();
  const { engine, store } = place;
  const { principal } = await engine.addToken({ scopes: ["write"] });
  const actor = `user:${principal}`;
  const theirs = engine.as(actor);
  const session = await theirs.open({ objective: "Whose is it?" });
  await session.append("mine");
  await (await engine.session(session.id)).append("and mine");
  const said = (await all(session.events({ types: ["input.received"] }))).map((event) => event.actor);
  assert.equal(said[0], actor);
  assert.notEqual(said[1], actor);
  const [first] = await store.read(session.id, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  assert.equal(first?.actor, actor);
  await theirs.remember({ scope: "user", kind: "fact", key: "tea", value: "green" });
  assert.deepEqual(
    (await engine.memory({ owner: principal })).map(({ key }) => key),
    ["tea"],
  );
  await theirs.close();
  assert.equal((await engine.sessions()).rows.length, 1);
  assert.throws(() => engine.as("alice"), { code: "invalid" });
});

test("a worker that was started through engine.as ends with the engine", async () => {
  const store = inMemory().store;
  const engine = await openEngine({ store, env: {} });
  await engine.as("system").work({ name: "theirs" });
  while ((await store.workers()).length === 0) await realWorld().sleep(5);
  await engine.close();
  // Whoever is still at work makes itself known; the store that it would do so in is closed.
  await assert.rejects(engine.as("system").stats());
});

test("tokens of one tenant say nothing to another", async () => {
  await using place = inMemory();
  const { engine } = place;
  const world = madeWorld("acme");
  await using acme = new Engine({ store: memoryStore({ world, workspace }), world, tenant: "acme" });
  const ours = await engine.addToken({ scopes: ["admin"] });
  const theirs = await acme.addToken({ scopes: ["admin"] });
  assert.equal(parseAccessToken(theirs.token)?.tenant, "acme");
  assert.deepEqual([await engine.checkToken(theirs.token), await acme.checkToken(ours.token)], [null, null]);
  const ids = (await acme.tokens()).map(({ id }) => id);
  assert.deepEqual(ids, [theirs.id]);
  const disguised = accessTokenText({ ...parseAccessToken(ours.token)!, tenant: "acme" });
  assert.equal(await acme.checkToken(disguised), null);
});

test("a token is read back as it was made, and nothing else is one", () => {
  const base64url = fc.constantFrom(...Array.from("ABCXYZabcxyz0189-_"));
  const tenant = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/);
  const secret = fc.array(base64url, { minLength: 43, maxLength: 43 }).map((chars) => chars.join(""));
  const random = fc.uint8Array({ minLength: 10, maxLength: 10 });
  fc.assert(
    fc.property(tenant, secret, random, fc.nat(), (name, hidden, bytes, place) => {
      const token = { tenant: name, id: makeTokenId({ nowMs: startOfTime, random: bytes }), secret: hidden };
      const text = accessTokenText(token);
      assert.deepEqual(parseAccessToken(text), token);
      for (const other of [`${text}A`, text.slice(1), text.slice(0, -1), ` ${text}`, `${text}\n`])
        assert.equal(parseAccessToken(other), null);
      // Whatever is spelled otherwise is another token, or none.
      const at = place % text.length;
      const other = parseAccessToken(
        `${text.slice(0, at)}${text[at] === "x" ? "y" : "x"}${text.slice(at + 1)}`,
      );
      assert.notDeepEqual(other, token);
    }),
    { numRuns: 200 },
  );
  fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => parseAccessToken(text) === null));
});

test("admin allows everything, every other scope itself alone", () => {
  const table = scopes.map((given) => scopes.filter((needed) => allows([given], needed)));
  assert.deepEqual(table, [["read"], ["write"], ["settle"], ["operate"], [...scopes]]);
  assert.equal(allows([], "read"), false);
});

test("one key issues one token, and the second call reports it", async () => {
  await using place = inMemory();
  const { engine } = place;
  const asking = (key: string): Engine => internalsOf(engine).forRequest({ key });
  const { id } = await asking("first").addToken({ scopes: ["read"] });
  await assert.rejects(asking("first").addToken({ scopes: ["read"] }), { code: "refused" });
  const other = await asking("second").addToken({ scopes: ["read"] });
  const ids = (await engine.tokens()).map((one) => one.id);
  assert.deepEqual(ids, [other.id, id]);
});

test("a workspace that moves leaves its tokens behind", async () => {
  await using homes = twoInMemory();
  const { a: here, b: there } = homes;
  const { token, id } = await here.engine.addToken({ scopes: ["admin"] });
  await here.engine.addAgent({ name: "payroll", instructions: "Count." });
  await here.engine.migrate({ to: there.store });
  assert.deepEqual(
    (await there.engine.agents()).map(({ name }) => name),
    ["payroll"],
  );
  assert.deepEqual(
    [await there.engine.checkToken(token), await there.engine.tokens({ all: true })],
    [null, []],
  );
  assert.equal((await here.engine.checkToken(token))?.id, id);
});
