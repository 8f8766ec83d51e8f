/** Keeps the head and the tail of an output of any length. */

export interface Capture {
  add(bytes: Uint8Array): void;
  /** The kept text, with a line about the omitted middle. */
  text(): string;
}

export function makeCapture(headBytesMax: number, tailBytesMax: number): Capture {
  const head: Uint8Array[] = [];
  let [tail, headBytes, dropped] = [Buffer.alloc(0), 0, 0];
  return {
    add(bytes) {
      const taken = bytes.subarray(0, headBytesMax - headBytes);
      // A copy, because the caller may reuse the memory.
      if (taken.length > 0) head.push(Buffer.from(taken));
      headBytes += taken.length;
      const rest = bytes.subarray(taken.length);
      const joined = rest.length === 0 ? tail : Buffer.concat([tail, rest.subarray(-tailBytesMax)]);
      dropped += rest.length - Math.min(rest.length, tailBytesMax);
      dropped += Math.max(0, joined.length - tailBytesMax);
      tail = joined.length > tailBytesMax ? joined.subarray(-tailBytesMax) : joined;
    },
    text() {
      if (dropped === 0) return decode(Buffer.concat([...head, tail]), false);
      const first = decode(Buffer.concat(head), true);
      // A tail may begin within a character.
      const start = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
      return `${first}\n[… ${dropped} bytes left out …]\n${decode(tail.subarray(Math.max(0, start)), false)}`;
    },
  };
}

const decode = (bytes: Uint8Array, isCut: boolean): string =>
  new TextDecoder("utf-8").decode(bytes, { stream: isCut });
