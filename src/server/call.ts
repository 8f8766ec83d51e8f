/** One call of an operation, as handlers see it, and what they give. */
import { allows, type Scope } from "../core/access-token.ts";
import type { OperationId, ParamsOf } from "../protocol/operations.ts";
import { makeProblem } from "../protocol/problem.ts";
import { Engine } from "../runtime/engine.ts";
import type { Session } from "../runtime/session.ts";
import { ProblemError } from "./problem.ts";

export interface Call {
  /** What is done through it is done by whoever asks, with their key and their expectation. */
  readonly engine: Engine;
  readonly scopes: readonly Scope[];
  /** Of the path: an id, or an ending of one. */
  readonly id: string;
  session(): Promise<Session>;
  /** The caller's own key, where the library's call takes one. */
  readonly keyed: { readonly key?: string };
  /** The body, where it is bytes. */
  readonly bytes: () => AsyncIterable<Uint8Array>;
}

/** What comes back is JSON, nothing, or bytes in pieces, as the table says. */
export type Handler<K extends OperationId> = (call: Call, params: ParamsOf<K>) => Promise<unknown>;
/** One for each operation: leaving one out does not compile. */
export type Handlers<K extends OperationId = OperationId> = { readonly [I in K]: Handler<I> };

/** Only some engines can open other stores: that is no fault, and does not pass. */
export function needStores({ engine }: Call): void {
  if (Engine.contextOf(engine).openStore !== undefined) return;
  throw new ProblemError(
    makeProblem("refused", "this server opens no other stores", { hint: "export the session instead" }),
  );
}

/** Some things take more than the operation as such. */
export function need({ scopes }: Call, scope: Scope, what: string): void {
  if (allows(scopes, scope)) return;
  const hint = `this token has ${scopes.join(", ")}; "skein tokens add --scope ${scope}" makes another`;
  throw new ProblemError(makeProblem("forbidden", `${what} takes the scope "${scope}"`, { hint }));
}
