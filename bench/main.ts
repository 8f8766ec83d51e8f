/**
 * `npm run bench`: every bar, as a ratio to what plain code does in the same run. `--only append` runs a
 * part; `--quick` retains fewer sessions.
 */
import { availableParallelism, cpus } from "node:os";
import { meets, table, type Measure } from "./measure.ts";

const parts: Readonly<Record<string, () => Promise<Measure[]>>> = {
  append: async () => (await import("./append.ts")).benchAppend(),
  history: async () => (await import("./history.ts")).benchHistory(),
  size: async () => (await import("./size.ts")).benchSize(),
  list: async () => (await import("./list.ts")).benchList(),
  project: async () => (await import("./project.ts")).benchProject(),
  pick: async () => (await import("./pick.ts")).benchPick(),
  step: async () => (await import("./step.ts")).benchStep(),
  drive: async () => (await import("./drive.ts")).benchDrive(),
  retrieve: async () => (await import("./retrieve.ts")).benchRetrieve(),
  merge: async () => (await import("./merge.ts")).benchMerge(),
  memory: async () => (await import("./memory.ts")).benchMemory(),
  context: async () => (await import("./context.ts")).benchContext(),
  pack: async () => (await import("./pack.ts")).benchPack(),
  bundle: async () => (await import("./bundle.ts")).benchBundle(),
  transcripts: async () => (await import("./transcripts.ts")).benchTranscripts(),
  retain: async () => (await import("./retain.ts")).benchRetain(),
  wake: async () => (await import("./wake.ts")).benchWake(),
  serve: async () => (await import("./serve.ts")).benchServe(),
  console: async () => (await import("./console.ts")).benchConsole(),
  proxy: async () => (await import("./proxy.ts")).benchProxy(),
  langgraph: async () => (await import("./langgraph.ts")).benchLanggraph(),
  drawers: async () => (await import("./drawers.ts")).benchDrawers(),
  start: async () => (await import("./start.ts")).benchStart(),
  postgres: async () => (await import("./postgres.ts")).benchPostgres(),
};

const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;
if (only !== undefined && parts[only] === undefined) {
  console.error(`bench: there is no part "${only}"; one of ${Object.keys(parts).join(", ")}`);
  process.exit(2);
}
const measures: Measure[] = [];
for (const [name, run] of Object.entries(parts)) {
  if (only !== undefined && name !== only) continue;
  console.error(`bench: ${name} …`);
  measures.push(...(await run()));
}
const machine = `${availableParallelism()} × ${cpus()[0]?.model ?? "unknown"}, Node ${process.version}`;
console.log(`${table(measures)}\n\n${machine}\n`);
const failed = measures.filter((measure) => !meets(measure));
console.log(JSON.stringify({ machine, ok: failed.length === 0, measures }));
for (const { name, value, bar } of failed)
  console.error(`bench: ${name} is ${value.toPrecision(3)}, the bar is ${JSON.stringify(bar)}`);
process.exit(failed.length === 0 ? 0 : 1);
