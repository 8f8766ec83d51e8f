/** Tools of the Managed Agents API: run by the client, asked about, self-hosted. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { betaAgentToolset20260401 } from "@anthropic-ai/sdk/tools/agent-toolset/node";
import { say, use } from "../../runtime/turn/scripted.ts";
import {
  claudeServed,
  customTool,
  isIdle,
  isTurnEnd,
  listed,
  message,
  open,
  readUntil,
  type StreamEvent,
} from "./client.ts";

const runnable = (name: string, run: (input: unknown) => Promise<string>) =>
  betaTool({ name, description: name, inputSchema: { type: "object" }, run });

const waitsFor = (event: StreamEvent | undefined): readonly string[] =>
  event?.type === "session.status_idle" && event.stop_reason.type === "requires_action"
    ? event.stop_reason.event_ids
    : [];

test("the client's tool runner executes custom tools, each once", async () => {
  await using at = await claudeServed({
    lines: [[say("Ordering."), use("order", { n: 2 }, "c1"), use("order", { n: 3 }, "c2")], "Done."],
  });
  const { client } = at;
  const { session } = await open(client, { tools: [customTool("order")] });
  await client.beta.sessions.events.send(session.id, { events: [message("two")] });
  const calls: unknown[] = [];
  const order = runnable("order", async (input) => {
    calls.push(input);
    return `ordered ${(input as { n: number }).n}`;
  });
  const posted: boolean[] = [];
  for await (const call of client.beta.sessions.events.toolRunner(session.id, {
    tools: [order],
    maxIdleMs: 100,
  }))
    posted.push(call.posted);
  assert.deepEqual(calls, [{ n: 2 }, { n: 3 }]);
  assert.deepEqual(posted, [true, true]);
  // A second runner finds everything answered.
  for await (const _ of client.beta.sessions.events.toolRunner(session.id, {
    tools: [order],
    maxIdleMs: 50,
  }));
  assert.equal(calls.length, 2);
  const all = await listed(client, session.id);
  const results = all.flatMap((one) => (one.type === "user.custom_tool_result" ? [one] : []));
  assert.deepEqual(
    results.map(({ content, is_error: isError }) => [content, isError]),
    [2, 3].map((n) => [[{ type: "text", text: `ordered ${n}` }], false]),
  );
  assert.equal(all.at(-1)?.type, "session.status_idle");
  // Sent again, an outcome is accepted; another one is not.
  const [first] = results;
  const again = {
    type: "user.custom_tool_result" as const,
    custom_tool_use_id: first?.custom_tool_use_id ?? "",
  };
  const said = (text: string) => ({ events: [{ ...again, content: [{ type: "text" as const, text }] }] });
  const { data } = await client.beta.sessions.events.send(session.id, said("ordered 2"));
  assert.equal(data?.[0]?.id, first?.id);
  await assert.rejects(client.beta.sessions.events.send(session.id, said("other")), Anthropic.ConflictError);
  assert.deepEqual(at.place.troubles, []);
});

test("a call that asks waits for its confirmation; partial answers list the missing ones", async () => {
  await using at = await claudeServed({
    lines: [
      [use("bash", { command: "ls" }, "c1"), use("bash", { command: "rm" }, "c2"), use("order", {}, "c3")],
      "ok",
    ],
  });
  const { client } = at;
  const tools = [
    customTool("order"),
    {
      type: "agent_toolset_20260401" as const,
      configs: [{ name: "bash" as const, enabled: true, permission_policy: { type: "always_ask" as const } }],
    },
  ];
  const { session } = await open(client, { tools, config: { type: "self_hosted" } });
  const stream = await client.beta.sessions.events.stream(session.id);
  await client.beta.sessions.events.send(session.id, { events: [message("go")] });
  const events = await readUntil(stream, isIdle);
  const uses = events.flatMap((one) =>
    one.type === "agent.tool_use" || one.type === "agent.custom_tool_use" ? [one] : [],
  );
  const permission = (one: object) => (one as { evaluated_permission?: string }).evaluated_permission;
  assert.deepEqual(
    uses.map((one) => [one.type, one.name, permission(one)]),
    [
      ["agent.tool_use", "bash", "ask"],
      ["agent.tool_use", "bash", "ask"],
      ["agent.custom_tool_use", "order", "allow"],
    ],
  );
  const [ls = "", rm = "", order = ""] = uses.map(({ id }) => id);
  assert.deepEqual(waitsFor(events.at(-1)), [ls, rm, order]);
  const send = async (event: Anthropic.Beta.Sessions.BetaManagedAgentsEventParams, last: typeof isIdle) => {
    const following = await client.beta.sessions.events.stream(session.id);
    await client.beta.sessions.events.send(session.id, { events: [event] });
    return readUntil(following, last);
  };
  const denied = await send(
    { type: "user.tool_confirmation", tool_use_id: rm, result: "deny", deny_message: "too risky" },
    isIdle,
  );
  assert.deepEqual(waitsFor(denied.at(-1)), [ls, order]);
  const done = { type: "user.custom_tool_result" as const, custom_tool_use_id: order };
  const ordered = await send({ ...done, content: [{ type: "text", text: "42" }] }, isIdle);
  assert.deepEqual(waitsFor(ordered.at(-1)), [ls]);
  const allowed = await send(
    { type: "user.tool_confirmation", tool_use_id: ls, result: "allow" },
    (one) => waitsFor(one).length > 0,
  );
  assert.ok(allowed.some((one) => one.type === "user.tool_confirmation" && one.result === "allow"));
  const result = { type: "user.tool_result" as const, tool_use_id: ls, is_error: true };
  const last = await send({ ...result, content: [{ type: "text", text: "no such file" }] }, isTurnEnd);
  assert.ok(last.some((one) => one.type === "agent.message"));
  const confirmed = await listed(client, session.id, { types: ["user.tool_confirmation"] });
  assert.deepEqual(
    confirmed.map((one) => one.type === "user.tool_confirmation" && [one.tool_use_id, one.result]),
    [
      [rm, "deny"],
      [ls, "allow"],
    ],
  );
  // The same confirmation again changes nothing; the opposite is refused.
  const again = (verdict: "allow" | "deny") =>
    client.beta.sessions.events.send(session.id, {
      events: [{ type: "user.tool_confirmation", tool_use_id: ls, result: verdict }],
    });
  assert.equal((await again("allow")).data?.[0]?.id, confirmed[1]?.id);
  await assert.rejects(again("deny"), Anthropic.ConflictError);
  assert.deepEqual(at.place.troubles, []);
});

test("a denied tool is not offered to the runner, and confirming needs the scope operate", async () => {
  await using at = await claudeServed({ lines: [[use("bash", { command: "ls" }, "c1")], "ok"] });
  const { client, place } = at;
  const tools = [
    { type: "agent_toolset_20260401", default_config: { permission_policy: { type: "always_ask" } } },
  ];
  const { session } = await open(client, { tools: tools as never, config: { type: "self_hosted" } });
  const stream = await client.beta.sessions.events.stream(session.id);
  await client.beta.sessions.events.send(session.id, { events: [message("go")] });
  const [id = ""] = waitsFor((await readUntil(stream, isIdle)).at(-1));
  const { token } = await place.engine.addToken({ scopes: ["read", "write", "settle"] });
  const writer = new Anthropic({ apiKey: token, baseURL: `${place.server.url}/anthropic` });
  const confirm = (result: "allow" | "deny") =>
    writer.beta.sessions.events.send(session.id, {
      events: [{ type: "user.tool_confirmation", tool_use_id: id, result }],
    });
  await assert.rejects(confirm("allow"), Anthropic.PermissionDeniedError);
  const bash = runnable("bash", async () => assert.fail("it was denied"));
  const runner = client.beta.sessions.events.toolRunner(session.id, { tools: [bash], maxIdleMs: 100 });
  const seen: (string | undefined)[] = [];
  await confirm("deny");
  for await (const call of runner) seen.push(call.confirmation);
  assert.deepEqual(seen, []);
});

test("agents have versions, environments are kept, sessions keep their version", async () => {
  const asked: string[] = [];
  await using at = await claudeServed({
    lines: [
      (call) => {
        asked.push(JSON.stringify(call.parts));
        return "ok";
      },
    ],
  });
  const { client } = at;
  const first = await client.beta.agents.create({ name: "Über Helper", model: "test/one", system: "FIRST" });
  assert.deepEqual([first.id, first.version, first.name], ["agent_u-ber-helper", 1, "Über Helper"]);
  const twin = await client.beta.agents.create({ name: "Über Helper", model: "claude-opus-4-6" });
  assert.equal(twin.id, "agent_u-ber-helper-2");
  const second = await client.beta.agents.update(first.id, {
    version: 1,
    system: "SECOND",
    metadata: { a: "b" },
  });
  assert.deepEqual([second.version, second.system, second.metadata], [2, "SECOND", { a: "b" }]);
  const unchanged = await client.beta.agents.update(first.id, { version: 2, name: "Über Helper" });
  assert.equal(unchanged.version, 2);
  const versions = [];
  for await (const { version, system } of client.beta.agents.versions.list(first.id))
    versions.push([version, system]);
  assert.deepEqual(versions, [
    [2, "SECOND"],
    [1, "FIRST"],
  ]);
  assert.equal((await client.beta.agents.retrieve(first.id, { version: 1 })).system, "FIRST");
  const environment = await client.beta.environments.create({
    name: "mine",
    config: { type: "self_hosted" },
  });
  const session = await client.beta.sessions.create({
    agent: { type: "agent", id: first.id, version: 1 },
    environment_id: environment.id,
    initial_events: [message("go")],
  });
  await until(
    async () => (await client.beta.sessions.retrieve(session.id)).status === "idle" && asked.length > 0,
  );
  assert.match(asked[0] ?? "", /FIRST/);
  assert.equal(session.agent.version, 1);
  const overridden = await client.beta.sessions.create({
    agent: { type: "agent_with_overrides", id: first.id, system: "OTHER", model: "test/other" },
    environment_id: environment.id,
  });
  assert.deepEqual([overridden.agent.system, overridden.agent.model.id], ["OTHER", "test/other"]);
  await client.beta.agents.archive(twin.id);
  const names = [];
  for await (const { id } of client.beta.agents.list()) names.push(id);
  assert.deepEqual(names, [first.id]);
  await assert.rejects(
    client.beta.sessions.create({ agent: twin.id, environment_id: environment.id }),
    Anthropic.ConflictError,
  );
  const renamed = await client.beta.environments.update(environment.id, { name: "yours" });
  assert.equal(renamed.name, "yours");
  await client.beta.environments.archive(environment.id);
  assert.deepEqual((await client.beta.environments.list()).data, []);
  await client.beta.environments.delete(environment.id);
  await assert.rejects(client.beta.environments.retrieve(environment.id), Anthropic.NotFoundError);
  const threads = await client.beta.sessions.threads.list(session.id);
  assert.deepEqual(
    threads.data.map((one) => [one.session_id, one.status]),
    [[session.id, "idle"]],
  );
});

test("the client's own toolset runs in a self-hosted environment, with the same inputs", async () => {
  const workdir = mkdtempSync(join(tmpdir(), "skein-toolset-"));
  try {
    const calls = [
      use("write", { file_path: "a.txt", content: "hello" }, "c1"),
      use("read", { file_path: "a.txt" }, "c2"),
    ];
    await using at = await claudeServed({ lines: [calls.slice(0, 1), calls.slice(1), "ok"] });
    const { client } = at;
    const tools = [
      {
        type: "agent_toolset_20260401" as const,
        default_config: { permission_policy: { type: "always_allow" as const } },
      },
    ];
    const { session } = await open(client, { tools, config: { type: "self_hosted" } });
    const own = betaAgentToolset20260401({ workdir });
    const bindings = (await (await at.place.engine.session(session.id)).state()).bindings;
    const offered = new Map<string, unknown>();
    for await (const { body, content } of (await at.place.engine.session(session.id)).events({
      types: ["resource.bound"],
    }))
      offered.set(
        (body as { name: string }).name,
        (content as { options: { input: unknown } }).options.input,
      );
    assert.equal(bindings.length, offered.size);
    const inputOf = (schema: unknown): unknown => {
      const { properties = {}, required = [] } = schema as {
        properties?: object;
        required?: readonly string[];
      };
      return { fields: Object.keys(properties).toSorted(), required: [...required].toSorted() };
    };
    for (const tool of own) {
      const { name, input_schema: schema } = tool as { name: string; input_schema: unknown };
      if (offered.has(name)) assert.deepEqual(inputOf(offered.get(name)), inputOf(schema), name);
    }
    await client.beta.sessions.events.send(session.id, { events: [message("go")] });
    const runner = client.beta.sessions.events.toolRunner(session.id, { tools: own, maxIdleMs: 100 });
    const ran: unknown[] = [];
    for await (const { name, isError, posted } of runner) ran.push([name, isError, posted]);
    assert.deepEqual(ran, [
      ["write", false, true],
      ["read", false, true],
    ]);
    const results = await listed(client, session.id, { types: ["user.tool_result"] });
    assert.match(JSON.stringify(results[1]), /hello/);
  } finally {
    rmSync(workdir, { recursive: true, force: true });
  }
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await isSo()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail("it did not happen within 5 seconds");
}
