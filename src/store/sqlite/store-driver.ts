/** Addresses of the SQLite driver: `sqlite:PATH`, or a path. */
import { existsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { SkeinError } from "../../core/error.ts";
import type { StoreDriver } from "../driver.ts";

export const sqliteDriver: StoreDriver = (address) => {
  const path = pathOf(address);
  const whole = resolve(path);
  return {
    shown: address,
    address: whole,
    files: [whole, `${whole}-wal`, `${whole}-shm`],
    exists: () => existsSync(path),
    async open({ create = true, ...options }) {
      checkPath(address, path);
      if (create) checkFolder(path);
      const { sqliteStore } = await import("./store.ts");
      return sqliteStore({ ...options, create, path, clock: "files" });
    },
    diagnose: async (_, opened) => (await import("./diagnose.ts")).diagnose(path, opened),
  };
};

/** A name that SQLite would take for an in-memory database or a URI is a normal file here. */
function pathOf(address: string): string {
  const path = address.replace(/^sqlite:(\/\/)?/i, "");
  return /^(:|file:)/.test(path) ? `./${path}` : path;
}

function checkPath(address: string, path: string): void {
  if (path !== "" && !path.includes("\0") && address !== ":memory:") return;
  throw new SkeinError("invalid", "store: expected a path, got none", {
    hint: 'for example "./skein.db"; a store in memory is "memory:"',
  });
}

function checkFolder(path: string): void {
  const folder = dirname(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return;
  throw new SkeinError("unavailable", `store: directory ${folder} does not exist`, {
    hint: `create it: mkdir -p ${folder}`,
  });
}
