/** The checks of `skein doctor` for a store in PostgreSQL. */
import { SkeinError } from "../../core/error.ts";
import { count } from "../../core/text/number-format.ts";
import type { StoreCheck } from "../driver.ts";
import type { StoreWorld } from "../port.ts";
import { parseAddress, shownAddress } from "./connection/address.ts";
import { openDatabase } from "./connection/connection.ts";
import { serverFlaw, serverState, type ServerState } from "./connection/start.ts";
import { layout } from "./schema.ts";

/** With a larger offset, times in logs of several machines differ visibly. */
const clockMsMax = 1_000;
/** Of all connections of the server; above it, the next program may find none. */
const connectionsShareMax = 0.9;

export async function diagnose(
  address: string,
  world: StoreWorld,
  opened: () => Promise<readonly StoreCheck[]>,
): Promise<readonly StoreCheck[]> {
  const failed = (name: string, error: unknown): StoreCheck => {
    if (!(error instanceof SkeinError)) throw error;
    return { name, ok: false, found: error.message, todo: error.hint ?? "see docs/postgres.md" };
  };
  let state: ServerState;
  let clockMs: number;
  try {
    [state, clockMs] = await look(address, world);
  } catch (error) {
    return [failed("server", error)];
  }
  const checks: StoreCheck[] = [
    { name: "store", ok: true, found: shownAddress(address) },
    ...serverChecks(state, clockMs),
  ];
  const flaw = serverFlaw(state, shownAddress(address), "disk");
  if (flaw !== null) return [...checks, failed("usable", flaw)];
  checks.push(await poolCheck(address, world));
  if (state.layout === 0) return checks;
  try {
    return [...checks, ...(await opened())];
  } catch (error) {
    return [...checks, failed("opens", error)];
  }
}

/** How long to wait for all connections. */
const poolMs = 5_000;

/**
 * Whether one process gets all its connections at once. A pooler in session mode assigns each client a server
 * connection for its whole stay: with too few, the rest wait until they fail.
 */
async function poolCheck(place: string, world: StoreWorld): Promise<StoreCheck> {
  const address = parseAddress(place);
  const database = openDatabase({ address, world, clock: "database" });
  const over = new AbortController();
  let begun = 0;
  let begin = (): void => undefined;
  const allBegun = new Promise<void>((resolve) => (begin = resolve));
  const late = world.sleep(poolMs, over.signal);
  const holding = Array.from({ length: address.connections }, () =>
    database.transaction(async (run) => {
      await run("SELECT 1");
      begun += 1;
      if (begun === address.connections) begin();
      await Promise.race([allBegun, late]);
    }),
  );
  await Promise.race([allBegun, late]);
  over.abort();
  const found = `${count(begun)} of ${count(address.connections)} connections at once`;
  await Promise.race([Promise.allSettled(holding), world.sleep(1_000)]);
  await database.close();
  for (const one of holding) one.catch(() => undefined);
  const each = address.pooled ? address.connections : address.connections + 1;
  return {
    name: "pool",
    ok: begun === address.connections,
    found,
    todo:
      `give each process ${count(each)}: raise default_pool_size of a pooler in session mode, or the ` +
      "connection limit of the role; or lower ?connections=",
  };
}

/** The state of the server, and by how much its clock is ahead. */
async function look(place: string, world: StoreWorld): Promise<[ServerState, number]> {
  const database = openDatabase({ address: parseAddress(place), world, clock: "database" });
  try {
    await database.run("SELECT 1"); // Excludes connecting from the time below.
    const askedAt = world.now();
    const state = await serverState(database);
    return [state, Math.round(state.nowMs - (askedAt + world.now()) / 2)];
  } finally {
    await database.close();
  }
}

function serverChecks(state: ServerState, clockMs: number): StoreCheck[] {
  const { connections, connectionsMax } = state;
  const durable = [
    `fsync=${state.fsync ? "on" : "off"}`,
    `full_page_writes=${state.fullPageWrites ? "on" : "off"}`,
    `synchronous_commit=${state.synchronousCommit}`,
  ];
  return [
    {
      name: "server",
      ok: state.version >= 150_000,
      found: `PostgreSQL ${state.shownVersion}, ${state.encoding}, as ${state.role}`,
      todo: "upgrade the server to PostgreSQL 15 or later",
    },
    {
      name: "settings",
      ok: state.fsync && state.fullPageWrites && state.synchronousCommit !== "off",
      found: durable.join(", "),
      todo: "set all of them on, so that what is acknowledged survives the loss of power",
    },
    {
      name: "layout",
      ok: state.layout <= layout,
      found:
        state.layout === 0
          ? 'none yet; "skein open" makes it'
          : `version ${state.layout}; this Skein knows up to ${layout}`,
      todo: "update Skein",
    },
    {
      name: "clock",
      ok: Math.abs(clockMs) <= clockMsMax,
      found: `${count(Math.abs(clockMs))} ms ${clockMs < 0 ? "behind" : "ahead of"} this machine's`,
      todo: "set both clocks by the network (NTP); leases go by the server's",
    },
    {
      name: "connections",
      ok: connections <= connectionsMax * connectionsShareMax,
      found: `${count(connections)} of ${count(connectionsMax)} in use`,
      todo: "raise max_connections, lower ?connections=, or put a pooler in front",
    },
  ];
}
