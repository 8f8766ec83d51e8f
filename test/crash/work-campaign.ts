/**
 * The campaign of kills of workers: `npm run crash:workers -- --workers 4 --sessions 200 [--seed N]
 * [--seconds 60]`. Prints a line every few seconds and a report at the end; ends with 1 when there was any
 * problem.
 */
import { parseArgs } from "node:util";
import { freshSeed } from "./random.ts";
import { killWorkers, type WorkKillReport } from "./work-kill.ts";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "4" },
    sessions: { type: "string", default: "200" },
    seed: { type: "string" },
    seconds: { type: "string", default: "60" },
  },
});
const workers = wholeNumber("workers", values.workers);
const sessions = wholeNumber("sessions", values.sessions);
const seconds = wholeNumber("seconds", values.seconds);
const seed = values.seed === undefined ? freshSeed() : wholeNumber("seed", values.seed);

console.log(`${workers} workers, ${sessions} sessions; kills for ${seconds} seconds; seed ${seed}`);
let toldMs = 0;
const report = await killWorkers({
  workers,
  sessions,
  seed,
  forMs: seconds * 1_000,
  everyMs: 1_000,
  paceMs: 200,
  restMs: 300_000,
  progress: (now) => {
    if (now.ms - toldMs < 5_000) return;
    toldMs = now.ms;
    console.log(lineOf(now));
  },
});
console.log(summaryOf(report));
if (report.problems.length > 0 || report.atWork === 0) process.exitCode = 1;

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  console.error(`--${name} is a whole number, not ${JSON.stringify(text)}`);
  process.exit(2);
}

function lineOf({ ms, kills, ended, runs, problems }: WorkKillReport): string {
  const time = (ms / 1_000).toFixed(0).padStart(5);
  const done = `${ended} of ${sessions} at their end, ${runs} runs`;
  return `${time} s  ${done}, ${kills} kills, ${problems.length} problems`;
}

function summaryOf(given: WorkKillReport): string {
  const rows: readonly (readonly [string, string | number])[] = [
    ["seconds", (given.ms / 1_000).toFixed(0)],
    ["sessions at their end", given.ended],
    ["runs", given.runs],
    ["workers killed", given.kills],
    ["of these while they ran something", given.atWork],
    ["tool calls", given.calls],
    ["of these with an unknown outcome", given.unknown],
    ["of these made again", given.again],
    ["times a person was asked", given.asked],
    ["problems", given.problems.length],
    ["seed", given.seed],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(40)}${value}`);
  const problems = given.problems.slice(0, 50).map((text) => `problem: ${text}`);
  return ["", ...lines, ...problems].join("\n");
}
