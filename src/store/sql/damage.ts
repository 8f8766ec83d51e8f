/** Errors of the SQL drivers for a corrupt store. */
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";

export const missingLog = (number: number): SkeinError =>
  new SkeinError("corrupt", `log ${number} is missing from the store`);

export const missingRecord = (session: LogId, seq: unknown): SkeinError =>
  new SkeinError("corrupt", `record ${String(seq)} of ${session} is missing`);

/** A corrupt record is never packed: it would be harder to find, and to repair. */
export const unpackable = (session: LogId, seq: number, wrong: string): SkeinError =>
  new SkeinError("corrupt", `${session}@${seq} cannot be packed: ${wrong}`, {
    hint: 'run "skein verify" and restore a backup',
  });
