/** What a person should settle in memory: duplicates and contradictions, with their entries. */
import { reviewEntries, type ReviewedEntry } from "../../core/memory/review.ts";
import type { Deps } from "../deps.ts";
import { readEntry, type MemoryEntry } from "./memory.ts";

/** Entries that say the same, or contradict each other; the newest first. */
export interface ReviewedMemory {
  readonly finding: "duplicate" | "contradiction";
  /** The subject, in the words of the newest entry. */
  readonly about: string;
  readonly entries: readonly MemoryEntry[];
}

/** The result of `engine.reviewMemory`: contradictions first. */
export interface MemoryReview {
  readonly findings: readonly ReviewedMemory[];
  /** Further findings: settle some of these first. */
  readonly more: number;
}

const findingsMax = 100;

/** Changes nothing. Entries with long or erased values are not compared. */
export async function reviewMemory(deps: Deps): Promise<MemoryReview> {
  const { memory, values } = await deps.memory.index();
  const compared: ReviewedEntry[] = [];
  const refs = new Map<number, Parameters<typeof readEntry>[1]>();
  for (const [id, entry] of memory.entries()) {
    if (!values.has(id)) continue;
    compared.push({ ...entry, value: values.get(id) });
    refs.set(entry.seq, entry);
  }
  const all = reviewEntries(compared);
  const findings: ReviewedMemory[] = [];
  for (const { finding, about, entries: seqs } of all.slice(0, findingsMax)) {
    const entries: MemoryEntry[] = [];
    for (const seq of seqs) {
      const ref = refs.get(seq);
      if (ref !== undefined) entries.push(await readEntry(deps, ref));
    }
    findings.push({ finding, about, entries });
  }
  return { findings, more: Math.max(0, all.length - findingsMax) };
}
