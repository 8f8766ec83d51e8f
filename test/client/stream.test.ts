/** Streams: cut anywhere, they go on from their position; nothing is missing, and nothing comes twice. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Fetch } from "../../src/client/world.ts";
import type { SessionUpdate } from "../../src/runtime/turn/ask.ts";
import { all } from "../runtime/place.ts";
import { connected } from "./connected.ts";
import type { SessionEvent } from "../../src/core/event.ts";

/** A way on which every stream is cut after some bytes: in the middle, or as if the server had ended it. */
function cutting(next: Fetch, cuts: { made: number }, bytes: () => number): Fetch {
  /** How often a reader came again from where it was before: then it gets more. */
  const stuck = new Map<string, number>();
  return async (url, init) => {
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, ...(init.signal ? [init.signal] : [])]);
    const response = await next(url, { ...init, signal });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (!isStream) return response;
    const place = `${url} ${new Headers(init.headers).get("last-event-id")}`;
    const times = stuck.get(place) ?? 0;
    stuck.set(place, times + 1);
    let left = bytes() * (1 + times);
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, sink) {
        sink.enqueue(piece.subarray(0, left));
        left -= piece.length;
        if (left > 0) return;
        cuts.made += 1;
        if (cuts.made % 3 === 0) sink.terminate();
        else sink.error(new TypeError("terminated"));
        gone.abort();
      },
    });
    return new Response(response.body?.pipeThrough(cut), { headers: response.headers });
  };
}

/** Numbers as if by chance, the same every time. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
}

test("readers that are cut again and again put the exact log together", async () => {
  const cuts = { made: 0 };
  const some = numbers(7);
  await using place = await connected({ between: (next) => cutting(next, cuts, () => 50 + some(3_000)) });
  const { client, place: server } = place;
  const session = await client.open({ objective: "Busy" });
  const writer = await server.engine.session(session.id);
  const count = 60;
  const stop = new AbortController();
  const reading = Promise.all(
    Array.from({ length: 4 }, () => all(session.events({ follow: true, limit: count }))),
  );
  const following = (async () => {
    const heard: SessionEvent[] = [];
    for await (const one of client.follow({ after: "", signal: stop.signal }))
      if ("event" in one && one.event.session === session.id && heard.push(one.event) === count) break;
    return heard;
  })();
  for (let number = 2; number <= count; number += 1) {
    await writer.append(`${number} ${"é".repeat(some(200))}`);
    if (number % 10 === 0) await pause(1);
  }
  const log = await all(writer.events());
  for (const heard of [...(await reading), await following]) assert.deepEqual(heard, log);
  stop.abort();
  assert.ok(cuts.made > 10, `${cuts.made} cuts`);
});

const heardOf = async (
  telling: AsyncGenerator<SessionUpdate, unknown>,
): Promise<[SessionUpdate[], unknown]> => {
  const heard: SessionUpdate[] = [];
  for (;;) {
    const next = await telling.next();
    if (next.done === true) return [heard, next.value];
    heard.push(next.value);
  }
};

test("ask and watch resume after a disconnect: one input, every event once, and the reason", async () => {
  const cuts = { made: 0 };
  const some = numbers(3);
  const lines = Array.from({ length: 40 }, (_, place) => `Answer ${place}.`);
  await using place = await connected({
    lines,
    between: (next) => cutting(next, cuts, () => 200 + some(1_500)),
  });
  const session = await place.client.open({ objective: "Talk" });
  const told: SessionEvent[] = [];
  for (let turn = 0; turn < 6; turn += 1) {
    const [heard, ran] = await heardOf(session.ask(`Question ${turn}`));
    assert.deepEqual((ran as { status: string }).status, "open");
    told.push(...heard.filter((one): one is SessionEvent => one.type !== "delta"));
  }
  const log = await all(session.events());
  const first = log.findIndex(({ type }) => type === "input.received");
  assert.deepEqual(told, log.slice(first));
  assert.equal(log.filter(({ type }) => type === "input.received").length, 6);
  assert.equal(log.filter(({ type }) => type === "turn.started").length, 6);
  assert.ok(cuts.made > 6, `${cuts.made} cuts`);
  await session.append("One more");
  const [watched] = await heardOf(session.watch());
  const rest = (await all(session.events({ fromSeq: log.length + 2 }))).map(({ seq }) => seq);
  assert.deepEqual(
    watched.flatMap((one) => (one.type === "delta" ? [] : [(one as SessionEvent).seq])),
    rest,
  );
});

test("deltas ride along after their request; of an answer that was cut the rest is left out", async () => {
  const opened = Promise.withResolvers<void>();
  let isCut = false;
  let streams = 0;
  const between =
    (next: Fetch): Fetch =>
    async (url, init) => {
      const response = await next(url, init);
      if (!(response.headers.get("content-type") ?? "").startsWith("text/event-stream")) return response;
      streams += 1;
      if (streams > 1) return response;
      // The first stream ends right after the first delta.
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(piece, sink) {
          sink.enqueue(piece);
          if (isCut || !new TextDecoder().decode(piece).includes("event: delta")) return;
          isCut = true;
          sink.error(new TypeError("terminated"));
          opened.resolve();
        },
      });
      return new Response(response.body?.pipeThrough(cut), { headers: response.headers });
    };
  const lines = ["Whole.", "Whole again."];
  await using place = await connected({ lines, between });
  const session = await place.client.open({ objective: "Deltas" });
  const [heard] = await heardOf(session.ask("Go"));
  const types = heard.map(({ type }) => type);
  assert.equal(types.filter((type) => type === "model.responded").length, 1);
  const [again] = await heardOf(session.ask("And now?"));
  const texts = again.flatMap((one) => (one.type === "delta" ? [(one as { delta: unknown }).delta] : []));
  assert.deepEqual(texts, [{ type: "text", text: "Whole again." }]);
  const request = again.findIndex(({ type }) => type === "model.requested");
  assert.equal(again[request + 1]?.type, "delta");
  assert.ok(isCut);
});

test("breaking off cancels nothing, and a signal ends the wait and not the run", async () => {
  const going = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const slow = async (): Promise<string> => {
    going.resolve();
    await finish.promise;
    return "Late.";
  };
  await using place = await connected({ lines: [slow, "Done."] });
  const session = await place.client.open({ objective: "Slow" });
  for await (const one of session.ask("Go")) if (one.type === "turn.started") break;
  await going.promise;
  const over = new AbortController();
  const waiting = session.run({ signal: over.signal });
  const refused = assert.rejects(waiting, { code: "unavailable", message: "aborted by the caller" });
  over.abort();
  await refused;
  const followed = all(session.events({ follow: true, signal: AbortSignal.any([over.signal]) }));
  assert.deepEqual(await followed, []);
  finish.resolve();
  assert.equal((await session.run()).status, "open");
  const types = (await all(session.events())).map(({ type }) => type);
  assert.deepEqual(
    ["model.responded", "turn.ended", "session.interrupted"].map((type) => types.includes(type)),
    [true, true, false],
  );
});

test("a stream ends at its last position, or with the server's refusal", async () => {
  await using place = await connected();
  const { client, place: server } = place;
  const session = await client.open({ objective: "End" });
  await session.append({ type: "x.a" });
  await session.append({ type: "x.b" });
  const some = await all(session.events({ follow: true, types: ["x.a"], toSeq: 3 }));
  assert.deepEqual(
    some.map(({ seq }) => seq),
    [2],
  );
  const missing = all((await client.session(session.id)).events({ follow: true, fromSeq: 1, limit: 99 }));
  const gone = assert.rejects(missing, { code: "not-found" });
  await pause(20);
  await server.engine.delete(session.id);
  await gone;
});

test("a server that stays away ends the stream with an error", async () => {
  await using place = await connected();
  const session = await place.client.open({ objective: "Gone" });
  const reading = all(session.events({ follow: true }));
  const ended = assert.rejects(reading, {
    code: "unavailable",
    message: /reconnecting failed/,
  });
  await pause(20);
  await place.place.server.stop();
  await ended;
});

test("closing the client ends its streams", async () => {
  await using place = await connected();
  const session = await place.client.open({ objective: "Close" });
  const reading = all(session.events({ follow: true }));
  const ended = assert.rejects(reading, { code: "unavailable", message: "the client is closed" });
  await pause(20);
  await place.client.close();
  await ended;
});
