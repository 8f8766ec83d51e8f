/** Where sessions are looked for: the folders of tools, or a folder or file that a caller names. */
import { statSync } from "node:fs";
import { SkeinError } from "../core/error.ts";
import { detectFormat } from "./detect-format.ts";
import type { HomeFolders, TranscriptFormat } from "./format/format.ts";
import { fieldsOf, parsedOr, type Fields } from "./format/json-value.ts";
import { formatNamed, transcriptFormats } from "./formats.ts";
import type { FoundTranscript } from "./model.ts";
import { SourceFolder } from "./read/source-folder.ts";

interface RootOptions {
  readonly tool: string;
  readonly path?: string;
  readonly machine: HomeFolders;
}

/** A folder or file to look in, and the format to read it with. */
export interface TranscriptRoot {
  readonly format: TranscriptFormat;
  readonly path: string;
  /** Files of other tools may lie in the folder, too. */
  readonly isShared?: boolean;
}

export const formatsOf = (tool: string): readonly TranscriptFormat[] =>
  tool === "auto" ? transcriptFormats : [formatNamed(tool)];

export function rootsOf({ tool, path, machine }: RootOptions): TranscriptRoot[] {
  const formats = formatsOf(tool);
  if (path !== undefined) return formats.map((format) => ({ format, path, isShared: formats.length > 1 }));
  const roots = formats.flatMap((format) =>
    format.folders(machine).flatMap((one) => (isThere(one) ? [{ format, path: one }] : [])),
  );
  if (roots.length > 0) return roots;
  const looked = formats.flatMap((format) => format.folders(machine));
  throw new SkeinError("not-found", `import: no sessions of ${tool === "auto" ? "any tool" : tool} found`, {
    hint: `looked in ${looked.join(", ") || "no folder"}; give the folder or file: skein import ${tool} PATH`,
  });
}

/** As `rootsOf`. A path must exist, and `auto` reads a file as one tool: the first that understands it. */
export async function detectRoots(options: RootOptions): Promise<TranscriptRoot[]> {
  const { tool, path } = options;
  const roots = rootsOf(options);
  if (path === undefined || new SourceFolder(path).only === null || tool !== "auto") return roots;
  return [{ format: await detectFormat(path), path }];
}

/** A folder that exists and cannot be opened is there: its failure is reported. */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ENOTDIR");
  }
}

/** A longer first record says nothing about its tool. */
const firstBytesMax = 65_536;

/** In a folder that tools share: without the files whose first record is of another tool. */
export async function ownFiles(
  { begins }: TranscriptFormat,
  folder: SourceFolder,
  all: readonly FoundTranscript[],
): Promise<FoundTranscript[]> {
  const own: FoundTranscript[] = [];
  for (const found of all) {
    const [file = ""] = found.files;
    const first = begins === undefined || !file.endsWith(".jsonl") ? null : await firstRecord(folder, file);
    if (first === null || begins?.(first) !== false) own.push(found);
  }
  return own;
}

/** Null when it is damaged, or cannot be read. */
async function firstRecord(folder: SourceFolder, file: string): Promise<Fields | null> {
  const [bytes] = await folder.collect(file, async () => [
    await folder.read({ file, from: 0, to: firstBytesMax }),
  ]);
  const [line = ""] = (bytes?.toString("utf8") ?? "").split("\n", 1);
  const first = fieldsOf(parsedOr(line));
  return Object.keys(first).length === 0 ? null : first;
}
