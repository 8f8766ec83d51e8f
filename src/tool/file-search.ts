/** Finds files by name and content below bound roots, within limits. */
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { SkeinError } from "../core/error.ts";
import { defineTool } from "./define.ts";
import { isBinary, readUpTo } from "./file-text.ts";
import { globMatcher } from "../core/text/glob.ts";
import { openGrep, type Grep } from "./grep.ts";
import { isLiveDatabase } from "./live-database.ts";
import type { OuterTool, ToolCall } from "./port.ts";
import {
  directories,
  enter,
  enterDirectory,
  findSpot,
  openDirectory,
  openFile,
  plainError,
  plainSpelling,
  spotOf,
  whereabouts,
} from "./root.ts";
import type { Directory, Root, RequestedPath } from "./root.ts";

const searchLimit = {
  foundMax: 1_000,
  matchesMax: 200,
  /** Entries that one search scans. */
  entriesMax: 100_000,
  fileBytesMax: 5_242_880,
  lineCharsMax: 400,
  depthMax: 64,
} as const;

/** Searched only if the pattern or path names them: they are large and seldom meant. */
const skipped: readonly string[] = [".git", "node_modules"];

export function searchTools(roots: readonly Root[]): OuterTool[] {
  return [findFiles(roots), grepFiles(roots)];
}

const whereBelow = (roots: readonly Root[]) =>
  z
    .string()
    .min(1)
    .transform((path) => plainSpelling(roots, path))
    .optional()
    .describe("A directory or file to look below; left out: everywhere");

function findFiles(roots: readonly Root[]): OuterTool {
  return defineTool({
    name: "find_files",
    description:
      'Find files by a glob such as "*.ts", "src/**/*.test.ts" or "{README,LICENSE}*", one path a line. ' +
      "Without a slash it is held against names at any depth. Leaves out " +
      `${skipped.join(" and ")} unless they are named. ${whereabouts(roots)}`,
    input: z.strictObject({ pattern: z.string().min(1).describe("The glob"), path: whereBelow(roots) }),
    effect: "read",
    run: async ({ pattern, path }, { signal, isPathDenied }) => {
      const matches = globMatcher(pattern);
      const found: string[] = [];
      const denied = makeDenied(isPathDenied);
      const walked = await search(roots, { path, named: pattern, signal }, ({ spot, below }) => {
        if ((matches(below) || matches(spot.shown)) && !denied.has(spot)) found.push(spot.shown);
        return Promise.resolve(found.length < searchLimit.foundMax);
      });
      return `${report(found, walked, "no file matches")}${denied.note()}`;
    },
  });
}

function grepFiles(roots: readonly Root[]): OuterTool {
  return defineTool({
    name: "grep_files",
    description:
      "Search the lines of text files for a regular expression (JavaScript's). Gives path:line: text, at " +
      `most ${searchLimit.matchesMax} of them. Leaves out ${skipped.join(" and ")} unless they are named. ` +
      whereabouts(roots),
    input: z.strictObject({
      pattern: z.string().min(1).max(1_000).describe("The regular expression"),
      path: whereBelow(roots),
      files: z.string().min(1).optional().describe('Only files that match this glob, such as "*.ts"'),
      ignoreCase: z.boolean().default(false),
    }),
    effect: "read",
    timeoutMs: 30_000,
    run: async ({ pattern, path, files, ignoreCase }, { signal, isPathDenied }) => {
      const matches = files === undefined ? () => true : globMatcher(files);
      await using grep = await openGrep(pattern, { ignoreCase, signal });
      const found: string[] = [];
      const large: string[] = [];
      const denied = makeDenied(isPathDenied);
      const walked = await search(roots, { path, named: files ?? "", signal }, async (file) => {
        if ((!matches(file.below) && !matches(file.spot.shown)) || denied.has(file.spot)) return true;
        const lines = await grepFile(grep, file, searchLimit.matchesMax - found.length + 1);
        if (lines === "large") large.push(file.spot.shown);
        else found.push(...lines);
        return found.length <= searchLimit.matchesMax;
      });
      const isMore = found.length > searchLimit.matchesMax;
      const shown = found.slice(0, searchLimit.matchesMax);
      const text = `${report(shown, isMore ? "full" : walked, "no line matches")}${denied.note()}`;
      return large.length === 0
        ? text
        : `${text}\n[too large to be searched: ${large.slice(0, 20).join(", ")}]`;
    },
  });
}

async function grepFile(
  grep: Grep,
  { spot, directory, name }: SearchHit,
  most: number,
): Promise<string[] | "large"> {
  if (await isLiveDatabase(`${directory.path}/${name}`)) return [];
  try {
    await using handle = await openFile(directory, name, spot.shown);
    if (isBinary(await readUpTo(handle, 8_192))) return [];
    const bytes = await readUpTo(handle, searchLimit.fileBytesMax + 1);
    if (bytes.length > searchLimit.fileBytesMax) return "large";
    const lines = await grep.matches(bytes.toString("utf8"), most);
    return lines.map(({ line, text }) => `${spot.shown}:${line}: ${short(text)}`);
  } catch (error) {
    // A vanished or unreadable file must not fail the search.
    if (error instanceof SkeinError && (error.code === "not-found" || error.cause !== undefined)) return [];
    throw error;
  }
}

/** Files that path rules forbid: they are left out, and the model learns how many. */
export function makeDenied(isPathDenied: ToolCall["isPathDenied"]): {
  readonly has: (spot: RequestedPath) => boolean;
  readonly note: () => string;
} {
  let count = 0;
  return {
    has({ root, steps, shown }) {
      const below = steps.join("/");
      const isDenied =
        isPathDenied?.(shown, below, `${root.path}/${below}`, `${root.real}/${below}`) === true;
      if (isDenied) count += 1;
      return isDenied;
    },
    note: () =>
      count === 0 ? "" : `\n[left out: ${count} ${count === 1 ? "path" : "paths"} that rules forbid]`,
  };
}

const short = (text: string): string =>
  text.length > searchLimit.lineCharsMax ? `${text.slice(0, searchLimit.lineCharsMax)}…` : text;

function report(found: readonly string[], walked: WalkEntry, nothing: string): string {
  const note =
    walked === "full"
      ? `\n[stopped after ${found.length}; narrow it down]`
      : walked === "long"
        ? `\n[stopped after looking at ${searchLimit.entriesMax} entries; name a directory]`
        : "";
  return `${found.length === 0 ? nothing : found.join("\n")}${note}`;
}

interface SearchHit {
  readonly spot: RequestedPath;
  readonly directory: Directory;
  readonly name: string;
  /** Its path relative to the start of the search. */
  readonly below: string;
}

/** `full`: the visitor had enough. `long`: there were too many entries. */
type WalkEntry = "all" | "full" | "long";
type Visit = (file: SearchHit) => Promise<boolean>;

interface Walk {
  readonly roots: readonly Root[];
  readonly visit: Visit;
  readonly skip: readonly string[];
  readonly signal: AbortSignal;
  /** Whether one more entry may be scanned. */
  readonly mayGoOn: () => boolean;
}

async function search(
  roots: readonly Root[],
  options: { readonly path: string | undefined; readonly named: string; readonly signal: AbortSignal },
  visit: Visit,
): Promise<WalkEntry> {
  const { path, named, signal } = options;
  const isEverywhere = path === undefined || (path === "." && directories(roots).length !== 1);
  const starts = isEverywhere
    ? roots.map((root) => spotOf(roots, root, root.file === undefined ? [] : [root.file]))
    : [findSpot(roots, path)];
  const skip = skipped.filter((name) => !named.includes(name));
  let left: number = searchLimit.entriesMax;
  const walk: Walk = { roots, visit, skip, signal, mayGoOn: () => left-- > 0 };
  for (const spot of starts) {
    const walked = await searchFrom(spot, walk);
    if (walked !== "all") return walked;
  }
  return "all";
}

async function searchFrom(spot: RequestedPath, walk: Walk): Promise<WalkEntry> {
  if (spot.steps.length > 0) {
    await using directory = await enter(spot);
    const name = directory.last;
    const stat = await lstat(`${directory.path}/${name}`).catch((error: unknown) => {
      throw plainError(error as NodeJS.ErrnoException, spot.shown);
    });
    if (!stat.isDirectory() && !stat.isFile())
      throw new SkeinError("refused", `${spot.shown} is not a regular file`);
    if (stat.isFile()) return (await walk.visit({ spot, directory, name, below: name })) ? "all" : "full";
  }
  await using directory = await enterDirectory(spot);
  return await walkDirectory({ spot, directory, below: "" }, walk);
}

/** Files before deeper directories, each by name. Links are not followed. */
async function walkDirectory(
  { spot, directory, below }: Omit<SearchHit, "name">,
  walk: Walk,
): Promise<WalkEntry> {
  const all = await readdir(directory.path, { withFileTypes: true }).catch(() => []);
  const { isReserved = () => false } = spot.root;
  const entries = all.filter(({ name }) => !isReserved(join(directory.real, name)));
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  const childOf = (name: string) => ({
    spot: spotOf(walk.roots, spot.root, [...spot.steps, name]),
    below: below === "" ? name : `${below}/${name}`,
  });
  for (const { name } of entries.filter((entry) => entry.isFile())) {
    walk.signal.throwIfAborted();
    if (!walk.mayGoOn()) return "long";
    if (!(await walk.visit({ ...childOf(name), directory, name }))) return "full";
  }
  if (spot.steps.length >= searchLimit.depthMax) return "all";
  for (const { name } of entries.filter((entry) => entry.isDirectory() && !walk.skip.includes(entry.name))) {
    walk.signal.throwIfAborted();
    if (!walk.mayGoOn()) return "long";
    const child = childOf(name);
    const opened = await openDirectory(
      `${directory.path}/${name}`,
      child.spot.shown,
      join(directory.real, name),
    ).catch(() => undefined);
    if (opened === undefined) continue;
    await using inner = opened;
    const walked = await walkDirectory({ ...child, directory: inner }, walk);
    if (walked !== "all") return walked;
  }
  return "all";
}
