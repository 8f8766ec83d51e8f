/** The rights of one MCP caller, and the engine that acts for them. */
import { allows, type TokenScope } from "../../core/workspace/access-token.ts";
import type { SessionId } from "../../core/ids.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import { isReused } from "../../runtime/log/same-change.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { ProblemError } from "../../server/http/problem.ts";

export interface McpAccess {
  /** Acts as the caller. */
  readonly engine: Engine;
  readonly scopes: readonly TokenScope[];
  /** The only session that the caller has access to; null: all. */
  readonly session: SessionId | null;
  /** The public form of any error; unexpected ones go to the operator. */
  readonly problemOf: (error: unknown) => Problem;
}

export const may = ({ scopes }: Pick<McpAccess, "scopes">, scope: TokenScope): boolean =>
  allows(scopes, scope);

/** Throws unless the caller has a scope. */
export function needScope(access: Pick<McpAccess, "scopes">, scope: TokenScope, what: string): void {
  if (may(access, scope)) return;
  throw forbidden(
    `${what} requires the scope "${scope}"`,
    `this connection has ${access.scopes.join(", ") || "none"}; see docs/mcp.md`,
  );
}

/** The named session. A caller with one session gets the same error for all others, existing or not. */
export async function sessionOf(access: McpAccess, name: string, engine = access.engine): Promise<Session> {
  const { session: only } = access;
  if (only !== null && name !== only)
    throw forbidden(`the token is valid only for session ${only}`, "name that session by its whole id");
  return engine.session(name);
}

/** For calls on the whole workspace. */
export function needWorkspace({ session }: McpAccess): void {
  if (session === null) return;
  throw forbidden(`the token is valid only for session ${session}`, "use a token for all sessions");
}

/** A session that came from elsewhere has bindings and rules that its sender chose. */
export async function needOwn(access: McpAccess, session: Session): Promise<void> {
  if ((await internalsOf(access.engine).store.head(session.id))?.copy === true)
    needScope(access, "operate", "continuing an imported copy");
}

/** How a call that changes something is recognized when it is repeated. */
export interface KeyedCall {
  readonly engine: Engine;
  /** For calls of the library that take a key. */
  readonly own: { readonly key?: string };
}

/** `takesKey`: the library's call keeps the key in the session's log, and compares the repeated change. */
export function keyed(
  { engine }: McpAccess,
  tool: string,
  args: { readonly key?: string | undefined },
  { takesKey = false }: { readonly takesKey?: boolean } = {},
): KeyedCall {
  const { key } = args;
  if (key === undefined) return { engine, own: {} };
  const { world, actor, forRequest } = internalsOf(engine);
  if (takesKey) return { engine: forRequest({ same: true }), own: { key } };
  const digest = world.digest("", `mcp\n${actor}\n${tool}\n${JSON.stringify(sorted(args))}`);
  return { engine: forRequest({ key: digest }), own: {} };
}

/** The same arguments in another order are the same call. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, one]) => [name, sorted(one)]));
};

/** The error for the caller: a used key is theirs, under the name that it has here. */
export function problemIn(access: McpAccess, error: unknown): Problem {
  if (!isReused(error)) return access.problemOf(error);
  return makeProblem("conflict", "key: it was used for another change", {
    hint: "use a new key for each change",
    field: "key",
  });
}

const forbidden = (detail: string, hint: string): ProblemError =>
  new ProblemError(makeProblem("forbidden", detail, { hint }));
