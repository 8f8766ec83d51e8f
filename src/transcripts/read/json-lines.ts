/**
 * Splits JSON lines into records. Damage is local: a torn or spliced line, a run of NUL bytes or a cut
 * character costs what it covers and nothing else.
 */
import { isUtf8 } from "node:buffer";
import { ByteCollector, tooLong, type RecordSink, type Splitter } from "./splitter.ts";

const newline = 0x0a;
const openBrace = 0x7b;

export function splitLines(file: string, sink: RecordSink, start = 0): Splitter {
  const held = new ByteCollector();
  let lineStart = start;
  let position = start;

  const finishLine = (isLast: boolean): void => {
    const isTooLong = held.isTooLong;
    const from = lineStart;
    const line = held.take();
    lineStart = position;
    if (isTooLong) sink.damage({ file, from, to: position }, `line ${tooLong}`);
    else readLine({ file, sink, line, from, isLast });
  };

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length) {
        const end = chunk.indexOf(newline, at);
        const next = end === -1 ? chunk.length : end + 1;
        const part = chunk.subarray(at, next);
        // The owner of a chunk may reuse it: bytes of an unfinished line are copied.
        held.add(end === -1 ? Buffer.from(part) : part);
        position += next - at;
        at = next;
        if (end !== -1) finishLine(false);
      }
    },
    end() {
      if (held.length > 0) finishLine(true);
    },
  };
}

interface Line {
  readonly file: string;
  readonly sink: RecordSink;
  readonly line: Buffer;
  readonly from: number;
  readonly isLast: boolean;
}

function readLine({ file, sink, line, from, isLast }: Line): void {
  const { begin, end, nuls } = trim(line, from === 0);
  if (nuls > 0) sink.damage({ file, from, to: from + line.length }, `${nuls} NUL bytes`);
  if (begin >= end) return;
  const bytes = line.subarray(begin, end);
  const range = { file, from: from + begin, to: from + end };
  const text = bytes.toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    recoverValues({ file, sink, line: bytes, from: from + begin, isLast });
    return;
  }
  if (!isUtf8(bytes)) sink.damage(range, "invalid UTF-8, replaced");
  sink.record({ ...range, value });
}

/** Skips white space, NUL bytes and a byte order mark around the content of a line. */
function trim(line: Buffer, isFirst: boolean): { begin: number; end: number; nuls: number } {
  let begin = isFirst && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0;
  let end = line.length;
  let nuls = 0;
  for (; begin < end && isBlank(line[begin]); begin++) nuls += line[begin] === 0 ? 1 : 0;
  for (; end > begin && isBlank(line[end - 1]); end--) nuls += line[end - 1] === 0 ? 1 : 0;
  return { begin, end, nuls };
}

const isBlank = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0d || byte === 0x0a || byte === 0x09 || byte === 0;

/**
 * After so many places at which no object begins the rest of the line is left. Each may cost a pass over it:
 * of a long line so many bytes are read without a result, or twice the line, which takes about half a second.
 */
const maxAttempts = 200;
const maxPassedBytes = 100_000_000;

/** Finds the whole objects in a line that does not parse, and reports the bytes between them. */
function recoverValues({ file, sink, line, from, isLast }: Line): void {
  let done = 0;
  let attempts = 0;
  let left = Math.max(maxPassedBytes, 2 * line.length);
  for (let at = line.indexOf(openBrace); at !== -1 && attempts < maxAttempts && left > 0;) {
    const end = isNested(line, at, done) ? at : endOfObject(line, at);
    const found = end === null || end === at ? undefined : parseObject(line, at, end);
    if (found === undefined) {
      left -= (end ?? line.length) - at;
      attempts += 1;
      at = line.indexOf(openBrace, at + 1);
      continue;
    }
    if (at > done) report(sink, { file, from: from + done, to: from + at }, line.subarray(done, at), false);
    sink.record({ file, from: from + at, to: from + found.end, value: found.value });
    done = found.end;
    at = line.indexOf(openBrace, done);
  }
  const rest = line.subarray(done);
  if (rest.length > 0) report(sink, { file, from: from + done, to: from + line.length }, rest, isLast);
}

function report(
  sink: RecordSink,
  range: Parameters<RecordSink["damage"]>[0],
  bytes: Buffer,
  isLast: boolean,
): void {
  const reason = isLast ? "incomplete last line" : bytes.every(isBlank) ? "NUL bytes" : "invalid JSON";
  sink.damage(range, reason);
}

/** An object behind a colon, a comma or a bracket is part of a torn record, not a record. */
function isNested(line: Buffer, at: number, done: number): boolean {
  if (at === done) return false;
  const before = line[at - 1];
  return before === 0x3a || before === 0x2c || before === 0x5b || before === 0x20 || before === 0x22;
}

/** Where the object ends that begins here; null when it is not whole. */
function endOfObject(line: Buffer, at: number): number | null {
  let depth = 0;
  let inString = false;
  for (let i = at; i < line.length; i++) {
    const byte = line[i];
    if (inString) {
      if (byte === 0x5c) i += 1;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === openBrace || byte === 0x5b) depth += 1;
    else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    if (depth === 0 && !inString) return i + 1;
  }
  return null;
}

function parseObject(
  line: Buffer,
  at: number,
  end: number,
): { readonly value: object; readonly end: number } | undefined {
  try {
    return { value: JSON.parse(line.toString("utf8", at, end)) as object, end };
  } catch {
    return undefined;
  }
}
