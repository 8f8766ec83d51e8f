/** One call of an operation, as handlers see it, and what they give. */
import { allows, type Scope } from "../../core/workspace/access-token.ts";
import { SkeinError } from "../../core/error.ts";
import type { OperationId, ParamsOf } from "../../call/operations.ts";
import { makeProblem } from "../../protocol/problem.ts";
import type { CarriedPart } from "../../runtime/branch/carry-over.ts";
import { Engine } from "../../runtime/engine/engine.ts";
import { isPrivateHost } from "../../platform/outbound.ts";
import { Session } from "../../runtime/engine/session.ts";
import { ProblemError } from "./problem.ts";

export interface Call {
  /** What is done through it is done by whoever asks, with their key and their expectation. */
  readonly engine: Engine;
  readonly scopes: readonly Scope[];
  /** Of the path: an id, or an ending of one. */
  readonly id: string;
  session(): Promise<Session>;
  /** Whether whoever asks may name other stores, which are then opened with what the server has. */
  readonly otherStores: boolean;
  /** Whether hooks may be at private addresses. */
  readonly privateHooks: boolean;
  /** The caller's own key, where the library's call takes one. */
  readonly keyed: { readonly key?: string };
  /** Aborted when nobody is there any more to be answered: for what only costs then. */
  readonly gone: () => AbortSignal;
  /** The body, where it is bytes. */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/** What comes back is JSON, nothing, or bytes in pieces, as the table says. */
export type Handler<K extends OperationId> = (call: Call, params: ParamsOf<K>) => Promise<unknown>;
/** One for each operation: leaving one out does not compile. */
export type Handlers<K extends OperationId = OperationId> = { readonly [I in K]: Handler<I> };

const elsewhere = "this server opens no other stores for those who ask it";
const elsewhereHint =
  'whoever runs it may allow it: "skein serve --other-stores"; or export the session, and import it there';

/**
 * A store that somebody names is opened by the server, as the user that it runs as and with its credentials:
 * that is for whoever runs it to allow.
 */
export function needAllowed({ otherStores }: Call, field: string): void {
  if (otherStores) return;
  throw new ProblemError(makeProblem("forbidden", elsewhere, { hint: elsewhereHint, field }));
}

/** Every call would be refused later: it is said at once, as far as the address itself tells. */
export function needPublic({ privateHooks }: Call, url: string): void {
  const host = URL.parse(url)?.hostname ?? "";
  if (privateHooks || !(host === "localhost" || isPrivateHost(host))) return;
  throw new ProblemError(
    makeProblem("refused", `${host} is an address of this machine or of a private network`, {
      hint: 'whoever runs the server may allow it: "skein serve --allow-private"',
      field: "url",
    }),
  );
}

/** Only some engines can open other stores: that is no fault, and does not pass. */
export function needStores(call: Call, field: string): void {
  needAllowed(call, field);
  const { engine } = call;
  if (Engine.depsOf(engine).openStore !== undefined) return;
  throw new ProblemError(
    makeProblem("refused", "this server opens no other stores", { hint: "export the session instead" }),
  );
}

/** The session, for what may go to another store by what its log says. */
export async function sessionKept(call: Call): Promise<Session> {
  const session = await call.session();
  if (call.otherStores) return session;
  const openStore = async (): Promise<never> => {
    throw new SkeinError("refused", elsewhere, { hint: elsewhereHint });
  };
  return new Session({ ...Engine.depsOf(call.engine), openStore }, session.id);
}

/** Some things take more than the operation as such. */
export function need({ scopes }: Pick<Call, "scopes">, scope: Scope, what: string): void {
  if (allows(scopes, scope)) return;
  const hint = `this token has ${scopes.join(", ")}; "skein tokens add --scope ${scope}" makes another`;
  throw new ProblemError(makeProblem("forbidden", `${what} takes the scope "${scope}"`, { hint }));
}

/** The answer of a call that made a session. Names of what came along are for those who may read. */
export function madeBy({ scopes }: Call, { id, carriedOver }: Session): object {
  if (carriedOver === null) return { session: id };
  const shown = (part: CarriedPart): CarriedPart =>
    allows(scopes, "read") ? part : { ...part, names: [String(part.names.length)] };
  const { from, moved, left } = carriedOver;
  return { session: id, carriedOver: { from, moved: moved.map(shown), left: left.map(shown) } };
}
