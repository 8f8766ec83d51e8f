/**
 * The campaign of random kills of turns: `npm run crash:turns -- --kills 2000 [--seed N] [--minutes 20]`.
 * Prints a line every few seconds and a report at the end; ends with 1 when there was any problem.
 */
import { parseArgs } from "node:util";
import { freshSeed } from "./random.ts";
import { killTurns, type TurnKillReport } from "./turn-kill.ts";

const progressMs = 5_000;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "2000" },
    seed: { type: "string" },
    minutes: { type: "string", default: "20" },
  },
});
const kills = wholeNumber("kills", values.kills);
const seed = values.seed === undefined ? freshSeed() : wholeNumber("seed", values.seed);
const minutes = wholeNumber("minutes", values.minutes);

console.log(`${kills} kills or ${minutes} minutes, whichever comes first; seed ${seed}`);
let saidMs = 0;
const report = await killTurns({
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

function lineOf({ ms, kills, stops, sessions, calls, again, unknown, problems }: TurnKillReport): string {
  const seconds = ms / 1_000;
  return (
    `${seconds.toFixed(0).padStart(5)} s  ${kills} kills (${(kills / seconds).toFixed(1)}/s), ` +
    `${stops} stops, ${sessions} sessions, ${calls} calls, ${again} run again, ${unknown} unknown, ` +
    `${problems.length} problems`
  );
}

function summaryOf(report: TurnKillReport): string {
  const rows: readonly (readonly [string, string | number])[] = [
    ["kills", report.kills],
    ["kills a second", (report.kills / (report.ms / 1_000)).toFixed(1)],
    ["processes stopped past their lease and woken up", report.stops],
    ["stores", report.rounds],
    ["sessions", report.sessions],
    ["turns", report.turns],
    ["tool calls", report.calls],
    ["of these started again after a kill", report.again],
    ["of these with an unknown outcome", report.unknown],
    ["model calls written down", report.requested],
    ["model calls that the model got", report.asked],
    ["problems", report.problems.length],
    ["seed", report.seed],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(50)}${value}`);
  const problems = report.problems.slice(0, 50).map((text) => `problem: ${text}`);
  return ["", ...lines, ...problems].join("\n");
}
