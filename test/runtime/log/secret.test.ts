/** Secrets and the rest of the engine: what is refused, what the model and tools get, what still agrees. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { z } from "zod";
import { limit } from "../../../src/core/limit.ts";
import { openEngine } from "../../../src/index.ts";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { SecretsOptions } from "../../../src/runtime/log/redact.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { kind } from "../../kind.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { ToolOutput, type OuterTool } from "../../../src/tool/port.ts";
import { makeToolSource } from "../../../src/tool/source.ts";
import { all, workspace } from "../place.ts";
import { scripted, use, type Line } from "../turn/scripted.ts";
import { twoInMemory } from "../two-stores.ts";

const secret = "canary/99-w0rd";
const flat = "canary-in-a-name";
const env: Readonly<Record<string, string>> = { PATH: process.env["PATH"] ?? "", HR_DB: "behind-a-name-77" };

function engineOn(
  lines: readonly Line[] = [],
  options: { readonly secrets?: SecretsOptions; readonly tools?: readonly OuterTool[] } = {},
) {
  const world = { ...realWorld(), secret: (name: string) => env[name] };
  const store = kind().store({ world, workspace });
  const script = scripted(lines);
  const { secrets = { CANARY: secret }, tools = [] } = options;
  const models = async () => script.models;
  const source = async () => makeToolSource({ world, tools });
  const engine = new Engine({ store, world, secrets, models, tools: source });
  return { engine, store, script, world };
}

interface Changed {
  readonly path: string;
  readonly before: Readonly<Record<string, unknown>> | null;
}

const contentsOf = async (session: Session, type: string) =>
  (await all(session.events({ types: [type] }))).map(({ content }) => content);

const ask = async (session: Session, text: string): Promise<void> => {
  for await (const _ of session.ask(text)) continue;
};

function folder(): { readonly path: string; readonly [Symbol.dispose]: () => void } {
  const path = mkdtempSync(join(tmpdir(), "skein-secret-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

test("a key, a label or a topic that holds a secret is refused, and nothing is written", async () => {
  await using engine = engineOn().engine;
  const session = await engine.open({ objective: "Keys" });
  const refused = { code: "invalid", message: /a key contains the secret/ };
  await assert.rejects(session.record("fact", `k-${secret}`, 1), refused);
  await assert.rejects(session.label({ team: secret }), refused);
  await assert.rejects(session.scratch(secret, 1), refused);
  await assert.rejects(session.save(secret), refused);
  await assert.rejects(engine.open({ objective: "x", labels: { team: secret } }), refused);
  assert.equal((await session.head()).seq, 1);
});

test("who works or holds a lease is not called by a secret; a process may be called like one", async () => {
  const { engine, store, world } = engineOn();
  await using _ = engine;
  const session = await engine.open({ objective: "Names" });
  const refused = {
    code: "invalid",
    message: /work: name: contains the secret CANARY/,
  };
  await assert.rejects(engine.work({ name: `w-${secret}` }), refused);
  await assert.rejects(session.lease({ holder: secret }), refused);
  await assert.rejects(session.drive({ holder: secret }), refused);
  await assert.rejects(session.run({ holder: secret }), refused);
  assert.deepEqual([(await session.head()).seq, (await store.workers()).length], [1, 0]);
  const other = new Engine({
    store,
    world: { ...world, self: `${secret}:7/1` },
    secrets: { CANARY: secret },
  });
  await using lease = await (await other.session(session.id)).lease({ holder: `w@${secret}:7/1` });
  assert.equal(lease.epoch, 2);
});

test("texts that can only be secrets are refused in names, too, and scan finds them there", async () => {
  const token = `ghp_${"aB3dE5gH7jK9".repeat(3)}`;
  const { engine, store, world } = engineOn([], { secrets: { looksLike: false } });
  await using _ = engine;
  const before = await engine.open({
    objective: "Names",
    labels: { team: token, note: "password: hunter22" },
  });
  await using strict = new Engine({ store, world });
  const session = await strict.session(before.id);
  const refused = { code: "invalid", message: /a key contains the secret github-token/ };
  await assert.rejects(session.record("fact", token, 1), refused);
  await assert.rejects(session.label({ team: token }), refused);
  await assert.rejects(session.scratch(`my ${token}`, 1), refused);
  await assert.rejects(session.save(token), refused);
  await assert.rejects(session.contract(token, true), refused);
  await assert.rejects(
    session.bind({ kind: "file", path: "/tmp/x", name: token }),
    /must not contain a secret/,
  );
  assert.equal((await session.head()).seq, 1);
  await session.record("fact", "password", "as a word, it may be a key");
  const { findings } = await strict.scan({ session: session.id });
  assert.deepEqual(
    findings.map(({ seq, kind, registered, where, preview }) => ({ seq, kind, registered, where, preview })),
    [
      { seq: 1, kind: "github-token", registered: false, where: "body", preview: "[redacted: github-token]" },
      {
        seq: 1,
        kind: "password",
        registered: false,
        where: "body",
        preview: "password: [redacted: password]",
      },
    ],
  );
});

test("holds, items and sessions with such a name can be lifted, retracted and deleted", async () => {
  const token = `ghp_${"aB3dE5gH7jK9".repeat(3)}`;
  const { engine, store, world } = engineOn([], { secrets: { looksLike: false } });
  await using _ = engine;
  const before = await engine.open({ objective: "Names", labels: { team: token } });
  await before.hold(token);
  await before.record("fact", token, 1);
  await using strict = new Engine({ store, world });
  const session = await strict.session(before.id);
  await session.lift(token);
  await session.retract("fact", token);
  await strict.delete(session.id);
  assert.equal(await store.head(session.id), undefined);
});

test("the name of a host that is registered keeps nothing from running", async () => {
  const { engine, world } = engineOn(["Fine."], { secrets: { HOST: realWorld().self ?? "" } });
  assert.ok(world.self !== undefined && world.self.length >= 8);
  await using _ = engine;
  const session = await engine.open({ objective: "Run" });
  await ask(session, "Hi");
  assert.equal((await session.state()).status, "open");
});

test("the key of an item says whether its value is secret", async () => {
  await using engine = engineOn().engine;
  const session = await engine.open({ objective: "Items" });
  await session.record("fact", "db_password", "correcthorse");
  await session.record("fact", "horse", "correcthorse");
  await session.scratch("api_key", { length: 12 });
  assert.deepEqual(await contentsOf(session, "item.recorded"), [
    { value: "[redacted: password]" },
    { value: "correcthorse" },
  ]);
});

test("a word of the catalog may be a secret, and the session still continues", async () => {
  const { engine } = engineOn(["Fine."], { secrets: { WORD: "completed", OTHER: "tool-calls" } });
  await using _ = engine;
  const session = await engine.open({ objective: "it is completed now" });
  await ask(session, "Hi");
  assert.equal((await session.state()).objective, "it is [redacted: WORD] now");
  assert.deepEqual((await all(session.events({ types: ["turn.ended"] }))).length, 1);
});

test("model and tools see the redacted log, and every context is rebuilt from it", async () => {
  const got: unknown[] = [];
  const tool = defineTool({
    name: "take",
    description: `takes ${secret}`,
    input: z.looseObject({}),
    effect: "read",
    run: async (input) => {
      got.push(input);
      // Where a long output is cut.
      const before = Math.floor(limit.toolOutputCharsMax * 0.7) - 6;
      return `${"x".repeat(before)}${secret}${"y".repeat(20_000)}`;
    },
  });
  const lines = [[use("take", { with: secret, [secret]: 1 }, "a")], `I was given ${secret}.`, "And again."];
  const { engine, script } = engineOn(lines, { tools: [tool] });
  await using _ = engine;
  const session = await engine.open({ objective: secret, bind: [{ kind: "tool", name: "take" }] });
  await ask(session, `use ${secret}`);
  await ask(session, "Go on.");
  assert.deepEqual(got, [{ with: "[redacted: CANARY]", "[redacted: CANARY]": 1 }]);
  assert.equal(JSON.stringify(script.calls.map(({ parts }) => parts)).includes("canary"), false);
  assert.deepEqual(await contentsOf(session, "tool.requested"), [{ input: got[0] }]);
  const [settled] = await contentsOf(session, "tool.settled");
  assert.equal(JSON.stringify(settled).includes("canar"), false, "half of a secret is one, too");
  const bound = await all(session.events({ types: ["tools.bound"] }));
  assert.equal(bound.length, 1, "the same tools are not bound again");
  assert.equal((await session.replay()).ok, true);
  assert.equal((await session.verify()).ok, true);
});

test("digests and sizes are those of the stored text", async () => {
  using place = folder();
  const path = join(place.path, "rates.txt");
  writeFileSync(path, `rate ${secret}\n`);
  const { engine, world } = engineOn();
  await using _ = engine;
  const added = await engine.addAgent({ name: "payroll", instructions: `use ${secret}` });
  const again = await engine.addAgent({ name: "payroll", instructions: `use ${secret}` });
  assert.deepEqual([added.version, again.version, again.digest], [1, 1, added.digest]);
  assert.equal(added.definition.instructions, "use [redacted: CANARY]");
  const session = await engine.open({ objective: "Docs", agent: "payroll", files: [path] });
  const [loaded] = await all(session.events({ types: ["document.loaded"] }));
  const text = "rate [redacted: CANARY]\n";
  assert.deepEqual(loaded?.content, { path, text });
  const kept = { kind: "file", digest: world.digest("", text), bytes: text.length };
  assert.deepEqual(loaded?.body, kept);
});

test("rules and contracts with a secret are refused, since a redacted one means something else", async () => {
  await using engine = engineOn().engine;
  const session = await engine.open({ objective: "Rules" });
  const refused = (what: RegExp) => ({ code: "invalid", message: what });
  const contract = session.contract("rates", { type: "string", enum: [secret] });
  await assert.rejects(contract, refused(/^a contract must not contain a secret: it contains CANARY$/));
  const pattern = { command: `echo ${secret}` };
  const grant = session.grant({ tool: "shell", rule: "deny", pattern });
  await assert.rejects(grant, refused(/^the pattern of a permission must not contain a secret/));
  const opened = engine.open({ objective: "x", grant: [{ tool: "shell", rule: "deny", pattern }] });
  await assert.rejects(opened, refused(/^the pattern of a permission/));
  const permissions = [{ tool: "shell", rule: "deny", pattern }] as const;
  const agent = engine.addAgent({ name: "payroll", instructions: "Pay.", permissions });
  await assert.rejects(agent, refused(/^the definition of agent "payroll" must not contain a secret/));
  const policy = engine.setPolicy("old", {
    match: { labels: { team: secret } },
    after: "30d",
    do: "archive",
  });
  await assert.rejects(policy, refused(/^a policy must not contain a secret: it contains CANARY$/));
  assert.equal((await session.head()).seq, 1);
  await session.grant({ tool: "shell", rule: "deny", reason: `not with ${secret}` });
  const reason = "not with [redacted: CANARY]";
  assert.deepEqual(await contentsOf(session, "permission.set"), [{ reason }]);
});

test("a binding that holds a secret is refused; what its secrets name is taken out", async () => {
  const { engine, store, world } = engineOn();
  await using _ = engine;
  const session = await engine.open({ objective: "Bind" });
  const url = "postgres://ann:pa55-word@db/hr";
  await assert.rejects(session.bind({ kind: "database", url }), /a binding must not contain a secret/);
  await session.bind({ kind: "database", url: "postgres://db/hr", name: "hr", secrets: ["HR_DB"] });
  await session.append("it is behind-a-name-77");
  // Another process knows nothing but the log and its own environment.
  await using later = new Engine({ store, world });
  await (await later.session(session.id)).append("still behind-a-name-77");
  assert.deepEqual(await contentsOf(session, "input.received"), [
    { blocks: [{ type: "text", text: "it is [redacted: HR_DB]" }] },
    { blocks: [{ type: "text", text: "still [redacted: HR_DB]" }] },
  ]);
});

test("an image with a secret is not stored, and the model gets a note", async () => {
  const bytes = Buffer.concat([Buffer.from([0x89, 0x50, 0, 0xff]), Buffer.from(secret, "utf16le")]);
  const tool = defineTool({
    name: "draw",
    description: "draws",
    input: z.object({}),
    effect: "read",
    run: async () => new ToolOutput("here", { images: [{ bytes, mediaType: "image/png" }] }),
  });
  const { engine } = engineOn([[use("draw", {}, "a")], "Well."], { tools: [tool] });
  await using _ = engine;
  const session = await engine.open({ objective: "Draw", bind: [{ kind: "tool", name: "draw" }] });
  await ask(session, "Draw it.");
  const output = "an image is not kept: the binary data contains the secret CANARY";
  assert.deepEqual(await contentsOf(session, "tool.settled"), [{ output }]);
});

test("a file version with a secret is not stored, and a rewind reports it", async () => {
  using place = folder();
  const path = join(place.path, "app.env");
  const named = join(place.path, flat);
  writeFileSync(path, `KEY=${secret}\n`);
  const tool = defineTool({
    name: "edit",
    description: "edits",
    input: z.object({}),
    touches: () => [path, named],
    run: async () => {
      writeFileSync(path, "KEY=none\n");
      writeFileSync(named, "");
      return "done";
    },
  });
  const secrets = { CANARY: secret, FLAT: flat };
  const { engine, world } = engineOn([[use("edit", {}, "a")], "Done."], { tools: [tool], secrets });
  await using _ = engine;
  const bind = [
    { kind: "directory", path: place.path, name: "work", mode: "write" },
    { kind: "tool", name: "edit" },
  ] as const;
  const session = await engine.open({ objective: "Edit", bind, grant: [{ tool: "edit", rule: "allow" }] });
  const { seq } = await session.head();
  await ask(session, "Edit it.");
  const [changed] = await all(session.events({ types: ["resource.changed"] }));
  const content = changed?.content as { readonly detail: { readonly files: readonly Changed[] } } | undefined;
  const files = content?.detail.files ?? [];
  const digest = world.digest("", JSON.stringify(files));
  assert.deepEqual(changed?.body, { name: "work", digest }, "the digest is of what is stored");
  assert.deepEqual(
    files.map((file) => file.path),
    ["app.env", "[redacted: FLAT]"],
  );
  const { mode: _mode, ...before } = files[0]?.before ?? {};
  assert.deepEqual(before, { kind: "file", bytes: `KEY=${secret}\n`.length, held: "CANARY" });
  await assert.rejects(session.rewind(seq, { files: true }), /how it was held a secret \(CANARY\)/);
  assert.equal(readFileSync(path, "utf8"), "KEY=none\n", "nothing was touched");
});

test("a bundle with a registered secret is refused by its position; a move is not", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const session = await a.engine.open({ objective: "Got in early" });
  await session.append("nothing");
  await session.append(`here: ${secret}`);
  const bundle = await all(a.engine.export(session.id));
  async function* chunks() {
    yield* bundle;
  }
  const strict = new Engine({ store: b.store, world: b.world, secrets: { CANARY: secret } });
  const refused = {
    code: "refused",
    message: `record ${session.id}@3 of the bundle holds the secret CANARY`,
  };
  await assert.rejects(strict.import(chunks()), refused);
  assert.equal(await b.store.head(session.id), undefined);
  const early = new Engine({ store: a.store, world: a.world, secrets: { CANARY: secret } });
  await (await early.session(session.id)).migrate({ to: b.store });
  assert.equal((await strict.session(session.id)).id, session.id);
  const { findings } = await strict.scan({ session: session.id });
  assert.deepEqual(
    findings.map(({ seq, kind, preview }) => ({ seq, kind, preview })),
    [{ seq: 3, kind: "CANARY", preview: "here: [redacted: CANARY]" }],
  );
});

test("a blob of a bundle is checked before any of it is stored", async () => {
  await using homes = twoInMemory();
  const { a, b } = homes;
  const session = await a.engine.open({ objective: "With a file" });
  const bytes = Buffer.alloc(3_000_000, 1);
  bytes.write(secret, 1_048_570);
  const blob = await a.engine.putBlob(bytes);
  await session.input([{ type: "file", blob, mediaType: "application/octet-stream" }]);
  const strict = new Engine({ store: b.store, world: b.world, secrets: { CANARY: secret } });
  await assert.rejects(strict.import(a.engine.export(session.id)), /a blob of ses_\w+ of the bundle holds/);
  assert.equal(await b.store.blob(blob), undefined);
});

test("openEngine registers given secrets and provider keys, with detection switched off", async () => {
  const models = { providers: { "my-server": { url: "http://localhost:1/v1", key: "configured-key-1" } } };
  const keys = { OPENAI_API_KEY: "environment-key-2", UNSET: undefined };
  const told = "configured-key-1 environment-key-2 given-value-3 password=hunter22";
  for (const [looksLike, password] of [
    [true, "[redacted: password]"],
    [false, "hunter22"],
  ] as const) {
    const secrets = { GIVEN: "given-value-3", NOT_SET: undefined, looksLike };
    await using engine = await openEngine({ store: "memory:", models, env: keys, secrets });
    const session = await engine.open({ objective: told });
    const names = "[redacted: MY_SERVER_API_KEY] [redacted: OPENAI_API_KEY] [redacted: GIVEN]";
    assert.equal((await session.state()).objective, `${names} password=${password}`);
  }
  await assert.rejects(openEngine({ store: "memory:", secrets: { A: "short" } }), /at least 8/);
  await assert.rejects(openEngine({ store: "memory:", secrets: { A: true } }), /"A": expected a string/);
  await assert.rejects(openEngine({ store: "memory:", secrets: { looksLike: "no" } as never }), /looksLike/);
});
