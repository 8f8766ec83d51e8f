/** The Managed Agents API by its unmodified client: sessions, events, streams, budgets, errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { say, use } from "../../runtime/turn/scripted.ts";
import { claudeServed, clientOf, isTurnEnd, listed, message, open, readUntil, typesOf } from "./client.ts";

test("a session is opened, streamed while a message is sent, and listed with the same ids", async () => {
  await using at = await claudeServed({ lines: ["Hello there."] });
  const { client } = at;
  const { session } = await open(client, { more: { title: "A first", metadata: { team: "blue" } } });
  assert.deepEqual(
    [session.status, session.title, session.metadata, session.agent.name, session.agent.model.id],
    ["idle", "A first", { team: "blue" }, "Helper", "test/scripted"],
  );
  const stream = await client.beta.sessions.events.stream(session.id, { event_deltas: ["agent.message"] });
  const sent = await client.beta.sessions.events.send(session.id, { events: [message("Hi")] });
  const events = await readUntil(stream, isTurnEnd);
  const stored = events.filter(({ type }) => !["event_start", "event_delta"].includes(type));
  assert.deepEqual(typesOf(stored), [
    "user.message",
    "session.status_running",
    "span.model_request_start",
    "agent.message",
    "span.model_request_end",
    "session.status_idle",
  ]);
  const deltas = events.flatMap((event) => (event.type === "event_delta" ? [event] : []));
  const final = events.find((event) => event.type === "agent.message");
  assert.deepEqual([...new Set(deltas.map((event) => event.event_id))], [final?.id]);
  const text = deltas.map(({ delta }) => delta.content.text).join("");
  assert.deepEqual(final?.content, [{ type: "text", text }]);
  const all = await listed(client, session.id);
  assert.deepEqual(
    all.map(({ id }) => id),
    stored.map((event) => ("id" in event ? event.id : "")),
  );
  assert.equal(sent.data?.[0]?.id, all[0]?.id);
  const after = await client.beta.sessions.retrieve(session.id);
  assert.deepEqual([after.status, after.usage.input_tokens, after.usage.output_tokens], ["idle", 100, 10]);
  assert.deepEqual(after.usage.list_cost, { amount: "1", currency: "USD" });
  assert.deepEqual(at.place.troubles, []);
});

test("lists page automatically, in both directions, and filter by type", async () => {
  await using at = await claudeServed({ lines: ["One."] });
  const { client } = at;
  const { session } = await open(client);
  for (const text of ["a", "b", "c"]) {
    const stream = await client.beta.sessions.events.stream(session.id);
    await client.beta.sessions.events.send(session.id, { events: [message(text)] });
    await readUntil(stream, isTurnEnd);
  }
  const all = await listed(client, session.id);
  assert.equal(all.length, 18);
  for (const limit of [1, 2, 7]) {
    assert.deepEqual(await listed(client, session.id, { limit }), all);
    assert.deepEqual(await listed(client, session.id, { limit, order: "desc" }), all.toReversed());
  }
  const types = ["agent.message", "user.message"];
  const some = await listed(client, session.id, { types, limit: 2 });
  assert.deepEqual(
    typesOf(some),
    Array.from({ length: 6 }, (_, place) => types[(place + 1) % 2]),
  );
  const second = some[2]?.processed_at ?? "";
  const later = await listed(client, session.id, { types, "created_at[gte]": second });
  assert.ok(later.length >= 4 && later.length <= 6);
  const sessions = [];
  for await (const one of client.beta.sessions.list({ limit: 1 })) sessions.push(one.id);
  assert.deepEqual(sessions, [session.id]);
});

test("an interrupt ends the turn while the model answers, and the next message gets an answer", async () => {
  const released = Promise.withResolvers<void>();
  await using at = await claudeServed({
    lines: [
      async () => {
        await released.promise;
        return "late";
      },
      "again",
    ],
  });
  const { client } = at;
  const { session } = await open(client);
  const stream = await client.beta.sessions.events.stream(session.id);
  await client.beta.sessions.events.send(session.id, { events: [message("Hi")] });
  const events = await readUntil(stream, ({ type }) => type === "span.model_request_start");
  assert.equal((await client.beta.sessions.retrieve(session.id)).status, "running");
  const rest = await client.beta.sessions.events.stream(session.id);
  await client.beta.sessions.events.send(session.id, { events: [{ type: "user.interrupt" }] });
  events.push(...(await readUntil(rest, isTurnEnd)));
  released.resolve();
  assert.ok(typesOf(events).includes("user.interrupt"));
  assert.ok(!typesOf(events).includes("agent.message"));
  const next = await client.beta.sessions.events.stream(session.id);
  await client.beta.sessions.events.send(session.id, { events: [message("More")] });
  assert.ok(typesOf(await readUntil(next, isTurnEnd)).includes("agent.message"));
});

test("a budget stops the session, and a larger one lets it continue", async () => {
  await using at = await claudeServed({ lines: ["One."] });
  const { client } = at;
  const budget = (amount: string) => ({
    type: "limit" as const,
    max_list_cost: { amount, currency: "USD" as const },
  });
  const { session } = await open(client, { more: { budget: budget("0") } });
  const stream = await client.beta.sessions.events.stream(session.id);
  await client.beta.sessions.events.send(session.id, { events: [message("Hi")] });
  const stopped = (await readUntil(stream, isTurnEnd)).at(-1);
  assert.equal(stopped?.type === "session.status_idle" && stopped.stop_reason.type, "budget_reached");
  const more = await client.beta.sessions.events.stream(session.id);
  const updated = await client.beta.sessions.update(session.id, { budget: budget("500") });
  assert.deepEqual(updated.budget, budget("500"));
  assert.ok(typesOf(await readUntil(more, isTurnEnd)).includes("agent.message"));
  await assert.rejects(
    client.beta.sessions.update(session.id, { budget: budget("0") }),
    Anthropic.BadRequestError,
  );
});

test("a session is changed, archived and deleted; deleting ends its streams", async () => {
  await using at = await claudeServed({ lines: ["One."] });
  const { client } = at;
  const { session, agent, environment } = await open(client, { more: { metadata: { a: "1", b: "2" } } });
  const changed = await client.beta.sessions.update(session.id, {
    title: "New",
    metadata: { a: null, c: "3" },
    agent: { tools: [{ type: "custom", name: "order", description: "o", input_schema: { type: "object" } }] },
  });
  assert.deepEqual([changed.title, changed.metadata], ["New", { b: "2", c: "3" }]);
  assert.equal(changed.agent.tools.length, 1);
  const archived = await client.beta.sessions.archive(session.id);
  assert.equal(archived.status, "terminated");
  assert.notEqual(archived.archived_at, null);
  const ids = async (params = {}) => {
    const found: string[] = [];
    for await (const { id } of client.beta.sessions.list(params)) found.push(id);
    return found;
  };
  assert.deepEqual(await ids(), []);
  assert.deepEqual(await ids({ include_archived: true }), [session.id]);
  const other = await client.beta.sessions.create({ agent: agent.id, environment_id: environment.id });
  const stream = await client.beta.sessions.events.stream(other.id);
  const deleted = await client.beta.sessions.delete(other.id);
  assert.deepEqual(deleted, { id: other.id, type: "session_deleted" });
  const rest = await readUntil(stream, () => false);
  assert.deepEqual(typesOf(rest), ["session.deleted"]);
  await assert.rejects(client.beta.sessions.retrieve(other.id), Anthropic.NotFoundError);
});

test("a request sent again appends once; the same message as a new request appends again", async () => {
  await using at = await claudeServed({ lines: ["One."] });
  const { client } = at;
  const { session } = await open(client);
  const events = [message("yes")];
  const send = (retries: number) =>
    client.beta.sessions.events.send(
      session.id,
      { events },
      { headers: { "x-stainless-retry-count": String(retries) } },
    );
  const sent = [await send(0), await send(1), await send(2)].map(({ data }) => data?.[0]?.id);
  assert.equal(new Set(sent).size, 1);
  const second = await send(0);
  assert.notEqual(second.data?.[0]?.id, sent[0]);
  assert.equal((await send(1)).data?.[0]?.id, second.data?.[0]?.id);
  // Its answer was lost on the way; the first request never came.
  const other = { events: [message("no")] };
  const options = { headers: { "x-stainless-retry-count": "1" } };
  await client.beta.sessions.events.send(session.id, other, options);
  await client.beta.sessions.events.send(session.id, other, options);
  const inputs = await listed(client, session.id, { types: ["user.message"] });
  assert.equal(inputs.length, 3);
});

test("the client itself repeats a lost answer, and the message is there once", async () => {
  await using at = await claudeServed({ lines: ["One."] });
  const { session } = await open(at.client);
  let lost = 0;
  const client = new Anthropic({
    apiKey: at.place.token,
    baseURL: `${at.place.server.url}/anthropic`,
    maxRetries: 2,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (lost++ > 0) return response;
      await response.body?.cancel();
      throw new TypeError("connection lost");
    },
  });
  await client.beta.sessions.events.send(session.id, { events: [message("once")] });
  assert.equal(lost, 2);
  assert.equal((await listed(client, session.id, { types: ["user.message"] })).length, 1);
});

test("errors have the API's shape and classes, with a request id", async () => {
  await using at = await claudeServed({ lines: [[say("a"), use("order", {}, "c1")], "done"] });
  const { client, place } = at;
  const { session, agent } = await open(client);
  const none = clientOf(place.server.url, "skn_none");
  await assert.rejects(none.beta.sessions.list(), Anthropic.AuthenticationError);
  const { token } = await place.engine.addToken({ scopes: ["read"] });
  const reader = clientOf(place.server.url, token);
  await assert.rejects(
    reader.beta.sessions.events.send(session.id, { events: [message("x")] }),
    Anthropic.PermissionDeniedError,
  );
  await assert.rejects(client.beta.sessions.retrieve("ses_none"), Anthropic.NotFoundError);
  await assert.rejects(client.beta.vaults.list(), Anthropic.NotFoundError);
  await assert.rejects(
    client.beta.agents.update(agent.id, { version: 7, name: "x" }),
    Anthropic.ConflictError,
  );
  await assert.rejects(client.beta.sessions.events.send(session.id, { events: [] }), (error: unknown) => {
    assert.ok(error instanceof Anthropic.BadRequestError);
    assert.match(String(error.requestID), /^req_[0-9a-f]{24}$/);
    const body = error.error as {
      type: string;
      error: { type: string; message: string };
      request_id: string;
    };
    assert.deepEqual([body.type, body.error.type], ["error", "invalid_request_error"]);
    assert.match(body.error.message, /events: expected 1 to 100, got 0/);
    assert.equal(body.request_id, error.requestID);
    return true;
  });
  const wrong = { type: "user.dance" } as never;
  await assert.rejects(
    client.beta.sessions.events.send(session.id, { events: [wrong] }),
    /events\[0\]\.type: expected one of/,
  );
  assert.deepEqual(place.troubles, []);
});
