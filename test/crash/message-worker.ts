/**
 * The program that a crash test of messages kills. It takes one order from its standard input: to send what
 * is planned, to relay what waits, or to take up what came in; and says on its standard output how far it is.
 * At the point that the order names it kills itself, so that nothing happens after it.
 */
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { SkeinError } from "../../src/core/error.ts";
import type { SessionId } from "../../src/core/ids.ts";
import { Engine } from "../../src/runtime/engine/engine.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Store } from "../../src/store/port.ts";
import { plannedBy, type Plan } from "./message-plan.ts";
import { openPlace } from "./store-place.ts";
import { makePoints, pointedStore, type Points } from "./turn-point.ts";
import { readInput } from "./read-input.ts";

export type MessageOrder =
  | { readonly do: "warm" }
  | {
      readonly do: "send" | "relay" | "take";
      readonly paths: readonly [string, string];
      readonly plan: Plan;
      /** Whose work it is, and how far it was acknowledged. */
      readonly work: readonly { readonly member: number; readonly from: number }[];
      /** Where it kills itself. */
      readonly at?: string;
    };

type WorkOrder = Exclude<MessageOrder, { do: "warm" }>;

const world = realWorld();
/** The shortest there is, so that nobody waits long for the dead. */
const leaseMs = 1_000;

/** An engine on the store at a path, which knows the others by their paths. */
export async function engineOn(path: string, points?: Points, create = false): Promise<Engine> {
  const pointed = async (place: string, make: boolean): Promise<Store> => {
    const store = await openPlace(place, make);
    return points === undefined ? store : pointedStore(store, points);
  };
  const store = await pointed(path, create);
  const openStore = (place: string): Promise<Store> => pointed(place, false);
  return new Engine({ store, world, place: path, openStore, leaseMs });
}

function say(line: string): void {
  const bytes = Buffer.from(`${line}\n`);
  for (let from = 0; from < bytes.length;) from += writeSync(1, bytes, from);
}

function readOrder(): MessageOrder {
  const bytes = Buffer.alloc(262_144);
  let length = 0;
  while (!bytes.subarray(0, length).includes("\n")) {
    const count = readInput(bytes, length);
    if (count === 0) process.exit(0);
    length += count;
  }
  return JSON.parse(bytes.toString("utf8", 0, length)) as MessageOrder;
}

async function work(order: WorkOrder): Promise<void> {
  const points = makePoints((name) => {
    if (name === order.at) process.kill(process.pid, "SIGKILL");
  });
  const engines = await Promise.all(order.paths.map((path) => engineOn(path, points)));
  say("opened");
  if (order.do === "send") await Promise.all(order.work.map((one) => sendAll(engines, order, one)));
  else if (order.do === "relay") await forever(async () => relayAll(engines));
  else await forever(async () => takeAll(engines, order));
  for (const engine of engines) await engine.close();
  say("done");
}

async function sendAll(
  engines: readonly Engine[],
  { plan, paths }: WorkOrder,
  { member, from }: WorkOrder["work"][number],
): Promise<void> {
  const { id, store } = plan.members[member]!;
  const session = await engines[store]!.session(id);
  for (const [place, { to, text, key }] of plannedBy(plan, member).entries()) {
    if (place < from) continue;
    const away = to.store === store ? {} : { at: paths[to.store] };
    const { delivered } = await session.send(to.id, text, { key, ...away });
    say(`ok ${member} ${place} ${delivered ? "there" : "waits"}`);
  }
}

async function relayAll(engines: readonly Engine[]): Promise<void> {
  for (const engine of engines) {
    const { delivered, refused } = await engine.deliver();
    say(`relayed ${delivered} ${refused}`);
  }
  await sleep(20);
}

/** Takes up what waits in each inbox, as a turn that says nothing. */
async function takeAll(engines: readonly Engine[], { plan, work: mine }: WorkOrder): Promise<void> {
  for (const { member } of mine) {
    const { id, store } = plan.members[member]!;
    const session = await engines[store]!.session(id);
    const { inbox, turn } = (await session.fold()).standing;
    if (inbox.waiting.length === 0 && turn === null) continue;
    try {
      await using drive = await session.drive();
      const { standing } = await drive.state();
      if (standing.turn === null) await drive.begin();
      await drive.end();
      say(`took ${id as SessionId}`);
    } catch (error) {
      // Whoever died held the lease, and it runs out by itself.
      if (!(error instanceof SkeinError) || error.code !== "conflict") throw error;
    }
  }
  await sleep(20);
}

async function forever(once: () => Promise<void>): Promise<never> {
  for (;;) await once();
}

async function main(): Promise<void> {
  say("ready");
  const order = readOrder();
  try {
    if (order.do === "warm") return flushCompileCache();
    await work(order);
  } catch (error) {
    const text =
      error instanceof SkeinError ? `${error.code} ${error.message}` : String((error as Error).stack);
    say(`failed ${JSON.stringify(text)}`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();
