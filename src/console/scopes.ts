/** Whether this login may do something; and where it may not, why, before it is tried. */
import type { Me } from "../client/connect.ts";
import { operationOf, type OperationId } from "../call/operations.ts";
import { useReading } from "./query-cache.ts";
import { engine } from "./server.ts";

type Scope = Me["scopes"][number];
type Scopes = Pick<Me, "scopes"> | undefined;

/** Undefined: it may. Until it is known who asks, nothing is held back: the server says no where it must. */
export function refusalOf(me: Scopes, needed: readonly Scope[]): string | undefined {
  if (me === undefined || me.scopes.includes("admin")) return undefined;
  const missing = needed.find((scope) => !me.scopes.includes(scope));
  return missing === undefined ? undefined : `This login may not do that: it needs the scope ${missing}.`;
}

/** All of the operations have to be allowed. */
export const useRefusal = (...ids: readonly OperationId[]): string | undefined =>
  useScopeRefusal(...ids.map((id) => operationOf(id).scope));

/** For what takes more than its operation does: what hands out the machine, or lets through what was held. */
export const useScopeRefusal = (...needed: readonly Scope[]): string | undefined =>
  refusalOf(useReading("me", () => engine.me()).value, needed);
