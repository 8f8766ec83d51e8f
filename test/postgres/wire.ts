/**
 * The messages of PostgreSQL's protocol, version 3: a letter, a length of four bytes that counts itself, and
 * the rest. The first message of a client has no letter, nor have its questions about encryption before that.
 */

export interface Message {
  /** Empty for the first message of a client. */
  readonly tag: string;
  readonly body: Buffer;
  /** The whole message, to be passed on as it came. */
  readonly bytes: Buffer;
}

export const sslRequest = 80_877_103;
export const gssRequest = 80_877_104;

/** Cuts what a client sends into messages. */
export function clientMessages(): (chunk: Buffer) => Message[] {
  let started = false;
  return cutter((rest) => {
    if (started) return tagged(rest);
    const length = rest.length < 8 ? Infinity : rest.readInt32BE(0);
    if (rest.length < length) return undefined;
    started = ![sslRequest, gssRequest].includes(rest.readInt32BE(4));
    return { tag: "", body: rest.subarray(4, length), bytes: rest.subarray(0, length) };
  });
}

/** Cuts what a server sends into messages; for `bare` more bytes it answers a question about encryption. */
export function serverMessages(): { cut(chunk: Buffer): Message[]; expectBare(): void } {
  let bare = 0;
  const cut = cutter((rest) => {
    if (bare === 0 || rest.length === 0) return tagged(rest);
    bare -= 1;
    return { tag: "", body: rest.subarray(0, 1), bytes: rest.subarray(0, 1) };
  });
  return { cut, expectBare: () => void (bare += 1) };
}

export function message(tag: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(tag), int32(body.length + 4), body]);
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

/** Text with the zero that ends it. */
export const zeroEnded = (text: string): Buffer => Buffer.from(`${text}\0`);

/** The texts, each ended by a zero, that a body begins with. */
export function textsOf(body: Buffer, count: number): string[] {
  return body.toString("utf8").split("\0", count);
}

function cutter(next: (rest: Buffer) => Message | undefined): (chunk: Buffer) => Message[] {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const messages: Message[] = [];
    for (let found = next(rest); found !== undefined; found = next(rest)) {
      messages.push(found);
      rest = rest.subarray(found.bytes.length);
    }
    return messages;
  };
}

function tagged(rest: Buffer): Message | undefined {
  const length = rest.length < 5 ? Infinity : rest.readInt32BE(1) + 1;
  if (rest.length < length) return undefined;
  return {
    tag: rest.toString("latin1", 0, 1),
    body: rest.subarray(5, length),
    bytes: rest.subarray(0, length),
  };
}
