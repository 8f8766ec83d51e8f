/**
 * The connection to PostgreSQL: a pool of connections, statements and transactions on it, and their recovery.
 * A statement that only reads, or is idempotent, is retried for as long as an outage may last; any other
 * reports that its outcome is lost, and no code guesses.
 */
import { SkeinError } from "../../../core/error.ts";
import type { StoreWorld } from "../../port.ts";
import type { StoreAddress } from "./address.ts";
import { makeClockOffset } from "./clock-offset.ts";
import { listenTo, type NotificationListener } from "./listen.ts";
import { makeHostRing } from "../../../platform/host-ring.ts";
import { makePool } from "./pool.ts";
import {
  exceedsBytes,
  failure,
  openPostgresConnection,
  type PostgresConnection,
} from "../../../platform/postgres-connection.ts";
import { makePatience } from "./answer-timeout.ts";
import { usualSettings } from "./settings.ts";
import { asSkeinError, isServerAnswer, ConnectionLost, TooLong, troubleOf } from "./errors.ts";

/** Arrays are passed as texts, see array-literal.ts. */
export type Value = string | number | boolean | Uint8Array | null;

export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs one statement; `T` is the type of its rows, by column name. */
export type Statement = <T extends SqlRow = SqlRow>(
  sql: string,
  values?: readonly Value[],
  options?: StatementOptions,
) => Promise<readonly T[] & { readonly count: number }>;

export interface StatementOptions {
  /** `false` for a one-off text: the server does not keep it. */
  readonly prepare?: false;
  /** The size limit of the answer. A longer one is abandoned: it rejects with `TooLong`. */
  readonly bytesMax?: number;
}

export interface Database {
  /** An idempotent statement on its own: retried after any outage. */
  readonly run: Statement;
  /** A single statement that appends. Rejects with `ConnectionLost` if it may have been executed. */
  readonly once: Statement;
  /**
   * A transaction under READ COMMITTED. Statements that do not depend on one another are sent together. It is
   * retried on transient failures: a deadlock, an unreachable server. If the answer to COMMIT is lost, it is
   * retried if idempotent; otherwise it rejects with `ConnectionLost`.
   */
  transaction<T>(
    work: (statement: Statement) => Promise<T>,
    options?: { readonly twice?: boolean },
  ): Promise<T>;
  /** Notifications on the channel, until it is ended or lost; null behind a pooler without any. */
  listen(channel: string, hearing: NotificationListener): Promise<(() => Promise<void>) | null>;
  /** For skein.clock: null is the database's clock. */
  readonly given: () => number | null;
  /** The store's clock, as estimated here. */
  readonly now: () => number;
  /** The world's clock, for `heardClock`. */
  readonly localNow: () => number;
  /** Reports the store's clock in an answer to a request made at `askedAt` by the world's clock. */
  readonly heardClock: (nowMs: number, askedAt: number) => void;
  /** The store's clock was not read for long: `now` may have drifted. */
  readonly isClockOld: () => boolean;
  readonly shown: string;
  readonly pooled: boolean;
  /** The store is open: refusals of the server are now its own trouble, not a wrong address. */
  opened(): void;
  close(): Promise<void>;
}

/**
 * How long an outage lasts before callers get an error, from the first failed attempt: later callers do not
 * wait as long again. An answer to any caller ends the outage.
 */
const outageMs = 30_000;
/** The most attempts of one call while others succeed. */
const triesMax = 60;
/** The same before the server was ever reached: then the address is as likely to be wrong. */
const firstOutageMs = 3_000;
/** Between attempts; it doubles up to the second value. */
const pauseMs = [20, 1_000] as const;
/** Without an answer for so long, a connection counts as lost. */
const answerMs = 120_000;
/** The same before the first answer: another program may listen there. */
const firstAnswerMs = 8_000;

export interface DatabaseOptions {
  readonly address: StoreAddress;
  readonly world: StoreWorld;
  /** `world` is for tests that set the clock. */
  readonly clock: "database" | "world";
  /** The additional settings of each connection. */
  readonly settings?: Readonly<Record<string, string | number>>;
}

export function openDatabase({ address, world, clock, settings = {} }: DatabaseOptions): Database {
  const patience = makePatience(world);
  const hosts = address.hosts.length === 0 ? null : makeHostRing(address.hosts);
  const open = (): PostgresConnection =>
    openPostgresConnection(address.url, world, {
      hosts,
      idle_timeout: 300,
      max_lifetime: null,
      fetch_types: false,
      onnotice: () => undefined,
      onlost: (single) =>
        patience.lose(single, outcomeOf(single, new ConnectionLost("the connection is closed"))),
      types: {
        bigint: { to: 20, from: [20], parse: wholeNumber, serialize: String },
        // Dates and times stay as the server writes them.
        date: { to: 1184, from: [1082, 1114, 1184], parse: String, serialize: String },
      },
      connection: { application_name: "skein", ...(address.pooled ? {} : { ...usualSettings, ...settings }) },
    });
  const pool = makePool({ most: address.connections, follows: !address.pooled }, open);
  const clocks = makeClockOffset(world);
  let closed = false;
  let reached = false;
  /** Whether this server reports accepted connections, as all known ones do. */
  let isToldOf = false;
  let isOpen = false;
  /** When the server last answered any call, by the world's clock. */
  let answeredAt = 0;
  /** When the first failed attempt since then began; null if none failed. */
  let failingSince: number | null = null;

  /**
   * What an error on this connection means for its statement. Once the server has accepted the connection,
   * the error's code proves nothing: the system reports a lost network (EHOSTUNREACH, ENETUNREACH, even
   * ECONNREFUSED) with the codes of a failed connect. So anything but the server's own answer counts as lost.
   */
  const outcomeOf = (single: PostgresConnection, error: unknown): unknown => {
    if (single.isLetIn) {
      const isKnown = isServerAnswer(error) || error instanceof ConnectionLost || error instanceof TooLong;
      return isKnown ? error : new ConnectionLost("the connection was lost", { cause: error });
    }
    return isToldOf && troubleOf(error) === "lost"
      ? Object.assign(failure("CONNECT_TIMEOUT", "the server accepts no connections"), { cause: error })
      : error;
  };

  const ask =
    (single: PostgresConnection): Statement =>
    async (text, values = [], { prepare = !address.pooled, bytesMax } = {}) => {
      // The library would reconnect, and tear a unit of work apart.
      if (single.isGone) throw new ConnectionLost("the connection is closed");
      const over = new AbortController();
      if (bytesMax !== undefined) void endIfLonger(single, bytesMax, over.signal);
      try {
        const waitMs = reached ? answerMs : firstAnswerMs;
        const asked = { connection: single, text, waitMs };
        const query = single.sql.unsafe(text, values as never[], { prepare });
        const rows = await patience.wait(query, asked);
        letGo(query);
        isToldOf ||= single.isLetIn;
        reached = true;
        answeredAt = world.now();
        failingSince = null;
        return rows as never;
      } catch (error) {
        const outcome = outcomeOf(single, error);
        const trouble = troubleOf(outcome);
        if (trouble === "lost" || trouble === "away") void single.end().catch(() => undefined);
        throw outcome;
      } finally {
        over.abort();
      }
    };

  async function endIfLonger(single: PostgresConnection, bytesMax: number, over: AbortSignal): Promise<void> {
    if (!(await exceedsBytes(single, bytesMax, world, over))) return;
    patience.lose(single, new TooLong("the response is too long"));
    await single.end().catch(() => undefined);
  }

  const alone =
    (use: "append" | "single"): Statement =>
    async (text, values, how) => {
      const taken = pool.take(use);
      const single = taken instanceof Promise ? await taken : taken;
      try {
        return (await ask(single)(text, values, how)) as never;
      } finally {
        pool.release(single, use);
      }
    };
  const [append, read] = [alone("append"), alone("single")];

  function checkOpen(): void {
    if (closed) throw new SkeinError("unavailable", "the store is closed", { hint: "open it again" });
  }

  /** Retries until it succeeds, fails for good, or the outage has lasted too long. */
  async function persist<T>(work: () => Promise<T>, passes: (error: unknown) => boolean): Promise<T> {
    const beganAt = world.now();
    const isOutage = (triedAt: number): boolean => {
      if (!reached) return world.now() - beganAt >= firstOutageMs;
      failingSince ??= Math.max(triedAt, answeredAt);
      return world.now() - failingSince >= outageMs;
    };
    let waitMs: number = pauseMs[0];
    for (let tries = 1; ; tries++) {
      checkOpen();
      const triedAt = world.now();
      try {
        return await work();
      } catch (error) {
        if (closed) checkOpen();
        if (error instanceof ConnectionLost && !passes(error)) throw error;
        if (!passes(error) || tries >= triesMax || isOutage(triedAt))
          throw asSkeinError(address.shown, error, { isOpen });
        await world.sleep(waitMs);
        waitMs = Math.min(waitMs * 2, pauseMs[1]);
      }
    }
  }

  const passesIf = (twice: boolean) => (error: unknown) => {
    const trouble = troubleOf(error);
    return trouble === "lost" ? twice : trouble !== null;
  };

  async function transact<T>(work: (statement: Statement) => Promise<T>): Promise<T> {
    const single = await pool.take("alone");
    const statement = ask(single);
    let failed: { readonly first: unknown } | null = null;
    let over = false;
    let committing = false;
    /** Late statements of an ended transaction must not run in another one. */
    const within: Statement = async (text, values, how) => {
      if (over) throw new ConnectionLost("the transaction has ended");
      try {
        return (await statement(text, values, how)) as never;
      } catch (error) {
        failed ??= { first: error };
        throw error;
      }
    };
    try {
      await statement("BEGIN");
      const result = await work(within);
      // COMMIT silently rolls back a transaction in which a statement failed.
      if (failed !== null) throw (failed as { readonly first: unknown }).first;
      over = true;
      committing = true;
      await statement("COMMIT");
      return result;
    } catch (error) {
      over = true;
      const isLost = troubleOf(error) === "lost";
      if (isLost && committing) throw new ConnectionLost("the response to COMMIT was lost", { cause: error });
      await (single.isGone ? null : statement("ROLLBACK").catch(() => single.end()));
      // Before COMMIT was sent, a lost connection means that nothing was written.
      throw isLost ? Object.assign(new Error("busy", { cause: error }), { code: "40001" }) : error;
    } finally {
      pool.release(single, "alone");
    }
  }

  return {
    run: (text, values, how) => persist(() => read(text, values, how), passesIf(true)) as never,
    once: (text, values, how) =>
      persist(() => append(text, values, how).catch(orLost), passesIf(false)) as never,
    transaction: (work, { twice = false } = {}) => persist(() => transact(work), passesIf(twice)),
    listen: async (channel, hearing) => (address.pooled ? null : listenTo(address, world, channel, hearing)),
    given: () => (clock === "world" ? world.now() : null),
    now: () => world.now() + clocks.offsetMs(),
    localNow: () => world.now(),
    heardClock: (nowMs, askedAt) => void (clock === "database" && clocks.heard(nowMs, askedAt)),
    isClockOld: () => clock === "database" && clocks.isOld(),
    shown: address.shown,
    pooled: address.pooled,
    opened: () => void (isOpen = true),
    async close() {
      if (closed) return;
      closed = true;
      await pool.close();
    },
  };
}

function orLost(error: unknown): never {
  throw troubleOf(error) === "lost" ? new ConnectionLost("the response was lost", { cause: error }) : error;
}

/**
 * The library keeps closures on each query, which the engine promotes to old objects at once: the sent data
 * would stay until a full collection.
 */
function letGo(query: object): void {
  Object.assign(query, { args: null, parameters: null });
}

/** A number beyond exact range, which only a user's query can return, stays a text. */
function wholeNumber(text: string): number {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : (text as unknown as number);
}
