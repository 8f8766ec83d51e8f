/** Splits bytes into lines, with a limit to the memory that one line may take. */

const newline = 10;

/** Each line without its line end, without empty ones; null for a line that was too long and is dropped. */
export async function* readRpcLines(
  input: AsyncIterable<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<string | null> {
  const decoder = new TextDecoder("utf-8");
  let parts: Uint8Array[] = [];
  let size = 0;
  const take = (): string | null => {
    const isTooLong = size > bytesMax;
    const text = isTooLong ? null : decoder.decode(Buffer.concat(parts)).trim();
    parts = [];
    size = 0;
    return text;
  };
  for await (const chunk of input) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      add(chunk.subarray(from, end));
      from = end + 1;
      const line = take();
      if (line !== "") yield line;
    }
    add(chunk.subarray(from));
  }
  const last = take();
  if (last !== "") yield last;

  function add(bytes: Uint8Array): void {
    size += bytes.length;
    if (size > bytesMax) parts = [];
    else if (bytes.length > 0) parts.push(bytes);
  }
}
