/** Connecting to a server: the same engine as in the library, over HTTP. For Node and for browsers. */
import { checkOptions, SkeinError } from "../protocol/library.ts";
import { makeEngine, type RemoteEngine } from "./engine.ts";
import { clientWorld, type Fetch } from "./world.ts";
import { makeWire } from "./wire.ts";
import { trimEndOf } from "../core/text/trim.ts";

export { SkeinError } from "../protocol/library.ts";
export type { Me } from "../protocol/me.ts";
export type { FollowUpdate, FollowOptions, RemoteEngine } from "./engine.ts";
export type { RemoteSession, RemoteView } from "./session.ts";
export type { Fetch } from "./world.ts";
export type {
  FindTranscriptsOptions,
  PreviewEntry,
  TranscriptPreview,
  TranscriptResult,
  TranscriptRow,
  TranscriptsFound,
  TranscriptTool,
  UploadTranscriptOptions,
} from "./transcripts.ts";

/** Options of `connect`. */
export interface ConnectOptions {
  /** `skn_…`, as `skein tokens add` shows it. A logged-in page needs none. */
  readonly token?: string;
  /** Replaces the global one: for a proxy, or your own certificates. */
  readonly fetch?: Fetch;
}

/** Rejects if no server answers at the URL, or it rejects the token. */
export async function connect(url: string, options: ConnectOptions = {}): Promise<RemoteEngine> {
  const engine = engineAt(url, options);
  try {
    await engine.workers();
  } catch (error) {
    // A token that may only write is valid too.
    if (!isScope(error)) throw error;
  }
  return engine;
}

/** The same without a request to the server. */
export function engineAt(url: string, options: ConnectOptions = {}): RemoteEngine {
  checkOptions("connect", options, ["token", "fetch"]);
  const { token } = options;
  if (token !== undefined && !/^[!-~]+$/.test(token)) {
    throw new SkeinError("invalid", "connect: token: expected a Skein token", {
      hint: "a token begins with skn_",
    });
  }
  return makeEngine(makeWire({ url: baseOf(url), token, world: clientWorld(options.fetch) }));
}

function baseOf(url: string): string {
  const base = URL.canParse(url) ? new URL(url) : null;
  if (base === null || !["http:", "https:"].includes(base.protocol) || base.username !== "") {
    throw new SkeinError("invalid", "connect: url: expected an http:// or https:// URL", {
      hint: 'for example "http://127.0.0.1:7717"',
    });
  }
  return `${base.origin}${trimEndOf(base.pathname, "/")}`;
}

const isScope = (error: unknown): boolean =>
  error instanceof SkeinError &&
  (error.cause as { readonly code?: unknown } | undefined)?.code === "forbidden";
