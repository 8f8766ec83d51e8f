/**
 * The program that a crash test of workers kills: a worker on the store of the test. It takes one order from
 * its standard input, and says on its standard output what it begins and ends. All sessions have one plan.
 */
import { writeSync } from "node:fs";
import { flushCompileCache, registerHooks } from "node:module";
import type { Plan } from "./turn-script.ts";
import type { WorkPlace } from "./work-place.ts";
import { readInput } from "./read-input.ts";

export type WorkOrder =
  | { readonly do: "warm" }
  | {
      readonly do: "work";
      readonly place: WorkPlace;
      /** Null: the process; then nobody waits until its leases run out. */
      readonly name: string | null;
      readonly plan: Plan;
      readonly paceMs: number;
      readonly concurrency: number;
    };

// A real tokenizer is more than half of what a start costs, and how tokens are counted is no matter here.
registerHooks({
  resolve: (name, context, next) =>
    name.startsWith("gpt-tokenizer/")
      ? { url: new URL("turn-tokens.ts", import.meta.url).href, shortCircuit: true }
      : next(name, context),
});

function say(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let from = 0; from < bytes.length;) from += writeSync(1, bytes, from);
}

function readOrder(): WorkOrder {
  const bytes = Buffer.alloc(65_536);
  let length = 0;
  while (!bytes.subarray(0, length).includes("\n")) {
    const count = readInput(bytes, length);
    if (count === 0) process.exit(0);
    length += count;
  }
  return JSON.parse(bytes.toString("utf8", 0, length)) as WorkOrder;
}

/** Until there is anything to stop, it just ends: it may be told to as soon as it has begun. */
let stop = (): void => process.exit(0);
process.on("SIGTERM", () => stop());

async function main(): Promise<void> {
  const { engineIn, leaseMs } = await import("./work-place.ts");
  say("ready");
  const order = readOrder();
  if (order.do === "warm") return flushCompileCache();
  const { place, name, plan, paceMs, concurrency } = order;
  const engine = await engineIn(place, { plan, paceMs, elsewhere: name !== null });
  const worker = await engine.work({
    concurrency,
    leaseMs,
    ...(name === null ? {} : { name }),
    onEvent: (told) => say(told.type === "failed" ? `failed ${String(told.error)}` : told.type),
  });
  // Whoever gave the order is gone: nobody would ever end this one.
  process.stdin.on("end", () => process.exit(1)).resume();
  stop = () =>
    void worker
      .stop()
      .then(() => engine.close())
      .then(() => process.exit(0));
}

await main();
