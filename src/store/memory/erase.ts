/** Erasing in the memory driver: deletes contents and salts, and with them words and blobs. */
import { limit } from "../../core/limit.ts";
import type { JournalEntry, Logs } from "./log.ts";
import { headSeqOf, livingLog, recordsOf } from "./log.ts";
import { tooManyErased } from "../judge.ts";
import type { Part } from "../port.ts";

/** The entries whose contents the parts erase: among those that exist before the write. */
export function entriesToErase(logs: Logs, parts: readonly Part[]): readonly JournalEntry[] {
  const doomed = new Set(parts.flatMap((part) => recordsToErase(logs, part)));
  return doomed.size === 0 ? [] : logs.journal.filter(({ record }) => doomed.has(record));
}

/** A new fork reads its parent up to the fork point. */
function recordsToErase(logs: Logs, { session, parent, erase = [] }: Part) {
  const log = livingLog(logs, session) ?? (parent && livingLog(logs, parent.session));
  if (log === undefined) return [];
  const headSeq = log.id === session ? headSeqOf(log) : (parent?.seq ?? 0);
  return erase
    .flatMap(([fromSeq, toSeq]) => [...recordsOf(log, { fromSeq, toSeq: Math.min(toSeq, headSeq) })])
    .filter(({ content }) => content !== null);
}

export function refuseTooMany(entries: readonly JournalEntry[]): void {
  if (entries.length <= limit.eraseRecordsMax) return;
  throw tooManyErased();
}

/** Returns the hashes of the blobs that these records no longer refer to. */
export function eraseEntries(logs: Logs, entries: readonly JournalEntry[]): readonly string[] {
  if (entries.length === 0) return [];
  const doomed = new Set(entries);
  logs.journal = logs.journal.map((entry) => {
    if (!doomed.has(entry)) return entry;
    const { log, record } = entry;
    const bare = Object.freeze({ ...record, salt: null, content: null });
    log.records[record.seq - log.firstSeq] = bare;
    log.words.delete(record.seq);
    log.wordSteps = log.wordSteps.filter(({ fromSeq, toSeq }) => record.seq < fromSeq || record.seq > toSeq);
    for (const [name, { seq }] of log.vectors) if (seq === record.seq) log.vectors.delete(name);
    return { ...entry, record: bare, blobs: [] };
  });
  return entries.flatMap(({ blobs }) => blobs);
}
