/**
 * Registered secrets, in every form, sent through every door of an engine on a file: none of them may be in
 * any byte of any file of the store. The same without registering them shows that each door is a door.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { zstdDecompressSync } from "node:zlib";
import { z } from "zod";
import { Engine } from "../../../src/runtime/engine/engine.ts";
import type { SecretsOptions } from "../../../src/runtime/log/redact.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { sqliteStore } from "../../../src/store/sqlite/store.ts";
import { ModelError } from "../../../src/model/port.ts";
import { defineTool } from "../../../src/tool/define.ts";
import { ToolOutput } from "../../../src/tool/port.ts";
import { makeToolSource } from "../../../src/tool/source.ts";
import { newPath, workspace } from "../place.ts";
import { scripted, say, use, type Line } from "../turn/scripted.ts";

const secret = 'k9/"q\\+ü w0rd-Canary?77';
const utf8 = Buffer.from(secret);
const json = (text: string) => JSON.stringify(text).slice(1, -1);

/** What a door is given: the secret as it is, and as programs write it. */
const forms = {
  plain: secret,
  json: json(secret),
  twice: json(json(secret)),
  url: encodeURIComponent(secret),
  field: new URLSearchParams({ q: secret }).toString(),
  hex: utf8.toString("hex"),
  base64: utf8.toString("base64"),
  behindOne: Buffer.concat([Buffer.from("u"), utf8]).toString("base64"),
  behindTwo: Buffer.concat([Buffer.from("u:"), utf8]).toString("base64url"),
};
const said = (door: string) => `${door}: ${Object.values(forms).join(" ; ")} end`;

/** What no file may hold: the middle of each form, since its ends may be another's. */
const traces = Object.fromEntries(
  Object.entries({ ...forms, plain: "w0rd-Canary" }).map(([form, text]) => [
    form,
    /^(?:base64|behind)/.test(form) ? text.slice(4, -6) : text,
  ]),
);

interface Room extends AsyncDisposable {
  readonly engine: Engine;
  readonly path: string;
  readonly work: string;
}

async function openRoom(lines: readonly Line[], secrets: SecretsOptions): Promise<Room> {
  const { path, remove } = newPath();
  const outside = mkdtempSync(join(tmpdir(), "skein-doors-"));
  const work = join(outside, "work");
  mkdirSync(work);
  const world = realWorld();
  const store = await sqliteStore({ path, world, workspace, durability: "process" });
  const tools = toolsIn(work);
  const engine = new Engine({
    store,
    world,
    secrets,
    models: async () => scripted(lines).models,
    tools: async () => makeToolSource({ world, tools }),
  });
  const dispose = async (): Promise<void> => {
    await engine.close();
    remove();
    rmSync(outside, { recursive: true, force: true });
  };
  return { engine, path, work, [Symbol.asyncDispose]: dispose };
}

const toolsIn = (work: string) => [
  defineTool({
    name: "give",
    description: `gives it back (${said("tool definition")})`,
    input: z.looseObject({ how: z.string() }),
    effect: "read",
    run: async ({ how }) => {
      if (how === "long") return `${said("long output")} ${"x ".repeat(40_000)}${said("its end")}`;
      if (how === "throw") throw new Error(said("tool error"));
      if (how === "rich") {
        const bytes = Buffer.from(said("text that is called an image"));
        return new ToolOutput(said("rich output"), { images: [{ bytes, mediaType: "image/svg+xml" }] });
      }
      return { answer: said("tool output"), [said("a field's name")]: 1 };
    },
  }),
  defineTool({
    name: "keep",
    description: "writes a file",
    input: z.object({}),
    effect: "unsafe",
    touches: () => [join(work, "made.env")],
    run: async () => {
      await writeFile(join(work, "made.env"), said("file version"));
      return "done";
    },
  }),
];

/** Every door, in order; each gives the text it is told, or is refused. */
async function throughEveryDoor({ engine, work }: Room): Promise<void> {
  writeFileSync(join(work, "AGENTS.md"), `${said("AGENTS.md")}\n`);
  const outside = join(dirname(work), "initial.txt");
  writeFileSync(outside, said("initial file"));
  await engine.addAgent({
    name: "helper",
    instructions: said("agent"),
    description: said("its description"),
  });
  const session = await engine.open({
    objective: said("objective"),
    name: "doors",
    agent: "helper",
    instructions: said("instructions"),
    constraints: [said("constraint")],
    bind: [
      { kind: "directory", path: work, name: "work", mode: "write" },
      { kind: "tool", name: "give" },
      { kind: "tool", name: "keep" },
    ],
    files: [outside],
  });
  await throughCalls(engine, session);
  for await (const _ of session.ask(said("asked"))) continue;
  await session.compress({ strategy: "extract", instructions: said("how to sum up") }).catch(ifTooShort);
  await throughOthers(engine, session);
  await session.suspend({ reason: said("suspended") });
  await session.activate({ reason: said("activated") });
  await session.close({ reason: said("closed") });
}

async function throughCalls(engine: Engine, session: Session): Promise<void> {
  await session.grant({ tool: "give", rule: "allow", reason: said("granted"), pattern: { how: "*" } });
  await session.append({ type: "x.note", content: { [said("foreign field")]: said("foreign") } } as never);
  const blob = await engine.putBlob(Buffer.from(said("blob")));
  await session.append({
    type: "input.received",
    blocks: [
      { type: "text", text: said("block") },
      { type: "file", blob, mediaType: "text/plain", name: said("file name") },
    ],
  });
  await session.record("fact", "f", said("fact"), { because: said("because") });
  await session.record("decision", "d", { deep: [said("decision")] }, { because: said("rationale") });
  await session.record("task", "t", said("task"));
  await session.record("artifact", "a", said("artifact"));
  await session.scratch("s", { it: said("scratch") });
  await session.retract("task", "t", { because: said("retracted") });
  await session.rename(said("name").slice(0, 150));
  await session.hold("audit", { reason: said("held") });
  await session.lift("audit", { reason: said("lifted") });
  await session.score("quality", 1, { because: said("scored") });
}

async function throughOthers(engine: Engine, session: Session): Promise<void> {
  const other = await engine.open({ objective: said("another") });
  await session.send(other.id, said("message"), { topic: "rates" });
  await engine.send(other.id, { value: said("input of a person") }, { topic: "rates" });
  const schema = { type: ["object", "string"], description: said("contract") };
  await other.contract("rates", schema).catch(ifHeldTo);
  await engine.remember({
    scope: "workspace",
    kind: "fact",
    key: "remembered",
    value: said("memory"),
    because: said("why it is remembered"),
  });
  await session.promote("decision", "d", { scope: "workspace" });
  const next = await engine.open({ objective: said("the next, which carries memory") });
  await next.close();
  await session.handoff();
  const fork = await session.fork({ objective: said("fork"), name: "forked" });
  await fork.record("fact", "g", said("fact of a fork"));
  await session.merge({ from: fork.id });
  const after = await other.clear({ objective: said("cleared"), reason: said("why") });
  await engine.delete(after.id, { reason: said("deleted") });
  await engine.search("canary");
}

/** A door may want more than the secret. */
function ifTooShort(error: unknown): void {
  if (!(error instanceof Error) || !/nothing|too short|no summary|not enough/i.test(error.message))
    throw error;
}

/** What messages are held to is refused, not changed. */
function ifHeldTo(error: unknown): void {
  if (
    !(error instanceof Error) ||
    error.message !== "a contract must not contain a secret: it contains CANARY"
  )
    throw error;
}

const lines: readonly Line[] = [
  [
    { type: "reasoning", text: said("reasoning") } as never,
    say(said("answer")),
    use("give", { how: "plain", [said("argument's name")]: said("argument") }, "a"),
    use("give", { how: "long" }, "b"),
    use("give", { how: "throw" }, "c"),
    use("give", { how: "rich" }, "d"),
    use("keep", {}, "e"),
    use("record", { kind: "fact", key: "by-tool", value: said("recorded by a tool") }, "f"),
  ],
  new ModelError("overloaded", said("model error"), { retryAfterMs: 1 }),
  said("last answer"),
  said("summary"),
];

/** All bytes of all files of a store, and what is packed in them. */
function* everythingIn(path: string): Generator<readonly [where: string, bytes: Buffer]> {
  for (const name of readdirSync(dirname(path))) {
    yield [name, readFileSync(join(dirname(path), name))];
  }
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    for (const { name } of tables as { name: string }[]) {
      if (name.startsWith("sqlite_")) continue;
      for (const row of database.prepare(`SELECT * FROM "${name}"`).iterate()) {
        for (const [column, value] of Object.entries(row)) {
          if (value instanceof Uint8Array) yield* unpacked(`${name}.${column}`, Buffer.from(value));
        }
      }
    }
  } finally {
    database.close();
  }
}

const frame = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

function* unpacked(where: string, bytes: Buffer): Generator<readonly [string, Buffer]> {
  for (let at = bytes.indexOf(frame); at !== -1; at = bytes.indexOf(frame, at + 1)) {
    try {
      yield [`${where}, unpacked`, zstdDecompressSync(bytes.subarray(at))];
    } catch {
      // Four bytes that look like the beginning of a frame.
    }
  }
}

function tracesIn(path: string): readonly string[] {
  const found = new Set<string>();
  for (const [where, bytes] of everythingIn(path)) {
    for (const [form, text] of Object.entries(traces)) {
      for (const encoding of ["utf8", "utf16le"] as const) {
        if (bytes.includes(Buffer.from(text, encoding))) found.add(`${form} in ${where}`);
      }
    }
  }
  return [...found].toSorted();
}

test("no form of a registered secret reaches the disk, whichever door it takes", async () => {
  await using room = await openRoom(lines, { CANARY: secret });
  await throughEveryDoor(room);
  const { engine, path } = room;
  await assert.rejects(
    engine.putBlob(Buffer.concat([Buffer.from([0, 255, 0]), utf8])),
    /contains the secret CANARY/,
  );
  assert.deepEqual(tracesIn(path), []);
  assert.equal((await engine.verify()).ok, true);
  assert.deepEqual((await engine.scan()).findings, []);
  const told = await engine.search("canary", { limit: 200 });
  assert.ok(told.length >= 20, `${told.length} events say what was there`);
});

test("unregistered, the same doors let every form through", async () => {
  await using room = await openRoom(lines, { looksLike: false });
  await throughEveryDoor(room);
  const { engine, path } = room;
  const found = tracesIn(path).map((one) => one.split(" ")[0] ?? "");
  assert.deepEqual([...new Set(found)].toSorted(), Object.keys(traces).toSorted());
  await engine.close();
  const world = realWorld();
  const store = await sqliteStore({ path, world, workspace, durability: "process" });
  await using later = new Engine({ store, world, secrets: { CANARY: secret, looksLike: false } });
  const { findings } = await later.scan();
  const types = new Set(findings.map(({ type }) => type));
  const doors = (
    "agent.defined agent.pinned document.loaded input.received item.recorded item.retracted " +
    "message.received message.sent model.failed model.responded handoff.written memory.carried " +
    "memory.promoted permission.set scratch.set session.activated session.closed " +
    "session.deleted session.forked session.opened session.renamed session.suspended " +
    "tool.requested tool.settled tools.bound contract.declared hold.set hold.lifted x.note " +
    "resource.changed"
  ).split(" ");
  assert.deepEqual(
    doors.filter((type) => !types.has(type)),
    [],
  );
  const shown = JSON.stringify(findings);
  assert.ok(!Object.values(traces).some((trace) => shown.includes(trace)), "a preview never shows a value");
});
