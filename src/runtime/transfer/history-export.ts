/**
 * Files that Skein wrote for another tool, found again: the written part is a session that is here, and is
 * neither imported nor counted. What the tool added is imported as a fork of that session.
 */
import { isSessionId, type SessionId } from "../../core/ids.ts";
import type {
  PlannedEntries,
  PlannedEntry,
  TranscriptPlan,
  WrittenBySkein,
} from "../../transcripts/model.ts";
import type { Deps } from "../deps.ts";
import type { TranscriptSource } from "./history.ts";

/** A source that was exported from a session of this store. */
export interface ExportedSource {
  readonly origin: SessionId;
  readonly seq: number;
  /**
   * `nothing`: the tool has added nothing. `fork`: `source` is what it added at the end. `session`: it went
   * back into the written part, so that the whole is a separate session, whose written part does not count.
   */
  readonly added: "nothing" | "fork" | "session";
  readonly source: TranscriptSource;
}

/** Null for any other source; `source` is then what to import. */
export async function exportedSource(
  { store }: Pick<Deps, "store">,
  source: TranscriptSource,
): Promise<ExportedSource | null> {
  const { written } = source.plan;
  if (written === undefined || !isSessionId(written.session)) return null;
  const head = await store.head(written.session);
  if (head === undefined || head.seq < written.seq) return null;
  const { plan, added } = addedPart(source.plan, written, source.endsOpen === true ? 1 : 0);
  return { origin: written.session, seq: written.seq, added, source: { ...source, plan } };
}

/** The source without its mark: its session is not here, and it is a transcript like any other. */
export function withoutMark(source: TranscriptSource): TranscriptSource {
  const { written: _written, ...plan } = source.plan;
  return { ...source, plan };
}

function addedPart(
  plan: TranscriptPlan,
  written: WrittenBySkein,
  open: number,
): Pick<ExportedSource, "added"> & { readonly plan: TranscriptPlan } {
  const { entries, branches } = plan;
  const held = countHeld(entries, written);
  const others = branches.map((branch) => countHeld(branch.entries, written));
  const isAdded =
    entries.length - open > held || branches.some((one, at) => one.entries.length > (others[at] ?? 0));
  if (!isAdded) return { plan, added: "nothing" };
  const last = held === 0 ? undefined : entries.at(held - 1);
  const begins = new Set(Array.from(entries.slice(0, held), ({ id }) => id));
  const leaves = ({ after }: { readonly after: string | null }): boolean =>
    after === null || (begins.has(after) && after !== last?.id);
  const isAtEnd =
    last !== undefined &&
    written.holds(last) &&
    entries.length - open > held &&
    countHeld(entries.slice(0, held), written) === held &&
    others.every((count) => count === 0) &&
    !branches.some(leaves);
  if (!isAtEnd) return { plan, added: "session" };
  const moved = branches.map((one) => (one.after === last.id ? { ...one, after: null } : one));
  return { plan: { ...plan, entries: entries.slice(held), branches: moved }, added: "fork" };
}

function countHeld(entries: PlannedEntries | readonly PlannedEntry[], { holds }: WrittenBySkein): number {
  let count = 0;
  for (const entry of entries) if (holds(entry)) count += 1;
  return count;
}
