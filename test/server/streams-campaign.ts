/**
 * The campaign of streams: `npm run campaign:streams -- --readers 200 --records 3000 --idle 2000 [--rounds 1]
 * [--seed N]`. Readers of a busy session and of all are cut at random; then so many streams wait. Ends
 * with 1 when a reader has not the exact log, or the streams that wait cost too much.
 */
import { parseArgs } from "node:util";
import { freshSeed } from "../crash/random.ts";
import { cutReaders, idleStreams } from "./stream-load.ts";

const { values } = parseArgs({
  options: {
    readers: { type: "string", default: "200" },
    records: { type: "string", default: "3000" },
    idle: { type: "string", default: "2000" },
    rounds: { type: "string", default: "1" },
    seed: { type: "string", default: String(freshSeed()) },
  },
});
const idleBytesMax = 300 * 1_048_576;
const mib = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`;
const seed = Number(values.seed);

for (let round = 0; round < Number(values.rounds); round++) {
  const [readers, records] = [Number(values.readers), Number(values.records)];
  const cut = { ms: 2_000, chars: 500_000 };
  const report = await cutReaders({ readers, records, cut, seed: seed + round });
  const { events, cuts, torn, ms, problems } = report;
  console.log(
    `seed ${seed + round}: ${readers} readers of ${records + 1} records and more: ${events} events, ` +
      `${cuts} cuts, ${torn} within a frame, ${Math.round(ms / 1_000)} s, ${problems.length} problems`,
  );
  tell(problems);
}
const streams = Number(values.idle);
if (streams > 0) {
  const { beforeBytes, rssBytes, problems } = await idleStreams(streams);
  console.log(`${streams} idle streams: ${mib(rssBytes)}, ${mib(beforeBytes)} before them`);
  tell([...problems, ...(rssBytes <= idleBytesMax ? [] : [`more than ${mib(idleBytesMax)}`])]);
}

function tell(problems: readonly string[]): void {
  for (const problem of problems.slice(0, 20)) console.log(`problem: ${problem}`);
  if (problems.length > 0) process.exitCode = 1;
}
