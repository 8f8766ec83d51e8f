/** The `SessionStore` of the Claude Agent SDK: its contract, and what breaks stores. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { suite, test } from "node:test";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { openEngine } from "../../../src/index.ts";
import {
  SkeinSessionStore,
  type ClaudeSessionEntry,
  type ClaudeSessionKey,
  type FoldSessionSummary,
} from "../../../src/adapter/claude-sdk/claude-sdk.ts";
import { longOnly } from "../../slice.ts";
import { installVendor } from "../../transcripts/vendor.ts";

const main: ClaudeSessionKey = { projectKey: "p", sessionId: "s" };
const agent: ClaudeSessionKey = { ...main, subpath: "subagents/agent-1" };
const entry = (n: number, more: object = {}): ClaudeSessionEntry => ({
  type: "user",
  uuid: `u${n}`,
  n,
  ...more,
});
const entries = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, place) => entry(from + place));
/** As the SDK's: opaque, of the entries in order. */
const fold: FoldSessionSummary = (previous, { sessionId }, added, options) => ({
  sessionId,
  mtime: options?.mtime ?? 0,
  data: { count: Number(previous?.data["count"] ?? 0) + added.length },
});

interface Case {
  readonly name: string;
  readonly run: (store: SkeinSessionStore) => Promise<void>;
}

const cases: readonly Case[] = [
  {
    name: "order is kept within an append and across appends",
    async run(store) {
      await store.append(main, entries(0, 3));
      await Promise.all([store.append(main, entries(3, 5)), store.append(main, entries(5, 6))]);
      assert.deepEqual(await store.load(main), entries(0, 6));
    },
  },
  {
    name: "an unknown key and an unknown subpath are null",
    async run(store) {
      assert.equal(await store.load(main), null);
      await store.append(main, entries(0, 1));
      assert.equal(await store.load(agent), null);
    },
  },
  {
    name: "an empty append creates nothing",
    async run(store) {
      await store.append(main, []);
      assert.equal(await store.load(main), null);
      assert.deepEqual(await store.listSessions("p"), []);
    },
  },
  {
    name: "a subpath is apart from the main transcript",
    async run(store) {
      await store.append(main, entries(0, 1));
      await store.append(agent, entries(0, 2));
      assert.deepEqual([await store.load(main), await store.load(agent)], [entries(0, 1), entries(0, 2)]);
    },
  },
  {
    name: "projects are apart",
    async run(store) {
      await store.append(main, entries(0, 1));
      assert.equal(await store.load({ ...main, projectKey: "q" }), null);
      assert.deepEqual(await store.listSessions("q"), []);
    },
  },
  {
    name: "lists have ids and milliseconds that move, and no session of subpaths alone",
    async run(store) {
      const before = Date.now() - 60_000;
      await store.append({ ...agent, sessionId: "other" }, entries(0, 1));
      await store.append(main, entries(0, 1));
      const [first, ...more] = await store.listSessions("p");
      assert.deepEqual([first?.sessionId, more], ["s", []]);
      assert.ok((first?.mtime ?? 0) > before && (first?.mtime ?? 0) < Date.now() + 60_000);
      await store.append(main, entries(1, 2));
      assert.ok(((await store.listSessions("p"))[0]?.mtime ?? 0) > (first?.mtime ?? 0));
    },
  },
  {
    name: "a deleted session is null, and can begin again",
    async run(store) {
      await store.append(main, entries(0, 2));
      await store.delete(main);
      assert.equal(await store.load(main), null);
      await store.append(main, entries(0, 1));
      assert.deepEqual(await store.load(main), entries(0, 1));
    },
  },
  {
    name: "deleting takes the subpaths along, and leaves other sessions and projects",
    async run(store) {
      const others = [
        { ...main, sessionId: "t" },
        { ...main, projectKey: "q" },
      ];
      for (const key of [main, agent, ...others]) await store.append(key, entries(0, 1));
      await store.delete(main);
      assert.deepEqual([await store.load(agent), await store.listSubkeys(main)], [null, []]);
      for (const key of others) assert.deepEqual(await store.load(key), entries(0, 1));
    },
  },
  {
    name: "deleting a subpath leaves the rest, and it can begin again",
    async run(store) {
      const second = { ...main, subpath: "subagents/agent-2" };
      for (const key of [main, agent, second]) await store.append(key, entries(0, 1));
      await store.delete(agent);
      assert.deepEqual([await store.load(agent), await store.listSubkeys(main)], [null, [second.subpath]]);
      assert.deepEqual([await store.load(main), await store.load(second)], [entries(0, 1), entries(0, 1)]);
      await store.append(agent, entries(0, 2));
      assert.deepEqual(await store.load(agent), entries(0, 2));
    },
  },
  {
    name: "deleting an unknown key succeeds",
    async run(store) {
      await store.delete(main);
      await store.delete(agent);
    },
  },
  {
    name: "subkeys are those of the session, without the main transcript",
    async run(store) {
      for (const key of [main, agent, { ...agent, sessionId: "t", subpath: "x" }])
        await store.append(key, entries(0, 1));
      assert.deepEqual(await store.listSubkeys(main), [agent.subpath]);
      assert.deepEqual(await store.listSubkeys({ projectKey: "p", sessionId: "none" }), []);
    },
  },
  {
    name: "summaries are folded again by each append to the main transcript",
    async run(store) {
      await store.append(main, entries(0, 2));
      await store.append(agent, entries(0, 5));
      await store.append(main, entries(1, 4));
      const [one, ...more] = (await store.listSessionSummaries?.("p")) ?? [];
      assert.deepEqual([one?.data, more], [{ count: 4 }, []]);
      assert.equal(one?.mtime, (await store.listSessions("p"))[0]?.mtime);
    },
  },
  {
    name: "summaries of other projects are separate, and deleted with the project",
    async run(store) {
      await store.append(main, entries(0, 1));
      assert.deepEqual(await store.listSessionSummaries?.("q"), []);
      await store.delete(main);
      assert.deepEqual(await store.listSessionSummaries?.("p"), []);
    },
  },
];

suite("the contract of SessionStore", () => {
  for (const { name, run } of cases)
    test(name, async () => {
      await using engine = await openEngine({ store: "memory:" });
      await run(new SkeinSessionStore(engine, { foldSessionSummary: fold }));
    });
});

test("a batch sent again adds only new entries; entries without a uuid are always appended", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const store = new SkeinSessionStore(engine);
  assert.equal(store.listSessionSummaries, undefined);
  const mark = { type: "mark" };
  await store.append(main, [entry(0), mark, entry(1), entry(0)]);
  await store.append(main, [entry(0), mark, entry(2)]);
  assert.deepEqual(await store.load(main), [entry(0), mark, entry(1), mark, entry(2)]);
  for (const key of [
    { ...main, subpath: "" },
    { ...main, sessionId: "" },
  ])
    await assert.rejects(
      store.append(key, [mark]),
      /SkeinSessionStore: append: (subpath|sessionId): expected/,
    );
});

test("a batch of any size is one append, so a crash leaves all of it or nothing", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const store = new SkeinSessionStore(engine);
  const many = Array.from({ length: 3_000 }, (_, n) => entry(n, { text: "x".repeat(700) }));
  await store.append(main, [entry(-1)]);
  const { rows } = await engine.sessions();
  const session = await engine.session(rows[0]?.session ?? "");
  const before = (await session.head()).seq;
  await store.append(main, many);
  assert.deepEqual(await store.load(main), [entry(-1), ...many]);
  // Every record but the last is a part: without the last nothing of the batch is visible.
  const types: string[] = [];
  for await (const { type } of session.events({ fromSeq: before + 1 })) types.push(type);
  assert.ok(types.length > 3);
  assert.deepEqual(
    types.filter((type) => type !== "x.claude-sdk.part"),
    ["x.claude-sdk.entries"],
  );
});

test("entries come back equal: NUL, half pairs, secret-looking texts, __proto__, 1.5 MB", async () => {
  await using engine = await openEngine({ store: "memory:" });
  const store = new SkeinSessionStore(engine);
  const hostile: ClaudeSessionEntry[] = [
    entry(1, {
      text: "a\0b",
      half: "\ud800",
      key: "sk-ant-api03-0123456789abcdefghijklmnop",
      password: "hunter2",
    }),
    entry(2, { image: "A".repeat(1_500_000) }),
    JSON.parse('{"type":"user","uuid":"u3","__proto__":{"a":1},"toJSON":null}') as ClaudeSessionEntry,
  ];
  await store.append(main, hostile);
  assert.deepEqual(await store.load(main), hostile);
  let number = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.jsonValue(), { minLength: 1, maxLength: 4 }), async (values) => {
      const key = { ...main, sessionId: `any-${number++}` };
      const given = values.map((value) => ({ type: "user", value }));
      await store.append(key, given);
      assert.equal(JSON.stringify(await store.load(key)), JSON.stringify(given));
    }),
    { numRuns: 25 },
  );
});

test("an entry that another process removed is written again; one that both wrote counts once", async () => {
  const directory = mkdtempSync(join(tmpdir(), "skein-claude-"));
  try {
    const place = join(directory, "s.db");
    await using one = await openEngine({ store: place });
    await using two = await openEngine({ store: place });
    const [here, there] = [new SkeinSessionStore(one), new SkeinSessionStore(two)];
    await here.append(agent, entries(0, 3));
    await here.append(agent, entries(3, 5));
    await there.append(agent, entries(3, 6));
    await here.append(agent, entries(5, 7));
    assert.deepEqual(await here.load(agent), entries(0, 7));
    await there.delete(agent);
    await here.append(agent, entries(4, 8));
    for (const store of [here, there]) assert.deepEqual(await store.load(agent), entries(4, 8));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("two engines on one store write each entry of a session once, and read each other's", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein-claude-sdk-"));
  try {
    const place = join(folder, "skein.db");
    await using one = await openEngine({ store: place });
    await using two = await openEngine({ store: place });
    const stores = [one, two].map((engine) => new SkeinSessionStore(engine));
    await Promise.all(
      stores.flatMap((store) => [store.append(main, entries(0, 20)), store.append(agent, entries(0, 3))]),
    );
    for (const store of stores) {
      assert.deepEqual(await store.load(main), entries(0, 20));
      assert.deepEqual(await store.load(agent), entries(0, 3));
    }
    assert.equal((await one.sessions()).rows.length, 1);
    await stores[0]?.delete(main);
    for (const store of stores) assert.equal(await store.load(main), null);
    assert.deepEqual((await two.sessions()).rows, []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Of the SDK, which has no types here: it is installed by the test. */
interface AgentSdk {
  readonly foldSessionSummary: FoldSessionSummary;
  readonly InMemorySessionStore: new () => SkeinSessionStore;
  importSessionToStore(id: string, store: unknown, options: object): Promise<void>;
  listSessions(options: object): Promise<readonly Readonly<Record<string, unknown>>[]>;
  getSessionInfo(id: string, options: object): Promise<unknown>;
  getSessionMessages(id: string, options: object): Promise<readonly unknown[]>;
  renameSession(id: string, title: string, options: object): Promise<void>;
  tagSession(id: string, tag: string, options: object): Promise<void>;
  forkSession(id: string, options: object): Promise<{ readonly sessionId: string }>;
  deleteSession(id: string, options: object): Promise<void>;
}

test(
  "the SDK's own functions give the same results as on its store in memory",
  { skip: longOnly },
  async (t) => {
    const vendor = installVendor("claude-agent-sdk");
    if (typeof vendor === "string") return t.skip(vendor);
    const file = join(vendor.modules, "@anthropic-ai/claude-agent-sdk/sdk.mjs");
    const folder = mkdtempSync(join(tmpdir(), "skein-claude-sdk-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    process.env["CLAUDE_CONFIG_DIR"] = join(folder, "config");
    const dir = join(folder, "work");
    mkdirSync(dir);
    const project = join(folder, "config/projects", dir.replaceAll(/[^a-zA-Z0-9]/g, "-"));
    mkdirSync(project, { recursive: true });
    const sessionId = randomUUID();
    let parentUuid: string | null = null;
    const lines = Array.from({ length: 1_200 }, (_, n) => {
      const uuid = randomUUID();
      const role = n % 2 === 0 ? "user" : "assistant";
      const content = role === "user" ? `question ${n}` : [{ type: "text", text: `answer ${n}` }];
      const base = {
        parentUuid,
        isSidechain: false,
        userType: "external",
        cwd: dir,
        version: "2.0.0",
        gitBranch: "",
      };
      parentUuid = uuid;
      const timestamp = new Date(1_790_000_000_000 + n * 1_000).toISOString();
      return { ...base, sessionId, type: role, message: { role, content, id: `msg_${n}` }, uuid, timestamp };
    });
    writeFileSync(
      join(project, `${sessionId}.jsonl`),
      `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`,
    );
    const sdk = (await import(pathToFileURL(file).href)) as AgentSdk;
    await using engine = await openEngine({ store: "memory:" });
    const ours = new SkeinSessionStore(engine, { foldSessionSummary: sdk.foldSessionSummary });
    const seen = [];
    for (const sessionStore of [ours, new sdk.InMemorySessionStore()]) {
      const options = { sessionStore, dir };
      await sdk.importSessionToStore(sessionId, sessionStore, { dir });
      const messages = await sdk.getSessionMessages(sessionId, options);
      await sdk.renameSession(sessionId, "A name", options);
      await sdk.tagSession(sessionId, "blue", options);
      const fork = await sdk.forkSession(sessionId, options);
      const forked = await sdk.getSessionMessages(fork.sessionId, options);
      const list = await sdk.listSessions(options);
      await sdk.deleteSession(fork.sessionId, options);
      const left = (await sdk.listSessions(options)).map((one) => [
        one["sessionId"],
        one["customTitle"],
        one["tag"],
      ]);
      seen.push({ messages, forked: forked.length, listed: list.length, left });
    }
    assert.equal(seen[0]?.messages.length, 1_200);
    assert.equal(seen[0]?.listed, 2);
    assert.deepEqual(seen[0], seen[1]);
  },
);
