/** The checks of `skein doctor` for a store in a file. */
import { closeSync, existsSync, openSync, readSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { SkeinError } from "../../core/error.ts";
import { bytes } from "../../core/text/number-format.ts";
import type { StoreCheck } from "../driver.ts";
import { applicationId, schemaVersion } from "./schema.ts";

export async function diagnose(
  path: string,
  opened: () => Promise<readonly StoreCheck[]>,
): Promise<readonly StoreCheck[]> {
  return [...machineChecks(path), ...(await storeChecks(path, opened))];
}

/** Below this, SQLite soon has no room for its -wal file. */
const freeBytesMin = 100 * 1024 * 1024;
/** File systems without working SQLite locks, by their Linux type number. */
const networks: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB",
  0x517b: "SMB",
};

function machineChecks(path: string): StoreCheck[] {
  const { sqlite = "0" } = process.versions;
  const folder = dirname(resolve(path));
  const there = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  return [
    {
      name: "SQLite",
      ok: atLeast(sqlite, [3, 51, 3]),
      found: sqlite,
      todo: "install a Node with SQLite 3.51.3 or newer",
    },
    {
      name: "directory",
      ok: there,
      found: there ? folder : `${folder} does not exist`,
      todo: `mkdir -p ${folder}`,
    },
    ...(there ? diskChecks(folder) : []),
  ];
}

function atLeast(text: string, least: readonly number[]): boolean {
  const parts = text.split(".").map(Number);
  const place = least.findIndex((number, at) => (parts[at] ?? 0) !== number);
  return place === -1 || (parts[place] ?? 0) > (least[place] ?? 0);
}

function diskChecks(folder: string): StoreCheck[] {
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

async function storeChecks(
  place: string,
  opened: () => Promise<readonly StoreCheck[]>,
): Promise<readonly StoreCheck[]> {
  const file = statSync(place, { throwIfNoEntry: false });
  if (file === undefined) {
    return [{ name: "store", ok: true, found: `none at ${place} yet; "skein open" makes it` }];
  }
  if (!file.isFile())
    return [{ name: "store", ok: false, found: `${place} is not a file`, todo: `try ${place}/skein.db` }];
  const header = headerChecks(place, file.size);
  if (header.some((check) => !check.ok)) return header;
  const suspect = existsSync(`${place}-suspect`);
  const marker: StoreCheck = {
    name: "I/O errors",
    ok: !suspect,
    found: suspect ? `a process met one; see ${place}-suspect` : "none noted",
    todo: "look at the disk; the store was read through now, see below",
  };
  try {
    return [...header, marker, ...(await opened())];
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    const todo = error.hint ?? "see docs/operating.md";
    return [...header, marker, { name: "opens", ok: false, found: error.message, todo }];
  }
}

/** The first hundred bytes of an SQLite file, without opening it as one. */
function headerChecks(place: string, size: number): StoreCheck[] {
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
