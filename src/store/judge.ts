/** Appends, whatever the driver: what is wrong with one before anything is looked up, and what it expects. */
import { limit } from "../core/limit.ts";
import type { Expect, Part } from "./port.ts";

/** Whether a log that ends there is as expected; 0 and no hash when there is none. */
export const agrees = (headSeq: number, hash: string | undefined, expect: Expect): boolean => {
  if (expect === "unchecked") return true;
  if (expect === "absent") return headSeq === 0;
  if (expect === "exists") return headSeq > 0;
  return headSeq === expect.seq && (expect.hash ?? hash) === hash;
};

/** What is wrong with an append, whatever the store holds; null when nothing is. */
export function partsFlaw(parts: readonly Part[]): string | null {
  const [only] = parts;
  if (only !== undefined && parts.length === 1 && only.drafts.length === 1) {
    return only.drop === true ? "a part has either drafts or a drop" : rangesFlaw(only);
  }
  const records = parts.reduce((sum, part) => sum + part.drafts.length, 0);
  if (parts.length > limit.appendLogsMax) {
    return `${parts.length} logs in one append; at most ${limit.appendLogsMax}`;
  }
  if (records > limit.appendRecordsMax) {
    return `${records} records in one append; at most ${limit.appendRecordsMax}`;
  }
  if (new Set(parts.map(({ session }) => session)).size < parts.length) return "one log twice in one append";
  if (parts.length === 0 || parts.some((part) => (part.drafts.length === 0) !== (part.drop === true))) {
    return "a part has either drafts or a drop";
  }
  return parts.map(rangesFlaw).find((wrong) => wrong !== null) ?? null;
}

/** What is wrong with what a part is to erase; null when nothing is. */
function rangesFlaw({ erase, drafts, drop }: Part): string | null {
  if (erase === undefined) return null;
  if (drop === true || drafts.length === 0) return "erasing goes with drafts that say so";
  if (erase.length > limit.eraseRecordsMax) {
    return `${erase.length} ranges to erase in one part; at most ${limit.eraseRecordsMax}`;
  }
  const isRange = ([fromSeq, toSeq]: readonly [number, number]): boolean =>
    Number.isSafeInteger(fromSeq) && Number.isSafeInteger(toSeq) && fromSeq >= 1 && fromSeq <= toSeq;
  return erase.every(isRange) ? null : "a range to erase goes from a position, from 1, to one not before it";
}
