/**
 * The campaign of the feed: `npm run campaign:feed -- --writers 32 --processes 4 --events 1000000
 * [--seed N]`. Prints a line every few seconds and a report at the end; ends with 1 when there was any
 * problem.
 */
import { parseArgs } from "node:util";
import { freshSeed } from "../crash/random.ts";
import { medianOf, quantileOf, wholeNumber } from "./campaign.ts";
import { followFeed, type FeedReport } from "./feed.ts";
import { startPostgres } from "./server.ts";

const { values } = parseArgs({
  options: {
    writers: { type: "string", default: "32" },
    processes: { type: "string", default: "4" },
    events: { type: "string", default: "1000000" },
    seed: { type: "string" },
  },
});
const writers = wholeNumber("writers", values.writers);
const processes = wholeNumber("processes", values.processes);
const records = wholeNumber("events", values.events);
const seed = values.seed === undefined ? freshSeed() : wholeNumber("seed", values.seed);

console.log(`${writers} writers in ${processes} processes, ${records} events, two readers; seed ${seed}`);
await using server = await startPostgres({ settings: { max_wal_size: "4GB" } });
const report = await followFeed({
  url: await server.newDatabase(),
  writers,
  processes,
  records,
  readers: 2,
  batch: [50, 100],
  heldShare: 0.02,
  rolledBackShare: 0.01,
  seed,
  progress: (line) => console.log(line),
});
console.log(summaryOf(report));
if (report.problems.length > 0) process.exitCode = 1;

function summaryOf(given: FeedReport): string {
  const { written, writtenMs, readers } = given;
  const lags = readers.flatMap(({ lagsMs }) => lagsMs);
  const rows: readonly (readonly [string, string | number])[] = [
    ["seconds", (given.ms / 1_000).toFixed(0)],
    ["events written", written],
    ["events written a second", (written / (writtenMs / 1_000)).toFixed(0)],
    ["logs", given.logs],
    ["transactions held open for up to a second", given.held],
    ["transactions rolled back at their end", given.rolledBack],
    ["events seen by each reader", readers.map((reader) => reader.records).join(", ")],
    ["pages read", readers.map(({ pages }) => pages).join(", ")],
    ["lag in ms, median", medianOf(lags).toFixed(0)],
    ["lag in ms, 99 of 100", quantileOf(lags, 0.99).toFixed(0)],
    ["lag in ms, worst", Math.max(0, ...lags).toFixed(0)],
    ["problems", given.problems.length],
    ["seed", seed],
  ];
  const lines = rows.map(([name, value]) => `${name.padEnd(48)}${value}`);
  const problems = given.problems.map((text) => `problem: ${text.slice(0, 2_000)}`);
  return ["", ...lines, ...problems].join("\n");
}
