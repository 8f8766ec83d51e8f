/**
 * A PostgreSQL of the tests' own: made in a temporary directory, on a port that the system gives, never run
 * as root, and gone afterwards whatever becomes of the process that started it.
 */
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, closeSync, existsSync, mkdtempSync, openSync } from "node:fs";
import { readFileSync, statfsSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { findBinaries } from "./binaries.ts";
import { askedForPassword, makeDatabase, runStatement } from "./database.ts";
import { processesOf, signal } from "./process.ts";
import { startWatcher } from "./watcher.ts";

export type Settings = Readonly<Record<string, string | number>>;

export interface Postgres extends AsyncDisposable {
  /** Of the superuser `skein`, in the database `postgres`. Who is asked for a password: see `makeRole`. */
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** Of the first process of the server; changes with a restart. */
  readonly pid: number;
  readonly version: number;
  /** Ends the server and removes its directory. */
  stop(): Promise<void>;
  /** Kills every process of the server with SIGKILL. What it held on disk stays. */
  kill(): Promise<void>;
  /** Starts the server again on the same port, after ending it if it runs; with other settings if given. */
  restart(settings?: Settings): Promise<void>;
  /** Ends recovery: a standby takes writes from now on. */
  promote(): Promise<void>;
  /** Runs one statement as the superuser. */
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Makes an empty database and gives its URL. */
  newDatabase(): Promise<string>;
  /** What the server has written into its log. */
  log(): string;
}

const hba = [
  `host all +${askedForPassword} 127.0.0.1/32 scram-sha-256`,
  "host all all 127.0.0.1/32 trust",
  "host replication all 127.0.0.1/32 trust",
];

/** Durable as in earnest: the engine looks at it when it opens a store. */
const usualSettings: Settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  // Inside its directory, so that even what a killed server leaves goes with that.
  dynamic_shared_memory_type: "mmap",
  max_connections: 300,
  lc_messages: "C",
  log_line_prefix: "%m [%p] ",
};

const startMsMax = 30_000;
const pauseMs = 10;

export interface PostgresOptions {
  readonly settings?: Settings;
  /**
   * Keep its files in memory where the system has room: several times as fast. It survives the kill of any
   * process like one on disk; what it says of disks is not to be believed, so measure without.
   */
  readonly inMemory?: boolean;
  /** Makes a copy of this server, which follows it by streaming replication. */
  readonly standbyOf?: Pick<Postgres, "port">;
}

export async function startPostgres(options: PostgresOptions = {}): Promise<Postgres> {
  const binaries = await findBinaries();
  const owner = ownerOf();
  const directory = mkdtempSync(join(folderFor(options, owner), "skein-postgres-"));
  const watcher = startWatcher(directory);
  try {
    if (owner) chownSync(directory, owner.uid, owner.gid);
    const dataDir = join(directory, "data");
    const isStandby = options.standbyOf !== undefined;
    const place = { ...binaries, directory, dataDir, owner, isStandby };
    await (options.standbyOf === undefined ? initialize(place) : copy(place, options.standbyOf.port));
    const running = await startOnFreePort(place, { ...usualSettings, ...options.settings });
    const url = `postgres://skein@127.0.0.1:${running.port}/postgres`;
    return {
      url,
      dataDir,
      version: binaries.version,
      port: running.port,
      get pid() {
        return running.child.pid ?? 0;
      },
      stop: () => watcher.end(),
      kill: () => killAll(running.child, dataDir),
      restart: (settings = {}) => running.restart(settings),
      async promote() {
        const [row] = await runStatement(url, "select pg_promote(true, 30) as promoted");
        if (row?.["promoted"] !== true) throw new Error(`the standby was not promoted:\n${logOf(place)}`);
      },
      sql: (text) => runStatement(url, text),
      newDatabase: () => makeDatabase(url),
      log: () => logOf(place),
      [Symbol.asyncDispose]: () => watcher.end(),
    };
  } catch (cause) {
    await watcher.end();
    throw cause;
  }
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

interface Place {
  readonly folder: string;
  readonly directory: string;
  readonly dataDir: string;
  /** Who runs the server when we are root, which PostgreSQL refuses to be. */
  readonly owner: Owner | undefined;
  readonly isStandby: boolean;
}

const memoryFolder = "/dev/shm";
const memoryBytesMin = 2 ** 31;

function folderFor({ inMemory = false }: PostgresOptions, owner: Owner | undefined): string {
  if (inMemory && existsSync(memoryFolder)) {
    const { bavail, bsize } = statfsSync(memoryFolder);
    if (bavail * bsize >= memoryBytesMin) return memoryFolder;
  }
  return owner ? "/tmp" : tmpdir(); // The temporary folder of root may be closed to everybody else.
}

function ownerOf(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync("/etc/passwd", "utf8").split("\n");
  for (const name of ["postgres", "nobody"]) {
    const [, , uid, gid] = users.find((line) => line.startsWith(`${name}:`))?.split(":") ?? [];
    if (uid !== undefined && uid !== "0") return { uid: Number(uid), gid: Number(gid) };
  }
  return { uid: 65_534, gid: 65_534 };
}

/** Nothing of the surroundings gets in: neither a locale nor a PGPORT. */
const surroundings = ({ directory, owner }: Place) => ({
  ...owner,
  cwd: directory,
  env: { PATH: process.env["PATH"], HOME: directory, LC_ALL: "C", TZ: "UTC" },
});

async function initialize(place: Place): Promise<void> {
  const words = ["-D", place.dataDir, "-U", "skein", "--auth=trust", "--encoding=UTF8", "--locale=C"];
  await promisify(execFile)(
    join(place.folder, "initdb"),
    [...words, "--no-sync", "--no-instructions"],
    surroundings(place),
  );
  writeFileSync(join(place.dataDir, "pg_hba.conf"), `${hba.join("\n")}\n`);
}

async function copy(place: Place, port: number): Promise<void> {
  const from = ["-h", "127.0.0.1", "-p", String(port), "-U", "skein"];
  await promisify(execFile)(
    join(place.folder, "pg_basebackup"),
    ["-D", place.dataDir, ...from, "-R", "-X", "stream", "-c", "fast", "--no-sync"],
    surroundings(place),
  );
}

interface Running {
  readonly port: number;
  readonly child: ChildProcess;
  restart(settings: Settings): Promise<void>;
}

async function startOnFreePort(place: Place, settings: Settings): Promise<Running> {
  let port = await freePort();
  let child: ChildProcess | undefined;
  for (let tries = 1; child === undefined; tries += 1) {
    try {
      child = await launch(place, { ...settings, port });
    } catch (cause) {
      if (tries === 5) throw cause;
      port = await freePort(); // Somebody else was quicker.
    }
  }
  let current = child;
  return {
    port,
    get child() {
      return current;
    },
    async restart(changed) {
      await end(current);
      const deadline = performance.now() + startMsMax;
      for (;;) {
        try {
          current = await launch(place, { ...settings, ...changed, port });
          return;
        } catch (cause) {
          // For a moment the port may be in somebody else's hands, or the dead may still hold the memory.
          if (performance.now() > deadline) throw cause;
          await sleep(100);
        }
      }
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Resolves when the server takes connections, its recovery after a crash included. */
async function launch(place: Place, settings: Settings): Promise<ChildProcess> {
  const words = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const log = openSync(logFile(place), "a");
  const child = spawn(join(place.folder, "postgres"), ["-D", place.dataDir, ...words], {
    ...surroundings(place),
    stdio: ["ignore", log, log],
    detached: true,
  });
  child.once("error", () => undefined); // Then it has no pid, which is seen below.
  closeSync(log);
  // Until it is ready it keeps this process waiting; after that it must not keep a test from ending.
  for (const deadline = performance.now() + startMsMax; !isReady(place, child.pid);) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)
      throw new Error(`PostgreSQL did not start:\n${logOf(place).split("\n").slice(-10).join("\n")}`);
    if (performance.now() > deadline) throw new Error(`PostgreSQL does not get ready:\n${logOf(place)}`);
    await sleep(pauseMs);
  }
  child.unref();
  return child;
}

/** The eighth line of its file, which it also writes for `pg_ctl`. */
function isReady({ dataDir, isStandby }: Place, pid: number | undefined): boolean {
  try {
    const lines = readFileSync(join(dataDir, "postmaster.pid"), "utf8").split("\n");
    const status = lines[7]?.trim();
    return Number(lines[0]) === pid && (status === "ready" || (isStandby && status === "standby"));
  } catch {
    return false;
  }
}

async function killAll(child: ChildProcess, dataDir: string): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return;
  // Stopped first, so that it starts no other process while its children are counted.
  signal(child.pid, "SIGSTOP");
  const all = processesOf(`-D ${dataDir}`);
  const ended = endOf(child);
  for (const pid of all) signal(pid, "SIGKILL");
  await ended;
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = endOf(child);
  if (child.pid !== undefined) signal(child.pid, "SIGINT");
  await ended;
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function endOf(child: ChildProcess): Promise<void> {
  child.ref();
  await once(child, "exit");
}

const logFile = ({ directory }: Pick<Place, "directory">): string => join(directory, "log");
const logOf = (place: Pick<Place, "directory">): string => readFileSync(logFile(place), "utf8");
