/** Statements on a bound PostgreSQL database. The client is loaded with the first one. */
import { SkeinError } from "../core/error.ts";
import { errorText } from "../core/first-error.ts";
import type { BoundDatabase } from "./database.ts";
import { OutcomeUnknown, type ToolWorld } from "./port.ts";
import type { PostgresConnection, PostgresConnectionOptions } from "../platform/postgres-connection.ts";
import { readOnly } from "./read-only.ts";
import { effectfulQuery, isHarmless, readStatement } from "./read-statement.ts";
import { cell, rowsLimit, type StatementRows } from "./rows.ts";

/** The connection broke, and the outcome of its statement is unknown. */
class ConnectionGone extends Error {
  override readonly name = "Gone";
}

interface Connection extends Pick<PostgresConnection, "sql" | "isGone"> {
  /**
   * The answer, or `ConnectionGone` if the connection breaks before it: the library may wait forever. A
   * larger answer or error is refused, and ends the connection.
   */
  orGone<T>(answer: Promise<T>, bytesMax?: number): Promise<T>;
  end(): void;
}

export interface PostgresQueryOptions {
  readonly world: Pick<ToolWorld, "sleep">;
  readonly name: string;
  readonly url: string;
  readonly password: string | undefined;
  readonly mayWrite: boolean;
}

interface QueryRequest {
  readonly rowsMax: number;
  readonly mayWrite: boolean;
  readonly signal: AbortSignal;
}

export function openPostgres(options: PostgresQueryOptions): Pick<BoundDatabase, "query"> & AsyncDisposable {
  const { name, url, world, mayWrite } = options;
  const idle: Connection[] = [];
  let isClosed = false;

  /** An idle one, or a new one. */
  const take = async (timeoutMs: number): Promise<Connection> => {
    for (let one = idle.pop(); one !== undefined; one = idle.pop()) if (!one.isGone) return one;
    return openConnection(url, world, settings(options, timeoutMs));
  };
  /** A read-only one is used once: a session keeps settings, locks and what functions left in it. */
  const release = (one: Connection): void => {
    if (!mayWrite || isClosed || one.isGone || idle.length >= idleMax) one.end();
    else idle.push(one);
  };

  /** An abandoned statement must not continue on the server. */
  async function cancel(pid: number, timeoutMs: number): Promise<void> {
    const other = await openConnection(url, world, settings(options, timeoutMs));
    await other.orGone(other.sql.unsafe("SELECT pg_cancel_backend($1)", [pid])).finally(other.end);
  }

  function wordsFor(error: unknown): Error {
    if (error instanceof OutcomeUnknown)
      return new OutcomeUnknown(`${name}: ${error.message}`, { cause: error });
    // 25006: read_only_sql_transaction.
    if (codeOf(error) === "25006" && !mayWrite) return readOnly(name, "--url URL");
    if (error instanceof NotReading) return readOnly(name, "--url URL", error.message);
    const message = `${name}: ${errorText(error).slice(0, rowsLimit.cellCharsMax)}`;
    if (!isBroken(error)) return new SkeinError("invalid", message, { cause: error });
    const hint = mayWrite ? "check whether the statement took effect before you retry" : "retry";
    return new SkeinError("unavailable", message, { hint, cause: error });
  }

  return {
    query: async (sql, { rowsMax, timeoutMs, signal }) => {
      signal.throwIfAborted();
      const connection = await take(timeoutMs);
      let pid = 0;
      const stop = (): void => {
        connection.end();
        if (pid !== 0) void cancel(pid, timeoutMs).catch(() => undefined);
      };
      signal.addEventListener("abort", stop, { once: true });
      try {
        return await run(connection, sql, { rowsMax, mayWrite, signal }, (begun) => (pid = begun));
      } catch (error) {
        signal.throwIfAborted();
        throw wordsFor(error);
      } finally {
        signal.removeEventListener("abort", stop);
        release(connection);
      }
    },
    [Symbol.asyncDispose]: async () => {
      isClosed = true;
      for (const one of idle.splice(0)) one.end();
    },
  };
}

async function openConnection(
  url: string,
  world: Pick<ToolWorld, "sleep">,
  options: PostgresConnectionOptions,
): Promise<Connection> {
  const { exceedsBytes, openPostgresConnection } = await import("../platform/postgres-connection.ts");
  const unanswered = new Set<() => void>();
  const onlost = (): void => {
    for (const lose of unanswered) lose();
  };
  const connection = openPostgresConnection(url, world, { ...options, onlost });
  const end = (): void => void connection.end().catch(() => undefined);
  return {
    sql: connection.sql,
    get isGone() {
      return connection.isGone;
    },
    orGone: (answer, bytesMax) =>
      new Promise((resolve, reject) => {
        const over = new AbortController();
        const answered = (): void => {
          over.abort();
          unanswered.delete(lose);
        };
        const lose = (): void => {
          answered();
          reject(new ConnectionGone("the connection was lost"));
        };
        const refuse = (): void => {
          reject(
            new SkeinError(
              "invalid",
              `the result has more than ${bytesMax} bytes; select fewer rows or columns`,
            ),
          );
          end();
        };
        answer.then(resolve, reject).finally(answered);
        if (connection.isGone) return lose();
        unanswered.add(lose);
        if (bytesMax !== undefined)
          void exceedsBytes(connection, bytesMax, world, over.signal).then((is) => is && refuse());
      }),
    end,
  };
}

/** Idle connections that stay open for a while. */
const idleMax = 2;
const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** Whether the connection is broken, by codes of PostgreSQL, of sockets and of the library. */
const isBroken = (error: unknown): boolean =>
  error instanceof ConnectionGone || brokenCodes.test(codeOf(error));
const brokenCodes = /^(08...|57P0[1-5]|53300|25P03|E[A-Z]+|CONNECT_TIMEOUT|CONNECTION_[A-Z]+)$/;

/** Whatever the code is: only the server's own answer tells the outcome. */
const isLostAnswer = (error: unknown): boolean =>
  isBroken(error) || !(error instanceof Error && error.name === "PostgresError");

const settings = (
  { password, mayWrite }: Pick<PostgresQueryOptions, "password" | "mayWrite">,
  timeoutMs: number,
): PostgresConnectionOptions => ({
  idle_timeout: 20,
  fetch_types: false,
  prepare: false,
  onnotice: () => undefined,
  ...(password === undefined ? {} : { password }),
  connection: {
    application_name: "skein",
    statement_timeout: timeoutMs,
    // Redundant: the transaction below says it too.
    ...(mayWrite ? {} : { default_transaction_read_only: true }),
  },
});

/** It may have effects that a read-only transaction does not prevent. */
class NotReading extends Error {
  override readonly name = "NotReading";
}

/** Asks within the transaction, so that names resolve in the statement's database. */
async function checkReading(
  sql: string,
  say: (text: string, values?: string[]) => Promise<Answer>,
): Promise<void> {
  const read = readStatement(sql);
  if (typeof read === "string") throw new NotReading(read);
  if (read.called.length === 0) return;
  const rows = await say(effectfulQuery, [`{${read.called.map((name) => JSON.stringify(name)).join(",")}}`]);
  const bad = rows.map(({ name }) => String(name)).find((name) => !isHarmless(name));
  if (bad !== undefined) throw new NotReading(`the function ${bad} may have side effects`);
}

type Answer = readonly Readonly<Record<string, unknown>>[];

/**
 * One statement in a separate transaction. `simple: false` keeps it one: in the simple protocol a `COMMIT;
 * DELETE …` would end the read-only transaction and continue outside of it. A read-only one is rolled back,
 * with everything a function did in it, and releases locks first: behind a pooler they would stay with a
 * connection that others get.
 */
async function run(
  connection: Connection,
  sql: string,
  { rowsMax, mayWrite, signal }: QueryRequest,
  begun: (pid: number) => void,
): Promise<StatementRows> {
  const { sql: client, orGone } = connection;
  const say = (text: string, values: string[] = []): Promise<Answer> => {
    if (connection.isGone) throw new ConnectionGone("the connection was lost");
    return orGone(client.unsafe(text, values) as Promise<Answer>);
  };
  const ask = async (): Promise<unknown[][]> => {
    const asked = client.unsafe(sql, [], { simple: false } as never);
    return (await orGone(firstRows(asked, rowsMax + 1), rowsLimit.answerBytesMax)) as unknown[][];
  };
  let isCommitting = false;
  try {
    await say(mayWrite ? "BEGIN READ WRITE" : "BEGIN READ ONLY");
    const [backend] = await say("SELECT pg_backend_pid() AS pid");
    begun(Number(backend?.["pid"] ?? 0));
    signal.throwIfAborted();
    if (!mayWrite) {
      await checkReading(sql, say);
      await say("SAVEPOINT reading");
    }
    const gotten = await ask();
    isCommitting = true;
    if (mayWrite) await say("COMMIT");
    else await leave(connection, say);
    return rowsOf(gotten, rowsMax);
  } catch (error) {
    // A broken connection, or one that does not roll back, is useless.
    if (isBroken(error)) connection.end();
    else if (!connection.isGone) {
      if (mayWrite) await say("ROLLBACK").catch(connection.end);
      else await leave(connection, say);
    }
    if (isCommitting && mayWrite && isLostAnswer(error)) {
      const why = errorText(error).slice(0, rowsLimit.cellCharsMax);
      throw new OutcomeUnknown(`the response to COMMIT was lost: ${why}`, { cause: error });
    }
    throw error;
  }
}

/** Rolls back a read-only statement; its connection is ended in any case. */
async function leave(connection: Connection, say: (text: string) => Promise<Answer>): Promise<void> {
  try {
    await say("ROLLBACK TO SAVEPOINT reading").catch(() => undefined);
    await say("SELECT pg_advisory_unlock_all()").catch(() => undefined);
    await say("ROLLBACK");
  } catch {
    connection.end();
  }
}

function rowsOf(gotten: unknown[][], rowsMax: number): StatementRows {
  const rows = gotten as unknown[][] & { columns?: { name: string }[]; count?: number };
  return {
    columns: (rows.columns ?? []).map(({ name }) => name),
    rows: rows.slice(0, rowsMax).map((row) => row.map(cell)),
    isMore: rows.length > rowsMax,
    changes: rows.count,
  };
}

type Statement = ReturnType<Connection["sql"]["unsafe"]>;

/** At most so many rows. */
async function firstRows(statement: Statement, count: number): Promise<unknown> {
  for await (const rows of statement.values().cursor(count)) return rows;
  return [];
}
