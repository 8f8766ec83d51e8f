/** The interface of splitters: chunks of bytes go in, records with byte ranges come out. */
import type { SourceRange, SourceRecord } from "../model.ts";

/** Receives the records of a source. */
export interface RecordSink {
  record(record: SourceRecord): void;
  damage(range: SourceRange, reason: string): void;
}

/** Splits one stream of bytes. */
export interface Splitter {
  push(chunk: Buffer): void;
  end(): void;
}

/** A longer record is reported and skipped. Providers accept requests of at most 32 MB. */
const maxRecordBytes = 64 * 1024 * 1024;

export const tooLong = `longer than ${maxRecordBytes / 1024 / 1024} MB`;

/** Collects the bytes of one record over several chunks and gives up when there are too many. */
export class ByteCollector {
  #parts: Buffer[] = [];
  #bytes = 0;

  add(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes <= maxRecordBytes) this.#parts.push(part);
    else this.#parts = [];
  }

  /** The number of bytes so far, dropped ones included. */
  get length(): number {
    return this.#bytes;
  }

  get isTooLong(): boolean {
    return this.#bytes > maxRecordBytes;
  }

  /** Returns the bytes and starts anew. */
  take(): Buffer {
    const [only] = this.#parts;
    const all = this.#parts.length === 1 && only !== undefined ? only : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#bytes = 0;
    return all;
  }
}
