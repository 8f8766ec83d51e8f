/** Read-only SQL over the documented views, in a transaction that can neither write nor last long. */
import type { SkeinError } from "../../../core/error.ts";
import {
  endedQuery,
  failedQuery,
  rowBytes,
  describeError,
  slowQuery,
  tooManyRows,
  tooMuch,
  viewsHint,
  type QueryRows,
} from "../../sql/query-result.ts";
import type { Store } from "../../port.ts";
import type { SqlRow, Statement } from "../connection/connection.ts";
import type { Driver } from "../driver.ts";
import { arrayOf } from "../connection/array-literal.ts";
import { readQuery, type QueryText } from "./query-text.ts";
import { TooLong } from "../connection/errors.ts";

/** Concurrent queries; the other connections are for the work of sessions. */
const atOnce = 2;

const invalid = (error: string, hint = viewsHint): SkeinError => failedQuery({ error, hint });

export function makeQuery(driver: Driver): Pick<Store, "query"> {
  const { database, tenant } = driver;
  const turn = makeTurns(atOnce);
  return {
    async query(sql, { limit, bytesMax, timeoutMs, signal }) {
      const query = readQuery(sql);
      if (typeof query === "string") throw invalid(query);
      const work = async (run: Statement): Promise<QueryRows> => {
        const [row] = await run<{ pid: number }>(settings, [String(tenant), String(timeoutMs)]);
        await checkNames(run, query);
        const ended = endedBy(driver, row?.pid ?? 0, signal);
        try {
          return await answer(run, query.text, { limit, bytesMax });
        } catch (error) {
          if (signal?.aborted === true) throw endedQuery(error);
          throw error instanceof TooLong ? failedQuery(tooMuch(bytesMax)) : asQueryError(error, timeoutMs);
        } finally {
          await ended();
        }
      };
      return turn(async () => {
        if (signal?.aborted === true) throw endedQuery();
        return await database.transaction(work, { twice: true });
      });
    },
  };
}

/** A cancel request may fall between two statements, and is then ignored. */
const cancelEveryMs = 100;

/**
 * Cancels the work of a server process, once the signal is aborted. Call the result when the work is over; it
 * resolves when no more cancel requests follow, because the next one would hit another client.
 */
function endedBy({ database, world }: Driver, pid: number, signal: AbortSignal | undefined) {
  const over = new AbortController();
  let ending: Promise<void> | null = null;
  const end = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await database.run("SELECT pg_cancel_backend($1)", [pid]).catch(() => undefined);
      await world.sleep(cancelEveryMs, over.signal);
    }
  };
  const abort = (): void => void (ending ??= end());
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) abort();
  return async (): Promise<void> => {
    signal?.removeEventListener("abort", abort);
    over.abort();
    await ending;
  };
}

/** For this transaction only. */
const settings = `SELECT pg_backend_pid() AS pid, set_config('transaction_read_only', 'on', true),
  set_config('search_path', 'skein_views, pg_catalog, pg_temp', true),
  set_config('standard_conforming_strings', 'on', true), set_config('TimeZone', 'UTC', true),
  set_config('skein.tenant', $1, true), set_config('statement_timeout', $2, true)`;

const known = `SELECT nspname::text AS name FROM pg_namespace WHERE nspname = ANY ($1::text[])
  UNION ALL
  SELECT proname::text FROM pg_proc
  WHERE proname = ANY ($2::text[]) AND pronamespace = 'pg_catalog'::regnamespace`;

async function checkNames(run: Statement, { owners, called }: QueryText): Promise<void> {
  if (owners.length + called.length === 0) return;
  const [found] = await run<{ name: string }>(known, [arrayOf(owners), arrayOf(called)]);
  if (found !== undefined) throw invalid(`${found.name} is not open to queries`);
}

interface Column {
  readonly name: string;
  /** The number PostgreSQL has for it. */
  readonly type: number;
}

/**
 * Numbers come as text, and each value with its length. Only a result that is too large sends this much, such
 * as a single value or an error that repeats it: it is not awaited.
 */
const wireFactor = 4;

async function answer(
  run: Statement,
  text: string,
  { limit, bytesMax }: { readonly limit: number; readonly bytesMax: number },
): Promise<QueryRows> {
  // A parameter makes it one statement by protocol, whatever the text holds.
  const ask = (names: string) =>
    run(`SELECT * FROM (${text}\n) AS answer ${names} LIMIT $1::bigint`, [limit + 1], {
      prepare: false,
      bytesMax: bytesMax * wireFactor,
    });
  let rows = await ask("");
  const { columns } = rows as unknown as { readonly columns: readonly Column[] };
  const names = columns.map(({ name }) => name);
  if (names.length === 0) throw invalid("it gives no rows");
  const places = names.map((_, place) => `c${place}`);
  // Columns of the same name are one field of a row.
  const distinct = new Set(names).size === names.length;
  if (!distinct) rows = await ask(`(${places.join(", ")})`);
  if (rows.length > limit) throw failedQuery(tooManyRows(limit));
  const fields = distinct ? names : places;
  let bytes = 0;
  const plainRow = (row: SqlRow): readonly unknown[] => {
    const plain = fields.map((field, place) => plainOf(row[field] ?? null, columns[place]?.type ?? 0));
    bytes += rowBytes(plain);
    if (bytes > bytesMax) throw failedQuery(tooMuch(bytesMax));
    return plain;
  };
  return { columns: names, rows: rows.map(plainRow) };
}

const numericType = 1700;

/** Numbers as numbers, JSON as text, bytes in hexadecimal. */
function plainOf(value: unknown, type: number): unknown {
  if (type === numericType && value !== null) return Number(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

/** Errors of the query itself; trouble of the server or connection is passed on. */
function asQueryError(error: unknown, timeoutMs: number): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "57014") {
    return slowQuery(timeoutMs);
  }
  const own = /^(?:0A|21|22|25|2F|34|38|39|42|44|54|P0)/.test(code);
  return own && error instanceof Error ? invalid(describeError(error.message)) : error;
}

/** Runs so many at once; the others wait in a queue. */
function makeTurns(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}
