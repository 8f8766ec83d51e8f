/**
 * Giving out the console: the files of a page, as they were built. Whatever address belongs to the page gives
 * its index, so that every view can be reloaded and shared. Nobody needs a token for them: all that is shown
 * is asked for by the page itself.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { endWith, type Headers } from "./reply.ts";

export interface PageFile {
  /** As in `content-type`. */
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Another one for other bytes; without quotes. */
  readonly etag: string;
  /** Its name changes with its bytes, so that it may be kept for ever. */
  readonly immutable: boolean;
}

/** By path: `/index.html`, `/assets/app-1a2b3c.js`. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The views of the page; what is below them is theirs. */
const views = /^\/(?:(?:s|search|agents|triggers|workers|cost|memory|settings)(?:\/.*)?)?$/;
const isSmall = ({ bytes }: PageFile): boolean => bytes.length < 1_024;
const isPacked = ({ type }: PageFile): boolean => !/^text\/|json|javascript|xml|wasm/.test(type);

/** What stands at a path; undefined when it is none of the page's. */
export const pageFileAt = (files: PageFiles, path: string): PageFile | undefined =>
  files.get(path) ?? (views.test(path) ? files.get("/index.html") : undefined);

/**
 * Whoever goes to an address with a browser sees the page, which says that nothing is there; programs are
 * told so as ever. What is below /v1, and the metrics, are never the page's.
 */
export const isVisit = ({ method, headers }: IncomingMessage, path: string): boolean =>
  method === "GET" && /\btext\/html\b/.test(headers.accept ?? "") && !/^\/(?:v1|metrics)(?:\/|$)/.test(path);

type Encoding = "br" | "gzip" | "identity";

export type SendPageFile = (
  request: IncomingMessage,
  response: ServerResponse,
  given: { readonly file: PageFile; readonly headers: Headers },
) => Promise<void>;

/** Each file is made smaller once, when somebody first asks for it. */
export function makePageSender(): SendPageFile {
  const made = new Map<PageFile, Map<Encoding, Promise<Uint8Array>>>();
  const bytesAs = (file: PageFile, encoding: Encoding): Promise<Uint8Array> => {
    const forms = made.get(file) ?? new Map<Encoding, Promise<Uint8Array>>();
    made.set(file, forms);
    const bytes = forms.get(encoding) ?? compress(file.bytes, encoding);
    forms.set(encoding, bytes);
    return bytes;
  };
  return async (request, response, { file, headers }) => {
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
    response.writeHead(200, {
      ...kept,
      "content-type": file.type,
      "content-length": bytes.length,
      ...(encoding === "identity" ? {} : { "content-encoding": encoding }),
    });
    endWith(response, bytes);
  };
}

/** Quick rather than smallest: somebody waits for it. */
const compress = (bytes: Uint8Array, encoding: Encoding): Promise<Uint8Array> =>
  encoding === "br"
    ? promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } })
    : promisify(gzip)(bytes);

/** Of what the browser takes, the smallest. */
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
