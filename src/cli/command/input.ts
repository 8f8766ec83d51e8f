/** Texts and values from a user: on the command line or on standard input. */
import { readFileSync } from "node:fs";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { deadlineLabel, momentOf } from "../../core/trigger/deadline.ts";

const utf8Hint = "save it as UTF-8, or convert it first: iconv -t UTF-8";

/** The text of an argument; of standard input when there is none or it is a dash. */
export async function readText(given: string | undefined): Promise<string> {
  return given === undefined || given === "-" ? readStandardInput() : given;
}

/** All of standard input, unchanged. Stops reading once it exceeds any content. */
async function readStandardInput(): Promise<string> {
  if (process.stdin.isTTY) {
    process.stderr.write("skein reads the text from the keyboard; Ctrl-D on an empty line ends it\n");
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of standardInput()) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit.contentBytesMax) throw tooLong("the input");
  }
  return decode("the input", Buffer.concat(chunks));
}

async function* standardInput(): AsyncGenerator<Buffer> {
  try {
    yield* process.stdin as AsyncIterable<Buffer>;
  } catch (cause) {
    if (!(cause instanceof Error) || !("syscall" in cause)) throw cause;
    throw new SkeinError("invalid", `standard input cannot be read: ${cause.message}`, {
      hint: "pass the text as an argument, or pipe a file in",
      cause,
    });
  }
}

/** The lines of standard input, each without its line end, as they come. Skips empty ones. */
export async function* readLines(): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of standardInput()) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      yield* lineOf(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
    }
    // The consumer checks the length of a line; this limit keeps an endless line from filling the memory.
    if (rest.length > limit.contentBytesMax) yield* lineOf(rest);
  }
  yield* lineOf(rest);
}

function* lineOf(bytes: Uint8Array): Generator<string> {
  if (bytes.length > limit.contentBytesMax) throw tooLong("a line");
  const text = decode("a line of the input", bytes).replace(/\r$/, "");
  if (text !== "") yield text;
}

const tooLong = (what: string): SkeinError =>
  new SkeinError("invalid", `${what}: longer than ${limit.contentBytesMax} bytes`, {
    hint: "shorten it, or split it over several records",
  });

function decode(what: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new SkeinError("invalid", `${what}: invalid UTF-8`, { hint: utf8Hint, cause });
  }
}

/**
 * Refuses arguments that are not valid UTF-8. Node has replaced unreadable bytes by U+FFFD, so the original
 * bytes are read from the system.
 */
export function checkWords(words: readonly string[]): void {
  if (!words.some((word) => word.includes("\ufffd"))) return;
  let bytes: Uint8Array;
  try {
    bytes = readFileSync("/proc/self/cmdline");
  } catch {
    return;
  }
  decode("the command line", bytes);
}

/** A value: JSON if it parses, or else the text itself. */
export function valueOf(text: string, options: { readonly asText: boolean }): unknown {
  if (options.asText) return text;
  try {
    return parseKept(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

/** Explicit JSON: anything else is refused. */
export function jsonOf(
  what: string,
  text: string,
  hint = `for example '{"page":3}', in single quotes for the shell`,
): unknown {
  try {
    return parseKept(text);
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new SkeinError("invalid", `${what}: invalid JSON: ${quote(text)}`, { hint, cause });
  }
}

/** Refuses numbers that would change when they are parsed. */
function parseKept(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source ?? "";
    const whole = typeof value === "number" && /^-?\d+$/.test(source);
    if ((whole && !Number.isSafeInteger(value)) || value === Infinity || value === -Infinity) {
      throw new SkeinError("invalid", `the number ${quote(source).slice(1, -1)} would lose precision`, {
        hint: "pass it as text: --text, or in quotes within JSON",
      });
    }
    return value;
  });
}

/** `KEY=VALUE` words as an object. */
export function pairsOf(what: string, words: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    words.map((word) => {
      const place = word.indexOf("=");
      if (place > 0) return [word.slice(0, place), word.slice(place + 1)];
      throw new SkeinError("invalid", `${what}: expected KEY=VALUE, got ${quote(word)}`, {
        hint: "for example team=web",
      });
    }),
  );
}

/** Labels to set. A deadline is stored in UTC; without a zone it is in that of the person. */
export function labelsOf(what: string, words: readonly string[]): Readonly<Record<string, string>> {
  const labels = pairsOf(what, words);
  const typed = labels[deadlineLabel] ?? "";
  if (momentOf(typed) === null || typed.endsWith("Z")) return labels;
  // A date alone would be read in UTC.
  const ms = Date.parse(typed.length === 10 ? `${typed}T00:00` : typed);
  return { ...labels, [deadlineLabel]: new Date(ms).toISOString().replace(/(:00)?\.000Z$/, "Z") };
}

export { present } from "../../core/present.ts";
