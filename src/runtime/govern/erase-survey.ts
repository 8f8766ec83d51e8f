/** Finds what to erase: the existing contents at some positions of a log, or those that hold a text. */
import { readPages } from "../read/record-pages.ts";
import type { StoredRecord } from "../../core/chain.ts";
import type { LogId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import * as range from "../../core/range.ts";
import type { Ranges } from "../../core/range.ts";
import type { Store } from "../../store/port.ts";

/** An erased content. */
export interface ErasedContent {
  readonly seq: number;
  readonly type: string;
  readonly bytes: number;
  /** The session whose own log holds it. */
  readonly owner: LogId;
  /** The id, if it is a message. */
  readonly message: string | null;
}

/** A content to erase. */
export interface ErasableContent extends ErasedContent {
  /** True when no content that stays lies between it and the one before. */
  readonly joined: boolean;
}

export interface EraseSurvey {
  readonly doomed: readonly ErasableContent[];
  /** Contents erased earlier. */
  readonly gone: readonly ErasedContent[];
}

/** `picks` selects a content; without it, all of them are selected. */
export async function survey(
  store: Store,
  session: LogId,
  ranges: Ranges,
  options: {
    readonly picks?: (record: StoredRecord) => Promise<boolean> | boolean;
    readonly progress?: (records: number) => void;
  } = {},
): Promise<EraseSurvey> {
  const { picks = () => true, progress } = options;
  const doomed: ErasableContent[] = [];
  const gone: ErasedContent[] = [];
  let joined = false;
  for (const each of ranges) {
    joined = false;
    for await (const page of readPages(store, session, each, { contents: true })) {
      for (const record of page) {
        if (record.contentHash === null) continue;
        if (record.content === null) gone.push(contentAt(record));
        else if (await picks(record)) {
          doomed.push({ ...contentAt(record), joined });
          joined = true;
        } else joined = false;
      }
      progress?.(page.length);
    }
  }
  return { doomed, gone };
}

const contentAt = (record: StoredRecord): ErasedContent => ({
  seq: record.seq,
  type: record.type,
  bytes: record.contentBytes ?? 0,
  owner: record.session,
  message: messageOf(record),
});

function messageOf({ type, body }: StoredRecord): string | null {
  if (type !== "message.sent" && type !== "message.received") return null;
  return (JSON.parse(body) as { readonly message: string }).message;
}

/** In order; adjacent ones are joined. */
export const joinNeighbours = (
  contents: readonly (ErasedContent & { readonly joined?: boolean })[],
): ErasableContent[] =>
  contents
    .toSorted((a, b) => a.seq - b.seq)
    .map((one, place, all) => ({
      ...one,
      joined: one.joined === true || all[place - 1]?.seq === one.seq - 1,
    }));

/** What one append erases. */
export interface Batch {
  readonly ranges: Ranges;
  readonly doomed: readonly ErasableContent[];
}

/** Their positions. */
export function rangesOf(doomed: readonly ErasableContent[]): Ranges {
  const ranges: [number, number][] = [];
  for (const { seq, joined } of doomed) {
    const last = ranges.at(-1);
    if (joined && last !== undefined) last[1] = seq;
    else ranges.push([seq, seq]);
  }
  return ranges;
}

/** Ranges are a part of a body, which holds no more than so many bytes. */
export const rangesBytesMax = limit.bodyBytesMax - 200;

/** As many as one append may erase, and one body can name. */
export function batchesOf(doomed: readonly ErasableContent[]): readonly Batch[] {
  const batches: { ranges: [number, number][]; doomed: ErasableContent[]; bytes: number }[] = [];
  for (const one of doomed) {
    const last = batches.at(-1);
    const { seq } = one;
    const bytes = `[${seq},${Number.MAX_SAFE_INTEGER}],`.length;
    const open = last !== undefined && last.doomed.length < limit.eraseRecordsMax ? last : undefined;
    const end = open?.ranges.at(-1);
    if (open !== undefined && end !== undefined && one.joined) {
      end[1] = seq;
      open.doomed.push(one);
    } else if (open !== undefined && open.bytes + bytes <= rangesBytesMax) {
      open.ranges.push([seq, seq]);
      open.doomed.push(one);
      open.bytes += bytes;
    } else batches.push({ ranges: [[seq, seq]], doomed: [one], bytes });
  }
  return batches;
}

/** What a session that shares positions up to `toSeq` loses with a batch; null when nothing. */
export function shareOf(
  { ranges, doomed }: Batch,
  toSeq: number,
): { readonly ranges: Ranges; readonly records: number; readonly bytes: number } | null {
  const lost = doomed.filter(({ seq }) => seq <= toSeq);
  if (lost.length === 0) return null;
  const last = lost.at(-1)?.seq ?? 0;
  return { ranges: range.clip(ranges, last), records: lost.length, bytes: bytesOf(lost) };
}

export const bytesOf = (contents: readonly { readonly bytes: number }[]): number =>
  contents.reduce((sum, { bytes }) => sum + bytes, 0);
