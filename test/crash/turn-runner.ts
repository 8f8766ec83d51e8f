/**
 * The program that a crash test of turns kills. It takes one order from its standard input, runs sessions to
 * the end of their plans, and says on its standard output which points they pass. When all of them stand at
 * the point that the order names it kills or stops itself, so that nothing happens after it.
 */
import { writeSync } from "node:fs";
import { flushCompileCache, registerHooks } from "node:module";
import type { Place } from "./turn-place.ts";
import type { Pace } from "./turn-script.ts";
import { readInput } from "./read-input.ts";

export type TurnOrder =
  | { readonly do: "warm" }
  | (Partial<Pace> & {
      readonly do: "run";
      readonly places: readonly Place[];
      readonly holder: string;
      /** A signal that it sends itself at a point. */
      readonly at?: { readonly point: string; readonly signal: "SIGKILL" | "SIGSTOP" };
    });

type RunOrder = Extract<TurnOrder, { do: "run" }>;

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

function readOrder(): TurnOrder {
  const bytes = Buffer.alloc(65_536);
  let length = 0;
  while (!bytes.subarray(0, length).includes("\n")) {
    const count = readInput(bytes, length);
    if (count === 0) process.exit(0);
    length += count;
  }
  return JSON.parse(bytes.toString("utf8", 0, length)) as TurnOrder;
}

async function run({ places, holder, at, ...pace }: RunOrder): Promise<void> {
  const { engineAt, finish } = await import("./turn-place.ts");
  const { SkeinError } = await import("../../src/core/error.ts");
  const everybody = Promise.withResolvers<void>();
  let missing = places.length;
  const meet = (): Promise<void> => {
    missing -= 1;
    if (missing > 0) return everybody.promise;
    process.kill(process.pid, at?.signal);
    everybody.resolve();
    return everybody.promise;
  };
  const runOne = async (place: Place): Promise<void> => {
    const reached = (name: string): Promise<void> | undefined => {
      say(`${place.name} at ${name}`);
      return name === at?.point ? meet() : undefined;
    };
    await using engine = await engineAt(place, { holder, reached, ...pace });
    const unknowns = await finish(engine, place);
    say(`${place.name} idle ${unknowns}`);
  };
  const refused = (place: Place, error: unknown): void => {
    if (!(error instanceof SkeinError)) throw error;
    say(`${place.name} failed ${error.code} ${error.message}`);
  };
  await Promise.all(places.map((place) => runOne(place).catch((error: unknown) => refused(place, error))));
}

async function main(): Promise<void> {
  const { makeTokenizer } = await import("../../src/runtime/turn/tokenizer.ts");
  const { realWorld } = await import("../../src/runtime/world.ts");
  await import("./turn-place.ts");
  await makeTokenizer(realWorld()).count("");
  say("ready");
  const order = readOrder();
  if (order.do === "warm") return flushCompileCache();
  // Whoever gave the order is gone: nobody would ever end this one.
  process.stdin.on("end", () => process.exit(1)).resume();
  await run(order);
  process.stdin.destroy();
}

await main();
