/** Messages: what a session may send and takes, what is there already, requests, replies, what wakes it. */
import type { Command } from "../../../src/core/command.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { makeSessionId } from "../../../src/core/ids.ts";
import { limit } from "../../../src/core/limit.ts";
import { empty, given, plain, workspaceId, type Given } from "../given.ts";

const other = makeSessionId({ nowMs: 2, random: new Uint8Array(10) });
const third = makeSessionId({ nowMs: 3, random: new Uint8Array(10) });
const later = 1_800_000_000_000;

const send = (more: object = {}): Command => ({
  do: "send",
  to: other,
  message: "msg_1",
  text: "hi",
  ...more,
});
const receive = (more: object = {}): Command => ({
  do: "receive",
  from: other,
  message: "msg_1",
  number: 1,
  text: "hi",
  ...more,
});

test("a message is numbered by the receiver it is for", () => {
  const log = given()
    .when(send())
    .when(send({ message: "msg_2", to: third }))
    .when(send({ message: "msg_3" }));
  assert.deepEqual(plain(log.state.standing.sent), [
    [other, 2],
    [third, 1],
  ]);
  assert.deepEqual(log.brings(send({ message: "msg_4", topic: "rates" })), [
    {
      type: "message.sent",
      body: { message: "msg_4", to: other, number: 3, topic: "rates" },
      content: { blocks: [{ type: "text", text: "hi" }] },
    },
  ]);
});

test("sent and received messages survive a rewind", () => {
  const log = given()
    .when(send())
    .when(receive())
    .when(send({ message: "msg_2", place: "/b.db" }));
  const rewound = log.when({ do: "rewind", earlier: log.states[1]! });
  const { sent, received, outbox } = rewound.state.standing;
  assert.deepEqual(plain({ sent, received, outbox }), {
    sent: [[other, 2]],
    received: [[other, 1]],
    outbox: [["msg_2", { to: other, number: 2, seq: 4 }]],
  });
});

test("a number that came before is there already, also in a session that is over", () => {
  const log = given().when(receive({ number: 3 }));
  for (const one of [log, log.when({ do: "close" })]) {
    assert.deepEqual(one.refusal(receive({ number: 3 })), {
      code: "conflict",
      message: `msg_1 was received already: number 3 from ${other}`,
    });
    assert.equal(one.refusal(receive({ number: 2 })).code, "conflict");
  }
  assert.equal(log.when(receive({ number: 9 })).state.standing.received.get(other), 9);
  assert.equal(log.when(receive({ from: third, number: 1 })).state.standing.received.get(third), 1);
});

test("a session cannot send to itself, nor when it is over", () => {
  const log = given();
  assert.equal(log.refusal(send({ to: log.session })).code, "invalid");
  assert.equal(
    log.when({ do: "close" }).refusal(send()).message,
    "the session is closed and cannot send a message",
  );
});

test("a reply goes to the requester, once", () => {
  const log = given().when(receive({ deadlineMs: later, note: "[request]" }));
  assert.deepEqual(plain(log.state.standing.asked), [["msg_1", { from: other, seq: 2, deadlineMs: later }]]);
  assert.equal(log.refusal(send({ to: third, replyTo: "msg_1" })).code, "invalid");
  assert.equal(log.refusal(send({ replyTo: "msg_9" })).message, "there is no request msg_9 to reply to");
  const replied = log.when(send({ message: "msg_2", replyTo: "msg_1" }));
  assert.equal(replied.state.standing.asked.size, 0);
  assert.equal(replied.refusal(send({ message: "msg_3", replyTo: "msg_1" })).code, "not-found");
});

test("a request is open until its reply comes, and no other reply is taken", () => {
  const log = given().when(send({ deadlineMs: later }));
  assert.deepEqual(plain(log.state.standing.requests), [["msg_1", { to: other, seq: 2, deadlineMs: later }]]);
  const stranger = receive({ from: third, message: "msg_2", replyTo: "msg_1" });
  assert.equal(log.refusal(stranger).code, "refused");
  const reply = receive({ message: "msg_2", replyTo: "msg_1" });
  const replied = log.when(reply);
  assert.equal(replied.state.standing.requests.size, 0);
  assert.deepEqual(replied.refusal({ ...reply, number: 2 } as Command), {
    code: "refused",
    message: `${log.session} does not wait for a reply from ${other} to msg_1`,
    hint: "the request has a reply already, or its deadline has passed",
  });
});

test("a request that timed out arrives as input, and accepts no reply", () => {
  const log = given().when(send({ deadlineMs: later }));
  const refuse = {
    do: "refuse",
    message: "msg_1",
    error: "deadline",
    reason: "no reply",
    text: "given up",
  } as const;
  const over = log.when(refuse);
  assert.deepEqual(
    log.brings(refuse).map(({ type }) => type),
    ["message.refused", "input.received"],
  );
  assert.equal(over.state.standing.requests.size, 0);
  assert.equal(over.refusal(refuse).code, "not-found");
  assert.equal(over.refusal(receive({ replyTo: "msg_1" })).code, "refused");
  const closed = log.when({ do: "close" });
  assert.deepEqual(
    closed.brings(refuse).map(({ type }) => type),
    ["message.refused"],
  );
});

test("a message to another store waits until it was delivered or refused, whatever the session is", () => {
  const log = given().when(send({ place: "/b.db" }));
  const deliver = { do: "deliver", message: "msg_1" } as const;
  assert.equal(
    log.refusal(send({ message: "msg_2" })).message,
    `1 earlier messages to ${other} are not delivered yet`,
  );
  for (const one of [log, log.when({ do: "close" }), log.when({ do: "close" }).when({ do: "archive" })]) {
    const done = one.when(deliver);
    assert.equal(done.state.standing.outbox.size, 0);
    assert.equal(done.refusal(deliver).code, "not-found");
  }
  const refused = log.when({ do: "refuse", message: "msg_1", error: "not-found", text: "gone" });
  assert.equal(refused.state.standing.outbox.size, 0);
  assert.equal(log.and("session.moved", { move: "m" }).refusal(deliver).code, "refused");
});

const many = (log: Given, count: number, make: (place: number) => Command): Given => {
  let next = log;
  for (let place = 1; place <= count; place++) next = next.when(make(place));
  return next;
};
const texts = (count: number): Command => ({
  do: "append",
  records: Array.from({ length: count }, () => ({ type: "input.received", text: "x" }) as const),
});

test("a full inbox takes no more messages from sessions, and everything from people", () => {
  const log = given().when(texts(limit.inboxMax - 1));
  const full = log.when(receive());
  assert.deepEqual(full.refusal(receive({ number: 2 })), {
    code: "refused",
    message: `the inbox of ${log.session} is full (1,000 messages)`,
    hint: "run the session to process its queue, then retry",
  });
  assert.equal(full.when(texts(1)).state.standing.inbox.received, limit.inboxMax + 1);
  const taken = full.when({ do: "begin", inputs: [[2, 1]] });
  assert.equal(taken.when(receive({ number: 2 })).state.standing.inbox.received, limit.inboxMax + 1);
});

test("an outbox and requests have their limits", () => {
  const away = many(given(), limit.outboxMax, (place) => send({ message: `msg_${place}`, place: "/b.db" }));
  assert.equal(
    away.refusal(send({ message: "one more", place: "/b.db" })).message,
    "the outbox is full (1,000 messages)",
  );
  assert.equal(away.when(send({ message: "here", to: third })).state.standing.sent.get(third), 1);
  const asking = many(given(), limit.requestsMax, (place) =>
    send({ message: `msg_${place}`, deadlineMs: later }),
  );
  assert.equal(asking.refusal(send({ message: "one more", deadlineMs: later })).code, "refused");
  assert.equal(asking.when(send({ message: "plain" })).state.standing.sent.get(other), limit.requestsMax + 1);
});

test("a session with too many open requests takes no more; timed-out ones do not count", () => {
  const asked = (log: Given, deadlineMs: number): Given => {
    let next = log;
    for (let number = 1; number <= limit.requestsMax; number++) {
      next = next.when(receive({ message: `msg_${number}`, number, deadlineMs }));
      if (number % 100 === 0)
        next = next.and("turn.started", { inputs: inputsOf(next) }).when({ do: "end", outcome: "completed" });
    }
    return next;
  };
  const more = receive({ message: "one more", number: limit.requestsMax + 1, deadlineMs: later });
  const open = asked(given(), later);
  assert.match(open.refusal(more).message, /already has 1,000 requests to reply to$/);
  const over = asked(given(), 1);
  assert.deepEqual([...over.when(more).state.standing.asked.keys()], ["one more"]);
});

const inputsOf = ({ state }: Given): [number, number][] =>
  state.standing.inbox.waiting.flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, place): [number, number] => [
      state.standing.inbox.fromSeq + place,
      from + place,
    ]),
  );

test("a message wakes a sleeping session, unless it waits for other causes only", () => {
  const woken = (log: Given): boolean => log.when(receive()).state.standing.status === "open";
  const triggers = given()
    .and("trigger.set", { name: "daily", kind: "cron" }, { spec: {} })
    .and("trigger.set", { name: "mail", kind: "message" }, { spec: {} });
  assert.equal(woken(given().when({ do: "sleep" })), true);
  assert.equal(woken(given().when({ do: "sleep", untilMs: later })), true);
  assert.equal(woken(triggers.when({ do: "sleep", triggers: ["daily"] })), false);
  assert.equal(woken(triggers.when({ do: "sleep", triggers: ["daily", "mail"] })), true);
});

test("a message that comes while a session is about to sleep wakes it as soon as the turn has ended", () => {
  const turn = given().when({ do: "begin", inputs: [] }).when({ do: "sleep" });
  const end = { do: "end", outcome: "completed" } as const;
  assert.equal(turn.when(end).state.standing.status, "sleeping");
  assert.equal(turn.when(receive()).when(end).state.standing.status, "open");
});

test("contracts are declared by topic, and replaced, up to a limit", () => {
  const declare = (topic: string): Command => ({
    do: "contract",
    topic,
    schema: true,
    digest: "0".repeat(64),
  });
  const log = many(given(), limit.contractsMax, (place) => declare(`t${place}`));
  assert.equal(log.refusal(declare("one more")).code, "refused");
  assert.equal(log.when(declare("t1")).state.standing.contracts.size, limit.contractsMax);
});

/**
 * Two logs, and relays that deliver what they read of the sender's some time ago, twice, late, or never; that
 * die between the two appends; and a receiver whose inbox is full now and then. Whatever they do: what was
 * received is what was sent up to some number, in order, each once; and what is not in the outbox is there.
 */
test("two logs and unreliable relays: the received messages are a prefix of the sent ones, each once", () => {
  const step = fc.oneof(
    fc.constant("send" as const),
    fc.constant("look" as const),
    fc.record({ relay: fc.nat(2), dies: fc.boolean() }),
    fc.constant("take" as const),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const sessions = [given(), empty(other).when({ do: "open", workspace: workspaceId, objective: "to" })];
      let [from, to] = sessions as [Given, Given];
      const relays: { message: string; number: number }[][] = [[], [], []];
      const inOrder = (): { message: string; number: number }[] =>
        [...from.state.standing.outbox.entries()]
          .map(([message, { number }]) => ({ message, number }))
          .toSorted((a, b) => a.number - b.number);
      for (const one of steps) {
        if (one === "send") {
          const message = `msg_${from.state.seq}`;
          from = from.when({ do: "send", to: other, message, text: message, place: "/b.db" });
        } else if (one === "look") relays.forEach((queue) => queue.splice(0, Infinity, ...inOrder()));
        else if (one === "take") {
          const begun = to.and("turn.started", { inputs: inputsOf(to) });
          to = begun.when({ do: "end", outcome: "completed" });
        } else {
          const next = relays[one.relay]!.shift();
          if (next === undefined) continue;
          const { message, number } = next;
          const received = to.decide({ do: "receive", from: from.session, message, number, text: message });
          if (received.ok) to = to.write(...received.drafts);
          else assert.equal(received.refusal.code, "conflict");
          if (one.dies) {
            relays[one.relay] = [];
            continue;
          }
          const delivered = from.decide({ do: "deliver", message });
          if (delivered.ok) from = from.write(...delivered.drafts);
          else assert.equal(delivered.refusal.code, "not-found");
        }
      }
      const sent = from.records.filter(({ type }) => type === "message.sent").map(textIn);
      const arrived = to.records.filter(({ type }) => type === "message.received").map(textIn);
      assert.deepEqual(arrived, sent.slice(0, arrived.length));
      const waits = inOrder().map(({ message }) => message);
      assert.deepEqual(
        sent.filter((message) => !waits.includes(message)).filter((message) => !arrived.includes(message)),
        [],
      );
      for (const { message, number } of inOrder()) {
        const received = to.decide({ do: "receive", from: from.session, message, number, text: message });
        if (received.ok) to = to.write(...received.drafts);
        from = from.when({ do: "deliver", message });
      }
      assert.deepEqual(to.records.filter(({ type }) => type === "message.received").map(textIn), sent);
    }),
    { numRuns: 300 },
  );
});

const textIn = ({ content }: { readonly content: string | null }): string =>
  (JSON.parse(content ?? "") as { blocks: { text: string }[] }).blocks[0]!.text;
