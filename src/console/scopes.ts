/** Whether this login may do something; and if not, why, before it is tried. */
import type { Me } from "../client/connect.ts";
import { operationOf, type OperationId } from "../call/operations.ts";
import { useReading } from "./query-cache.ts";
import { engine } from "./server.ts";

type Scope = Me["scopes"][number];
type Scopes = Pick<Me, "scopes"> | undefined;

/** Undefined: it may. Until the identity is known nothing is disabled: the server refuses where it must. */
export function refusalOf(me: Scopes, needed: readonly Scope[]): string | undefined {
  if (me === undefined || me.scopes.includes("admin")) return undefined;
  const missing = needed.find((scope) => !me.scopes.includes(scope));
  return missing === undefined ? undefined : `This needs the scope ${missing}, which your login lacks.`;
}

/** All of the operations must be allowed. */
export const useRefusal = (...ids: readonly OperationId[]): string | undefined =>
  useScopeRefusal(...ids.map((id) => operationOf(id).scope));

/**
 * For actions that need more than their operation: granting access to the machine, or releasing something
 * held.
 */
export const useScopeRefusal = (...needed: readonly Scope[]): string | undefined =>
  refusalOf(useReading("me", () => engine.me()).value, needed);
