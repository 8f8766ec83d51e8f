/**
 * The campaign of kills of PostgreSQL: `npm run campaign:postgres -- --minutes 10 --kills 20 --processes 8
 * --sessions 64 [--seed N]`. Prints a line a kill and a report at the end; ends with 1 when there was any
 * problem.
 */
import { parseArgs } from "node:util";
import { freshSeed } from "../crash/random.ts";
import { medianOf, wholeNumber } from "./campaign.ts";
import { killServer, type KillReport } from "./kill.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    kills: { type: "string", default: "20" },
    processes: { type: "string", default: "8" },
    sessions: { type: "string", default: "64" },
    every: { type: "string", default: "6000" },
    pause: { type: "string", default: "600" },
    seed: { type: "string" },
  },
});
const minutes = wholeNumber("minutes", values.minutes);
const kills = wholeNumber("kills", values.kills);
const processes = wholeNumber("processes", values.processes);
const sessions = wholeNumber("sessions", values.sessions);
const seed = values.seed === undefined ? freshSeed() : wholeNumber("seed", values.seed);

console.log(
  `${processes} processes with ${sessions} sessions each; ${kills} kills of the server or ${minutes} ` +
    `minutes, whichever comes first; seed ${seed}`,
);
const report = await killServer({
  processes,
  sessions,
  kills,
  seed,
  forMs: minutes * 60_000,
  everyMs: wholeNumber("every", values.every),
  pauseMs: wholeNumber("pause", values.pause),
  cutEveryMs: 250,
  progress: (line) => console.log(line),
});
console.log(summaryOf(report));
if (report.problems.length > 0 || report.kills === 0) process.exitCode = 1;

function summaryOf(given: KillReport): string {
  const { outcomes, refusals, recoveriesMs } = given;
  const rows: readonly (readonly [string, string | number])[] = [
    ["seconds", (given.ms / 1_000).toFixed(0)],
    ["of these for the audit", (given.auditMs / 1_000).toFixed(0)],
    ["kills of the server", given.kills],
    ["connections cut at random", given.cuts],
    ["connections made", given.connections],
    ["records in the store", given.records],
    ["acknowledged writes", given.acknowledged],
    ["acknowledged records", given.acknowledgedRecords],
    ["appends whose answer was lost, and that were resolved", outcomes.unknown],
    ["appends that met another's (conflict)", outcomes.conflict],
    ["writes refused (conflict, fenced, closed)", given.refused],
    ["of these, because the store was away or unsure", gaveUp(refusals)],
    ["writes without an answer at the end", given.found + given.absent],
    ["records there twice", given.duplicates],
    ["ms from a restart to the first write, median", medianOf(recoveriesMs).toFixed(0)],
    ["ms from a restart to the first write, worst", Math.max(0, ...recoveriesMs).toFixed(0)],
    ["ms of the slowest write, outages included", `${given.slowest.ms} (${given.slowest.verb})`],
    ["problems", given.problems.length],
    ["seed", given.seed],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(56)}${value}`);
  const problems = given.problems.slice(0, 50).map((text) => `problem: ${text.slice(0, 2_000)}`);
  return ["", ...lines, ...problems].join("\n");
}

function gaveUp({ unavailable = 0, unknown = 0 }: Readonly<Record<string, number>>): number {
  return unavailable + unknown;
}
