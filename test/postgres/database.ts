/** Databases on a server of the tests. */
import { randomBytes } from "node:crypto";
import postgres from "postgres";

/** Makes an empty database on a server and gives its URL. */
export async function makeDatabase(serverUrl: string): Promise<string> {
  const name = `test_${randomName()}`;
  await asking(serverUrl, (sql) => sql.unsafe(`create database ${name} template template0`));
  return inDatabase(serverUrl, name);
}

/** Runs one statement on a connection of its own. */
export async function runStatement(
  url: string,
  text: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  let rows: readonly Readonly<Record<string, unknown>>[] = [];
  await asking(url, async (sql) => (rows = [...(await sql.unsafe(text))]));
  return rows;
}

/** Whoever is connected to it is thrown out. */
export async function dropDatabase(serverUrl: string, url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  await asking(serverUrl, (sql) => sql.unsafe(`drop database if exists ${name} with (force)`));
}

/** Makes a database of this name unless it is there; any number of processes may ask at once. */
export async function databaseNamed(serverUrl: string, name: string): Promise<string> {
  await asking(serverUrl, async (sql) => {
    await sql`select pg_advisory_lock(hashtext(${name}))`; // Ends with the connection.
    const [found] = await sql`select 1 from pg_database where datname = ${name}`;
    if (found === undefined) await sql.unsafe(`create database ${name} template template0`);
  });
  return inDatabase(serverUrl, name);
}

/** Members of this role have to give their password; everybody else is let in without. */
export const askedForPassword = "asked_for_password";

/** Makes a role that may log in and has no right that the public has not; the URL is of the same database. */
export async function makeRole(url: string, options: { readonly password?: string } = {}): Promise<URL> {
  const role = new URL(url);
  role.username = `role_${randomName()}`;
  role.password = options.password ?? "";
  await asking(url, async (sql) => {
    await sql`select pg_advisory_lock(hashtext(${askedForPassword}))`;
    const [found] = await sql`select 1 from pg_roles where rolname = ${askedForPassword}`;
    if (found === undefined) await sql.unsafe(`create role ${askedForPassword}`);
    const secret = options.password?.replaceAll("'", "''");
    const asked = secret === undefined ? "" : `password '${secret}' in role ${askedForPassword}`;
    await sql.unsafe(`create role ${role.username} login ${asked}`);
  });
  return role;
}

export const randomName = (): string => randomBytes(8).toString("hex");

function inDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function asking(url: string, ask: (sql: postgres.Sql) => PromiseLike<unknown>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    await ask(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
