/** Statements on a bound SQLite file, each in a process that can be killed. */
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { SkeinError } from "../core/error.ts";
import { realBoundPath } from "./bound-path.ts";
import type { BoundDatabase } from "./database.ts";
import { isLiveDatabase } from "./live-database.ts";
import type { ToolWorld } from "./port.ts";
import { readOnly } from "./read-only.ts";
import type { StatementAnswer, StatementRequest } from "./sqlite-worker.ts";

const headOfFile = "SQLite format 3\0";

interface SqliteBinding {
  readonly name: string;
  readonly path: string;
  readonly mayWrite: boolean;
  /** The writable directories of the session: see bound-path.ts. */
  readonly writable: readonly string[];
}

export async function openSqlite(
  world: ToolWorld,
  { name, path, mayWrite, writable }: SqliteBinding,
): Promise<Pick<BoundDatabase, "query">> {
  // Checked before each query: a session may replace a writable file by a link.
  const locate = (): Promise<string> =>
    realBoundPath({ name, path }, writable).catch((error: unknown) => {
      if (error instanceof SkeinError) throw error;
      return resolve(path);
    });
  await checkFile(name, await locate(), mayWrite);
  return {
    query: async (sql, { rowsMax, timeoutMs, signal }) => {
      const file = await locate();
      const answer = await ask(world, { path: file, sql, rowsMax, mayWrite }, { timeoutMs, signal });
      if (!("error" in answer)) return answer;
      if (answer.isWrite === true && !mayWrite) throw readOnly(name, `--path ${path}`);
      throw new SkeinError("invalid", `${name}: ${answer.error}`);
    },
  };
}

/** Rejects a file that is not a database when it is opened, not at the first query. */
async function checkFile(name: string, path: string, mayWrite: boolean): Promise<void> {
  if (await isLiveDatabase(path)) return;
  try {
    await using handle = await open(path, "r");
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(16), 0, 16, 0);
    if (bytesRead > 0 && buffer.toString("latin1") !== headOfFile)
      throw new SkeinError(
        "invalid",
        `binding "${name}": expected a database, but ${path} is not an SQLite file`,
      );
  } catch (error) {
    if (error instanceof SkeinError) throw error;
    if (mayWrite && (error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw new SkeinError("unavailable", `"${name}": cannot open ${path}`, {
      hint: "create it, or unbind the resource",
      cause: error,
    });
  }
}

async function ask(
  world: ToolWorld,
  request: StatementRequest,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<StatementAnswer> {
  // The worker's file has the extension of this one: .ts in a checkout, .js in the package.
  const file = new URL(
    import.meta.url.endsWith(".ts") ? "./sqlite-worker.ts" : "./sqlite-worker.js",
    import.meta.url,
  );
  const child = await world.spawn([process.execPath, fileURLToPath(file), JSON.stringify(request)], {
    env: {},
  });
  const over = new AbortController();
  const late = world.sleep(timeoutMs, AbortSignal.any([signal, over.signal])).then(() => "late" as const);
  const reading = Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  try {
    const first = await Promise.race([reading, late]);
    if (first === "late") {
      signal.throwIfAborted();
      throw new SkeinError("refused", `the query timed out after ${timeoutMs} ms; add conditions or a LIMIT`);
    }
    const [out, complaint] = first;
    if (out === "")
      throw new SkeinError(
        "unavailable",
        `the query process ended without a result: ${complaint.slice(-500)}`,
      );
    return JSON.parse(out) as StatementAnswer;
  } finally {
    over.abort();
    child.kill();
    await reading.catch(() => undefined);
  }
}

async function textOf(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const bytes of stream) parts.push(bytes);
  return Buffer.concat(parts).toString("utf8");
}
