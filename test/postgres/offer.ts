/** One server for a whole run of the tests. */
import { PostgresMissing } from "./binaries.ts";
import { missingVariable, serverVariable } from "./place.ts";
import { startPostgres, type Postgres } from "./server.ts";

/**
 * Starts a server and tells the test files where it is, or why there is none, through the environment. One
 * file alone starts its own when it needs one, and a server that was named is taken as it is.
 */
export async function offerServer(files: readonly string[]): Promise<Postgres | undefined> {
  if (files.length < 2 || process.env[serverVariable] !== undefined) return undefined;
  const started = performance.now();
  try {
    const server = await startPostgres({ inMemory: true });
    process.env[serverVariable] = server.url;
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(`✔ PostgreSQL ${server.version} for the tests (${seconds}s)`);
    return server;
  } catch (cause) {
    // A machine without PostgreSQL runs the other tests; a PostgreSQL that does not start is told in full.
    const reason = cause instanceof Error ? cause.message : String(cause);
    process.env[missingVariable] = reason;
    console.log(`✖ PostgreSQL for the tests: ${reason}`);
    if (!(cause instanceof PostgresMissing)) process.exitCode = 1;
    return undefined;
  }
}
