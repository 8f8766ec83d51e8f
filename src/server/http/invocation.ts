/** One call of an operation, as handlers see it, and their results. */
import { allows, type TokenScope } from "../../core/workspace/access-token.ts";
import { SkeinError } from "../../core/error.ts";
import { argumentsOf, type Operation } from "../../call/operation.ts";
import type { OperationId, ParamsOf } from "../../call/operations.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { CarriedPart } from "../../runtime/branch/carry-over.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { isPrivateHost } from "../../platform/outbound.ts";
import type { LocalTranscripts } from "../../transcripts/local-transcripts.ts";
import { Session } from "../../runtime/engine/session.ts";
import { ProblemError } from "./problem.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

export interface OperationCall {
  /** Acts as the caller, with their idempotency key and expected position. */
  readonly engine: Engine;
  readonly scopes: readonly TokenScope[];
  /** From the path: an id or a suffix. */
  readonly id: string;
  session(): Promise<Session>;
  /** True when the caller may name other stores, which the server opens with its own credentials. */
  readonly otherStores: boolean;
  /** True when webhooks may have private addresses. */
  readonly privateHooks: boolean;
  readonly transcripts: LocalTranscripts;
  /** The caller's own key, where the library's call takes one. */
  readonly keyed: { readonly key?: string };
  /** Aborted when the client has disconnected: for work that would only cost then. */
  readonly gone: () => AbortSignal;
  /** The body, for uploads. */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/** Returns JSON, nothing, or bytes in chunks, as the description says. A session stands for its id. */
export type Handler<K extends OperationId = OperationId> = (
  call: OperationCall,
  params: ParamsOf<K>,
) => Promise<unknown>;
/** Only for calls that do more than the library's; `handle` derives all others. */
export type Handlers = { readonly [I in OperationId]?: Handler<I> };

/** Performs a call: by its handler, or as the library's call of the same name. */
export async function handle(
  handler: Handler<never> | undefined,
  operation: Operation,
  call: OperationCall,
  params: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const result = await (handler?.(call, params as never) ?? callLibrary(operation, call, params));
  return result instanceof Session ? madeBy(call, result) : result;
}

async function callLibrary(
  operation: Operation,
  call: OperationCall,
  params: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const handle = operation.of === "engine" ? call.engine : await call.session();
  const methods = handle as unknown as Readonly<
    Record<string, (...given: readonly unknown[]) => Promise<unknown>>
  >;
  return methods[operation.call]?.(...argumentsOf(operation, params, call.keyed));
}

const elsewhere = "access to other stores is disabled on this server";
const elsewhereHint =
  'the operator can allow it: "skein serve --other-stores"; or export the session, and import it there';

/**
 * The server opens a store that a caller names as its own user and with its credentials: the operator must
 * allow that.
 */
export function needAllowed({ otherStores }: OperationCall, field: string): void {
  if (otherStores) return;
  throw new ProblemError(makeProblem("forbidden", elsewhere, { hint: elsewhereHint, field }));
}

/** Every later call would fail: rejected at once, as far as the URL itself tells. */
export function needPublic({ privateHooks }: OperationCall, url: string): void {
  const host = URL.parse(url)?.hostname ?? "";
  if (privateHooks || !(host === "localhost" || isPrivateHost(host))) return;
  throw new ProblemError(
    makeProblem("refused", `${host} is a private address`, {
      hint: 'the operator can allow it: "skein serve --allow-private"',
      field: "url",
    }),
  );
}

/** The session, for calls that may reach another store by its log. */
export async function sessionKept(call: OperationCall): Promise<Session> {
  const session = await call.session();
  if (call.otherStores) return session;
  const openStore = async (): Promise<never> => {
    throw new SkeinError("refused", elsewhere, { hint: elsewhereHint });
  };
  return internalsOf(call.engine).sessionAt(session.id, { openStore });
}

/** Scopes that these parameters need beyond the call's own. */
export function needAlso(
  call: OperationCall,
  { also }: Operation,
  params: Readonly<Record<string, unknown>>,
): void {
  for (const { scope, what, when } of also) if (when === undefined || when(params)) need(call, scope, what);
}

/** Some parameters need a scope beyond the call's own. */
export function need({ scopes }: Pick<OperationCall, "scopes">, scope: TokenScope, what: string): void {
  if (allows(scopes, scope)) return;
  const hint = `the token has ${scopes.join(", ")}; create another: "skein tokens add --scope ${scope}"`;
  throw new ProblemError(makeProblem("forbidden", `${what} requires the scope "${scope}"`, { hint }));
}

/** The answer of a call that made a session. Names of carried parts need the scope read. */
function madeBy({ scopes }: OperationCall, { id, carriedOver }: Session): object {
  if (carriedOver === null) return { session: id };
  const shown = (part: CarriedPart): CarriedPart =>
    allows(scopes, "read") ? part : { ...part, names: [String(part.names.length)] };
  const { from, moved, left } = carriedOver;
  return { session: id, carriedOver: { from, moved: moved.map(shown), left: left.map(shown) } };
}
