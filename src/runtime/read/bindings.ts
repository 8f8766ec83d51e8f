/** The resource bindings of a session, with their addresses. */
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { StoredBinding } from "../../tool/port.ts";
import { readContent } from "./content.ts";
import type { Deps } from "../deps.ts";

/** The bindings in the log; one whose content was erased is unusable until it is bound again. */
export async function readBindings(
  { store }: Deps,
  session: SessionId,
  { standing }: State,
): Promise<readonly StoredBinding[]> {
  const bound: StoredBinding[] = [];
  for (const [name, { kind, mode, seq }] of standing.bindings.entries()) {
    const content = await readContent(store, session, seq);
    if (content !== undefined) bound.push({ ...(content as Omit<StoredBinding, "name">), name, kind, mode });
  }
  return bound;
}
