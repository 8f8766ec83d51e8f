/**
 * Serves the built files of the console and of the docs. Every view of the console is its index, so that it
 * can be reloaded and shared. Neither needs a token: the console asks for its data itself, and the docs hold
 * nothing of a store.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { endWith, type Headers } from "./reply.ts";

export interface PageFile {
  /** As in `content-type`. */
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Changes with the bytes; without quotes. */
  readonly etag: string;
  /** Its name changes with its bytes, so that it may be cached for ever. */
  readonly immutable: boolean;
}

/** By path: `/index.html`, `/assets/app-1a2b3c.js`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The views of the page, with everything below them. */
const views = /^\/(?:(?:s|search|agents|triggers|workers|cost|memory|import|settings)(?:\/.*)?)?$/;
const isSmall = ({ bytes }: PageFile): boolean => bytes.length < 1_024;
const isPacked = ({ type }: PageFile): boolean => !/^text\/|json|javascript|xml|wasm/.test(type);

/** The file at a path; undefined when it does not belong to the page. */
export const pageFileAt = (files: PageFiles, path: string): PageFile | undefined =>
  files.get(path) ?? (views.test(path) ? files.get("/index.html") : undefined);

/**
 * A browser at an unknown path gets the page, which reports it; programs get a 404. Paths below /v1 and
 * /docs, and the metrics, never belong to the page.
 */
export const isVisit = ({ method, headers }: IncomingMessage, path: string): boolean =>
  method === "GET" &&
  /\btext\/html\b/.test(headers.accept ?? "") &&
  !/^\/(?:v1|metrics|docs)(?:\/|$)/.test(path);

const docsPath = "/docs";

export const isDocs = (path: string): boolean => path === docsPath || path.startsWith(`${docsPath}/`);

/** A file of the docs: `/docs/tools` and `/docs/tools.html` are one page. */
export function docsFileAt(files: PageFiles, path: string): PageFile | undefined {
  const inside = path.slice(docsPath.length);
  return files.get(inside) ?? files.get(inside === "/" ? "/index.html" : `${inside}.html`);
}

type Encoding = "br" | "gzip" | "identity";

export type SendPageFile = (
  request: IncomingMessage,
  response: ServerResponse,
  given: { readonly file: PageFile; readonly headers: Headers; readonly status?: number },
) => Promise<void>;

/** Compresses each file once, at its first request. */
export function makePageSender(): SendPageFile {
  const made = new Map<PageFile, Map<Encoding, Promise<Uint8Array>>>();
  const bytesAs = (file: PageFile, encoding: Encoding): Promise<Uint8Array> => {
    const forms = made.get(file) ?? new Map<Encoding, Promise<Uint8Array>>();
    made.set(file, forms);
    const bytes = forms.get(encoding) ?? compress(file.bytes, encoding);
    forms.set(encoding, bytes);
    return bytes;
  };
  return async (request, response, { file, headers, status = 200 }) => {
    const etag = `W/"${file.etag}"`;
    const kept = {
      ...headers,
      etag,
      vary: [headers["vary"], "Accept-Encoding"].filter((one) => one !== undefined).join(", "),
      "cache-control": file.immutable ? "public, max-age=31536000, immutable" : "no-cache",
    };
    if (isKnown(request.headers["if-none-match"], etag)) {
      response.writeHead(304, kept).end();
      return;
    }
    const encoding = isSmall(file) || isPacked(file) ? "identity" : encodingFor(request);
    const bytes = encoding === "identity" ? file.bytes : await bytesAs(file, encoding);
    response.writeHead(status, {
      ...kept,
      "content-type": file.type,
      "content-length": bytes.length,
      ...(encoding === "identity" ? {} : { "content-encoding": encoding }),
    });
    endWith(response, bytes);
  };
}

/** Fast rather than smallest: a client waits for it. */
const compress = (bytes: Uint8Array, encoding: Encoding): Promise<Uint8Array> =>
  encoding === "br"
    ? promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
    : promisify(gzip)(bytes);

/** The smallest encoding that the browser accepts. */
function encodingFor({ headers }: IncomingMessage): Encoding {
  const given = headers["accept-encoding"];
  const taken = (Array.isArray(given) ? given.join(",") : (given ?? ""))
    .split(",")
    .map((one) => one.trim().toLowerCase())
    .filter((one) => !/;\s*q=0(?:\.0+)?$/.test(one))
    .map((one) => one.split(";")[0]?.trim());
  return (["br", "gzip"] as const).find((encoding) => taken.includes(encoding)) ?? "identity";
}

function isKnown(header: string | undefined, etag: string): boolean {
  const bare = (one: string): string => one.trim().replace(/^W\//, "");
  return header?.split(",").some((one) => one.trim() === "*" || bare(one) === bare(etag)) ?? false;
}
