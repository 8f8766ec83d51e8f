/**
 * The crash campaign: `npm run crash -- --kills 10000 [--seed N] [--minutes 20]`. Prints a line every few
 * seconds and a report at the end; ends with 1 when there was any problem.
 */
import { parseArgs } from "node:util";
import { crash, type CrashReport } from "./kill.ts";
import { freshSeed } from "./random.ts";

const progressMs = 5_000;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "10000" },
    seed: { type: "string" },
    minutes: { type: "string", default: "20" },
  },
});
const kills = wholeNumber("kills", values.kills);
const seed = values.seed === undefined ? freshSeed() : wholeNumber("seed", values.seed);
const minutes = wholeNumber("minutes", values.minutes);

console.log(`${kills} kills or ${minutes} minutes, whichever comes first; seed ${seed}`);
let saidMs = 0;
const report = await crash({
  kills,
  seed,
  forMs: minutes * 60_000,
  progress(report) {
    if (report.ms - saidMs < progressMs) return;
    saidMs = report.ms;
    console.log(lineOf(report));
  },
});
console.log(summaryOf(report));
if (report.problems.length > 0 || report.kills === 0) process.exitCode = 1;

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  console.error(`--${name} is a whole number, not ${JSON.stringify(text)}`);
  process.exit(2);
}

function lineOf({ ms, kills, rounds, acknowledgedRecords, found, absent, problems }: CrashReport): string {
  const seconds = ms / 1_000;
  return (
    `${seconds.toFixed(0).padStart(5)} s  ${kills} kills (${(kills / seconds).toFixed(1)}/s), ` +
    `${rounds} stores, ` +
    `${acknowledgedRecords} acknowledged, ${found} found and ${absent} absent without an answer, ` +
    `${problems.length} problems`
  );
}

function summaryOf(report: CrashReport): string {
  const rows: readonly (readonly [string, string | number])[] = [
    ["kills", report.kills],
    ["kills a second", (report.kills / (report.ms / 1_000)).toFixed(1)],
    ["stores", report.rounds],
    ["records in them", report.records],
    ["acknowledged writes", report.acknowledged],
    ["acknowledged records", report.acknowledgedRecords],
    ["writes without an answer, found whole", report.found],
    ["writes without an answer, absent", report.absent],
    ["writes refused (conflict, fenced, closed, gone)", report.refused],
    ["records read and unchanged since", report.sightings],
    ["records there twice", report.duplicates],
    ["problems", report.problems.length],
    ["seed", report.seed],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(50)}${value}`);
  const problems = report.problems.slice(0, 50).map((text) => `problem: ${text}`);
  const kept = report.kept === null ? [] : [`the stores are kept in ${report.kept}`];
  return ["", ...lines, ...problems, ...kept].join("\n");
}
