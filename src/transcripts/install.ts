/** Puts an exported session where its tool looks for sessions, beside those that are there. */
import { link, mkdir, mkdtemp, open, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { SkeinError } from "../core/error.ts";
import { errorText } from "../core/first-error.ts";
import { quote } from "../core/ids.ts";
import type { HomeFolders } from "./format/format.ts";
import { formatNamed } from "./formats.ts";
import type { WrittenTranscript } from "./model.ts";

/** The tools that find a file in their folder. opencode keeps a database and imports files itself. */
const installable: ReadonlySet<string> = new Set(["claude-code", "codex", "pi"]);

/** Where `installTranscript` puts a file. */
export function installPath(tool: string, { path }: WrittenTranscript, machine: HomeFolders): string {
  const [folder] = installable.has(tool) ? formatNamed(tool).folders(machine) : [];
  if (folder === undefined)
    throw new SkeinError("invalid", `install: expected ${[...installable].join(", ")}, got ${quote(tool)}`, {
      hint: tool === "opencode" ? "opencode import FILE imports an exported file" : "write it to a file",
    });
  // Both name the folder of sessions: `projects/…` below `~/.claude/projects`.
  return join(dirname(folder), path);
}

/**
 * Writes the file under its final name at once, readable by its owner only. An existing file is never
 * replaced: the same content is left as it is, another is an error. Returns the path.
 */
export async function installTranscript(
  tool: string,
  written: WrittenTranscript,
  machine: HomeFolders,
): Promise<string> {
  const path = installPath(tool, written, machine);
  let temporary: string | null = null;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    temporary = await mkdtemp(join(dirname(path), ".skein-"));
    const part = join(temporary, "session");
    const file = await open(part, "wx", 0o600);
    try {
      await file.writeFile(written.text);
      await file.sync();
    } finally {
      await file.close();
    }
    // A rename would replace a file that appeared meanwhile; a link does not.
    await link(part, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST")
      throw new SkeinError("unavailable", `install: writing ${path} failed: ${errorText(cause)}`, {
        hint: "check that the folder is writable",
        cause,
      });
    if ((await readFile(path, "utf8")) !== written.text)
      throw new SkeinError("conflict", `install: ${path} exists, and its content differs`, {
        hint: `${tool} may have continued it; move or delete the file to install the session again`,
      });
  } finally {
    if (temporary !== null) await rm(temporary, { recursive: true, force: true });
  }
  return path;
}

/** The command that continues an exported session in its tool; null for messages. */
export function resumeCommand(
  tool: string,
  { sessionId, path }: WrittenTranscript,
  { file = path, cwd = null }: { readonly file?: string; readonly cwd?: string | null } = {},
): string | null {
  const id = sessionId ?? "";
  const at = cwd === null ? "" : `cd ${shellWord(cwd)} && `;
  if (tool === "claude-code") return `${at}claude --resume ${id}`;
  if (tool === "codex") return `${at}codex resume ${id}`;
  if (tool === "pi") return `${at}pi --session ${shellWord(file)}`;
  return tool === "opencode" ? `opencode import ${shellWord(file)} && opencode --session ${id}` : null;
}

const shellWord = (text: string): string =>
  /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
