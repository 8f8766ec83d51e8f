/** The order of a source: a digest of its first entries, and the entries that its compactions refer to. */
import type { PlannedEntries, PlannedEntry } from "../../transcripts/model.ts";
import type { Deps } from "../deps.ts";
import type { TranscriptSource } from "./history.ts";

type Hasher = Pick<Deps["world"], "digest">;

/** The digest of no entries. */
export const noIds = "0".repeat(64);

/** Digests of the first entries: of those up to one, and of those before it. */
export interface IdChain {
  /** Null when there is none before, or the source has fewer entries. */
  readonly before: string | null;
  readonly last: string | null;
}

/**
 * The digest of the first `count` entries: two imports of one source agree on each. An entry that has gained
 * records since, such as a result that was not there yet, gives another digest.
 */
export function idChain(world: Hasher, entries: PlannedEntries, count: number): IdChain {
  let before: string | null = null;
  let last: string = noIds;
  if (count > entries.length) return { before: null, last: null };
  for (const entry of entries.slice(0, count)) {
    before = last;
    last = addId(world, last, entry, entry.records.length);
  }
  return { before, last };
}

/** The digest with one more entry, of so many records. */
export const addId = (
  { digest }: Hasher,
  before: string,
  { id }: Pick<PlannedEntry, "id">,
  records: number,
): string => digest("", `${before}\n${id}\n${records}`);

/** Ids of the entries that a compaction among these keeps the first of. */
export async function keptStarts(
  source: TranscriptSource,
  entries: PlannedEntries,
): Promise<ReadonlySet<string>> {
  const starts = new Set<string>();
  const compactions: PlannedEntry[] = [];
  for (const entry of entries) if (entry.kind === "compaction") compactions.push(entry);
  for await (const entry of source.entries(compactions))
    if (entry.kind === "compaction" && entry.keptFrom !== null) starts.add(entry.keptFrom);
  return starts;
}
