/** The console and the docs site as they were built: their files, for the server. */
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
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

/** Beside the program in a package; in a checkout, where they are built. */
const built = join(import.meta.dirname, import.meta.filename.endsWith(".ts") ? "../../../dist" : "../..");

export const readConsole = (): Promise<PageFiles | null> => readPageFiles(join(built, "console"));
export const readDocs = (): Promise<PageFiles | null> => readPageFiles(join(built, "docs"));

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
