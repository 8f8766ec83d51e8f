/** Compares the files of two positions, by the versions in the logs. Nothing on disk is read. */
import { isSameVersion, touchedIn, type FileVersion, type FileSpan } from "../../core/tool/file-version.ts";
import type { SessionId } from "../../core/ids.ts";
import { unifiedDiff } from "../../core/text/text-diff.ts";
import { readChanges, type UnknownFileChange } from "../read/file-versions.ts";
import type { Deps } from "../deps.ts";
import { fileBlobs } from "../log/file-blobs.ts";

/** A file that differs between two states. */
export interface FileDiff {
  /** The name of the binding. */
  readonly name: string;
  readonly path: string;
  readonly change: "added" | "removed" | "changed";
  readonly from: FileVersion | null;
  readonly to: FileVersion | null;
  /** The lines of a unified diff; absent for binary or long files. */
  readonly text?: readonly string[];
}

/** The files that differ between two states. */
export interface FilesDiff {
  readonly files: readonly FileDiff[];
  /** Positions where more may have changed than is known. */
  readonly unkept: readonly (UnknownFileChange & { readonly session: SessionId })[];
}

/** Larger files are named, and not compared. */
const textBytesMax = 262_144;

interface Side {
  readonly session: SessionId;
  readonly seq: number;
}

/** Both are one log up to `commonSeq`: files that neither touched since are equal. */
export async function diffFiles(deps: Deps, from: Side, to: Side, commonSeq: number): Promise<FilesDiff> {
  const read = ({ session, seq }: Side) =>
    readChanges(deps.store, session, { fromSeq: commonSeq + 1, toSeq: seq });
  const changes = [await read(from), await read(to)] as const;
  const keyOf = (name: string, path: string): string => `${name}\n${path}`;
  const [was, is] = [touchedIn(changes[0], keyOf), touchedIn(changes[1], keyOf)];
  const files: FileDiff[] = [];
  for (const key of [...new Set([...was.keys(), ...is.keys()])].toSorted()) {
    const [a, b] = [was.get(key), is.get(key)];
    const { name, path } = (a ?? b) as FileSpan;
    const before = a === undefined ? (b?.first ?? null) : a.last;
    const after = b === undefined ? (a?.first ?? null) : b.last;
    if (isSameVersion(before, after)) continue;
    const change = before === null ? "added" : after === null ? "removed" : "changed";
    files.push({ name, path, change, from: before, to: after, ...(await textDiff(deps, before, after)) });
  }
  const unkeptOf = ({ session }: Side, list: (typeof changes)[number]) =>
    list.flatMap(({ seq, unkept }) => (unkept === undefined ? [] : [{ session, seq, why: unkept }]));
  return { files, unkept: [...unkeptOf(from, changes[0]), ...unkeptOf(to, changes[1])] };
}

async function textDiff(
  deps: Deps,
  from: FileVersion | null,
  to: FileVersion | null,
): Promise<{ readonly text?: readonly string[] }> {
  const [before, after] = [await textOf(deps, from), await textOf(deps, to)];
  if (before === undefined || after === undefined) return {};
  return { text: unifiedDiff(before, after) };
}

/** A missing file is the empty text; a binary or unavailable one is undefined. */
async function textOf(deps: Deps, version: FileVersion | null): Promise<string | undefined> {
  if (version === null || version.kind === "directory") return "";
  if (version.blob === undefined || (version.bytes ?? 0) > textBytesMax) return undefined;
  const bytes = await fileBlobs(deps).get(version.blob);
  if (bytes === undefined || bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
