/** Looks at everything that a store rests on, and says what to do about what is not well. */
import { closeSync, existsSync, openSync, readSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { applicationId, schemaVersion } from "../../store/sqlite/schema.ts";
import { isPostgresAddress } from "../../store/postgres/connection/address.ts";
import { shownStore } from "../open/open-engine.ts";
import { bytes, count, oneLine, plural } from "../format/text.ts";
import { verb, type Call } from "../command/verb.ts";
import { version } from "../../core/version.ts";

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly found: string;
  /** What to do, when it is not ok. */
  readonly todo?: string;
}

export const doctor = verb({
  name: "doctor",
  line: "Check the machine and the store, and say what to do about what is not well.",
  args: [],
  options: {},
  about: ["It also works where there is no store yet. It exits with 1 when something is not well."],
  examples: [
    { command: "skein doctor", what: "of ./skein.db" },
    { command: "skein doctor --store /srv/skein.db --json", what: "of another store, for programs" },
    { command: "skein doctor --store postgres://skein@db/skein", what: "of a server and its settings" },
  ],
  async run({ out, place, store }) {
    const checks = [...machineChecks(place), ...(await secretChecks()), ...(await storeChecks(place, store))];
    const ok = checks.every((check) => check.ok);
    await out.answer({ ok, version, store: shownStore(place), checks }, () => [
      ...checks.flatMap(({ name, ok, found, todo }) => [
        `${ok ? out.green("ok  ") : out.red("BAD ")}${name.padEnd(14)}${oneLine(found)}`,
        ...(ok || todo === undefined ? [] : [`      ${out.bold("to do:")} ${oneLine(todo)}`]),
      ]),
      "",
      ok ? "all is well" : "something is not well; see above",
    ]);
    return ok ? 0 : 1;
  },
});

/** Below this, SQLite soon has no room for its -wal file. */
const freeBytesMin = 100 * 1024 * 1024;
/** File systems on which the locks of SQLite do not hold, by the number that Linux has for them. */
const networks: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB",
  0x517b: "SMB",
};

function machineChecks(place: string): Check[] {
  const { node, sqlite = "0" } = process.versions;
  const program = [
    { name: "Skein", ok: true, found: version },
    { name: "Node", ok: Number(node.split(".")[0]) >= 24, found: node, todo: "install Node 24 or newer" },
  ];
  if (isPostgresAddress(place)) return program;
  const folder = dirname(resolve(place));
  const there = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  return [
    ...program,
    {
      name: "SQLite",
      ok: atLeast(sqlite, [3, 51, 3]),
      found: sqlite,
      todo: "install a Node with SQLite 3.51.3 or newer",
    },
    {
      name: "directory",
      ok: there,
      found: there ? folder : `${folder} is not there`,
      todo: `mkdir -p ${folder}`,
    },
    ...(there ? diskChecks(folder) : []),
  ];
}

/** What the configuration says is secret, if it says anything. */
async function secretChecks(): Promise<Check[]> {
  const { notLookedFor } = await import("../open/secrets.ts");
  try {
    return notLookedFor(process.env).map(({ name, why }) => ({
      name: "secrets",
      ok: false,
      found: `${name} of secrets.names ${why}`,
      todo: `set ${name}, or take it out of the configuration; until then it is stored like any text`,
    }));
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    return [{ name: "secrets", ok: false, found: error.message, todo: error.hint ?? "see docs/secrets.md" }];
  }
}

function atLeast(text: string, least: readonly number[]): boolean {
  const parts = text.split(".").map(Number);
  const place = least.findIndex((number, at) => (parts[at] ?? 0) !== number);
  return place === -1 || (parts[place] ?? 0) > (least[place] ?? 0);
}

function diskChecks(folder: string): Check[] {
  const { bsize, bavail, type } = statfsSync(folder);
  const network = networks[type];
  const free = bsize * bavail;
  return [
    {
      name: "free space",
      ok: free >= freeBytesMin,
      found: bytes(free),
      todo: "free some space; a full disk refuses appends, but loses nothing",
    },
    {
      name: "file system",
      ok: network === undefined,
      found: network ?? "local",
      todo: "move the store to a local disk; locks on a network do not hold",
    },
  ];
}

async function storeChecks(place: string, open: Call["store"]): Promise<Check[]> {
  if (isPostgresAddress(place)) {
    const { postgresChecks } = await import("../open/doctor-postgres.ts");
    return postgresChecks(place, async (opening) => openedChecks(await opening()), open);
  }
  const file = statSync(place, { throwIfNoEntry: false });
  if (file === undefined) {
    return [{ name: "store", ok: true, found: `none at ${place} yet; "skein open" makes it` }];
  }
  if (!file.isFile())
    return [{ name: "store", ok: false, found: `${place} is not a file`, todo: `try ${place}/skein.db` }];
  const header = headerChecks(place, file.size);
  if (header.some((check) => !check.ok)) return header;
  const suspect = existsSync(`${place}-suspect`);
  const marker: Check = {
    name: "I/O errors",
    ok: !suspect,
    found: suspect ? `a process met one; see ${place}-suspect` : "none noted",
    todo: "look at the disk; the store was read through now, see below",
  };
  try {
    return [...header, marker, ...(await openedChecks(await open()))];
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    const todo = error.hint ?? "see docs/operating.md";
    return [...header, marker, { name: "opens", ok: false, found: error.message, todo }];
  }
}

/** What the first hundred bytes of an SQLite file say, without opening it as one. */
function headerChecks(place: string, size: number): Check[] {
  const bytesRead = Buffer.alloc(100);
  let length = 0;
  try {
    const file = openSync(place, "r");
    length = readSync(file, bytesRead, 0, 100, 0);
    closeSync(file);
  } catch (error) {
    return [{ name: "store", ok: false, found: String(error), todo: "check the permissions of the file" }];
  }
  const ours =
    length === 100 &&
    bytesRead.toString("latin1", 0, 15) === "SQLite format 3" &&
    bytesRead.readUInt32BE(68) === applicationId;
  if (!ours) {
    const found = size === 0 ? `${place} is empty` : `${place} is not a Skein store`;
    return [{ name: "store", ok: false, found, todo: "choose another path; nothing was changed" }];
  }
  const layout = bytesRead.readUInt32BE(60);
  const wal = bytesRead[18] === 2;
  return [
    { name: "store", ok: true, found: `${place}, ${bytes(size)}` },
    {
      name: "layout",
      ok: layout <= schemaVersion,
      found: `version ${layout}; this Skein knows up to ${schemaVersion}`,
      todo: "update Skein",
    },
    { name: "journal", ok: wal, found: wal ? "WAL" : "not WAL", todo: "open the store once; Skein sets it" },
  ];
}

/** What durability rests on, by driver. */
const how: Readonly<Record<string, string>> = {
  sqlite: "synchronous=FULL, read back",
  postgres: "flushed before COMMIT answers",
};

async function openedChecks(store: Awaited<ReturnType<Call["store"]>>): Promise<Check[]> {
  const { driver, durability, sessions, records } = await store.stats();
  const faults = await store.check();
  return [
    { name: "opens", ok: true, found: `${plural(sessions, "session")}, ${count(records)} records` },
    {
      name: "durability",
      ok: durability === "disk",
      found:
        durability === "disk" ? `${how[driver] ?? "disk"}: what is acknowledged is on the disk` : durability,
    },
    {
      name: "pages",
      ok: faults.length === 0,
      found: faults.length === 0 ? "sound" : `${plural(faults.length, "fault")}: ${faults[0] ?? ""}`,
      todo: 'run "skein verify --all" and restore a backup',
    },
  ];
}
