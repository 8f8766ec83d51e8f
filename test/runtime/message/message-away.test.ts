/** Messages between stores: an outbox that survives every death, order, refusals, replies, moves. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { SkeinError } from "../../../src/core/error.ts";
import { limit } from "../../../src/core/limit.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import type { Store } from "../../../src/store/port.ts";
import { stride } from "../../kind.ts";
import { all } from "../place.ts";
import { lifeOf, mortal, twoInMemory, type Home, type Homes } from "../two-stores.ts";

/** Two stores that know one another by these places. What is out of reach cannot be opened now. */
interface World extends AsyncDisposable {
  readonly homes: Homes;
  readonly a: Engine;
  readonly b: Engine;
  readonly away: Set<string>;
  engineOn(home: Home, place: string | null, wrap?: (store: Store) => Store): Engine;
}

const places = { a: "mem://a", b: "mem://b" };

function twoWorlds(): World {
  const homes = twoInMemory();
  const away = new Set<string>();
  const engineOn: World["engineOn"] = (home, place, wrap = (store) => store) =>
    new Engine({
      store: wrap(home.store),
      world: home.world,
      ...(place === null ? {} : { place }),
      openStore: async (other) => {
        if (away.has(other)) throw new SkeinError("unavailable", `${other} is out of reach`);
        const found = other === places.a ? homes.a : other === places.b ? homes.b : null;
        if (found === null) throw new SkeinError("not-found", `there is no store at ${other}`);
        // It stays open for the others.
        return { ...wrap(found.store), close: async () => undefined };
      },
    });
  const [a, b] = [engineOn(homes.a, places.a), engineOn(homes.b, places.b)];
  return { homes, a, b, away, engineOn, [Symbol.asyncDispose]: () => homes[Symbol.asyncDispose]() };
}

const saying = (code: string, text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SkeinError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(`${error.message}; ${error.hint ?? ""}`, text);
  return true;
};

async function told(session: Session): Promise<string[]> {
  const events = await all(session.events({ types: ["input.received", "message.received"] }));
  return events.map(({ content }) => (content as { blocks: { text: string }[] }).blocks[0]!.text);
}

const typesOf = async (session: Session): Promise<string[]> =>
  (await all(session.events())).map(({ type }) => type);

const outboxOf = async (session: Session): Promise<number[]> =>
  (await session.state()).outbox.map(({ number }) => number);

test("a message to another store is written here, there, and then here that it arrived", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  await to.sleep();
  const sent = await from.send(to.id.slice(-8), "hello", { at: places.b, key: "k" });
  assert.deepEqual({ ...sent, message: "" }, { message: "", to: to.id, seq: 2, delivered: true });
  assert.deepEqual(await from.send(to.id, "hello", { at: places.b, key: "k" }), sent);
  assert.deepEqual(await typesOf(from), ["session.opened", "message.sent", "message.delivered"]);
  assert.deepEqual(await told(to), ["hello"]);
  assert.equal((await to.state()).status, "open");
  assert.equal((await all(to.events({ types: ["message.received"] })))[0]?.actor, `session:${from.id}`);
  assert.deepEqual(await outboxOf(from), []);
});

test("a crash at any store call leaves a message sent and received once, or not sent", async () => {
  let points = 0;
  for (const when of ["before", "after"] as const) {
    for (let steps = 1; ; steps += stride()) {
      await using world = twoWorlds();
      const from = await world.a.open({ objective: "A" });
      const to = await world.b.open({ objective: "B" });
      await from.send(to.id, "first", { at: places.b });
      const life = lifeOf(steps);
      const dying = world.engineOn(world.homes.a, places.a, (store) => mortal(store, life, when));
      const answer = await dying
        .session(from.id)
        .then((session) => session.send(to.id, "second", { at: places.b }))
        .catch((error: unknown) => error);
      points += stride();
      await world.engineOn(world.homes.a, places.a).deliver();
      const heard = await told(to);
      const isSent = (await typesOf(from)).filter((type) => type === "message.sent").length === 2;
      assert.deepEqual(heard, isSent ? ["first", "second"] : ["first"], `${when} ${steps}`);
      assert.deepEqual(await outboxOf(from), []);
      if (!life.dead) {
        assert.ok(!(answer instanceof Error), String(answer));
        break;
      }
    }
  }
  assert.ok(points > 20, `only ${points} points were tried`);
});

test("a relay that dies at any call is followed by another, and nothing is received twice", async () => {
  for (const when of ["before", "after"] as const) {
    for (let steps = 1; ; steps += stride()) {
      await using world = twoWorlds();
      const from = await world.a.open({ objective: "A" });
      const to = await world.b.open({ objective: "B" });
      world.away.add(places.b);
      for (const text of ["1", "2", "3"]) await from.send(to.id, text, { at: places.b });
      world.away.clear();
      const life = lifeOf(steps);
      await world
        .engineOn(world.homes.a, places.a, (store) => mortal(store, life, when))
        .deliver()
        .catch(() => null);
      const [one, two] = [1, 2].map(() => world.engineOn(world.homes.a, places.a));
      await Promise.all([one!.deliver(), two!.deliver()]);
      assert.deepEqual(await told(to), ["1", "2", "3"], `${when} ${steps}`);
      assert.deepEqual(await outboxOf(from), []);
      if (!life.dead) break;
    }
  }
});

test("messages to an unreachable store wait, are listed, and arrive in order", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  world.away.add(places.b);
  const sent = await from.send(to.id, "1", { at: places.b });
  assert.deepEqual([sent.delivered, sent.reason], [false, "mem://b is out of reach"]);
  await from.send(to.id, "2", { at: places.b });
  assert.deepEqual(await outboxOf(from), [1, 2]);
  assert.deepEqual((await world.a.sessions()).rows[0]?.outbox, 2);
  assert.deepEqual((await world.a.deliver()).waiting, [
    { session: from.id, to: to.id, count: 2, reason: "mem://b is out of reach" },
  ]);
  await world.a.rebuild();
  world.away.clear();
  await from.close();
  await from.reopen();
  assert.equal((await from.send(to.id, "3", { at: places.b })).delivered, true);
  assert.deepEqual(await told(to), ["1", "2", "3"]);
  assert.deepEqual((await world.a.sessions()).rows[0]?.outbox, undefined);
});

test("a place without a store, and a receiver that would not take it, are refused at once", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  const at = { at: places.b };
  await assert.rejects(from.send(to.id, "x", { at: "mem://c" }), saying("not-found", /no store at/));
  await assert.rejects(from.send(to.id, "x", { at: "memory:" }), saying("invalid", /expected a path or URL/));
  await assert.rejects(
    from.send("ses_00000000000000000000000000", "x", at),
    saying("not-found", /no session/),
  );
  await to.contract("rates", { type: "number" });
  await assert.rejects(from.send(to.id, "x", { ...at, topic: "rates" }), saying("refused", /contract/));
  const inputs = Array.from(
    { length: limit.inboxMax },
    () => ({ type: "input.received", text: "x" }) as const,
  );
  await to.append(inputs);
  await assert.rejects(from.send(to.id, "x", at), saying("refused", /is full/));
  await to.close();
  await assert.rejects(from.send(to.id, "x", at), saying("refused", /closed/));
  assert.deepEqual(await typesOf(from), ["session.opened"]);
});

test("a full inbox delays the messages behind it; a refused message is reported and does not", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const full = await world.b.open({ objective: "full" });
  const strict = await world.b.open({ objective: "strict" });
  const gone = await world.b.open({ objective: "gone" });
  world.away.add(places.b);
  for (const text of ["1", "2"]) await from.send(full.id, text, { at: places.b });
  await from.send(strict.id, "x", { at: places.b, topic: "n" });
  await from.send(strict.id, "7", { at: places.b, topic: "n" });
  await from.send(gone.id, "x", { at: places.b });
  world.away.clear();
  const inputs = Array.from(
    { length: limit.inboxMax },
    () => ({ type: "input.received", text: "x" }) as const,
  );
  await full.append(inputs);
  await strict.contract("n", { type: "number" });
  await world.b.delete(gone.id);
  const { waiting, ...counts } = await world.a.deliver();
  assert.deepEqual(counts, { sessions: 1, delivered: 1, refused: 2, overdue: 0 });
  assert.deepEqual(
    waiting.map(({ to, count }) => [to, count]),
    [[full.id, 2]],
  );
  assert.match(waiting[0]!.reason, /is full \(1,000 messages\)/);
  assert.deepEqual(await told(strict), ["7"]);
  const heard = await told(from);
  assert.equal(heard.length, 2);
  assert.match(heard.join("\n"), /was not accepted: the message violates the contract for "n"/);
  assert.match(heard.join("\n"), /was not accepted: there is no session/);
  await using drive = await full.drive();
  await drive.begin();
  assert.deepEqual((await world.a.deliver()).waiting, []);
  assert.deepEqual((await told(full)).slice(-2), ["1", "2"]);
});

test("a reply finds its way back by the place that came with the request, or by another", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  const { message } = await from.send(to.id, "Which?", { at: places.b, withinMs: 60_000 });
  const reply = await to.send(null, "this", { replyTo: message });
  assert.deepEqual([reply.to, reply.delivered], [from.id, true]);
  assert.deepEqual(await told(from), ["this"]);
  assert.deepEqual((await from.state()).requests, []);
  const nowhere = world.engineOn(world.homes.a, null);
  const again = await (
    await nowhere.session(from.id)
  ).send(to.id, "And?", { at: places.b, withinMs: 60_000 });
  await assert.rejects(to.send(null, "x", { replyTo: again.message }), saying("not-found", /no session/));
  await to.send(null, "that", { replyTo: again.message, at: places.a });
  assert.deepEqual(await told(from), ["this", "that"]);
});

test("a request past its deadline is refused, and never delivered", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  world.away.add(places.b);
  await from.send(to.id, "Which?", { at: places.b, withinMs: 1_000 });
  world.homes.a.world.pass(1_001);
  world.away.clear();
  const { overdue, delivered } = await world.a.deliver();
  assert.deepEqual({ overdue, delivered, heard: await told(to) }, { overdue: 1, delivered: 0, heard: [] });
  assert.match((await told(from))[0]!, /had no reply by/);
  await from.send(to.id, "Still there?", { at: places.b });
  assert.deepEqual(await told(to), ["Still there?"]);
});

test("a late reply to another store is refused at the replier", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  const { message } = await from.send(to.id, "Which?", { at: places.b, withinMs: 1_000 });
  world.homes.a.world.pass(1_001);
  await world.a.deliver();
  await assert.rejects(
    to.send(null, "x", { replyTo: message }),
    saying("refused", /does not wait for a reply/),
  );
  world.homes.b.world.pass(1_001);
  await assert.rejects(to.send(null, "x", { replyTo: message }), saying("refused", /passed at/));
  assert.deepEqual(await typesOf(to), ["session.opened", "message.received"]);
});

test("a receiver that was moved is refused with where it went; moved here, it is reached here", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  await from.send(to.id, "1", { at: places.b });
  await to.migrate({ to: world.homes.a.store });
  await assert.rejects(from.send(to.id, "x", { at: places.b }), saying("refused", /was moved.*--at STORE/));
  assert.equal((await from.send(to.id, "2")).delivered, true);
  assert.equal((await from.send(to.id, "3", { at: places.a })).delivered, true);
  assert.deepEqual(await told(await world.a.session(to.id)), ["1", "2", "3"]);
});

test("a sender that moves takes its outbox along, and its copy delivers nothing", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  world.away.add(places.b);
  for (const text of ["1", "2"]) await from.send(to.id, text, { at: places.b });
  await from.migrate({ to: world.homes.b.store });
  world.away.clear();
  assert.deepEqual((await world.a.deliver()).delivered, 0);
  assert.deepEqual((await world.b.deliver()).delivered, 2);
  await (await world.b.session(from.id)).send(to.id, "3");
  assert.deepEqual(await told(to), ["1", "2", "3"]);
});

test("a receiver that closed after delivery does not refuse", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  world.away.add(places.b);
  const { message } = await from.send(to.id, "1", { at: places.b });
  // The relay died between the two appends.
  const { writer } = await dyingRelay(world, to, { message, from: from.id, number: 1, text: "1" });
  assert.equal(writer, "written");
  await to.close();
  world.away.clear();
  assert.deepEqual(await world.a.deliver(), {
    sessions: 1,
    delivered: 1,
    refused: 0,
    overdue: 0,
    waiting: [],
  });
  assert.deepEqual(await told(to), ["1"]);
});

async function dyingRelay(
  world: World,
  to: Session,
  letter: { message: string; from: string; number: number; text: string },
): Promise<{ readonly writer: "written" }> {
  const { makeWriter } = await import("../../../src/runtime/log/writer.ts");
  const { makeStateReader } = await import("../../../src/runtime/read/state-reader.ts");
  const { store, world: clock } = world.homes.b;
  const writer = makeWriter(store, clock, makeStateReader(store), { tenant: "default" });
  await writer.change(to.id, { do: "receive", ...letter }, { actor: "system" });
  return { writer: "written" };
}

test("a message whose text was erased before it was delivered is refused, and says so", async () => {
  await using world = twoWorlds();
  const from = await world.a.open({ objective: "A" });
  const to = await world.b.open({ objective: "B" });
  world.away.add(places.b);
  const { seq } = await from.send(to.id, "secret", { at: places.b });
  await from.send(to.id, "after", { at: places.b });
  await from.erase({ ranges: [[seq, seq]] });
  world.away.clear();
  const { delivered, refused } = await world.a.deliver();
  assert.deepEqual(
    { delivered, refused, heard: await told(to) },
    { delivered: 1, refused: 1, heard: ["after"] },
  );
});
