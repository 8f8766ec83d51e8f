/**
 * The campaign of fail-overs of PostgreSQL: `npm run campaign:failover -- --synchronous 5 --asynchronous 5
 * --sessions 16 --load 3000 [--seed N]`. Prints a line a fail-over and a report for each mode; ends with 1
 * when there was any problem.
 */
import { parseArgs } from "node:util";
import { freshSeed } from "../crash/random.ts";
import { medianOf, wholeNumber } from "./campaign.ts";
import { failOver, type FailoverReport } from "./failover.ts";

const { values } = parseArgs({
  options: {
    synchronous: { type: "string", default: "5" },
    asynchronous: { type: "string", default: "5" },
    sessions: { type: "string", default: "16" },
    load: { type: "string", default: "3000" },
    behind: { type: "string", default: "1000" },
    seed: { type: "string" },
  },
});
const seed = values.seed === undefined ? freshSeed() : wholeNumber("seed", values.seed);
const sessions = wholeNumber("sessions", values.sessions);
const loadMs = wholeNumber("load", values.load);
const behindMs = wholeNumber("behind", values.behind);

console.log(`${sessions} sessions; seed ${seed}`);
for (const mode of ["synchronous", "asynchronous"] as const) {
  const length = wholeNumber(mode, values[mode]);
  if (length === 0) continue;
  const modes = Array.from({ length }, () => mode);
  const report = await failOver({
    modes,
    sessions,
    loadMs,
    behindMs,
    seed,
    progress: (line) => console.log(line),
  });
  console.log(summaryOf(mode, report));
  if (report.problems.length > 0) process.exitCode = 1;
}
process.exit();

function summaryOf(mode: string, given: FailoverReport): string {
  const rows: readonly (readonly [string, string | number])[] = [
    [`${mode} fail-overs`, given.failovers],
    ["seconds", (given.ms / 1_000).toFixed(0)],
    ["acknowledged appends", given.acknowledged],
    ["of these lost", given.lost],
    ["appends refused", JSON.stringify(given.refusals)],
    ["records in the sessions", given.records],
    ["sessions found set back by their writer", given.setBack],
    ["rollbacks told in the feed", given.rollbacks],
    ["streams of sessions ended by a rollback", given.streamsEnded],
    ["events told by the feed", given.toldByFeed],
    ["events told to the webhook", given.toldByWebhook],
    ["ms from a kill to the first append after it, median", medianOf(given.recoveriesMs).toFixed(0)],
    ["ms from a kill to the first append after it, worst", Math.max(0, ...given.recoveriesMs).toFixed(0)],
    ["problems", given.problems.length],
    ["seed", given.seed],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(56)}${value}`);
  const problems = given.problems.slice(0, 50).map((text) => `problem: ${text.slice(0, 2_000)}`);
  return ["", ...lines, ...problems, ""].join("\n");
}
