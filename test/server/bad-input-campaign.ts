/**
 * The campaign of bad input: `node test/server/bad-input-campaign.ts --requests 100000 [--from N]`. Prints a
 * line every few seconds, and what came back at the end; ends with 1 when anything was the server's fault.
 */
import { parseArgs } from "node:util";
import { inFile } from "../runtime/place.ts";
import { sendMany } from "./bad-input.ts";
import { served } from "./served.ts";

const { values } = parseArgs({
  options: { requests: { type: "string", default: "100000" }, from: { type: "string", default: "1" } },
});
const requests = Number(values.requests);
const stepOf = 5_000;

await using file = await inFile();
await using place = await served({ store: file.store });
const session = await place.engine.open({ objective: "Bad input" });
const target = { port: place.server.port, token: place.token, session: session.id };
const statuses = new Map<number, number>();
const faults: string[] = [];
const started = performance.now();
for (let sent = 0; sent < requests; sent += stepOf) {
  const count = Math.min(stepOf, requests - sent);
  const done = await sendMany(target, { from: Number(values.from) + sent, count, atOnce: 32 });
  faults.push(...done.faults);
  for (const fault of done.faults.slice(0, 5)) console.log(fault);
  for (const [status, times] of done.statuses) statuses.set(status, (statuses.get(status) ?? 0) + times);
  // Sessions that were opened by accident are part of what is kept; what else is held shows in the heap.
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const mib = (bytes: number): number => Math.round(bytes / 1_048_576);
  const seconds = Math.round((performance.now() - started) / 1_000);
  console.log(`${sent + count} in ${seconds} s, ${mib(rss)} MiB, heap ${mib(heapUsed)} MiB`);
}
console.log(Object.fromEntries([...statuses].toSorted(([a], [b]) => a - b)));
console.log(`${faults.length} faults, ${place.troubles.length} troubles`);
for (const trouble of place.troubles.slice(0, 5)) console.log(trouble);
process.exitCode = faults.length + place.troubles.length === 0 ? 0 : 1;
