/** Other protocols below a prefix: the same gate, tokens and limits as the calls below /v1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../src/core/error.ts";
import type { Mount, MountRequest } from "../../src/server/http/mount.ts";
import { served } from "./served.ts";

const mountOf = (prefix: string, answer: (given: MountRequest) => Promise<void>): Mount => ({
  prefix,
  load: async () => answer,
});

test("a mount owns its prefix and all below it, and nothing beside it", async () => {
  const echo = mountOf("/echo", async (given) => {
    await given.authorize({ scope: "read" });
    given.send(200, { path: given.path, query: given.query.get("q"), url: given.url });
  });
  await using place = await served({ mounts: [echo] });
  const body = await (await place.fetch("/echo/a%2Fb?q=1")).json();
  assert.deepEqual(body, { path: "/a%2Fb", query: "1", url: place.server.url });
  assert.equal(((await (await place.fetch("/echo")).json()) as { path: string }).path, "/");
  assert.equal((await place.fetch("/echoes")).status, 404);
});

test("a mount has no access without a token, without the scope, and to another session", async () => {
  const read = mountOf("/m", async (given) => {
    const [, session = ""] = given.path.split("/");
    await given.authorize({ scope: "write", session });
    given.send(200, {});
  });
  await using place = await served({ mounts: [read], scopes: ["read"] });
  const session = await place.engine.open({ objective: "one" });
  const other = await place.engine.open({ objective: "other" });
  const one = await place.engine.addToken({ scopes: ["settle"], session: session.id });
  const status = async (path: string, token: string): Promise<number> =>
    (await place.fetch(path, { headers: { authorization: `Bearer ${token}` } })).status;
  assert.equal(await status(`/m/${session.id}`, "skn_none"), 401);
  assert.equal(await status(`/m/${session.id}`, place.token), 403);
  assert.equal(await status(`/m/${other.id}`, one.token), 403);
  const { token } = await place.engine.addToken({ scopes: ["write"] });
  assert.equal(await status(`/m/${session.id}`, token), 200);
});

test("a mount takes a token from elsewhere, and pages of other sites have no access", async () => {
  const path = mountOf("/p", async (given) => {
    const caller = await given.authorize({ scope: "read", token: given.path.slice(1) });
    given.send(200, { tenant: caller.tenant });
  });
  await using place = await served({ mounts: [path] });
  const plain = (headers: Record<string, string> = {}) =>
    fetch(`${place.server.url}/p/${place.token}`, { headers });
  assert.equal((await plain()).status, 200);
  assert.equal((await plain({ origin: "https://evil.example" })).status, 403);
});

test("a mount loads with its first request, again after a failure, and names a missing package", async () => {
  let loads = 0;
  const lazy: Mount = {
    prefix: "/lazy",
    packages: ["left-pad"],
    async load() {
      loads += 1;
      const missing = new Error("Cannot find package 'left-pad' imported from /x.js");
      if (loads === 1) throw Object.assign(missing, { code: "ERR_MODULE_NOT_FOUND" });
      return async (given) => given.send(200, { loads });
    },
  };
  await using place = await served({ mounts: [lazy] });
  await place.fetch("/healthz");
  assert.equal(loads, 0);
  const failed = await place.fetch("/lazy");
  const problem = (await failed.json()) as { detail: string; hint: string };
  assert.deepEqual(
    [failed.status, problem.detail, problem.hint],
    [503, "/lazy: left-pad is not installed", "the operator can add it: npm install left-pad"],
  );
  assert.deepEqual(await (await place.fetch("/lazy")).json(), { loads: 2 });
  assert.deepEqual(await (await place.fetch("/lazy")).json(), { loads: 2 });
});

test("a body beyond the limit is refused; errors are problems unless a mount has its own", async () => {
  const mount = mountOf("/b", async (given) => {
    await given.authorize({ scope: null });
    try {
      if (given.path === "/json") return given.send(200, await given.readJson());
      given.send(200, { bytes: (await given.readBytes(10)).length });
    } catch (error) {
      const { code, status } = given.problemOf(error);
      if (given.query.has("own")) return given.send(status, { error: { type: code } });
      throw error;
    }
  });
  await using place = await served({ mounts: [mount] });
  const post = (path: string, body: string) =>
    place.fetch(path, { method: "POST", body, headers: { "content-type": "application/json" } });
  assert.deepEqual(await (await post("/b", "0123456789")).json(), { bytes: 10 });
  const large = await post("/b", "01234567890");
  assert.deepEqual([large.status, large.headers.get("content-type")], [413, "application/problem+json"]);
  assert.deepEqual(await (await post("/b?own", "01234567890")).json(), { error: { type: "too-large" } });
  assert.equal((await post("/b/json", "{")).status, 400);
  assert.deepEqual(place.troubles, []);
});

test("a stream ends when its token is revoked, and when the server stops", async () => {
  const mount = mountOf("/s", async (given) => {
    const caller = await given.authorize({ scope: "read" });
    await given.stream(caller, async (sink) => {
      sink.write("data: first\n\n");
      await new Promise<void>((done) => sink.signal.addEventListener("abort", () => done(), { once: true }));
    });
  });
  await using place = await served({ mounts: [mount] });
  const added = await place.engine.addToken({ scopes: ["read"] });
  const response = await place.fetch("/s", { headers: { authorization: `Bearer ${added.token}` } });
  assert.equal(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const second = await place.fetch("/s");
  await place.engine.revokeToken(added.id);
  assert.match(await response.text(), /data: first/);
  await place.server.stop();
  assert.match(await second.text(), /data: first/);
});

test("allowed origins may use the methods and headers of a mount", async () => {
  const mount: Mount = {
    ...mountOf("/c", async (given) => given.send(200, {})),
    cors: { methods: ["PUT"], headers: ["x-own"] },
  };
  await using place = await served({ mounts: [mount], origins: ["https://app.example"] });
  const preflight = (origin: string) =>
    place.fetch("/c/x", {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "PUT" },
    });
  const allowed = await preflight("https://app.example");
  assert.match(allowed.headers.get("access-control-allow-methods") ?? "", /PUT/);
  assert.match(allowed.headers.get("access-control-allow-headers") ?? "", /x-own/);
  assert.equal((await preflight("https://evil.example")).status, 403);
});

test("an error of the engine inside a mount is a problem with its hint", async () => {
  const mount = mountOf("/e", async (given) => {
    await given.authorize({ scope: null });
    throw new SkeinError("not-found", "no such thing", { hint: "look elsewhere" });
  });
  await using place = await served({ mounts: [mount] });
  const answer = await place.fetch("/e");
  assert.equal(answer.status, 404);
  assert.equal(((await answer.json()) as { hint: string }).hint, "look elsewhere");
});
