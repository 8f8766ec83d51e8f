/**
 * What a consolidation of memory does: entries that say the same become one, an entry that its own session
 * has replaced under another spelling of its key expires, and contradictions are marked for a person. By
 * rule, and cautious: what is not certain is left to the review. Pure.
 */
import { memoryId, type MemoryBy, type MemoryRef } from "./name.ts";
import { reviewEntries } from "./review.ts";

export interface ConsolidatedEntry extends MemoryRef {
  readonly value: unknown;
}

/** An entry that is forgotten, the one that stands for it from now on, and why. */
export interface Consolidation {
  readonly why: "duplicate" | "superseded";
  readonly entry: ConsolidatedEntry;
  readonly into: ConsolidatedEntry;
}

/** Entries that a person should settle, the newest first. */
export interface Dispute {
  /** The key of the newest. */
  readonly about: string;
  readonly entries: readonly ConsolidatedEntry[];
}

export interface ConsolidationPlan {
  readonly forget: readonly Consolidation[];
  readonly disputes: readonly Dispute[];
}

/** `isMarked`: a dispute about these very versions is marked already. */
export function planConsolidation(
  entries: readonly ConsolidatedEntry[],
  isMarked: (seqs: readonly number[]) => boolean,
): ConsolidationPlan {
  const bySeq = new Map(entries.map((entry) => [entry.seq, entry]));
  const findings = reviewEntries(entries).map(({ finding, entries: seqs }) => ({
    finding,
    group: seqs.flatMap((seq) => bySeq.get(seq) ?? []),
  }));
  const forget = new Map<number, Consolidation>();
  const isLeft = ({ seq }: ConsolidatedEntry): boolean => !forget.has(seq);
  for (const { finding, group } of findings) {
    if (finding !== "duplicate") continue;
    for (const same of sameOf(group.filter(isLeft))) {
      const [into, ...others] = same.toSorted(byWeight);
      if (into === undefined) continue;
      for (const entry of others) forget.set(entry.seq, { why: "duplicate", entry, into });
    }
  }
  for (const { finding, group } of findings) {
    if (finding !== "contradiction") continue;
    for (const entry of group.filter(isLeft)) {
      const into = group.find((newer) => isLeft(newer) && replaces(newer, entry));
      if (into !== undefined) forget.set(entry.seq, { why: "superseded", entry, into });
    }
  }
  // What replaced another may be gone itself: then it leads on to what is left.
  const last = (entry: ConsolidatedEntry): ConsolidatedEntry => {
    const next = forget.get(entry.seq);
    return next === undefined ? entry : last(next.into);
  };
  const marked = new Set<string>();
  const disputes = findings.flatMap(({ finding, group }) => {
    const left = group.filter(isLeft);
    const seqs = left.map(({ seq }) => seq);
    if (finding !== "contradiction" || left.length < 2 || marked.has(seqs.join()) || isMarked(seqs))
      return [];
    // Those that are left may say the same.
    if (new Set(left.map(({ value }) => plainText(value))).size < 2) return [];
    marked.add(seqs.join());
    return [{ about: left[0]?.key ?? "", entries: left }];
  });
  return { forget: [...forget.values()].map((one) => ({ ...one, into: last(one.into) })), disputes };
}

/** Word for word the same, for the same readers and of one kind. */
function sameOf(group: readonly ConsolidatedEntry[]): readonly ConsolidatedEntry[][] {
  const groups = new Map<string, ConsolidatedEntry[]>();
  for (const entry of group) {
    const { scope, owner, kind, status = "", value } = entry;
    const id = JSON.stringify([scope, owner, kind, status, plainText(value)]);
    groups.set(id, [...(groups.get(id) ?? []), entry]);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

/** Case, spaces and the last full stop do not matter; all else may. */
function plainText(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.toLowerCase().replaceAll(/\s+/g, " ").trim().replace(/\.$/, "");
}

const authors: readonly (MemoryBy | null)[] = ["person", "tool", "rule", null];

/** What a person wrote or approved weighs more; then the newest. */
const byWeight = (a: ConsolidatedEntry, b: ConsolidatedEntry): number =>
  rankOf(a) - rankOf(b) || b.seq - a.seq;

const rankOf = ({ by, approvedBy }: ConsolidatedEntry): number =>
  approvedBy === undefined ? authors.indexOf(by) : 0;

/** The session that said the one has said the other since. What a person wrote is not replaced. */
function replaces(newer: ConsolidatedEntry, entry: ConsolidatedEntry): boolean {
  const { origin } = entry;
  if (rankOf(entry) === 0 || origin === null || newer.origin === null) return false;
  return (
    memoryId({ ...newer, key: "" }) === memoryId({ ...entry, key: "" }) &&
    spelled(newer.key) === spelled(entry.key) &&
    newer.origin.session === origin.session &&
    newer.origin.seq > origin.seq
  );
}

/** `base-rate` and `baseRate` are one key; `port-1` and `port-2` are not. */
const spelled = (key: string): string => key.toLowerCase().replaceAll(/[\s._/-]+/g, "");
