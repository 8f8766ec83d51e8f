/** Reads a request: its body within limits, as JSON, and its parameters as the table defines them. */
import { isAscii, isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { complaintAbout, writtenPath } from "../../core/text/shape.ts";
import type { Operation } from "../../call/operation.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { decodeQuery } from "../../protocol/query.ts";
import { ProblemError } from "./problem.ts";

const fail = (...given: Parameters<typeof makeProblem>): never => {
  throw new ProblemError(makeProblem(...given));
};

/** The body as a text; empty when there is none. */
export async function readText(request: IncomingMessage): Promise<string> {
  const { headers } = request;
  if (headers["content-length"] === "0") return "";
  if (headers["content-length"] === undefined && headers["transfer-encoding"] === undefined) return "";
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") {
    fail("wrong-type", "the request body is not application/json", {
      hint: "send Content-Type: application/json",
    });
  }
  const charset = charsetIn(headers["content-type"] ?? "");
  if (!charsets.includes(charset)) {
    const hint = "send it in UTF-8";
    fail("wrong-type", `charset ${quote(charset)} is not supported`, { hint });
  }
  return decode(await readBytesUpTo(request, limit.requestBodyBytesMax));
}

/** Accepted charsets of a text that is read as UTF-8. */
const charsets = ["utf-8", "utf8", "us-ascii"];

/** Most name none, and JSON is UTF-8. */
const charsetIn = (type: string): string =>
  /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(type)?.[1]?.toLowerCase() ?? "utf-8";

/** The body as a stream, within the limit of blobs. */
export async function* readBytes(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  checkPlain(request);
  const max = limit.blobBytesMax;
  if (Number(request.headers["content-length"] ?? 0) > max)
    fail("too-large", `the request body: expected at most ${max} bytes`);
  let bytes = 0;
  for await (const chunk of piecesOf(request)) {
    const piece = chunk as Buffer;
    bytes += piece.length;
    if (bytes > max) fail("too-large", `the request body: expected at most ${max} bytes`);
    yield piece;
  }
}

/** The whole body, of any type, up to a length. */
export async function readBytesUpTo(request: IncomingMessage, max: number): Promise<Buffer> {
  checkPlain(request);
  if (Number(request.headers["content-length"] ?? 0) > max)
    fail("too-large", `the request body: expected at most ${max} bytes`);
  const chunks = await gather(request, max);
  if (chunks === null) fail("too-large", `the request body: expected at most ${max} bytes`);
  return chunks?.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks ?? []);
}

/** All chunks; null when they are too many, and the rest is ignored. An iterator would be slow. */
function gather(request: IncomingMessage, max: number): Promise<Buffer[] | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    // The listeners go with the request: removing each would cost time.
    let isOver = false;
    const hear = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= max) return void chunks.push(chunk);
      request.off("data", hear);
      end(null);
    };
    const end = (some: Buffer[] | null): void => {
      isOver = true;
      resolve(some);
    };
    const cut = (): void => {
      if (!isOver) reject(new ProblemError(makeProblem("invalid", "the request body was cut off")));
    };
    request
      .on("data", hear)
      .on("end", () => end(chunks))
      .on("close", cut)
      .on("error", cut);
  });
}

/** Leaving it keeps the connection, so that the response can still be sent. */
const piecesOf = (request: IncomingMessage): AsyncIterable<unknown> =>
  request.iterator({ destroyOnReturn: false });

function checkPlain({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding === "identity") return;
  fail("wrong-type", `the request body: Content-Encoding ${quote(encoding)} is not supported`, {
    hint: "send it without Content-Encoding",
  });
}

/** Invalid UTF-8 is rejected, not repaired. */
function decode(bytes: Buffer): string {
  if (isAscii(bytes)) return bytes.toString("latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : fail("invalid", "the request body is not valid UTF-8");
}

/** The parameters of an operation, validated against the table. */
export function readParams(
  operation: Operation,
  query: URLSearchParams,
  text: string,
): Readonly<Record<string, unknown>> {
  const isJson = operation.takes === "json";
  if (isJson && query.size > 0) {
    const [name = ""] = query.keys();
    fail("invalid", `${quote(name)}: pass parameters in the JSON body, not in the URL`, { field: name });
  }
  const given = isJson ? parse(text) : decodeQuery(operation, query);
  checkValue(given, [], 1);
  const checked = operation.params.safeParse(given);
  if (checked.success) return checked.data;
  const { path, message, hint } = complaintAbout(operation.params, given);
  return fail("invalid", `${operation.call}: ${message}`, { hint, field: writtenPath(path) });
}

function parse(text: string): unknown {
  if (text === "") return {};
  let value: unknown;
  try {
    value = JSON.parse(text) as unknown;
  } catch (error) {
    fail("invalid", `the request body is not valid JSON: ${(error as Error).message.slice(0, 200)}`, {
      field: "",
    });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  return fail("invalid", "the request body: expected a JSON object", { field: "" });
}

/** Parameters whose field names the caller chooses. */
const named: readonly unknown[] = ["labels", "set"];

/** Storable JSON: not too deep, with texts that every store can hold. */
function checkValue(value: unknown, path: readonly PropertyKey[], depth: number): void {
  if (typeof value === "string") return checkText(value, path);
  if (typeof value !== "object" || value === null) return;
  if (depth > limit.jsonDepthMax) {
    failAt(path, `nested deeper than ${limit.jsonDepthMax} levels`);
  }
  if (Array.isArray(value)) {
    for (const [place, inner] of value.entries()) checkValue(inner, [...path, place], depth + 1);
    return;
  }
  for (const [name, inner] of Object.entries(value)) {
    checkText(name, path);
    // It would be ignored, and a filter with it.
    if (name === "__proto__" && named.includes(path.at(-1)))
      failAt(path, `the key "__proto__" is not allowed`);
    checkValue(inner, [...path, name], depth + 1);
  }
}

function checkText(text: string, path: readonly PropertyKey[]): void {
  if (text.isWellFormed() && !text.includes("\0")) return;
  failAt(path, "expected text without lone surrogates and NUL characters");
}

function failAt(path: readonly PropertyKey[], message: string): never {
  const field = writtenPath(path);
  return fail("invalid", `${field === "" ? "the request body" : field}: ${message}`, { field });
}
