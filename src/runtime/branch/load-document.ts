/** Loads a text file as a document: at most so long, UTF-8, without secrets. */
import { readFile, stat } from "node:fs/promises";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { LoadedDocument } from "../../core/session/commands.ts";
import { safeText } from "../log/redact.ts";
import type { Deps } from "../deps.ts";

/** The text of a file, as a session starts with it. */
export async function loadDocument(
  { world }: Pick<Deps, "world">,
  kind: LoadedDocument["kind"],
  path: string,
): Promise<LoadedDocument> {
  // Closing a file of an open database would drop the locks that this process holds on it.
  if (await exists(`${path.replace(/-(?:wal|shm)$/, "")}-shm`)) {
    throw new SkeinError("invalid", `files: ${quote(path)} belongs to an open database`, {
      hint: "bind it as a database instead",
    });
  }
  const unreadable = (cause: unknown): never => {
    throw new SkeinError("not-found", `document ${quote(path)} cannot be read`, {
      hint: "pass the path of a text file",
      cause,
    });
  };
  const checkSize = (size: number): void => {
    if (size <= limit.documentBytesMax) return;
    throw new SkeinError(
      "invalid",
      `document ${quote(path)}: expected at most ${limit.documentBytesMax} bytes, got ${size}`,
      {
        hint: "bind the file instead; the session reads it in parts",
      },
    );
  };
  const found = await stat(path).catch(unreadable);
  if (!found.isFile()) {
    // A device may have no end, and a pipe no writer.
    throw new SkeinError("invalid", `document ${quote(path)}: expected a file`, {
      hint: found.isDirectory() ? "bind the directory instead" : "pass the path of a text file",
    });
  }
  // Before it is read: it may be larger than the memory.
  checkSize(found.size);
  const bytes = await readFile(path).catch(unreadable);
  checkSize(bytes.length);
  const read = bytes.toString("utf8");
  const text = safeText(world, read);
  if (text.includes("\0") || text.includes("\uFFFD")) {
    throw new SkeinError("invalid", `files: ${quote(path)} is not UTF-8 text`, {
      hint: "bind the file instead, and read it with a tool",
    });
  }
  const kept = text === read ? bytes : Buffer.from(text);
  return { kind, path, text, digest: world.hashBytes(kept), bytes: kept.length };
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

export function ifMissing(error: unknown): null {
  if (error instanceof SkeinError && error.code === "not-found") return null;
  throw error;
}
