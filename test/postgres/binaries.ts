/** Where the programs of a PostgreSQL server are on this machine. */
import { execFile } from "node:child_process";
import { existsSync, globSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { installBinaries } from "./install.ts";

const versionMin = 15;

export interface Binaries {
  /** The folder with `initdb` and `postgres`. */
  readonly folder: string;
  readonly version: number;
}

/** Why there is no PostgreSQL for the tests, in one line that says how to get one. */
export class PostgresMissing extends Error {
  override readonly name = "PostgresMissing";
}

/** What was named, else what is here, else what can be had. */
export async function findBinaries(): Promise<Binaries> {
  const named = process.env["SKEIN_PG_BIN"];
  if (named !== undefined && named !== "") {
    const binaries = await binariesIn(named);
    if (binaries !== undefined) return binaries;
    throw new PostgresMissing(
      `SKEIN_PG_BIN is ${named}, which holds no initdb and postgres of version ${versionMin} or later`,
    );
  }
  const inPath = await firstOf(await pathFolders());
  const found =
    inPath ?? (await newestOf(usualFolders())) ?? (await newestOf(await installBinaries(versionMin)));
  if (found !== undefined) return found;
  throw new PostgresMissing(
    `no PostgreSQL ${versionMin} or later: install the package "postgresql" ` +
      "(its server need not run), or set SKEIN_PG_BIN to a folder with initdb and postgres",
  );
}

async function pathFolders(): Promise<string[]> {
  const inPath = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "");
  const told = await run("pg_config", ["--bindir"]);
  return told === undefined ? inPath : [...inPath, told.trim()];
}

/** Debian, Red Hat, Homebrew on both kinds of Mac, Postgres.app, built from source. */
const usualFolders = (): string[] =>
  globSync([
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
    "/usr/local/pgsql/bin",
    "/usr/libexec/postgresql*",
  ]);

async function firstOf(folders: readonly string[]): Promise<Binaries | undefined> {
  for (const folder of folders) {
    const binaries = await binariesIn(folder);
    if (binaries !== undefined) return binaries;
  }
  return undefined;
}

async function newestOf(folders: readonly string[]): Promise<Binaries | undefined> {
  const found = (await Promise.all(folders.map(binariesIn))).filter((one) => one !== undefined);
  return found.toSorted((one, other) => other.version - one.version)[0];
}

/** A link in the path leads to where the server's other files are. */
async function binariesIn(folder: string): Promise<Binaries | undefined> {
  const program = join(folder, "postgres");
  if (!existsSync(program)) return undefined;
  const real = dirname(realpathSync(program));
  if (!existsSync(join(real, "initdb"))) return undefined;
  const told = await run(join(real, "postgres"), ["--version"]);
  const version = Number(/\(PostgreSQL\) (\d+)/.exec(told ?? "")?.[1] ?? 0);
  return version >= versionMin ? { folder: real, version } : undefined;
}

const run = async (program: string, words: readonly string[]): Promise<string | undefined> =>
  promisify(execFile)(program, [...words]).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
