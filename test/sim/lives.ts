/** Many simulated lives, one after the other. Half of the seeds never change: what was found stays so. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { TestContext } from "node:test";
import { Worker } from "node:worker_threads";
import type { Given, Told } from "./live.ts";
import { sliced } from "../slice.ts";

const livesWhole = 500;
/** In a test; there are two of them. */
export const lives = sliced(50, livesWhole);

/**
 * No session is harmed, and whatever can happen has happened: a life without trouble proves nothing. In a
 * thread of its own they take half the time: a test keeps track of each promise.
 */
export async function assertUnharmed(context: TestContext, fromSeed: number): Promise<void> {
  context.diagnostic(`seeds ${fromSeed} to ${fromSeed + lives - 1}`);
  const given: Given = { fromSeed, lives };
  const worker = new Worker(new URL("live.ts", import.meta.url), { workerData: given });
  const [{ counts, problems }] = (await once(worker, "message")) as [Told];
  assert.deepEqual(problems, []);
  // What is rare may not happen in a slice.
  if (lives < livesWhole) return;
  const troubles = ["crash", "pause", "lose-answer", "lose-request", "late", "unavailable", "run fenced"];
  const work = ["ran look", "ran put", "ran pay", "ran wire", "message.sent", "session.forked"];
  const turns = ["session.rewound", "session.interrupted", "tool.approved", "context rebuilt", "again look"];
  const times = ["trigger.fired", "trigger.skipped", "session.woken", "message.refused", "template done"];
  const workers = ["worker began", "worker yielded", "worker failed", "jump", "stop", "run conflict"];
  const chains = [
    "rolled over",
    "rolled over in its run",
    "input.forwarded",
    "rollover by a runner",
    "request.inherited",
  ];
  const missing = [...troubles, ...work, ...turns, ...times, ...workers, ...chains].filter(
    (kind) => (counts.get(kind) ?? 0) === 0,
  );
  assert.deepEqual(missing, []);
}

const seed = process.env["SKEIN_SIM_SEED"];
/** The seed of the one life that is to be lived again, if any; and why then nothing else is done. */
export const replayed = seed === undefined ? null : Number(seed);
export const skip: string | false = replayed === null ? false : "one life is replayed";
