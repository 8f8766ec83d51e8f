/**
 * Splits a large JSON document without holding it: the elements of a top-level array, or the entries of one
 * field of a top-level object (`messages`, `mapping`), whose other fields become one last record.
 */
import { ByteCollector, tooLong, type RecordSink, type Splitter } from "./splitter.ts";

const quoteByte = 0x22;
const backslash = 0x5c;
const comma = 0x2c;

/**
 * `container` names the field that is split; with `null` a top-level array is. An object where an array is
 * expected is split by its field `conversations`, as some exports have it.
 */
export function splitElements(
  file: string,
  sink: RecordSink,
  { container, start = 0 }: { readonly container: string | null; readonly start?: number },
): Splitter {
  return new ElementSplitter(file, sink, container, start);
}

class ElementSplitter implements Splitter {
  readonly #file: string;
  readonly #sink: RecordSink;
  readonly #container: string;
  readonly #item = new ByteCollector();
  readonly #fields: [string, unknown][] = [];
  readonly #start: number;
  #position: number;
  #depth = 0;
  /** Items lie at this depth: 1, and 2 inside the container. */
  #level = 1;
  #inString = false;
  #escaped = false;
  #isObject = false;
  #containerIsObject = false;
  #itemStart = -1;
  #isOver = false;

  constructor(file: string, sink: RecordSink, container: string | null, start: number) {
    this.#file = file;
    this.#sink = sink;
    this.#container = container ?? "conversations";
    this.#start = start;
    this.#position = start;
  }

  push(chunk: Buffer): void {
    if (this.#isOver) return void (this.#position += chunk.length);
    const base = this.#position;
    // Where the bytes of the open item begin in this chunk.
    let kept = this.#itemStart === -1 ? -1 : 0;
    let i = 0;
    for (; i < chunk.length && !this.#isOver; i++) {
      const byte = chunk[i] ?? 0;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === backslash) this.#escaped = true;
        else if (byte === quoteByte) this.#inString = false;
        continue;
      }
      if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue;
      if (this.#depth === 0) {
        this.#openDocument(byte, base + i);
        continue;
      }
      const closes = byte === 0x7d || byte === 0x5d;
      if (this.#depth === this.#level && (byte === comma || closes)) {
        if (kept !== -1) this.#item.add(chunk.subarray(kept, i));
        this.#finishItem(base + i);
        kept = -1;
        if (closes) this.#close();
        continue;
      }
      if (this.#itemStart === -1) {
        this.#itemStart = base + i;
        kept = i;
      }
      if (byte === quoteByte) this.#inString = true;
      else if (closes) this.#depth -= 1;
      else if (byte === 0x7b || byte === 0x5b) {
        if (this.#isContainer(chunk, kept, i)) {
          this.#containerIsObject = byte === 0x7b;
          this.#item.take();
          this.#itemStart = -1;
          kept = -1;
          this.#level = 2;
        }
        this.#depth += 1;
      }
    }
    if (kept !== -1 && !this.#isOver) this.#item.add(Buffer.from(chunk.subarray(kept, i)));
    this.#position = base + chunk.length;
  }

  end(): void {
    const file = this.#file;
    if (!this.#isOver) {
      const from = this.#itemStart === -1 ? this.#position : this.#itemStart;
      this.#sink.damage({ file, from, to: this.#position }, "the document ends early");
    }
    if (this.#isObject)
      this.#sink.record({
        file,
        from: this.#start,
        to: this.#position,
        value: Object.fromEntries(this.#fields),
      });
  }

  #openDocument(byte: number, at: number): void {
    if (byte === 0x7b || byte === 0x5b) {
      this.#isObject = byte === 0x7b;
      this.#depth = 1;
    } else if (byte !== 0xef && byte !== 0xbb && byte !== 0xbf) {
      this.#sink.damage({ file: this.#file, from: at, to: at + 1 }, "no JSON document");
      this.#isOver = true;
    }
  }

  #isContainer(chunk: Buffer, kept: number, at: number): boolean {
    if (!this.#isObject || this.#depth !== 1 || this.#level !== 1) return false;
    if (this.#item.length > 200 || at - kept > 200) return false;
    const before = this.#item.take();
    const head = Buffer.concat([before, chunk.subarray(kept, at)]).toString("utf8");
    if (before.length > 0) this.#item.add(before);
    const key = `"${this.#container}"`;
    return head.startsWith(key) && head.slice(key.length).trim() === ":";
  }

  #close(): void {
    this.#depth -= 1;
    if (this.#level === 2) this.#level = 1;
    else this.#isOver = true;
  }

  #finishItem(to: number): void {
    const from = this.#itemStart;
    this.#itemStart = -1;
    const isTooLong = this.#item.isTooLong;
    const bytes = this.#item.take();
    if (from === -1) return;
    const file = this.#file;
    if (isTooLong) return this.#sink.damage({ file, from, to }, `element ${tooLong}`);
    const inObject = this.#level === 1 ? this.#isObject : this.#containerIsObject;
    try {
      const text = bytes.toString("utf8");
      if (!inObject)
        return this.#sink.record({ file, from, to: from + trimmed(bytes), value: JSON.parse(text) });
      const [entry] = Object.entries(JSON.parse(`{${text}}`) as object) as [string, unknown][];
      if (entry === undefined) return;
      if (this.#level === 1) this.#fields.push(entry);
      else
        this.#sink.record({
          file,
          from: from + valueStart(bytes),
          to: from + trimmed(bytes),
          value: entry[1],
        });
    } catch {
      this.#sink.damage({ file, from, to }, "invalid JSON");
    }
  }
}

/** The length without white space at the end. */
function trimmed(bytes: Buffer): number {
  let end = bytes.length;
  while (end > 0 && (bytes[end - 1] ?? 0) <= 0x20) end -= 1;
  return end;
}

/** Where the value of `"key": value` begins. */
function valueStart(bytes: Buffer): number {
  let at = 1;
  while (at < bytes.length && bytes[at] !== quoteByte) at += bytes[at] === backslash ? 2 : 1;
  at = bytes.indexOf(0x3a, at) + 1;
  while ((bytes[at] ?? 0x21) <= 0x20) at += 1;
  return at;
}
