/** Files of the tests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A path in a new directory, and how to remove it. */
export function newPath(): { readonly path: string; readonly remove: () => void } {
  const folder = mkdtempSync(join(tmpdir(), "skein-test-"));
  return { path: join(folder, "skein.db"), remove: () => rmSync(folder, { recursive: true, force: true }) };
}
