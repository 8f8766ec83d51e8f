/**
 * Places for the tests' stores: a tenant of its own in one database that all share, which costs nothing, or a
 * database of its own. The server is the one that the test command has started, else one of this process.
 */
import { PostgresMissing } from "./binaries.ts";
import { databaseNamed, dropDatabase, makeDatabase, randomName } from "./database.ts";
import { startPostgres } from "./server.ts";

export interface PostgresPlace {
  readonly url: string;
  done(): Promise<void>;
}

/** A tenant that nobody has used, in a database that may have others, also of tests that run right now. */
export async function postgresDriver(): Promise<PostgresPlace> {
  const url = new URL(await sharedDatabase());
  url.searchParams.set("tenant", `t${randomName()}`);
  return { url: url.href, done: async () => undefined };
}

/** An empty database. Transactions are numbered by the server, so a long one is felt in the others too. */
export async function ownDatabase(): Promise<PostgresPlace> {
  const server = await serverUrl();
  const url = await makeDatabase(server);
  return { url, done: () => dropDatabase(server, url) };
}

/** Why tests that need PostgreSQL are skipped; false when they are not. For `test(…, { skip }, …)`. */
export async function noPostgres(): Promise<string | false> {
  return serverUrl().then(
    () => false as const,
    (cause: unknown) => {
      if (cause instanceof PostgresMissing) return cause.message;
      throw cause;
    },
  );
}

/** The test command tells its test files by these where the server is, or why there is none. */
export const serverVariable = "SKEIN_TEST_POSTGRES";
export const missingVariable = "SKEIN_TEST_POSTGRES_MISSING";

let server: Promise<string> | undefined;
let database: Promise<string> | undefined;

/** Of the superuser. */
export const serverUrl = (): Promise<string> => (server ??= findServer());
export const sharedDatabase = (): Promise<string> =>
  (database ??= serverUrl().then((url) => databaseNamed(url, "skein_test")));

async function findServer(): Promise<string> {
  const given = process.env[serverVariable];
  if (given !== undefined) return given;
  const missing = process.env[missingVariable];
  if (missing !== undefined) throw new PostgresMissing(missing);
  // The processes that this one starts share it.
  const { url, stop } = await startPostgres({ inMemory: true });
  process.env[serverVariable] = url;
  process.once("beforeExit", () => void stop());
  return url;
}
