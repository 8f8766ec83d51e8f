/**
 * The simulator's campaign: `npm run sim -- --seeds 20000 [--from S] [--minutes 20]`. Prints a line every few
 * seconds and what was simulated at the end; ends with 1 when there was any problem.
 */
import { parseArgs } from "node:util";
import { simulate } from "./simulation.ts";
import { addCounts, tellProblems } from "./tell.ts";

const progressMs = 5_000;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "20000" },
    from: { type: "string", default: "1" },
    minutes: { type: "string", default: "20" },
  },
});
const seeds = wholeNumber("seeds", values.seeds);
const from = wholeNumber("from", values.from);
const minutes = wholeNumber("minutes", values.minutes);

console.log(`seeds ${from} to ${from + seeds - 1}, or ${minutes} minutes, whichever comes first`);
const counts = new Map<string, number>();
const started = performance.now();
let [lives, events, virtualMs, problems, saidMs] = [0, 0, 0, 0, 0];
for (let seed = from; seed < from + seeds; seed++) {
  const report = await simulate(seed);
  lives += 1;
  events += report.events;
  virtualMs += report.virtualMs;
  problems += report.problems.length;
  addCounts(counts, report.counts);
  for (const line of tellProblems(report)) console.log(line);
  const ms = performance.now() - started;
  if (ms - saidMs > progressMs) {
    saidMs = ms;
    console.log(lineOf(ms));
  }
  if (ms > minutes * 60_000) break;
}
console.log(lineOf(performance.now() - started));
const rows = [...counts].toSorted(([one], [other]) => (one < other ? -1 : 1));
console.log(rows.map(([kind, count]) => `${kind.padEnd(30)}${count}`).join("\n"));
if (problems > 0 || lives === 0) process.exitCode = 1;

function lineOf(ms: number): string {
  const seconds = ms / 1_000;
  return (
    `${seconds.toFixed(0).padStart(5)} s  ${lives} lives (${(lives / seconds).toFixed(1)}/s), ` +
    `${events} events, ${(virtualMs / 3_600_000).toFixed(1)} hours lived, ${problems} problems`
  );
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text);
  console.error(`--${name} is a whole number, not ${JSON.stringify(text)}`);
  process.exit(2);
}
