/**
 * A disk that loses power: from the calls of a process it knows what its files hold for certain, namely what
 * was synced, and what may or may not have reached them, in any order and in parts. A sector is written whole
 * or not at all.
 */
import { dirname } from "node:path";
import { isSync, type Call } from "./strace.ts";
import type { Random } from "./random.ts";

/** The calls that a disk has to be told. */
export const diskCalls = "pwrite64,ftruncate,unlink,fsync,fdatasync";

/** What becomes of what was not synced: all of it is lost, all of it was written, or chance decides. */
export type Unsynced = "lost" | "written" | Random;

const sectorBytes = 512;

interface Change {
  /** Null for a change of length. */
  readonly bytes: Buffer | null;
  readonly at: number;
}

interface File {
  synced: Buffer;
  changes: Change[];
  unlinked: boolean;
}

export class Disk {
  readonly #files = new Map<string, File>();

  apply(call: Call): void {
    if (isSync(call)) this.#forget(call.file);
    const file = this.#file(call.file, call.name === "unlink" || isSync(call));
    if (file === undefined || call.injected) return;
    if (call.name === "pwrite64") file.changes.push({ bytes: call.bytes, at: call.at });
    else if (call.name === "ftruncate") file.changes.push({ bytes: null, at: call.at });
    else if (call.name === "unlink") file.unlinked = true;
    else if (isSync(call)) {
      file.synced = file.changes.reduce(changed, file.synced);
      file.changes = [];
    }
  }

  /** What the files hold when the power comes back. */
  cut(unsynced: Unsynced): Map<string, Buffer> {
    const written = () => unsynced === "written" || (unsynced !== "lost" && unsynced.chance(0.5));
    const left = [...this.#files].filter(([, { unlinked }]) => !(unlinked && written()));
    return new Map(
      left.map(([path, { synced, changes }]) => {
        const parts = unsynced === "written" ? changes : changes.flatMap(sectorsOf).filter(written);
        return [path, parts.reduce(changed, synced)];
      }),
    );
  }

  /** A directory that is synced has forgotten for good what was unlinked in it. */
  #forget(directory: string): void {
    for (const [path, { unlinked }] of this.#files)
      if (unlinked && dirname(path) === directory) this.#files.delete(path);
  }

  /** A file that was unlinked and is written to again is a new one. */
  #file(path: string, known: boolean): File | undefined {
    const file = this.#files.get(path);
    if (known || (file !== undefined && !file.unlinked)) return file;
    const made = { synced: Buffer.alloc(0), changes: [], unlinked: false };
    this.#files.set(path, made);
    return made;
  }
}

function sectorsOf({ bytes, at }: Change): Change[] {
  if (bytes === null) return [{ bytes, at }];
  const parts: Change[] = [];
  for (let from = 0; from < bytes.length;) {
    const to = Math.min(bytes.length, from + sectorBytes - ((at + from) % sectorBytes));
    parts.push({ bytes: bytes.subarray(from, to), at: at + from });
    from = to;
  }
  return parts;
}

function changed(before: Buffer, { bytes, at }: Change): Buffer {
  const length = bytes === null ? at : Math.max(before.length, at + bytes.length);
  const after = Buffer.alloc(length);
  before.copy(after, 0, 0, Math.min(before.length, length));
  bytes?.copy(after, at);
  return after;
}
