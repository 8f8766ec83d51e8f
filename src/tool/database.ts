/** The tool `query_database`: SQL on bound databases, read-only unless a binding says `write`. */
import * as z from "zod";
import type { SourceUse } from "../core/depend/dependency.ts";
import { tablesIn } from "../core/depend/tables.ts";
import { SkeinError } from "../core/error.ts";
import { defineTool } from "./define.ts";
import { secretsOf } from "./environment.ts";
import { ToolOutput, type StoredBinding, type OuterTool, type ToolWorld } from "./port.ts";
import { openPostgres } from "./postgres-query.ts";
import { rowsLimit, rowsText, type StatementRows } from "./rows.ts";
import { openSqlite } from "./sqlite-query.ts";

const databaseLimit = { sqlCharsMax: 20_000, timeoutMsDefault: 30_000, timeoutMsMax: 600_000 } as const;

export interface BoundDatabase {
  readonly name: string;
  readonly kind: "SQLite" | "PostgreSQL";
  readonly mode: "read" | "write";
  readonly timeoutMs: number;
  /** One statement. Rejects with a `SkeinError` that explains the problem. */
  query(
    sql: string,
    options: { readonly rowsMax: number; readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<StatementRows>;
}

/** Empty without a database. The stack closes what is opened. */
export async function databaseTools(
  world: ToolWorld,
  bound: readonly StoredBinding[],
  opened: AsyncDisposableStack,
  writable: readonly string[] = [],
): Promise<OuterTool[]> {
  if (bound.length === 0) return [];
  const databases = await Promise.all(bound.map((one) => openDatabase(world, one, { opened, writable })));
  const [first] = databases;
  const names = databases.map(({ name }) => name);
  const shown = databases.map(({ name, kind, mode }) => `${name} (${kind}, ${mode})`).join(", ");
  return [
    defineTool({
      name: "query_database",
      description:
        "Run one SQL statement. Gives a line with the columns and one line of JSON a row. To see what " +
        "there is, ask SQLite's sqlite_schema or PostgreSQL's information_schema. " +
        `Bound: ${shown}.`,
      input: z.strictObject({
        sql: z.string().min(1).max(databaseLimit.sqlCharsMax).describe("One statement"),
        ...(names.length > 1 && { database: z.enum(names) }),
        rows: z
          .int()
          .positive()
          .max(rowsLimit.rowsMax)
          .default(rowsLimit.rowsDefault)
          .describe("At most so many"),
      }),
      effect: databases.every(({ mode }) => mode === "read") ? "read" : "unsafe",
      timeoutMs: Math.max(...databases.map(({ timeoutMs }) => timeoutMs)) + 15_000,
      touches: () => [],
      run: async ({ sql, database: name, rows }, { signal }) => {
        const database = databases.find((one) => one.name === name) ?? first;
        if (database === undefined) throw new SkeinError("not-found", "database not found");
        const { timeoutMs } = database;
        const result = await database.query(sql, { rowsMax: rows, timeoutMs, signal });
        return new ToolOutput(rowsText(result), {
          detail: {
            rows: result.rows.length,
            isMore: result.isMore,
            ...usedRows(world, { binding: database.name, sql, rows }, result),
          },
        });
      },
    }),
  ];
}

/** What was queried, for the log. A statement without columns read nothing. */
function usedRows(
  world: Pick<ToolWorld, "hashBytes">,
  asked: { readonly binding: string; readonly sql: string; readonly rows: number },
  { columns, rows, isMore }: StatementRows,
): { readonly uses?: readonly SourceUse[] } {
  if (columns.length === 0) return {};
  const digest = world.hashBytes(Buffer.from(JSON.stringify([columns, rows, isMore])));
  return { uses: [{ kind: "query", ...asked, tables: tablesIn(asked.sql), digest }] };
}

async function openDatabase(
  world: ToolWorld,
  bound: StoredBinding,
  { opened, writable }: { readonly opened: AsyncDisposableStack; readonly writable: readonly string[] },
): Promise<BoundDatabase> {
  const { name, mode, path, url } = bound;
  const mayWrite = mode === "write";
  const timeoutMs = timeoutOf(bound);
  const secrets = Object.values(secretsOf(world, bound));
  // A secret is a whole URL, or the password of the bound one.
  const address = secrets.find(isPostgres) ?? url;
  if (address !== undefined && isPostgres(address)) {
    const password = secrets.find((secret) => !isPostgres(secret));
    const database = opened.use(openPostgres({ world, name, url: address, password, mayWrite }));
    return { name, mode, kind: "PostgreSQL", timeoutMs, query: database.query };
  }
  const file = path ?? (address?.startsWith("file:") === true ? address.slice("file:".length) : undefined);
  if (file === undefined) {
    throw new SkeinError(
      "invalid",
      `database "${name}": the binding has neither a path nor a postgres:// URL`,
      {
        hint: "bind it again",
      },
    );
  }
  return {
    name,
    mode,
    kind: "SQLite",
    timeoutMs,
    ...(await openSqlite(world, { name, path: file, mayWrite, writable })),
  };
}

const isPostgres = (url: string): boolean => /^postgres(ql)?:\/\//.test(url);

function timeoutOf({ name, options }: StoredBinding): number {
  const isSet = typeof options === "object" && options !== null && "timeoutMs" in options;
  const timeoutMs: unknown = isSet ? options.timeoutMs : databaseLimit.timeoutMsDefault;
  const most = databaseLimit.timeoutMsMax;
  if (typeof timeoutMs === "number" && Number.isSafeInteger(timeoutMs) && timeoutMs > 0 && timeoutMs <= most)
    return timeoutMs;
  throw new SkeinError("invalid", `database "${name}": timeoutMs: expected 1 to ${most}`);
}
