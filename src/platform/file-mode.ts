/** Permissions of files; a fixed mode on systems without them. */
import type { FileVersion } from "../core/tool/file-version.ts";

/** False on Windows: every file has the same mode, and `chmod` does nothing. */
export const hasFileModes: boolean = process.getuid !== undefined;

const fixedMode = (kind: FileVersion["kind"]): number => (kind === "directory" ? 0o755 : 0o644);

/** The permissions of an entry, as its version states them. */
export const modeOf = (stat: { readonly mode: number | bigint }, kind: FileVersion["kind"]): number =>
  hasFileModes ? Number(stat.mode) & 0o7777 : fixedMode(kind);

/** A version for comparison with one that was read here: another system may have recorded other modes. */
export const comparable = <V extends FileVersion | null>(version: V): V =>
  version === null || hasFileModes ? version : { ...version, mode: fixedMode(version.kind) };
