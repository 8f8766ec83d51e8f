/** Statements on a bound PostgreSQL database. The client is loaded when the first one is sent. */
import type { Sql } from "postgres";
import { SkeinError } from "../core/error.ts";
import type { Database } from "./database.ts";
import { messageOf } from "./define.ts";
import { readOnly } from "./read-only.ts";
import { cell, type Rows } from "./rows.ts";

export function openPostgres(options: {
  readonly name: string;
  readonly url: string;
  readonly password: string | undefined;
  readonly mayWrite: boolean;
}): Pick<Database, "query"> & AsyncDisposable {
  let client: Promise<Sql> | undefined;
  return {
    query: async (sql, { rowsMax, timeoutMs, signal }) => {
      client ??= connect(options, timeoutMs);
      const opened = await client;
      try {
        return await run(opened, sql, { rowsMax, mayWrite: options.mayWrite, signal });
      } catch (error) {
        signal.throwIfAborted();
        // 25006: read_only_sql_transaction.
        const isWrite = error instanceof Error && "code" in error && error.code === "25006";
        if (isWrite && !options.mayWrite) throw readOnly(options.name, "--url URL");
        throw new SkeinError("invalid", `${options.name}: ${messageOf(error)}`, { cause: error });
      }
    },
    [Symbol.asyncDispose]: async () => {
      const opened = await client?.catch(() => undefined);
      await opened?.end({ timeout: 1 });
    },
  };
}

async function connect(
  { url, password, mayWrite }: Parameters<typeof openPostgres>[0],
  timeoutMs: number,
): Promise<Sql> {
  const { default: postgres } = await import("postgres").catch((cause: unknown) => {
    throw new SkeinError("unavailable", "PostgreSQL needs the package postgres", {
      hint: "npm install postgres",
      cause,
    });
  });
  return postgres(url, {
    max: 2,
    idle_timeout: 20,
    connect_timeout: 10,
    fetch_types: false,
    prepare: false,
    onnotice: () => undefined,
    ...(password === undefined ? {} : { password }),
    connection: {
      application_name: "skein",
      statement_timeout: timeoutMs,
      // Twice over: the transaction below says it too.
      ...(mayWrite ? {} : { default_transaction_read_only: true }),
    },
  });
}

/**
 * One statement in a transaction of its own. `simple: false` is what keeps it one: in the simple protocol a
 * `COMMIT; DELETE …` would end the read-only transaction and go on outside of it.
 */
async function run(
  client: Sql,
  sql: string,
  {
    rowsMax,
    mayWrite,
    signal,
  }: { readonly rowsMax: number; readonly mayWrite: boolean; readonly signal: AbortSignal },
): Promise<Rows> {
  signal.throwIfAborted();
  const gotten = await client.begin(mayWrite ? "read write" : "read only", async (transaction) => {
    const statement = transaction.unsafe(sql, [], { simple: false } as { prepare?: boolean });
    const cancel = () => statement.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      for await (const rows of statement.values().cursor(rowsMax + 1)) return rows;
      return undefined;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  });
  const rows = (gotten ?? []) as unknown as unknown[][] & { columns?: { name: string }[]; count?: number };
  const columns = (rows.columns ?? []).map(({ name }) => name);
  return {
    columns,
    rows: rows.slice(0, rowsMax).map((row) => row.map(cell)),
    isMore: rows.length > rowsMax,
    changes: rows.count,
  };
}
