/** Who may write may narrow what a session is allowed, and never loosen it. */
import type { Permission } from "../../src/core/tool/commands.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationId } from "../../src/call/operations.ts";
import { served, type Answered } from "./served.ts";

type Asked = readonly [OperationId, Readonly<Record<string, unknown>>];

const operators: readonly Permission[] = [
  { tool: "shell", rule: "deny" },
  { tool: "write_file", name: "writes", rule: "ask", pattern: { path: "etc/*" } },
  { tool: "*", name: "unsafe", effect: "unsafe", rule: "ask" },
  { tool: "curl", name: "web", rule: "allow" },
];

const loosens: readonly Permission[] = [
  { name: "shell", tool: "zzz", rule: "deny" },
  { name: "shell", tool: "shell", rule: "ask" },
  { name: "shell", tool: "shell", rule: "deny", pattern: { command: "rm *" } },
  { name: "shell", tool: "shell", rule: "none" },
  { name: "writes", tool: "write_file", rule: "none" },
  { name: "writes", tool: "write_file", rule: "ask", pattern: { path: "usr/*" } },
  { name: "unsafe", tool: "zzz", rule: "deny" },
  { name: "unsafe", tool: "*", effect: "unsafe", rule: "allow" },
  { name: "new", tool: "pay", rule: "allow" },
];

const narrows: readonly Permission[] = [
  { name: "more", tool: "fetch", rule: "deny" },
  { name: "writes", tool: "write_file", rule: "ask" },
  { name: "writes", tool: "write_file", rule: "deny" },
  { name: "web", tool: "curl", rule: "none" },
];

const isForbidden = ({ status, body }: Answered): boolean =>
  status === 403 && /requires the scope "operate"/.test((body as { readonly detail: string }).detail);

test("a token that may write replaces or removes no rule of an operator, by no path", async () => {
  await using place = await served();
  const { engine } = place;
  const writes = await engine.addToken({ scopes: ["read", "write"] });
  const operates = await engine.addToken({ scopes: ["read", "write", "operate"] });
  const session = await engine.open({ objective: "Guarded", grant: operators });
  const ask = ([id, params]: Asked, { token }: { readonly token: string }): Promise<Answered> =>
    place.call(id, { id: session.id, params, token });
  const head = await session.head();
  for (const rule of loosens) {
    assert.ok(isForbidden(await ask(["session.grant", { ...rule }], writes)), JSON.stringify(rule));
    const carried: Asked = ["engine.open", { from: session.id, grant: [rule] }];
    assert.ok(isForbidden(await ask(carried, writes)), JSON.stringify(rule));
  }
  assert.equal((await engine.sessions()).rows.length, 1);
  const written = (await session.head()).seq - head.seq;
  assert.ok(written <= 1, "nothing but the handoff was written");
  for (const rule of narrows)
    assert.equal((await ask(["session.grant", { ...rule }], writes)).status, 200, JSON.stringify(rule));
  for (const rule of loosens.slice(0, 3))
    assert.equal((await ask(["session.grant", { ...rule }], operates)).status, 200, JSON.stringify(rule));
});

test("another agent lifts no rule of the one that a session is carried on from", async () => {
  await using place = await served();
  const { engine } = place;
  const { token } = await engine.addToken({ scopes: ["read", "write"] });
  await engine.addAgent({
    name: "careful",
    instructions: "Careful.",
    permissions: [{ tool: "shell", rule: "deny" }],
  });
  await engine.addAgent({
    name: "bold",
    instructions: "Bold.",
    permissions: [{ tool: "shell", rule: "allow" }],
  });
  const session = await engine.open({ objective: "Guarded", agent: "careful" });
  const carry = (agent: string) => place.call("engine.open", { params: { from: session.id, agent }, token });
  assert.ok(isForbidden(await carry("bold")));
  const { status, body } = await carry("nobody");
  assert.equal(status, 200);
  const next = await engine.session((body as { session: string }).session);
  assert.deepEqual((await next.state()).permissions, [{ name: "from-1", tool: "shell", rule: "deny" }]);
});
