/** The tools for bound files and directories. Nothing outside of the bindings can be named or reached. */
import { readdir, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import type { SourceUse } from "../core/depend/dependency.ts";
import { SkeinError } from "../core/error.ts";
import { fileDigest } from "../platform/file-digest.ts";
import { defineTool } from "./define.ts";
import { applyEdit, edited, type Edit } from "./file-edit.ts";
import { makeDenied, searchTools } from "./file-search.ts";
import { exactText, isBinary, readLines, readUpTo } from "./file-text.ts";
import { makeTurns, replaceFile } from "./file-write.ts";
import { ToolOutput, type OuterTool, type ToolWorld } from "./port.ts";
import {
  enter,
  enterDirectory,
  findSpot,
  openFile,
  plainError,
  plainSpelling,
  shownRoot,
  spotOf,
  whereabouts,
} from "./root.ts";
import type { Root, RequestedPath } from "./root.ts";

const fileLimit = {
  readLines: 2_000,
  readBytesMax: 131_072,
  imageBytesMax: 5_242_880,
  editBytesMax: 16_777_216,
  entriesMax: 1_000,
} as const;

/** One set of tools over all roots. Writing tools exist only if something is writable. */
export function fileTools(roots: readonly Root[], world?: Pick<ToolWorld, "hashBytes">): OuterTool[] {
  if (roots.length === 0) return [];
  const reading = [readFile(roots, world), listFiles(roots), ...searchTools(roots)];
  if (!roots.some(({ mode }) => mode === "write")) return reading;
  const turns = makeTurns();
  return [...reading, writeFile(roots, turns), editFile(roots, turns)];
}

type Turns = ReturnType<typeof makeTurns>;

const pathBelow = (roots: readonly Root[]) =>
  z
    .string()
    .min(1)
    .transform((path) => plainSpelling(roots, path));

function readFile(roots: readonly Root[], world: Pick<ToolWorld, "hashBytes"> | undefined): OuterTool {
  return defineTool({
    name: "read_file",
    description:
      `Read a text file, by default its first ${fileLimit.readLines} lines; a last line in brackets says ` +
      `when there is more. Images are shown. ${whereabouts(roots)}`,
    input: z.strictObject({
      path: pathBelow(roots),
      fromLine: z.int().positive().default(1).describe("The first line to read; lines count from 1"),
      lines: z.int().positive().max(100_000).default(fileLimit.readLines).describe("How many lines"),
    }),
    effect: "read",
    run: async ({ path, fromLine, lines }, { signal }) => {
      const spot = findSpot(roots, path);
      await using directory = await enter(spot);
      await using handle = await openFile(directory, directory.last, spot.shown);
      const { size } = await handle.stat();
      const head = await readUpTo(handle, 8_192);
      const mediaType = imageType(head);
      if (mediaType !== undefined && size <= fileLimit.imageBytesMax) {
        const bytes = await readUpTo(handle, fileLimit.imageBytesMax);
        return new ToolOutput(`${spot.shown}: an image, ${size} bytes`, {
          images: [{ bytes, mediaType }],
          ...(await usedFile(world, handle, place(spot))),
        });
      }
      if (isBinary(head)) throw new SkeinError("invalid", `${spot.shown} is a binary file (${size} bytes)`);
      const bytesMax = fileLimit.readBytesMax;
      const read = await readLines(handle, { fromLine, linesMax: lines, bytesMax, signal });
      if ("lineCount" in read)
        throw new SkeinError("invalid", `${spot.shown} has only ${read.lineCount} lines`);
      const text = `${read.text}${endNote(read, { fromLine, size })}`;
      if (world === undefined) return text;
      const count = read.text.split("\n").length - (read.text.endsWith("\n") ? 1 : 0);
      const range = { from: fromLine, to: fromLine + Math.max(0, count - 1) };
      return new ToolOutput(text, await usedFile(world, handle, place(spot), range));
    },
  });
}

/** What was read, for the log: who depends on the file can be found, and whether it has changed. */
async function usedFile(
  world: Pick<ToolWorld, "hashBytes"> | undefined,
  handle: FileHandle,
  path: string,
  range: { readonly from?: number; readonly to?: number } = {},
): Promise<{ readonly detail?: { readonly uses: readonly SourceUse[] } }> {
  if (world === undefined) return {};
  const digest = await fileDigest(world, handle);
  return { detail: { uses: [{ kind: "file", path, digest, ...range }] } };
}

function endNote(
  {
    text,
    nextLine,
    isCut,
  }: { readonly text: string; readonly nextLine: number | undefined; readonly isCut: boolean },
  { fromLine, size }: { readonly fromLine: number; readonly size: number },
): string {
  if (size === 0) return "[the file is empty]";
  if (nextLine === undefined) return "";
  const gap = text.endsWith("\n") ? "" : "\n";
  if (isCut) return `${gap}[line ${fromLine} was cut; continue with fromLine ${nextLine}]`;
  return `${gap}[lines ${fromLine} to ${nextLine - 1}; there is more: continue with fromLine ${nextLine}]`;
}

/** By the first bytes; the four kinds that every provider with image input accepts. */
function imageType(head: Buffer): string | undefined {
  const latin = head.toString("latin1", 0, 12);
  if (latin.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (latin.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(latin)) return "image/gif";
  return /^RIFF[^]{4}WEBP/.test(latin) ? "image/webp" : undefined;
}

function writeFile(roots: readonly Root[], turns: Turns): OuterTool {
  return defineTool({
    name: "write_file",
    description:
      "Write a whole text file: a new one, or in place of what is there. Missing directories are made. To " +
      `change a part of a file use edit_file. ${whereabouts(roots)}`,
    input: z.strictObject({ path: pathBelow(roots), text: z.string().describe("All of the new content") }),
    effect: "idempotent",
    touches: ({ path }) => [place(findSpot(roots, path))],
    run: async ({ path, text }, { key, signal }) => {
      const spot = writable(findSpot(roots, path));
      return turns(place(spot), async () => {
        signal.throwIfAborted();
        await using directory = await enter(spot, { create: true });
        const bytes = Buffer.from(text, "utf8");
        const { isNew } = await replaceFile(directory, directory.last, { bytes, key, shown: spot.shown });
        const did = isNew ? "created" : "replaced";
        return new ToolOutput(`${did} ${spot.shown} (${bytes.length} bytes)`, {
          detail: { changed: [spot.shown] },
        });
      });
    },
  });
}

function editFile(roots: readonly Root[], turns: Turns): OuterTool {
  return defineTool({
    name: "edit_file",
    description:
      "Replace a piece of a text file by another. `find` must be in the file exactly as given, with its " +
      `white space, and only once unless \`all\` is true. ${whereabouts(roots)}`,
    input: z.strictObject({
      path: pathBelow(roots),
      find: z.string().min(1).describe("The text to be replaced, with enough around it to be found once"),
      replace: z.string().describe("The text in its place; empty to remove it"),
      all: z.boolean().default(false).describe("Replace every occurrence"),
    }),
    touches: ({ path }) => [place(findSpot(roots, path))],
    run: async ({ path, ...edit }, { key, signal }) => {
      const spot = writable(findSpot(roots, path));
      return turns(place(spot), async () => {
        signal.throwIfAborted();
        return edits(spot, edit, key);
      });
    },
    probe: async (_key, { input: { path, ...edit } }) => {
      const spot = writable(findSpot(roots, path));
      await using directory = await enter(spot);
      await using handle = await openFile(directory, directory.last, spot.shown);
      const text = exactText(await readUpTo(handle, fileLimit.editBytesMax + 1));
      if (text === undefined) return "unknown";
      const answer = edited(text, edit);
      if (answer !== "done") return answer;
      return { done: `${spot.shown} has the new text and no longer the old one, as seen after a crash` };
    },
  });
}

async function edits(spot: RequestedPath, edit: Edit, key: string): Promise<ToolOutput> {
  const { shown } = spot;
  await using directory = await enter(spot);
  await using handle = await openFile(directory, directory.last, shown);
  const before = await handle.stat({ bigint: true });
  if (before.size > fileLimit.editBytesMax)
    throw new SkeinError("invalid", `edit: ${shown} is larger than ${fileLimit.editBytesMax} bytes`);
  const text = exactText(await readUpTo(handle, fileLimit.editBytesMax + 1));
  if (text === undefined) throw new SkeinError("invalid", `edit: ${shown} is not UTF-8 text`);
  const { result, count, line } = applyEdit(text, edit, shown);
  const stillThere = async () => {
    await using now = await openFile(directory, directory.last, shown);
    const after = await now.stat({ bigint: true });
    if (after.ino !== before.ino || after.mtimeNs !== before.mtimeNs || after.size !== before.size)
      throw new SkeinError("conflict", `${shown} has changed since it was read; read it again`);
  };
  await replaceFile(directory, directory.last, {
    bytes: Buffer.from(result, "utf8"),
    key,
    shown,
    stillThere,
  });
  const times = count === 1 ? "once" : `${count} times`;
  return new ToolOutput(`replaced ${times} in ${shown}, first in line ${line}`, {
    detail: { changed: [shown] },
  });
}

function listFiles(roots: readonly Root[]): OuterTool {
  return defineTool({
    name: "list_files",
    description:
      "List a directory, one path a line; directories end in a slash. Not what lies deeper: use find_files " +
      `for that. ${whereabouts(roots)}`,
    input: z.strictObject({
      path: pathBelow(roots).optional().describe("A directory; left out: what is bound"),
    }),
    effect: "read",
    run: async ({ path }, { isPathDenied }) => {
      const only = roots.length === 1 && roots[0]?.file === undefined ? "." : undefined;
      const asked = path ?? only;
      if (asked === undefined || (asked === "." && only === undefined))
        return roots.map(shownRoot).join("\n");
      const spot = findSpot(roots, asked);
      if (spot.root.file !== undefined) throw new SkeinError("invalid", `${spot.shown} is a file`);
      await using directory = await enterDirectory(spot);
      const entries = await readdir(directory.path, { withFileTypes: true }).catch((error: unknown) => {
        throw plainError(error as NodeJS.ErrnoException, spot.shown);
      });
      const denied = makeDenied(isPathDenied);
      const { isReserved = () => false } = spot.root;
      const lines = entries
        .filter(({ name }) => !isReserved(join(directory.real, name)))
        .map((entry) => ({ entry, below: spotOf(roots, spot.root, [...spot.steps, entry.name]) }))
        .filter(({ below }) => !denied.has(below))
        .map(({ entry, below }) => `${below.shown}${ending(entry)}`)
        .toSorted();
      if (lines.length === 0) return `${spot.shown} is empty${denied.note()}`;
      const more = lines.length - fileLimit.entriesMax;
      if (more > 0) lines.splice(fileLimit.entriesMax, more, `[and ${more} more]`);
      return `${lines.join("\n")}${denied.note()}`;
    },
  });
}

function ending(entry: { isDirectory(): boolean; isSymbolicLink(): boolean }): string {
  return entry.isDirectory() ? "/" : entry.isSymbolicLink() ? " (a link)" : "";
}

function writable(spot: RequestedPath): RequestedPath {
  if (spot.root.mode === "write") return spot;
  throw new SkeinError("refused", `${spot.shown} is bound read-only`, {
    hint: "bind it with mode write",
  });
}

const place = ({ root, steps }: RequestedPath): string => [root.real, ...steps].join("/");
