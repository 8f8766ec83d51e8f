/**
 * File versions: changes that tools make to files in bound directories, as the log keeps them. Pure.
 *
 * A change of a file is a pair of versions, before and after, each by content; null means that the path does
 * not exist. The changes of a log in order of seq give every path at any position: the version before the
 * first later change.
 */
import { Count, Key, Sha256 } from "../schema.ts";
import * as z from "zod";
import type { Digest } from "../chain.ts";
import { draft, type DraftEvent } from "../decision.ts";

export const FileVersion = z.looseObject({
  kind: z.enum(["file", "symlink", "directory"]),
  /** Permission bits. Meaningless for a link. */
  mode: Count,
  /** The bytes of a file, or the target of a link; absent for a directory, and for an unreadable file. */
  blob: Sha256.optional(),
  bytes: Count.optional(),
  /** The name of the secret in the file, because of which its content was not kept. */
  held: z.string().optional(),
});

export const FileChange = z.looseObject({
  /** Relative to the bound directory, with `/` as separator. */
  path: z.string().min(1),
  before: FileVersion.nullable(),
  after: FileVersion.nullable(),
});

const Detail = z.looseObject({
  files: z.array(FileChange),
  /** Why changes may be missing from the list. */
  unkept: z.string().optional(),
});

/** A version of a file that a tool wrote. */
export type FileVersion = z.infer<typeof FileVersion>;
export type FileChange = z.infer<typeof FileChange>;

/** The changes in one bound directory. */
export interface TreeChange {
  /** The name of the binding. */
  readonly name: string;
  readonly files: readonly FileChange[];
  readonly unkept?: string | undefined;
}

/** The same at a position of a log. `unkept` is also set if the record was erased. */
export interface RecordedChange extends TreeChange {
  readonly seq: number;
}

/** The same bytes, target and permissions. A version that was never read equals no other. */
export function isSameVersion(a: FileVersion | null, b: FileVersion | null): boolean {
  if (a === null || b === null) return a === b;
  if (a.kind !== b.kind) return false;
  if (a.kind === "directory") return a.mode === b.mode;
  if (a.blob === undefined || a.blob !== b.blob) return false;
  return a.kind === "symlink" || a.mode === b.mode;
}

/** Well below the content limit, with its blobs named twice. */
const detailCharsMax = 600_000;
const entryChars = 700;

/** The change records: several, if one would be too long. */
export function changedDrafts(
  changed: readonly TreeChange[],
  digest: Digest,
  more: { readonly turn?: number; readonly cause?: number; readonly actor?: string },
): readonly DraftEvent[] {
  return changed.flatMap(({ name, files, unkept }) =>
    portions(files).map((portion, place) => {
      const note = unkept === undefined || place > 0 ? {} : { unkept };
      const blocks = blobsOf(portion).map(fileBlock);
      const content = { detail: { files: [...portion], ...note }, ...(blocks.length > 0 && { blocks }) };
      const body = { name, digest: digest("", JSON.stringify(portion)) };
      return draft("resource.changed", body, content, more);
    }),
  );
}

const fileBlock = (blob: string) => ({
  type: "file" as const,
  blob,
  mediaType: "application/octet-stream",
});

const blobsOf = (files: readonly FileChange[]): readonly string[] => [
  ...new Set(files.flatMap(({ before, after }) => [before?.blob, after?.blob].flatMap((one) => one ?? []))),
];

function portions(files: readonly FileChange[]): readonly (readonly FileChange[])[] {
  const all: FileChange[][] = [[]];
  let chars = 0;
  for (const file of files) {
    chars += entryChars + 3 * file.path.length;
    if (chars > detailCharsMax) {
      all.push([]);
      chars = entryChars + 3 * file.path.length;
    }
    all.at(-1)?.push(file);
  }
  return all;
}

/** A parsed change record; null for a change of another kind. */
export function readChange(
  seq: number,
  body: unknown,
  content: unknown,
  isErased: boolean,
): RecordedChange | null {
  const { name } = z.looseObject({ name: Key }).parse(body);
  if (isErased) return { seq, name, files: [], unkept: "the record of what changed was erased" };
  const detail = Detail.safeParse((content as { detail?: unknown } | undefined)?.detail);
  if (!detail.success) return null;
  const { files, unkept } = detail.data;
  return { seq, name, files, ...(unkept === undefined ? {} : { unkept }) };
}

/** A path that changed within a range of a log: its first and its last version. */
export interface FileSpan {
  readonly name: string;
  readonly path: string;
  readonly first: FileVersion | null;
  readonly last: FileVersion | null;
}

/** By the key from `keyOf`; paths with an undefined key are left out. */
export function touchedIn(
  changes: readonly RecordedChange[],
  keyOf: (name: string, path: string) => string | undefined,
): ReadonlyMap<string, FileSpan> {
  const touched = new Map<string, FileSpan>();
  for (const { name, files } of changes) {
    for (const { path, before, after } of files) {
      const key = keyOf(name, path);
      if (key === undefined) continue;
      const known = touched.get(key);
      touched.set(key, { name, path, first: known === undefined ? before : known.first, last: after });
    }
  }
  return touched;
}

/** Inside the root: paths in a record are untrusted. */
export const isPlainPath = (path: string): boolean =>
  !path.includes("\0") && path.split("/").every((step) => step !== "" && step !== "." && step !== "..");
