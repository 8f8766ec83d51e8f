/** Requests: what is refused comes back as the library's error; what is lost is sent again, and done once. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, SkeinError } from "../../src/client/connect.ts";
import type { Fetch } from "../../src/client/world.ts";
import { SkeinError as LibraryError } from "../../src/core/error.ts";
import { all } from "../runtime/place.ts";
import { connected } from "./connected.ts";

/** A way on which some answers get lost after the server has done what was asked. */
const losing =
  (lost: (url: string, init: RequestInit, count: number) => boolean): ((next: Fetch) => Fetch) =>
  (next) => {
    let count = 0;
    return async (url, init) => {
      const response = await next(url, init);
      count += 1;
      if (!lost(url, init, count)) return response;
      await response.arrayBuffer();
      throw new TypeError("fetch failed", { cause: { code: "ECONNRESET" } });
    };
  };

test("an error of the library comes back as it was thrown: code, message and hint", async () => {
  await using place = await connected();
  const { client } = place;
  assert.equal(SkeinError, LibraryError);
  await assert.rejects(client.session("ses_00000000000000000000000001"), {
    name: "SkeinError",
    code: "not-found",
    message: "there is no session ses_00000000000000000000000001",
    hint: '"skein ps" lists the sessions',
  });
  const session = await client.open({ objective: "o" });
  await session.close();
  const library = await place.place.engine.session(session.id);
  const of = async (work: Promise<unknown>): Promise<unknown> => {
    try {
      return await work;
    } catch (error) {
      const { name, code, message, hint } = error as SkeinError;
      return { name, code, message, hint };
    }
  };
  assert.deepEqual(await of(session.suspend()), await of(library.suspend()));
  await assert.rejects(session.suspend({ reasn: "x" } as object), {
    code: "invalid",
    message: 'suspend: unknown option "reasn"',
    hint: 'did you mean "reason"?',
  });
  await assert.rejects(session.record("fact", "k", new Date(0)), {
    code: "invalid",
    message: /expected a plain object/,
  });
  await assert.rejects(session.run({ holder: "me" } as object), { message: /not supported over HTTP/ });
});

test("a lost response is requested again, and nothing is written twice", async () => {
  // Every first attempt of a write is lost on its way back.
  const seen = new Set<string>();
  const between = losing((_url, init) => {
    const key = new Headers(init.headers).get("idempotency-key") ?? "";
    const isFirst = key !== "" && !seen.has(key);
    seen.add(key);
    return isFirst;
  });
  await using place = await connected({ between });
  const { client, place: server } = place;
  const session = await client.open({ objective: "Once" });
  assert.deepEqual(await session.append("a"), { seq: 2, headSeq: 2, duplicate: false });
  assert.deepEqual(await session.append("b", { key: "k" }), { seq: 3, headSeq: 3, duplicate: true });
  assert.deepEqual(await session.record("fact", "f", 1), { seq: 4, headSeq: 4, duplicate: false });
  await session.rename("named");
  const fork = await session.fork();
  await session.run();
  const log = await all(session.events());
  const count = (type: string): number => log.filter((event) => event.type === type).length;
  assert.deepEqual(
    ["input.received", "item.recorded", "session.renamed", "turn.started"].map(count),
    [2, 1, 1, 1],
  );
  const { rows } = await server.engine.sessions();
  assert.deepEqual(rows.map(({ session: id }) => id).toSorted(), [session.id, fork.id].toSorted());
});

test("reads are retried; a lasting loss is reported as unavailable or unknown", async () => {
  let down = 0;
  const between = losing((url) => url.includes("/head") && down++ < 2);
  await using place = await connected({ between });
  const session = await place.client.open({ objective: "o" });
  assert.equal((await session.head()).seq, 1);
  assert.equal(down, 3);

  await place.place.server.stop();
  await assert.rejects(session.head(), { code: "unavailable", message: /connection to .* failed/ });
  await assert.rejects(session.append("a"), { code: "unavailable", message: /connection to .* failed/ });
});

test("a write that may have been done, and is never answered, is unknown", async () => {
  const between = losing((url, { method }) => url.endsWith("/append") && method === "POST");
  await using place = await connected({ between });
  const session = await place.client.open({ objective: "o" });
  await assert.rejects(session.append("a"), { code: "unknown", hint: /may or may not have taken effect/ });
  assert.equal((await all(session.events({ types: ["input.received"] }))).length, 1);
});

test("a write that a proxy answered with 502 or 504 after it passed it on is unknown", async () => {
  for (const status of [502, 504]) {
    const gateway =
      (next: Fetch): Fetch =>
      async (url, init) => {
        const response = await next(url, init);
        return url.endsWith("/append") ? new Response("<html>", { status }) : response;
      };
    await using place = await connected({ between: gateway });
    const session = await place.client.open({ objective: "o" });
    await assert.rejects(session.append("a"), { code: "unknown" }, String(status));
    assert.equal((await all(session.events({ types: ["input.received"] }))).length, 1);
  }
});

test("a rate-limited client waits and retries; a server that is not Skein is an error", async () => {
  let refusals = 2;
  const slow =
    (next: Fetch): Fetch =>
    async (url, init) =>
      refusals-- > 0
        ? new Response("slow down", { status: 429, headers: { "retry-after": "0" } })
        : next(url, init);
  await using place = await connected({ between: slow });
  await place.client.open({ objective: "o" });
  assert.equal(refusals, -1);
  const page: Fetch = async () => new Response("<html>", { status: 404 });
  await assert.rejects(connect("http://127.0.0.1:9", { fetch: page }), {
    code: "unavailable",
    hint: "check that the URL is a Skein server",
  });
});

test("connect reports a wrong URL or token at once", async () => {
  await using place = await connected();
  const { url } = place.place.server;
  for (const wrong of ["", "skein.db", "ftp://x", "http://user@x"]) {
    await assert.rejects(connect(wrong), { code: "invalid", message: /expected an http/ });
  }
  await assert.rejects(connect(url, { token: "a b" }), { code: "invalid" });
  await assert.rejects(connect(url, { token: "skn_wrong" }), {
    code: "refused",
    message: /not authenticated/,
  });
  const { token } = await place.client.addToken({ scopes: ["write"] });
  await using writer = await connect(`${url}/`, { token });
  await writer.open({ objective: "o" });
  await assert.rejects(writer.agents(), { code: "refused" });
  await writer.close();
  await assert.rejects(writer.open({ objective: "o" }), {
    code: "unavailable",
    message: "the client is closed",
  });
});

test("bytes go both ways: blobs, bundles, records", async () => {
  await using from = await connected();
  await using to = await connected();
  const session = await from.client.open({ objective: "Travel" });
  const bytes = new Uint8Array(300_000).map((_, place) => place % 251);
  const blob = await from.client.putBlob(bytes);
  assert.deepEqual(await from.client.blob(blob), bytes);
  await assert.rejects(to.client.blob(blob), { code: "not-found" });
  await session.input([{ type: "image", blob, mediaType: "image/png" }]);
  await session.append("é".repeat(1_000), { key: "schlüssel" });
  const report = await to.client.import(from.client.export(session.id, { move: true }));
  assert.deepEqual([report.session, report.as, report.blobs], [session.id, "own", 1]);
  const there = await to.client.session(session.id);
  const [old, now] = [await all(session.records()), await all(there.records())];
  assert.deepEqual(now.slice(0, old.length), old);
  // The key came along. There it is somebody else who asks, and who asks for something else besides.
  await assert.rejects(there.append("x", { key: "schlüssel" }), { code: "conflict" });
  await assert.rejects(all(from.client.export("nobody")), { code: "not-found" });
  const wrong = async function* () {
    yield bytes.subarray(0, 100);
  };
  await assert.rejects(to.client.import(wrong()), { code: "invalid" });
});

test("an expectation that does not hold is a conflict, and nothing is written", async () => {
  await using place = await connected();
  const session = await place.client.open({ objective: "o" });
  await session.append("a", { expect: { seq: 1 } });
  await assert.rejects(session.append("b", { expect: { seq: 1 } }), { code: "conflict" });
  assert.equal((await session.head()).seq, 2);
});
