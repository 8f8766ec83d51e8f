/**
 * Writes a new golden version: logs and a store as today's program makes them, to be opened for ever after.
 * Old ones are never touched: `node test/golden/write.ts 0.2.0` makes the folder test/golden/0.2.0, and
 * refuses if it is there.
 *
 *   everything.jsonl   a session with every event type, rewinds, foreign records and erased contents
 *   workspace.jsonl    the workspace's own log
 *   project.jsonl      since 0.5.0, the log of a project
 *   parent.jsonl, fork.jsonl, leaf.jsonl   a family: the leaf is a fork of the fork
 *   expected.json      of each the state it folds to, the hash of its mind, and what a verifier counts
 *   store.skein.gz     the SQLite file that all of them were written in; since 0.3.0 half of each is packed
 */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { gzipSync } from "node:zlib";
import type { SessionEventType } from "../../src/core/catalog.ts";
import type { StoredRecord } from "../../src/core/chain.ts";
import { makeProjectId } from "../../src/core/ids.ts";
import { mindForm, mindHash, type State } from "../../src/core/state.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import type { Session } from "../../src/runtime/engine/session.ts";
import type { Store } from "../../src/store/port.ts";
import { sqliteStore } from "../../src/store/sqlite/store.ts";
import { digest } from "../core/digest.ts";
import { plain } from "../core/given.ts";
import { samples } from "../core/samples.ts";
import { projectTypes, sessionTypes, workspaceTypes } from "../core/written-order.ts";
import { madeWorld, type MadeWorld } from "../runtime/made-world.ts";
import { all, newPath, workspace } from "../runtime/place.ts";
import { rawDraft, writeRaw } from "../runtime/raw.ts";

/** What a log is expected to be. */
export interface Expected {
  readonly records: number;
  readonly contents: number;
  readonly erased: number;
  readonly head: { readonly seq: number; readonly hash: string };
  /** Of a session, as plain JSON. A later program may know more of it, and must know all of this. */
  readonly state: unknown;
  readonly mindForm: number | null;
  readonly mindHash: string | null;
}

interface Made {
  readonly store: Store;
  readonly engine: Engine;
  readonly world: MadeWorld;
}

/** Makes the folder and everything in it. */
export async function writeGolden(folder: string): Promise<void> {
  assert.ok(!existsSync(folder), `${folder} is there already; a golden version is never written again`);
  const { path, remove } = newPath();
  const world = madeWorld("golden");
  const made = await open(path, world);
  const everything = await liveEverything(made);
  const sessions: Readonly<Record<string, Session>> = { everything, ...(await family(made)) };
  await fillWorkspace(made);
  await fillProject(made);
  await eraseSome(everything);
  await made.engine.anchor();
  await made.engine.acceptAnchor({ reason: "restored from a backup" });
  for (const { id } of Object.values(sessions)) await packHalf(made.store, id);
  await made.engine.close();
  withoutSnapshots(path);
  mkdirSync(folder, { recursive: true });
  const again = await open(path, world);
  const expected: Record<string, Expected> = {};
  for (const [name, { id }] of Object.entries(sessions)) {
    const session = await again.engine.session(id);
    const records = await all(session.records());
    writeFileSync(join(folder, `${name}.jsonl`), linesOf(records));
    expected[name] = expectedOf(records, await session.fold());
  }
  const own = await again.store.read(workspace, { fromSeq: 1, toSeq: 1_000, limit: 1_000, contents: true });
  writeFileSync(join(folder, "workspace.jsonl"), linesOf(own));
  expected["workspace"] = expectedOf(own, null);
  const ofProject = await again.store.read(project, { fromSeq: 1, toSeq: 100, limit: 100, contents: true });
  writeFileSync(join(folder, "project.jsonl"), linesOf(ofProject));
  expected["project"] = expectedOf(ofProject, null);
  writeFileSync(join(folder, "expected.json"), `${JSON.stringify(expected, null, 1)}\n`);
  await again.engine.close();
  const raw = new DatabaseSync(path);
  raw.exec("PRAGMA wal_checkpoint(TRUNCATE); VACUUM");
  raw.close();
  writeFileSync(join(folder, "store.skein.gz"), gzipSync(readFileSync(path), { level: 9 }));
  remove();
}

const linesOf = (records: readonly StoredRecord[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");

async function open(path: string, world: MadeWorld): Promise<Made> {
  const store = await sqliteStore({ path, world, workspace, durability: "process" });
  return { store, engine: new Engine({ store, world }), world };
}

/** Every event type, most of them twice: as the commands make them, and as the samples have them. */
async function liveEverything(made: Made): Promise<Session> {
  const { engine, world } = made;
  const session = await engine.open({
    objective: "November payroll run",
    name: "payroll",
    agent: "payroll",
    model: "acme/large-2",
    instructions: "Be exact.",
    constraints: ["never pay twice"],
    labels: { team: "finance" },
    priority: 3,
    bind: [{ kind: "file", path: "/data/rates.json", name: "rates.json" }],
    grant: [{ tool: "shell", rule: "ask", pattern: "git *" }],
    budget: { usd: 2, steps: 40 },
  });
  await session.append("Compute the run.", { key: "first input" });
  await session.append({ type: "x.other-program", body: { any: [1, null] }, content: "grüße 😀" });
  await session.append("long ".repeat(20_000));
  await session.record("decision", "use-wal", "yes", { because: "readers do not block" });
  await session.record("task", "check-rate", { at: "noon" });
  await session.scratch("step", 1);
  await session.save("before", { note: "all rates known" });
  const lease = await session.lease({ holder: "runner-1" });
  world.pass(250);
  await writeRaw(made, session.id, turnEvents());
  await lease.release();
  await session.suspend({ reason: "lunch" });
  await session.rewind("before", { requeue: true, reason: "try again" });
  await session.record("fact", "base-rate", 4.1);
  await session.rewind((await session.head()).seq - 2, { reason: "undone" });
  world.pass(1_000);
  const own = "opened|forked|rewound|moved|arrived|closed|continued|archived|reopened";
  const apart = new RegExp(`^(session\\.(${own})|input\\.received|turn)`);
  const rest = sessionTypes.filter(
    (type) => !apart.test(type) && type !== "message.received",
  );
  await writeRaw(
    made,
    session.id,
    rest.map((type) => ({ type, ...samples[type] })),
  );
  const { received } = (await session.fold()).standing.inbox;
  const message = sample("message.received", { input: received + 1 });
  await writeRaw(made, session.id, [message, ...lastEvents()]);
  return session;
}

const sample = <T extends SessionEventType>(type: T, body: object = {}) => ({
  type,
  ...samples[type],
  body: { ...samples[type].body, ...body },
});

const turnEvents = () => [
  { type: "turn.started", body: { inputs: [[5, 1]] }, turn: 1 },
  sample("model.requested", { inputs: [[7, 2]] }),
  sample("model.responded"),
  sample("tool.requested"),
  sample("tool.approved"),
  sample("tool.started"),
  sample("tool.settled"),
  sample("tool.requested", { call: "call_2", tool: "shell", effect: "unsafe" }),
];

const lastEvents = () => [
  sample("session.moved"),
  sample("session.arrived"),
  sample("session.closed"),
  sample("session.continued"),
  sample("session.archived"),
  sample("session.reopened"),
];

async function family({ engine, world }: Made): Promise<Readonly<Record<string, Session>>> {
  const parent = await engine.open({ objective: "What is the base rate?" });
  for (const text of ["one", "two", "three"]) {
    world.pass(10);
    await parent.append(text);
  }
  await parent.record("fact", "base-rate", 4.1);
  const fork = await parent.fork({ atSeq: 4, objective: "What if it rises?", labels: { try: "2" } });
  await fork.record("fact", "base-rate", 4.2);
  await parent.append("only in the parent");
  await recordOfVersion2(parent);
  const leaf = await fork.fork({ atSeq: 5 });
  await leaf.append("only in the leaf");
  await leaf.rewind(2);
  return { parent, fork, leaf };
}

/** Kinds, statuses and fields that a program of 0.4.0 does not know. */
async function recordOfVersion2(session: Session): Promise<void> {
  const evidence = ["the minutes of May", "4x8kz1@12"];
  await session.record("hypothesis", "cut", "Rates fall", { status: "supported", confidence: 0.7, evidence });
  await session.record("finding", "spread", 0.4, { confidence: 1, because: "measured twice" });
  await session.record("constraint", "no-mail", "Write to nobody");
  await session.record("preference", "tone", "Be brief");
  await session.record("decision", "bonus", "Pay a bonus", { status: "rejected" });
  await session.pin("hypothesis", "cut");
  await session.retract("constraint", "no-mail");
}

async function fillWorkspace({ store, world }: Made): Promise<void> {
  // Lists of heads are verified against the logs, so they are not samples.
  const types = workspaceTypes.filter((type) => !type.startsWith("heads."));
  const drafts = types.map((type) => rawDraft(world, { type, ...samples[type] }));
  const outcome = await store.append([{ session: workspace, expect: "unchecked", drafts }]);
  assert.equal(outcome.kind, "ok");
}

const project = makeProjectId({ nowMs: 1, random: new Uint8Array(10) });

async function fillProject({ store, world }: Made): Promise<void> {
  const types = ["project.opened", "item.recorded", "item.retracted", ...projectTypes.slice(1)] as const;
  const drafts = types.map((type) => rawDraft(world, { type, ...samples[type] }));
  const outcome = await store.append([{ session: project, expect: "absent", drafts }]);
  assert.equal(outcome.kind, "ok");
}

/** Every fifth content, and the first, of which a sample says it. */
async function eraseSome(session: Session): Promise<void> {
  const { seq: headSeq } = await session.head();
  const fifths = Array.from({ length: Math.floor(headSeq / 5) }, (_, place) => 5 * (place + 1));
  await session.erase({ ranges: [1, ...fifths].map((seq) => [seq, seq]), reason: "asked for" });
}

/** So that what segments look like is kept for ever too. */
async function packHalf(store: Store, session: Session["id"]): Promise<void> {
  const head = await store.head(session);
  await store.pack(session, Math.ceil((head?.seq ?? 0) / 2));
}

/** They are made again, and may be of another form by then. */
function withoutSnapshots(path: string): void {
  const raw = new DatabaseSync(path);
  raw.exec("DELETE FROM snapshots");
  raw.close();
}

function expectedOf(records: readonly StoredRecord[], state: State | null): Expected {
  const last = records.at(-1)!;
  return {
    records: records.length,
    contents: records.filter(({ content }) => content !== null).length,
    erased: records.filter(({ content, contentHash }) => content === null && contentHash !== null).length,
    head: { seq: last.seq, hash: last.hash },
    state: state === null ? null : plain(state),
    mindForm: state === null ? null : mindForm,
    mindHash: state === null ? null : mindHash(digest, state.mind),
  };
}

if (import.meta.main) {
  const version = process.argv[2] ?? "";
  assert.match(version, /^\d+\.\d+\.\d+$/, "which version? for example: node test/golden/write.ts 0.2.0");
  await writeGolden(join(import.meta.dirname, version));
  console.log(`test/golden/${version} is written; commit it, and never change it`);
}
