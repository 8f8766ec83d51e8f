/** Entries under construction, for formats whose records come in the order of the session. */
import type { ForeignEntry, PlannedEntry, SourceRange, SourceRecord, TranscriptCall } from "../model.ts";

/** A planned entry that may still gain records. */
export interface EntryDraft extends PlannedEntry {
  readonly records: SourceRange[];
}

export function makeDraft(id: string, kind: ForeignEntry["kind"], record: SourceRange): EntryDraft {
  return { id, kind, records: [rangeOf(record)] };
}

export function rangeOf({ file, from, to }: SourceRange): SourceRange {
  return { file, from, to };
}

/** What every entry has, from its plan and records. */
export function originOf(
  planned: PlannedEntry,
  records: readonly SourceRecord[],
  atMs: number | null,
): Pick<ForeignEntry, "id" | "atMs" | "source"> {
  return { id: planned.id, atMs, source: records.map(rangeOf) };
}

/** The outcome of a call that has no result. */
export const noResult: Pick<TranscriptCall, "status" | "output" | "endedAtMs"> = {
  status: "unknown",
  output: [],
  endedAtMs: null,
};

/** What waits under an id, in order: some providers give several calls the same id. */
export class WaitingById<T> {
  readonly #waiting = new Map<string, T[]>();

  add(id: string, one: T): void {
    const known = this.#waiting.get(id);
    if (known === undefined) this.#waiting.set(id, [one]);
    else known.push(one);
  }

  /** Takes the one that has waited longest. */
  take(id: string): T | undefined {
    const known = this.#waiting.get(id);
    const first = known?.shift();
    if (known?.length === 0) this.#waiting.delete(id);
    return first;
  }

  values(): readonly T[] {
    return [...this.#waiting.values()].flat();
  }
}
