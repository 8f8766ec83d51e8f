/** Reads packed records: segments by position, their records, and lookups by key or time. */
import type { DatabaseSync } from "node:sqlite";
import { bodyHashOf, link, type Digest, type StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { LogId } from "../../core/ids.ts";
import { errorText } from "../../core/first-error.ts";
import { hexOf } from "./log.ts";
import type { RecordColumns } from "./read.ts";
import { groupRecords, hasContent, isGroupEnd, unpackContents, unpackHeads, unzigzag } from "./segment.ts";
import type { Contents, SegmentHeads, PackedRow, SegmentRange } from "./segment.ts";

/** The location of a segment, without its data. Immutable: a rewritten one is another segment. */
export interface Segment {
  readonly id: number;
  readonly log: number;
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly fromAt: number;
  readonly toAt: number;
  /** Of the contents that are not erased, unpacked. */
  readonly contentBytes: number;
  /** As it is stored. */
  readonly bytes: number;
}

export interface Segments {
  /** The first segment of a log that ends at this position or after it. */
  next(log: number, seq: number): Segment | undefined;
  /** The last segment of a log that begins at this position or before it. */
  upTo(log: number, seq: number): Segment | undefined;
  /** The segment that holds the position. */
  at(log: number, seq: number): Segment | undefined;
  /** Its records between two positions, in order; of these types only. */
  records(segment: Segment, range: RecordRange): StoredRecord[];
  /** All of it, as packed; undefined if another has replaced it. */
  unpacked(segment: Segment): SegmentRange | undefined;
  record(log: number, seq: number): StoredRecord | undefined;
  positionOf(log: number, seq: number): number | undefined;
  /** The time of a packed record; the time of the whole segment if the difference cannot matter. */
  moment(log: number, seq: number, at: number): number | undefined;
  keyed(log: number, key: Uint8Array): number | undefined;
  /** One field of a packed record, for a query. */
  field(log: number, seq: number, field: PackedField): string | number | null | undefined;
  /** The last packed record of a log. */
  last(log: number): StoredRecord | undefined;
  forget(): void;
}

export type PackedField = Exclude<keyof StoredRecord, "session" | "seq" | "salt" | "key"> | "erased";

export interface RecordRange {
  readonly fromSeq: number;
  readonly toSeq: number;
  readonly contents: boolean;
  /** Numbers of types. */
  readonly types?: ReadonlySet<number> | undefined;
}

interface OpenSegment {
  readonly heads: SegmentHeads;
  contents: Contents | null;
  /** As far as they were asked for. */
  readonly hashes: (string | undefined)[];
}

/** The cache of unpacked segments, in bytes. */
const openBytesMax = 8_388_608;

/** Small enough for an exact number. */
export const keyNumber = (key: Uint8Array): number =>
  Buffer.from(key.buffer, key.byteOffset, key.length).readUIntBE(0, Math.min(6, key.length));

export interface SegmentNames {
  readonly digest: Digest;
  readonly sessionOf: (log: number) => LogId;
  readonly name: (id: number) => string;
}

const columns = "id, log, from_seq, to_seq, from_at, to_at, content_bytes, length(heads) + length(contents)";

export function makeSegments(database: DatabaseSync, names: SegmentNames): Segments {
  const ending = database.prepare(
    `SELECT ${columns} FROM segments WHERE log = ? AND to_seq >= ? ORDER BY to_seq LIMIT 1`,
  );
  const below = database.prepare(
    `SELECT ${columns} FROM segments WHERE log = ? AND to_seq < ? ORDER BY to_seq DESC LIMIT 1`,
  );
  const readHeads = database.prepare("SELECT heads FROM segments WHERE id = ?");
  const readContents = database.prepare("SELECT contents FROM segments WHERE id = ?");
  const byKey = database.prepare("SELECT seq FROM packed_keys WHERE log = ? AND key = ? ORDER BY seq");
  for (const one of [ending, below, readHeads, readContents, byKey]) one.setReturnArrays(true);
  const kept = new Map<number, OpenSegment>();
  let keptBytes = 0;
  let recent: Segment | undefined;

  const segmentOf = (row: unknown): Segment | undefined => {
    if (row === undefined) return undefined;
    const [id, log, fromSeq, toSeq, fromAt, toAt, contentBytes, bytes] =
      row as readonly number[] as SegmentArray;
    return { id, log, fromSeq, toSeq, fromAt, toAt, contentBytes, bytes };
  };
  const next = (log: number, seq: number) => segmentOf(ending.get(log, seq));
  const at = (log: number, seq: number): Segment | undefined => {
    const found = next(log, seq);
    return found !== undefined && found.fromSeq <= seq ? found : undefined;
  };

  const damaged = ({ log, fromSeq, toSeq }: Segment, cause: unknown): SkeinError =>
    new SkeinError(
      "corrupt",
      `records ${fromSeq} to ${toSeq} of ${names.sessionOf(log)} cannot be unpacked: ${errorText(cause)}`,
      { hint: "restore a backup; the records before and after are readable", cause },
    );

  /** Undefined if it no longer exists: another process rewrote or deleted it. */
  function open(segment: Segment, contents: boolean): OpenSegment | undefined {
    const known = kept.get(segment.id);
    const opened = known ?? openHeads(segment);
    if (opened === undefined) return undefined;
    if (known !== undefined) kept.delete(segment.id);
    else keptBytes += opened.heads.bodies.length;
    kept.set(segment.id, opened);
    if (contents && opened.contents === null) {
      const row = readContents.get(segment.id) as unknown as [Uint8Array] | undefined;
      if (row === undefined) return undefined;
      try {
        opened.contents = unpackContents(opened.heads, row[0]);
      } catch (error) {
        throw damaged(segment, error);
      }
      keptBytes += opened.contents.texts.length;
    }
    for (const id of kept.keys()) {
      if (keptBytes <= openBytesMax || kept.size === 1) break;
      close(id);
    }
    return opened;
  }

  function close(id: number): void {
    const one = kept.get(id);
    if (one === undefined) return;
    kept.delete(id);
    keptBytes -= one.heads.bodies.length + (one.contents?.texts.length ?? 0);
  }

  function openHeads(segment: Segment): OpenSegment | undefined {
    const row = readHeads.get(segment.id) as unknown as [Uint8Array] | undefined;
    if (row === undefined) return undefined;
    try {
      const heads = unpackHeads(row[0]);
      if (heads.count !== segment.toSeq + 1 - segment.fromSeq) throw new Error("unexpected length");
      return { heads, contents: null, hashes: [] };
    } catch (error) {
      throw damaged(segment, error);
    }
  }

  /** All fields but hash, salt and content. */
  function headOf({ log, fromSeq }: Segment, { heads }: OpenSegment, place: number) {
    const { at: moments, type, v, actor, turn, cause, keyAt, hashAt, contentBytes, bodyAt } = heads;
    const seq = fromSeq + place;
    const back = cause[place] ?? 0;
    const end = place + 1;
    return {
      session: names.sessionOf(log),
      seq,
      at: moments[place] ?? 0,
      type: names.name(type[place] ?? 0),
      v: v[place] ?? 0,
      actor: names.name(actor[place] ?? 0),
      turn: orNull(turn[place]),
      cause: back === 0 ? null : seq - unzigzag(back - 1),
      key: heads.keyBytes[place] === 0 ? null : heads.tail.toString("hex", keyAt[place], keyAt[end]),
      body: heads.bodies.toString("utf8", bodyAt[place], bodyAt[end]),
      contentHash:
        heads.hashBytes[place] === 0 ? null : heads.tail.toString("hex", hashAt[place], hashAt[end]),
      contentBytes: orNull(contentBytes[place]),
    };
  }

  type Head = ReturnType<typeof headOf>;

  const keptHash = ({ tail, groupsAt }: SegmentHeads, group: number): string =>
    tail.toString("hex", groupsAt + group * 32, groupsAt + group * 32 + 32);

  /** Stored for the last record of each group; for any other computed from the previous one. */
  function hashOf(segment: Segment, opened: OpenSegment, place: number, head?: Head): string {
    const { heads, hashes } = opened;
    const known = hashes[place];
    if (known !== undefined) return known;
    if (isGroupEnd(place, heads.count)) return keptHash(heads, Math.floor(place / groupRecords) + 1);
    const first = place % groupRecords === 0;
    const before = first ? keptHash(heads, place / groupRecords) : hashOf(segment, opened, place - 1);
    const fields = head ?? headOf(segment, opened, place);
    const hash = link(names.digest, before, fields, bodyHashOf(names.digest, fields.body));
    hashes[place] = hash;
    return hash;
  }

  function fieldOf(segment: Segment, opened: OpenSegment, place: number, field: PackedField) {
    const { heads, contents } = opened;
    switch (field) {
      case "at":
      case "v":
        return heads[field][place] ?? 0;
      case "type":
      case "actor":
        return names.name(heads[field][place] ?? 0);
      case "turn":
      case "contentBytes":
        return orNull(heads[field][place]);
      case "body":
        return heads.bodies.toString("utf8", heads.bodyAt[place], heads.bodyAt[place + 1]);
      case "hash":
        return hashOf(segment, opened, place);
      case "erased":
        return heads.hashBytes[place] !== 0 && !hasContent(heads, place) ? 1 : 0;
      case "content":
        if (contents === null || !hasContent(heads, place)) return null;
        return contents.texts.toString("utf8", contents.textAt[place], contents.textAt[place + 1]);
      case "cause":
      case "contentHash":
        return headOf(segment, opened, place)[field];
    }
  }

  function recordOf(segment: Segment, opened: OpenSegment, place: number, contents: boolean): StoredRecord {
    const head = headOf(segment, opened, place);
    const hash = hashOf(segment, opened, place, head);
    const held = contents && hasContent(opened.heads, place) ? opened.contents : null;
    const saltAt = held?.saltAt;
    return {
      ...head,
      hash,
      salt: held && saltAt ? held.salts.toString("hex", saltAt[place], saltAt[place + 1]) : null,
      content: held === null ? null : held.texts.toString("utf8", held.textAt[place], held.textAt[place + 1]),
    };
  }

  function records(segment: Segment, { fromSeq, toSeq, contents, types }: RecordRange): StoredRecord[] {
    const start = Math.max(fromSeq, segment.fromSeq) - segment.fromSeq;
    const end = Math.min(toSeq, segment.toSeq) - segment.fromSeq;
    const opened = open(segment, contents && types === undefined);
    if (opened === undefined) return again(segment, { fromSeq, toSeq, contents, types });
    const wanted: number[] = [];
    for (let place = start; place <= end; place++) {
      if (types === undefined || types.has(opened.heads.type[place] ?? 0)) wanted.push(place);
    }
    if (contents && wanted.length > 0 && open(segment, true) === undefined) {
      return again(segment, { fromSeq, toSeq, contents, types });
    }
    return wanted.map((place) => recordOf(segment, opened, place, contents));
  }

  /** The segment was rewritten meanwhile, or merged into another, which holds the same records. */
  function again(segment: Segment, range: RecordRange): StoredRecord[] {
    close(segment.id);
    const toSeq = Math.min(range.toSeq, segment.toSeq);
    const found: StoredRecord[] = [];
    for (let seq = Math.max(range.fromSeq, segment.fromSeq); seq <= toSeq;) {
      const other = next(segment.log, seq);
      if (other === undefined || other.fromSeq > toSeq || other.id === segment.id) break;
      found.push(...records(other, { ...range, fromSeq: seq, toSeq }));
      seq = other.toSeq + 1;
    }
    return found;
  }

  function unpacked(segment: Segment): SegmentRange | undefined {
    const opened = open(segment, true);
    if (opened === undefined) return undefined;
    const { heads } = opened;
    const rows = Array.from({ length: heads.count }, (_, place): PackedRow => {
      const record = recordOf(segment, opened, place, true);
      const row: Required<RecordColumns> = [
        segment.log,
        record.seq,
        record.at,
        heads.type[place] ?? 0,
        record.v,
        heads.actor[place] ?? 0,
        record.turn,
        record.cause,
        bytesOf(record.key),
        record.body,
        bytesOf(record.contentHash),
        record.contentBytes,
        Buffer.from(record.hash, "hex"),
        bytesOf(record.salt),
        record.content,
      ];
      return { position: heads.positions[place] ?? 0, row };
    });
    return { rows, before: Buffer.from(keptHash(heads, 0), "hex") };
  }

  /** Reads a part of one packed record. */
  const look = <T>(
    log: number,
    seq: number,
    read: (opened: OpenSegment, place: number, segment: Segment) => T,
  ): T | undefined => {
    const segment = at(log, seq);
    const opened = segment && open(segment, false);
    return opened && read(opened, seq - segment.fromSeq, segment);
  };

  const record = (log: number, seq: number): StoredRecord | undefined =>
    look(log, seq, (opened, place, segment) => recordOf(segment, opened, place, false));

  return {
    next,
    upTo(log, seq) {
      return at(log, seq) ?? segmentOf(below.get(log, seq));
    },
    at,
    records,
    unpacked,
    record,
    positionOf: (log, seq) => look(log, seq, ({ heads }, place) => heads.positions[place] ?? 0),
    moment(log, seq, moment) {
      const segment = at(log, seq);
      if (segment === undefined) return undefined;
      if (segment.toAt < moment) return segment.toAt;
      if (segment.fromAt >= moment) return segment.fromAt;
      return look(log, seq, ({ heads }, place) => heads.at[place] ?? 0);
    },
    field(log, seq, field) {
      if (recent === undefined || recent.log !== log || recent.fromSeq > seq || recent.toSeq < seq) {
        recent = at(log, seq);
      }
      const segment = recent;
      const opened = segment && open(segment, field === "content");
      return opened && fieldOf(segment, opened, seq - segment.fromSeq, field);
    },
    keyed(log, key) {
      const hex = hexOf(key);
      for (const [seq] of byKey.all(log, keyNumber(key)) as unknown as [number][]) {
        const same = look(log, seq, ({ heads }, place) => {
          const [start, end] = [heads.keyAt[place], heads.keyAt[place + 1]];
          return heads.tail.toString("hex", start, end) === hex;
        });
        if (same === true) return seq;
      }
      return undefined;
    },
    last(log) {
      const segment = segmentOf(below.get(log, Number.MAX_SAFE_INTEGER));
      return segment && record(log, segment.toSeq);
    },
    forget() {
      kept.clear();
      keptBytes = 0;
    },
  };
}

type SegmentArray = readonly [
  id: number,
  log: number,
  fromSeq: number,
  toSeq: number,
  fromAt: number,
  toAt: number,
  contentBytes: number,
  bytes: number,
];

const orNull = (andOne: number | undefined): number | null =>
  andOne === undefined || andOne === 0 ? null : andOne - 1;

const bytesOf = (hex: string | null): Buffer | null => (hex === null ? null : Buffer.from(hex, "hex"));
