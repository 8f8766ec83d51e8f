/**
 * The store for a team: one PostgreSQL, shared by any number of programs. See postgres/schema.ts for the
 * layout, postgres/log/append.ts for the write path and postgres/connection/connection.ts for recovery from
 * connection failures.
 */
import type { WorkspaceId } from "../../core/ids.ts";
import type { Durability, Store, StoreWorld } from "../port.ts";
import { checkTenant, parseAddress } from "./connection/address.ts";
import { makeAppender } from "./log/append.ts";
import { makeBlobs } from "./blob.ts";
import { makeChecker } from "./check.ts";
import { openDatabase } from "./connection/connection.ts";
import { makeDerived } from "./derived/derived.ts";
import type { Driver } from "./driver.ts";
import { makeFeed } from "./log/feed.ts";
import { makeHeads } from "./log/heads.ts";
import { makeLists } from "./derived/list.ts";
import { makePacker } from "./log/pack.ts";
import { makeQuery } from "./derived/query.ts";
import { makeQuota } from "./tenant/quota.ts";
import { makeReader } from "./log/read.ts";
import { makeReceiver } from "./receive/receive.ts";
import { makeSchedules } from "./derived/schedule.ts";
import { startStore } from "./connection/start.ts";
import { makeStats } from "./tenant/stats.ts";
import { makeSweeper } from "./sweep.ts";
import { makeWatch, type Watch } from "./log/watch.ts";
import { withProgress } from "../paging.ts";

export interface PostgresOptions {
  /** postgres://user:password@host:port/database, with Skein's own parameters after the `?`. */
  readonly url: string;
  readonly world: StoreWorld;
  /** For a new tenant: the id of its workspace. */
  readonly workspace: WorkspaceId;
  /** Default: the tenant in the address, or `default`. */
  readonly tenant?: string;
  /** Whether to create a missing layout and tenant; default: true. */
  readonly create?: boolean;
  readonly durability?: Durability;
  /** The deciding clock; `world` is for tests that set it. */
  readonly clock?: "database" | "world";
}

async function readClock({ database, world }: Driver): Promise<number> {
  const askedAt = world.now();
  const [row] = await database.run<{ now: number }>("SELECT skein.clock($1) AS now", [database.given()]);
  if (row === undefined) throw new Error("invariant: a database has a clock");
  database.heardClock(row.now, askedAt);
  return row.now;
}

export async function postgresStore(options: PostgresOptions): Promise<Store> {
  const { url, world, workspace, create = true, durability = "disk", clock = "database" } = options;
  const address = parseAddress(url);
  const name = options.tenant ?? address.tenant ?? "default";
  checkTenant(name);
  const settings = durability === "disk" ? {} : { synchronous_commit: "off" };
  const database = openDatabase({ address, world, clock, settings });
  try {
    const started = await startStore(database, { tenant: name, workspace, create, durability });
    database.opened();
    const driver: Driver = { database, tenant: started.tenant, world, changed: () => watch.notify() };
    const watch: Watch = makeWatch(driver);
    const heads = makeHeads();
    const appender = makeAppender(driver, heads);
    const quota = makeQuota(driver);
    return withProgress({
      workspace: started.workspace,
      program: started.program,
      now: () => database.now(),
      readClock: () => readClock(driver),
      append(parts) {
        try {
          const counted = quota.check(parts);
          return counted === null ? appender.append(parts) : counted.then(() => appender.append(parts));
        } catch (error) {
          return Promise.reject(error);
        }
      },
      ...makeReader(driver),
      ...makeFeed(driver),
      watch: (changed) => watch.add(changed),
      ...makeLists(driver),
      ...makeDerived(driver),
      ...makeBlobs(driver, quota),
      ...makeReceiver(driver),
      ...makePacker(driver),
      ...makeSweeper(driver),
      ...makeChecker(driver),
      ...makeSchedules(driver),
      ...makeQuery(driver),
      ...makeStats(driver, durability),
      async close() {
        await appender.idle();
        await watch.close();
        await database.close();
      },
    });
  } catch (error) {
    await database.close();
    throw error;
  }
}
