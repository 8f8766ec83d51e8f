/** The scope `settle`: only a token with it settles external calls; one for a session settles only there. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { use } from "../runtime/turn/scripted.ts";
import { served, type Served } from "./served.ts";

const input = { type: "object", properties: { article: { type: "string" } }, required: ["article"] };
const options = { external: true, description: "Orders an article.", input };
const bind = [{ kind: "tool", name: "order", options }] as const;
const order = [use("order", { article: "pen" })];

async function waiting({ engine }: Served): Promise<{ readonly id: string; readonly call: string }> {
  const session = await engine.open({ objective: "Shop", bind });
  assert.equal((await session.ask("Order a pen.").result).by, "tool");
  const [open] = (await session.state()).calls;
  return { id: session.id, call: open?.call ?? "" };
}

const isForbidden = ({ status }: { readonly status: number }): boolean => status === 403;

test("write does not settle; a token for one session settles there and does nothing else", async () => {
  await using place = await served({ lines: [order, order, "Done."] });
  const { engine } = place;
  const [first, second] = [await waiting(place), await waiting(place)];
  const writes = await engine.addToken({ scopes: ["read", "write", "operate"] });
  const one = await engine.addToken({ scopes: ["settle"], session: first.id });
  const all = await engine.addToken({ scopes: ["settle"] });
  const settle = (
    { id, call }: typeof first,
    { token }: { readonly token: string },
    output: unknown = "sent",
  ) => place.call("session.settle", { id, params: { call, output }, token });
  assert.ok(isForbidden(await settle(first, writes)));
  assert.ok(isForbidden(await settle(second, one)), "another session");
  assert.ok(isForbidden(await settle({ ...first, id: first.id.slice(-8) }, one)), "a suffix of the id");
  for (const operation of [
    "session.state",
    "session.append",
    "session.interrupt",
    "session.close",
  ] as const) {
    const asked = await place.call(operation, { id: first.id, token: one.token });
    assert.ok(isForbidden(asked) || asked.status === 422, operation);
    assert.notEqual(asked.status, 200, operation);
  }
  assert.ok(isForbidden(await place.call("engine.sessions", { token: one.token })));
  const done = await settle(first, one);
  assert.equal(done.status, 200);
  assert.deepEqual((await settle(first, one)).body, { ...(done.body as object), duplicate: true });
  assert.equal((await settle(first, one, "other")).status, 409);
  assert.equal((await settle(second, all)).status, 200);
  const session = await engine.session(first.id);
  assert.equal((await session.run()).status, "open");
  const [entry] = (await engine.tokens()).filter(({ id }) => id === one.id);
  assert.deepEqual([entry?.session, entry?.scopes], [first.id, ["settle"]]);
});

test("a token for one session has only the scope settle, whatever a record says", async () => {
  await using place = await served();
  const { engine } = place;
  const session = await engine.open({ objective: "Shop" });
  for (const scopes of [["read"], ["settle", "read"], ["admin"]] as const)
    await assert.rejects(engine.addToken({ scopes, session: session.id }), /only the scope settle/);
  await assert.rejects(engine.addToken({ scopes: ["settle"], session: "ses_1" }), /expected a session id/);
  assert.equal((await engine.tokens()).length, 1);
});
