/** What hands out the machine takes more than to write. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openEngine } from "../../src/index.ts";
import type { OperationId } from "../../src/call/operations.ts";
import { served, type Answered } from "./served.ts";

type Asked = readonly [OperationId, Readonly<Record<string, unknown>>];

const open = (more: object): Asked => ["engine.open", { objective: "Anything", ...more }];
const at = Date.now() + 3_600_000;

/** Each is taken from whoever may operate. What is missing on this machine is told after that. */
const handsOut: readonly Asked[] = [
  ["session.bind", { kind: "shell", path: "/" }],
  ["session.bind", { kind: "directory", path: "/", mode: "read" }],
  ["session.bind", { kind: "file", path: "/etc/passwd" }],
  ["session.bind", { kind: "database", url: "postgres://127.0.0.1:1/x" }],
  ["session.bind", { kind: "mcp", command: ["true"] }],
  ["session.grant", { tool: "shell", rule: "allow" }],
  ["session.answer", { allow: true }],
  ["session.fork", { files: "/tmp/nowhere" }],
  ["session.send", { to: "x", message: "Hello", at: "/tmp/nowhere.db" }],
  open({
    bind: [
      { kind: "tool", name: "clock" },
      { kind: "shell", path: "/" },
    ],
  }),
  open({ bind: [{ kind: "directory", path: "/" }] }),
  open({ files: ["/etc/passwd"] }),
  open({ grant: [{ tool: "shell", rule: "allow" }] }),
  open({ wake: [{ kind: "file", path: "/etc/passwd" }] }),
  open({ wake: [{ kind: "git", path: "/tmp", ref: "main" }] }),
];

const plain: readonly Asked[] = [
  ["session.grant", { tool: "shell", rule: "ask" }],
  ["session.grant", { tool: "shell", rule: "deny" }],
  ["session.fork", {}],
  open({ bind: [], files: [], grant: [{ tool: "shell", rule: "deny" }] }),
  open({ wake: [{ kind: "at", at }] }),
];

const isTold = ({ status, body }: Answered): boolean =>
  status === 403 && /requires the scope "operate"/.test((body as { readonly detail: string }).detail);

test("to write is not to hand out the machine; to operate is", async () => {
  await using place = await served({ otherStores: true });
  const { engine } = place;
  const [writes, operates, rules] = await Promise.all([
    engine.addToken({ scopes: ["read", "write"] }),
    engine.addToken({ scopes: ["read", "write", "operate"] }),
    engine.addToken({ scopes: ["admin"] }),
  ]);
  const session = await engine.open({ objective: "Something" });
  const before = await session.head();
  const ask = ([id, params]: Asked, { token }: { readonly token: string }): Promise<Answered> =>
    place.call(id, { id: session.id, params, token });
  for (const asked of handsOut) assert.ok(isTold(await ask(asked, writes)), JSON.stringify(asked));
  assert.deepEqual(await session.head(), before, "nothing was written");
  assert.equal((await engine.sessions()).rows.length, 1);
  for (const asked of plain) {
    const { status, body } = await ask(asked, writes);
    assert.equal(status, 200, JSON.stringify([asked, body]));
  }
  for (const asked of handsOut)
    for (const whose of [operates, rules])
      assert.notEqual((await ask(asked, whose)).status, 403, JSON.stringify(asked));
});

test("an imported session is activated, and a copy with a shell is forked, by who may operate", async () => {
  await using place = await served({});
  const { engine } = place;
  await using other = await openEngine({ store: "memory:" });
  const bind = [{ kind: "shell", path: "/" }] as const;
  const [moved, copied] = [
    await other.open({ objective: "Theirs", bind }),
    await other.open({ objective: "Theirs too", bind }),
  ];
  await engine.import(other.export(moved.id, { move: true }));
  await engine.import(other.export(copied.id));
  const [writes, operates] = await Promise.all([
    engine.addToken({ scopes: ["read", "write"] }),
    engine.addToken({ scopes: ["read", "write", "operate"] }),
  ]);
  const asked: readonly (readonly [OperationId, string, Readonly<Record<string, unknown>>])[] = [
    ["session.activate", moved.id, {}],
    ["session.fork", copied.id, {}],
    ["engine.open", "", { from: copied.id }],
  ];
  for (const [operation, id, params] of asked) {
    const ask = (token: string) => place.call(operation, { id, params, token });
    assert.ok(isTold(await ask(writes.token)), operation);
    assert.equal((await ask(operates.token)).status, 200, operation);
  }
  assert.equal((await (await engine.session(moved.id)).fold()).standing.status, "open");
});
