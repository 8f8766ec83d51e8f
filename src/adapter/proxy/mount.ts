/**
 * The routes of the recording proxy: `/proxy/PROVIDER/…`. The Skein token stands in the path
 * (`/proxy/anthropic/skn_…/v1/messages`) or in the header `x-skein-token`, and is not forwarded; the
 * provider's key passes through and is never stored. Upstreams are fixed by the operator.
 */
import { hash } from "node:crypto";
import { withoutTokens } from "../../core/workspace/access-token.ts";
import { refusalOf } from "./refusal.ts";
import type { Mount, MountRequest } from "../../server/http/mount.ts";
import type { Budget } from "../../core/budget/commands.ts";
import { anthropic } from "./anthropic.ts";
import { forward } from "./forward.ts";
import { google } from "./google.ts";
import { openai } from "./openai.ts";
import type { ModelLookup } from "./money.ts";
import { BudgetReached, makeRecorder, type RecordedCall, type Recorder } from "./recorder.ts";
import type { WireAnswerReader, ProxyRefusal, ProviderWire } from "./wire.ts";

export interface ProxyOptions {
  readonly models: ModelLookup;
  readonly clock: () => number;
  /** Other addresses of providers, by name. A name that is none of the usual ones speaks OpenAI's API. */
  readonly upstreams?: Readonly<Record<string, string>>;
  /** The limit of each new conversation. */
  readonly budget?: Budget | undefined;
  /** What happens when a call cannot be recorded. Default: it is refused. */
  readonly unrecorded?: "refuse" | "forward";
  /** Receives errors of recording after the client has its answer. */
  readonly trouble?: (error: unknown) => void;
}

const wires: readonly ProviderWire[] = [anthropic, openai, google];
/** The largest request that the providers take. */
const bodyBytesMax = 33_554_432;

/** The mount `/proxy`. */
export function proxyMount(options: ProxyOptions): Mount {
  return {
    prefix: "/proxy",
    cors: {
      headers: ["x-api-key", "x-skein-token", "anthropic-version", "anthropic-beta", "x-goog-api-key"],
    },
    load: async () => {
      const recorder = makeRecorder(options);
      const table = wireTable(options.upstreams ?? {});
      return (given) => answer(given, { options, recorder, table });
    },
  };
}

type WireTable = ReadonlyMap<string, { readonly wire: ProviderWire; readonly upstream: string }>;

function wireTable(upstreams: Readonly<Record<string, string>>): WireTable {
  const usual = wires.map((wire) => [wire.provider, { wire, upstream: wire.upstream }] as const);
  const given = Object.entries(upstreams).map(([provider, upstream]) => {
    const known = wires.find((wire) => wire.provider === provider);
    return [provider, { wire: known ?? { ...openai, provider }, upstream }] as const;
  });
  return new Map([...usual, ...given]);
}

interface ProxyDeps {
  readonly options: ProxyOptions;
  readonly recorder: Recorder;
  readonly table: WireTable;
}

async function answer(given: MountRequest, proxying: ProxyDeps): Promise<void> {
  const [, provider = "", ...rest] = given.path.split("/");
  const found = proxying.table.get(provider);
  if (found === undefined) {
    const names = [...proxying.table.keys()].join(", ");
    return given.send(404, {
      error: { message: `proxy: expected one of ${names}, got ${withoutTokens(provider).slice(0, 60)}` },
    });
  }
  const { wire, upstream } = found;
  const [first = ""] = rest;
  const inPath = first.startsWith("skn_") ? first : undefined;
  const path = `/${(inPath === undefined ? rest : rest.slice(1)).join("/")}`;
  const header = given.request.headers["x-skein-token"];
  const token = inPath ?? (typeof header === "string" ? header : undefined);
  try {
    // A provider's key in Authorization is not Skein's token.
    const caller = await given.authorize({ scope: "write", token: token ?? "none" });
    const url = target(upstream, path, given.request.url ?? "");
    if (url === null) return refuse(given, wire, "invalid", "the path leads out of the provider's API");
    const misplaced = placeOfToken(given, url);
    if (misplaced !== null) return refuse(given, wire, "invalid", `${misplaced}: ${misplacedText}`);
    // Keyed with the token, so that a digest in the log does not help to guess what was said.
    const owner = hash("sha256", `skein proxy\n${caller.tenant}\n${token ?? ""}`, "hex");
    await pass(given, { ...proxying, wire, url, path, caller, owner });
  } catch (error) {
    const problem = given.problemOf(error);
    const why = refusalOf(problem.code);
    const hint = why === "unauthorized" ? tokenHint : problem.hint;
    refuse(given, wire, why, hint === undefined ? problem.detail : `${problem.detail} (${hint})`);
  }
}

interface PassedRequest extends ProxyDeps {
  readonly wire: ProviderWire;
  readonly url: URL;
  readonly path: string;
  readonly caller: Awaited<ReturnType<MountRequest["authorize"]>>;
  readonly owner: string;
}

const tokenHint = "put the token into the base URL, /proxy/NAME/skn_…, or into the header x-skein-token";
const misplacedText = "expected the provider's key, got a Skein token, which belongs in the path";

/** Where a Skein token stands that would reach the provider. */
function placeOfToken({ request }: MountRequest, { search }: URL): string | null {
  const found = Object.entries(request.headers).find(
    ([name, value]) => name !== "x-skein-token" && /\bskn_[A-Za-z0-9_-]{8}/.test(String(value)),
  );
  return found?.[0] ?? (/\bskn_[A-Za-z0-9_-]{8}/.test(search) ? "query" : null);
}

async function pass(given: MountRequest, passing: PassedRequest): Promise<void> {
  const { request, response, gone } = given;
  const { wire, url, path, options } = passing;
  given.allowSlowBody();
  const body = await given.readBytes(bodyBytesMax);
  const isCall = request.method === "POST" && wire.isCall(path);
  const expected = isCall ? wire.reader(path) : null;
  const call = expected === null ? null : await begin(given, passing, { body, reader: expected });
  if (call === "answered") return;
  const reader = call === null ? null : expected;
  const forwarding = { url, method: request.method ?? "GET", headers: request.headers, body, reader, gone };
  const began = (status: number): void => call?.began(status);
  const added = given.headers;
  const done = await forward(response, { ...forwarding, added, clock: options.clock, began });
  if (done.status === null && !gone.aborted)
    refuse(given, wire, "unavailable", unreachableText(url, done.error));
  if (call === null || reader === null) return;
  const said = reader.answer();
  const failed =
    done.status !== null && done.status >= 400 ? { kind: errorKind(done.status), message: "" } : null;
  const broken = said.error === null ? null : { kind: "failed", message: said.error };
  const cut =
    said.isWhole || done.status === null ? null : { kind: "dropped", message: "the response is incomplete" };
  // A client may leave as soon as it has the last event.
  const isOver = said.isWhole && said.usage !== null;
  const error = (isOver ? null : done.error) ?? failed ?? broken ?? cut;
  // The client has its answer: what goes wrong now is for the operator.
  await call.finish({ ...done, answer: said, error }).catch((wrong: unknown) => options.trouble?.(wrong));
}

/** Null: forward it unrecorded. */
async function begin(
  given: MountRequest,
  passing: PassedRequest,
  { body, reader }: { readonly body: Buffer; readonly reader: WireAnswerReader },
): Promise<RecordedCall | null | "answered"> {
  const { wire, path, caller, owner, recorder, options } = passing;
  const request = wire.request(path, jsonIn(body));
  if (request === null) {
    refuse(given, wire, "invalid", "the request body is not a JSON object");
    return "answered";
  }
  try {
    const answer = reader.answer.bind(reader);
    return await recorder.begin({ engine: caller.engine, owner, wire, path, body, request, answer });
  } catch (error) {
    if (error instanceof BudgetReached) {
      refuse(given, wire, "budget", error.message);
      return "answered";
    }
    if (options.unrecorded !== "forward") throw error;
    options.trouble?.(error);
    return null;
  }
}

function jsonIn(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8")) as unknown;
  } catch {
    return null;
  }
}

function refuse(
  { response, send }: MountRequest,
  wire: ProviderWire,
  why: ProxyRefusal,
  message: string,
): void {
  if (response.headersSent) return void response.destroy();
  const error = wire.refuse(why, `skein: ${message}`);
  send(error.status, error.body, error.headers);
}

/** Null: the path has parts that a server may resolve to another place. */
function target(upstream: string, path: string, given: string): URL | null {
  if (/(^|\/)\.\.?(\/|;|$)|%2e|%2f|%5c|[\\#]/i.test(path)) return null;
  const mark = given.indexOf("?");
  const base = upstream.endsWith("/") ? upstream.slice(0, -1) : upstream;
  const text = `${base}${path}${mark === -1 ? "" : given.slice(mark)}`;
  return URL.canParse(text) ? new URL(text) : null;
}

const unreachableText = (url: URL, error: { readonly message: string } | null): string =>
  `${url.host} did not answer: ${error?.message ?? "unknown"}`;

function errorKind(status: number): string {
  if (status === 429) return "rate-limited";
  if (status === 401 || status === 403) return "auth";
  return status >= 500 ? "overloaded" : "invalid";
}
