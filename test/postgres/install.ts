/** Gets the programs of a PostgreSQL server from elsewhere, for a machine that has none. */
import { existsSync, globSync } from "node:fs";
import { join } from "node:path";

/** The folders to look in after the installation; empty when nothing could be had. */
export async function installedBinaries(): Promise<string[]> {
  const cache = join(import.meta.dirname, "..", "..", "node_modules", ".cache", "skein-postgres");
  return existsSync(cache) ? globSync(join(cache, "*", "native", "bin")) : [];
}
