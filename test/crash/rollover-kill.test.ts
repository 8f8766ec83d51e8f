/**
 * A session is rolled over while inputs, messages and webhooks arrive at its first id and a worker runs it.
 * The process that rolls over is killed before and after each kind of append, and started again. A tool is
 * the witness: it writes down what the model was given, and each thing must stand there once.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionId } from "../../src/core/ids.ts";
import type { ModelCall } from "../../src/model/port.ts";
import type { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { OuterTool } from "../../src/tool/port.ts";
import { scripted, use, type Line } from "../runtime/turn/scripted.ts";
import { sliced } from "../slice.ts";
import { engineAt, newestOf, patiently, type RolloverOrder } from "./rollover-runner.ts";
import { newPlace } from "./store-place.ts";

const world = realWorld();
const times = 3;

/** What the newest inputs say: the texts after the last answer. */
function newIn({ parts }: ModelCall): readonly string[] {
  const last = parts.findLastIndex((part) => part.part === "message" && part.role !== "user");
  const after = parts.slice(last + 1).filter((part) => part.part === "message");
  const text = JSON.stringify(after).replaceAll("\\n", " ");
  return [...text.matchAll(/\b(?:own|other)-[a-z]+-\d+\b/g)].map(([name]) => name);
}

let calls = 0;
const line = (call: ModelCall): Line => {
  const names = newIn(call);
  return names.length === 0 ? "Done." : [use("note", { names }, `note-${++calls}`)];
};

/** Writes what it is told into the file of the witness. */
const note = (file: string): OuterTool => ({
  name: "note",
  description: "Notes names.",
  input: { type: "object" },
  effect: "unsafe",
  timeoutMs: 10_000,
  check: async (input) => ({ ok: true, value: input }),
  run: async (input) => {
    await appendFile(file, (input as { names: string[] }).names.map((name) => `${name}\n`).join(""));
    return "noted";
  },
});

/** Runs the program; true when it was killed. */
async function runs(order: RolloverOrder): Promise<boolean> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const program = join(import.meta.dirname, "rollover-runner.ts");
  const child = spawn(process.execPath, [program, JSON.stringify(order)], { env });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  assert.ok(signal === "SIGKILL" || code === 0, said);
  return signal === "SIGKILL";
}

interface Sent {
  readonly names: string[];
  stop(): Promise<void>;
}

/** Another process, this one, sends meanwhile to the first id, each twice with one key. */
function sendMeanwhile(engine: Engine, { first, peer, token }: RolloverOrder): Sent {
  const names: string[] = [];
  const stopped = new AbortController();
  const twice = async (work: () => Promise<unknown>): Promise<void> => {
    await patiently(world, work);
    await patiently(world, work);
  };
  const loop = async (): Promise<void> => {
    for (let count = 1; !stopped.signal.aborted && count < 100; count++) {
      const [input, message, hook] = ["input", "message", "hook"].map((way) => `other-${way}-${count}`);
      if (input === undefined || message === undefined || hook === undefined) return;
      names.push(input, message, hook);
      await twice(async () => (await engine.session(first)).input(input, { key: input }));
      await twice(async () => (await engine.session(peer)).send(first, message, { key: message }));
      await twice(() => engine.webhook(token, { body: hook, headers: { "x-skein-delivery": hook } }));
      await sleep(30);
    }
  };
  const done = loop();
  const stop = (): Promise<void> => {
    stopped.abort();
    return done;
  };
  return { names, stop };
}

const isIdle = async (engine: Engine, session: SessionId): Promise<boolean> => {
  const { turn, inbox, lease } = (await (await engine.session(session)).fold()).standing;
  return turn === null && inbox.waiting.length === 0 && !lease.held;
};

async function killedAt(dieAt: string | null, folder: string): Promise<boolean> {
  const path = await newPlace(folder);
  const witness = join(folder, "witness.txt");
  const { engine: opened } = await engineAt(path, { script: scripted([line]), tools: [note(witness)] });
  await using engine = opened;
  const bind = [{ kind: "tool", name: "note" }] as const;
  const first = await engine.open({ objective: "Note everything", bind, budget: { steps: 5_000 } });
  const peer = await engine.open({ objective: "Tell" });
  const { token = "" } = await first.trigger("hook", { kind: "webhook" });
  const order = { path, first: first.id, peer: peer.id, token, times, dieAt };
  const worker = await engine.work({ concurrency: 1, leaseMs: 1_000 });
  const sent = sendMeanwhile(engine, order);
  const killed = await runs(order);
  if (killed) assert.equal(await runs({ ...order, dieAt: null }), false);
  await sent.stop();
  // All of it once more, as after an answer that was lost.
  assert.equal(await runs({ ...order, dieAt: null }), false);
  const chain = await newestOf(engine, first.id);
  assert.equal(chain.length, times + 1, `${dieAt}: a chain of ${chain.length}`);
  const newest = chain.at(-1) ?? first.id;
  for (let tries = 0; tries < 300 && !(await isIdle(engine, newest)); tries++) await sleep(50);
  await worker.stop();
  const own = Array.from({ length: times }, (_, place) =>
    ["input", "message", "hook"].map((way) => `own-${way}-${place + 1}`),
  ).flat();
  const noted = (await readFile(witness, "utf8")).trim().split("\n");
  const expected = [...own, ...sent.names];
  const lost = expected.filter((name) => !noted.includes(name));
  const twice = noted.filter((name, place) => noted.indexOf(name) !== place);
  assert.deepEqual({ lost, twice }, { lost: [], twice: [] }, `${dieAt}`);
  assert.equal(noted.length, expected.length);
  const { standing } = await (await engine.session(newest)).fold();
  assert.deepEqual([...standing.triggers.keys()], ["hook"]);
  const used = await Promise.all(chain.map(async (id) => (await (await engine.session(id)).fold()).standing));
  const steps = used.reduce((sum, one) => sum + one.used.steps, 0);
  assert.equal(
    (standing.limits.steps ?? 0) - standing.used.steps,
    5_000 - steps,
    "what is left of the budget",
  );
  assert.equal((await engine.verify()).ok, true);
  return killed;
}

test("two processes roll over while a third asks at the first id: each answer is given once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "skein-rollover-"));
  try {
    const path = await newPlace(folder);
    const echo = (call: ModelCall): Line => `Heard ${newIn(call).join(" ")}`;
    const { engine: opened } = await engineAt(path, { script: scripted([echo]) });
    await using engine = opened;
    const first = await engine.open({ objective: "Answer" });
    const order = {
      path,
      first: first.id,
      peer: first.id,
      token: "",
      times: 6,
      dieAt: null,
      race: true,
    } as const;
    const racers = Promise.all([runs(order), runs(order)]);
    const over = new AbortController();
    void racers.finally(() => over.abort()).catch(() => undefined);
    const asked: string[] = [];
    while (!over.signal.aborted || asked.length < 8) {
      const name = `own-question-${asked.length + 1}`;
      asked.push(name);
      const { status } = await first.ask(name, { key: name }).result;
      assert.ok(status === "open" || status === "closed", status);
    }
    assert.deepEqual(await racers, [false, false]);
    const chain = await newestOf(engine, first.id);
    assert.equal(chain.length, 1 + 2 * 6, "each rollover opened one session");
    const answers: string[] = [];
    for (const id of chain) {
      const session = await engine.session(id);
      for await (const { content } of session.events({ types: ["model.responded"] }))
        answers.push(...(JSON.stringify(content).match(/own-question-\d+/g) ?? []));
    }
    assert.deepEqual(answers.toSorted(), asked.toSorted());
    assert.equal((await engine.verify()).ok, true);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

const kinds = ["rollover", "input", "message", "webhook"];
const short = ["before rollover 2", "after rollover 2", "after input 2", "after webhook 2"];
const every = kinds.flatMap((kind) =>
  [1, 2, 3].flatMap((count) => [`before ${kind} ${count}`, `after ${kind} ${count}`]),
);

for (const point of sliced(short, every)) {
  test(`killed ${point}: nothing that was sent is lost, and nothing counts twice`, async () => {
    const folder = await mkdtemp(join(tmpdir(), "skein-rollover-"));
    try {
      assert.equal(await killedAt(point, folder), true);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
}
