/** Retention of many sessions beside writers that go on, and what is left of the file afterwards. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bodyHashOf, contentHashOf } from "../src/core/chain.ts";
import { makeSessionId, makeWorkspaceId } from "../src/core/ids.ts";
import { limit } from "../src/core/limit.ts";
import { openEngine } from "../src/index.ts";
import { realWorld } from "../src/runtime/world.ts";
import type { Draft, Part } from "../src/store/port.ts";
import { sqliteStore } from "../src/store/sqlite/store.ts";
import { checkpointedBytes } from "./history.ts";
import { makeDirectory, number, type Measure } from "./measure.ts";
import { makeProse } from "./pack-prose.ts";

const quick = process.argv.includes("--quick");
const sessions = quick ? 2_000 : 10_000;
const messages = 12;
const messageChars = 600;
const processes = 2;
const tasks = 4;
const agoMs = 30 * 86_400_000;
/** How long the writers are alone. */
const aloneMs = 8_000;

const trash = { do: "delete", after: "1d", match: { labels: { kind: "trash" } } } as const;

export async function benchRetain(): Promise<Measure[]> {
  using directory = makeDirectory();
  const path = directory.path("beside.db");
  await populate(path, ["keep", "trash"]);
  const { alone, during, seconds, done } = await retainBeside(path);
  const [held, never] = [directory.path("held.db"), directory.path("never.db")];
  await populate(held, ["keep", "trash"]);
  const bytesFull = checkpointedBytes(held);
  const [bytesHeld, bytesNever] = [await retainedBytes(held), await retainedNever(never)];
  const megabytes = (bytes: number): string => `${number(bytes / 1e6)} MB`;
  return [
    {
      name: `99th percentile of an append beside retention of ${number(sessions)} sessions, added`,
      value: Math.max(0, during - alone),
      unit: "ms",
      bar: { most: 50 },
      detail: `${number(during)} ms beside ${number(alone)} ms without`,
    },
    {
      name: "… ÷ without retention",
      value: during / alone,
      unit: "×",
      bar: null,
      detail: `8 writers in 2 processes; ${done} sessions packed or deleted in ${number(seconds)} s`,
    },
    {
      name: "file after packing all and deleting half ÷ one that never held them",
      value: bytesHeld / bytesNever,
      unit: "×",
      bar: { most: 1.3 },
      detail: `${megabytes(bytesFull)} to ${megabytes(bytesHeld)}, beside ${megabytes(bytesNever)}`,
    },
  ];
}

/** Closed sessions of a month ago, written straight into the store, those of all kinds side by side. */
async function populate(path: string, kinds: readonly string[]): Promise<void> {
  const real = realWorld();
  const world = { ...real, now: () => real.now() - agoMs };
  const workspace = makeWorkspaceId({ nowMs: world.now(), random: world.random(10) });
  const store = await sqliteStore({ path, world, workspace, durability: "process" });
  const prose = makeProse();
  const draft = (type: string, body: object, content?: object): Draft => {
    const text = content === undefined ? null : JSON.stringify(content);
    const salt = world.salt();
    const sealed = JSON.stringify(body);
    return {
      type,
      v: 1,
      actor: "system",
      turn: null,
      cause: null,
      key: null,
      body: sealed,
      bodyHash: bodyHashOf(world.digest, sealed),
      content:
        text === null
          ? null
          : { text, bytes: Buffer.byteLength(text), salt, hash: contentHashOf(world.digest, salt, text) },
      blobs: [],
    };
  };
  const atOnce = Math.floor(limit.appendRecordsMax / (messages + 2) / kinds.length) * kinds.length;
  const count = (sessions / 2) * kinds.length;
  for (let from = 0; from < count; from += atOnce) {
    const parts = Array.from({ length: Math.min(atOnce, count - from) }, (_, place): Part => {
      const kind = kinds[place % kinds.length] ?? "";
      const objective = `Session ${from + place}`;
      const opened = { workspace, priority: 5, labels: { kind }, has: ["objective"] };
      const said = Array.from({ length: messages }, (__, n) =>
        draft(
          "input.received",
          { from: "user", input: n + 1 },
          { blocks: [{ type: "text", text: prose(messageChars) }] },
        ),
      );
      return {
        session: makeSessionId({ nowMs: world.now(), random: world.random(10) }),
        expect: "absent",
        drafts: [
          draft("session.opened", opened, { objective }),
          ...said,
          draft("session.closed", { outcome: "completed" }),
        ],
        index: { status: "closed", agent: null, name: null, objective, priority: 5, labels: { kind } },
      };
    });
    const outcome = await store.append(parts.slice(0, limit.appendLogsMax));
    if (outcome.kind !== "ok") throw new Error(`bench: the store answered ${outcome.kind}`);
  }
  await store.close();
}

interface Beside {
  /** 99th percentiles, in milliseconds. */
  readonly alone: number;
  readonly during: number;
  readonly seconds: number;
  readonly done: number;
}

async function retainBeside(path: string): Promise<Beside> {
  const engine = await openEngine({ store: path });
  await engine.setPolicy("trash", trash);
  const writers = Array.from({ length: processes }, () => startWriter(path));
  const take = async (): Promise<number[]> => (await Promise.all(writers.map((one) => one.take()))).flat();
  await take();
  await new Promise((resolve) => void setTimeout(resolve, aloneMs / 4));
  await take();
  await new Promise((resolve) => void setTimeout(resolve, aloneMs));
  const alone = await take();
  const start = performance.now();
  const report = await engine.retain();
  const seconds = (performance.now() - start) / 1e3;
  const during = await take();
  await Promise.all(writers.map((one) => one.end()));
  await engine.close();
  return { alone: percentile(alone), during: percentile(during), seconds, done: report.done.length };
}

async function retainedBytes(path: string): Promise<number> {
  const engine = await openEngine({ store: path, durability: "process" });
  await engine.setPolicy("trash", trash);
  await engine.retain();
  await engine.close();
  return checkpointedBytes(path);
}

async function retainedNever(path: string): Promise<number> {
  await populate(path, ["keep"]);
  return retainedBytes(path);
}

function percentile(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}

function startWriter(path: string): { take(): Promise<number[]>; end(): Promise<void> } {
  const file = join(import.meta.dirname, "retain-writer.ts");
  const child = spawn(process.execPath, [file, path, `${tasks}`], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async take() {
      child.stdin.write("take\n");
      const { value } = (await lines.next()) as { readonly value: string };
      return JSON.parse(value) as number[];
    },
    async end() {
      const exited = once(child, "exit");
      child.stdin.end("end\n");
      await exited;
    },
  };
}
