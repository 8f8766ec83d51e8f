/** How many sessions are run at once, and of what: what the worker was told, policies, and agents say. */
import { limitsOf } from "../../core/policy.ts";
import type { RunLimit } from "../../core/schedule.ts";
import { agentLimits } from "../agents.ts";
import type { Context } from "../engine-context.ts";
import { followedPolicies } from "../policies.ts";

/** Gives all that hold now. They are read again when something was written to the workspace's log. */
export function makeLimits(context: Context, own: readonly RunLimit[]): () => Promise<readonly RunLimit[]> {
  const { store } = context;
  let seenSeq = -1;
  let limits: readonly RunLimit[] = own;
  return async () => {
    const seq = (await store.head(store.workspace))?.seq ?? 0;
    if (seq === seenSeq) return limits;
    const policies = limitsOf(await followedPolicies(context));
    limits = [...own, ...policies, ...(await agentLimits(context))];
    seenSeq = seq;
    return limits;
  };
}
