/** The state of a session at its head. */
import type { SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Deps } from "../deps.ts";
import { headOf } from "./position.ts";

/** The state at the head, also of a session that this store only has a copy of. */
export async function stateNow({ store, states }: Deps, session: SessionId): Promise<State> {
  return states.at(session, (await headOf({ store }, session)).seq);
}
