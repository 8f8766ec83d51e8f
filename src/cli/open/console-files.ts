/** The console and the docs site as they were built: their files, for the server. */
import { createHash } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import { extname, join, sep } from "node:path";
import type { PageFile, PageFiles } from "../../server/http/console-files.ts";

/** The content type of each file name suffix. */
export const pageTypes: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".json": "application/json; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
};

const isCheckout = import.meta.filename.endsWith(".ts");
/** Beside the program in a package; in a checkout, where they are built. */
const built = join(import.meta.dirname, isCheckout ? "../../../dist" : "../..");

export const readConsole = (): Promise<PageFiles | null> => readPageFiles(join(built, "console"));
export const readDocs = (): Promise<PageFiles | null> => readPageFiles(join(built, "docs"));

/** The folders of `src` that the console is built from. */
export const consoleSources = ["console", "client", "call", "protocol", "core"] as const;

/** In a checkout, whether sources of the console changed after it was built. A package has no sources. */
export const isConsoleOld = async (): Promise<boolean> =>
  isCheckout && (await isOlder(join(built, "console"), join(built, "../src"), consoleSources));

/** Whether a built page is older than a file in these folders; false without a page. */
export async function isOlder(page: string, root: string, folders: readonly string[]): Promise<boolean> {
  const builtMs = await changedMs(join(page, "index.html"));
  if (builtMs === 0) return false;
  for (const folder of folders) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(
      () => [],
    );
    for (const entry of entries)
      if (entry.isFile() && (await changedMs(join(entry.parentPath, entry.name))) > builtMs) return true;
  }
  return false;
}

const changedMs = async (path: string): Promise<number> => (await stat(path).catch(() => null))?.mtimeMs ?? 0;

/** Null when the folder holds no built page. */
export async function readPageFiles(folder: string): Promise<PageFiles | null> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = new Map<string, PageFile>();
  for (const entry of names) {
    const type = pageTypes[extname(entry.name)];
    // Source maps are for builders.
    if (!entry.isFile() || type === undefined) continue;
    const file = join(entry.parentPath, entry.name);
    const bytes = await readFile(file);
    const path = `/${file.slice(folder.length + 1).replaceAll(sep, "/")}`;
    const etag = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
    // The builder puts a digest of the content into these names.
    files.set(path, { type, bytes, etag, immutable: path.startsWith("/assets/") });
  }
  return files.has("/index.html") ? files : null;
}
