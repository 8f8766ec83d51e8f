/**
 * The campaign of kills of workers on one PostgreSQL: `npm run campaign:workers -- --workers 8
 * --sessions 1000 [--seconds 400] [--seed N]`. Prints a line every few seconds and a report at the end; ends
 * with 1 when there was any problem, or when a session was taken over later than a lease and a second after
 * its worker was killed.
 */
import { parseArgs } from "node:util";
import { freshSeed } from "../crash/random.ts";
import { killWorkers, type WorkKillReport } from "../crash/work-kill.ts";
import { databaseVariable, standOn } from "../kind.ts";
import { machineSeconds } from "../runner/file-queue.ts";
import { medianOf, quantileOf, wholeNumber } from "./campaign.ts";
import { startPostgres } from "./server.ts";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "8" },
    sessions: { type: "string", default: "1000" },
    seconds: { type: "string", default: "400" },
    concurrency: { type: "string", default: "8" },
    "at-once": { type: "string", default: "40" },
    every: { type: "string", default: "1000" },
    seed: { type: "string" },
  },
});
const workers = wholeNumber("workers", values.workers);
const sessions = wholeNumber("sessions", values.sessions);
const seconds = wholeNumber("seconds", values.seconds);
const seed = values.seed === undefined ? freshSeed() : wholeNumber("seed", values.seed);
/** A lease of the campaign, and a second. */
const takeoverMsMax = 1_000 + 1_000;

console.log(`${workers} workers, ${sessions} sessions; kills for ${seconds} seconds; seed ${seed}`);
await using server = await startPostgres();
process.env[databaseVariable] = await server.newDatabase();
standOn("postgres");
let toldMs = 0;
const atStart = machineSeconds();
const report = await killWorkers({
  workers,
  sessions,
  seed,
  forMs: seconds * 1_000,
  everyMs: wholeNumber("every", values.every),
  paceMs: 20,
  restMs: 300_000,
  concurrency: wholeNumber("concurrency", values.concurrency),
  // There is always room for what a dead worker leaves.
  atOnce: wholeNumber("at-once", values["at-once"]),
  progress: (now) => {
    if (now.ms - toldMs < 5_000) return;
    toldMs = now.ms;
    console.log(lineOf(now));
  },
});
console.log(summaryOf(report));
const late = report.takeoversMs.filter((ms) => ms > takeoverMsMax);
if (report.problems.length > 0 || late.length > 0 || report.takeoversMs.length === 0) process.exitCode = 1;

function lineOf({ ms, kills, ended, runs, problems }: WorkKillReport): string {
  const time = (ms / 1_000).toFixed(0).padStart(5);
  const done = `${ended} of ${sessions} at their end, ${runs} runs`;
  return `${time} s  ${done}, ${kills} kills, ${problems.length} problems`;
}

function busyPercent(): string {
  const { busy, idle } = machineSeconds();
  const [more, rest] = [busy - atStart.busy, idle - atStart.idle];
  return ((100 * more) / (more + rest)).toFixed(0);
}

function summaryOf(given: WorkKillReport): string {
  const { takeoversMs } = given;
  const rows: readonly (readonly [string, string | number])[] = [
    ["seconds", (given.ms / 1_000).toFixed(0)],
    ["sessions at their end", given.ended],
    ["runs", given.runs],
    ["workers killed", given.kills],
    ["of these while they ran something", given.atWork],
    ["sessions taken over", takeoversMs.length],
    ["ms from the kill to the next lease, median", medianOf(takeoversMs).toFixed(0)],
    ["ms from the kill to the next lease, 99 of 100", quantileOf(takeoversMs, 0.99).toFixed(0)],
    ["ms from the kill to the next lease, worst", Math.max(0, ...takeoversMs).toFixed(0)],
    [`later than ${takeoverMsMax} ms`, takeoversMs.filter((ms) => ms > takeoverMsMax).length],
    // A worker that waits for the processor is late too.
    ["of the machine's processors, busy", `${busyPercent()} %`],
    ["tool calls", given.calls],
    ["of these with an unknown outcome", given.unknown],
    ["of these made again", given.again],
    ["times a person was asked", given.asked],
    ["problems", given.problems.length],
    ["seed", given.seed],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(48)}${value}`);
  const problems = given.problems.slice(0, 50).map((text) => `problem: ${text}`);
  return ["", ...lines, ...problems].join("\n");
}
