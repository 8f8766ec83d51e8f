/** How many sessions are run at once, and of what: what the worker was told, policies, and agents say. */
import { limitsOf } from "../../core/policy.ts";
import type { RunLimit } from "../../core/schedule.ts";
import { agentLimits } from "../agents.ts";
import type { Context } from "../engine-context.ts";
import { workspaceHead } from "../noted.ts";
import { followedPolicies } from "../policies.ts";

/** Gives all that hold now. They are read again when something was written to the workspace's log. */
export function makeLimits(context: Context, own: readonly RunLimit[]): () => Promise<readonly RunLimit[]> {
  const { store } = context;
  let seen = "";
  let limits: readonly RunLimit[] = own;
  return async () => {
    const { seq, hash } = await workspaceHead(store);
    if (`${seq} ${hash}` === seen) return limits;
    const policies = limitsOf(await followedPolicies(context));
    limits = [...own, ...policies, ...(await agentLimits(context))];
    seen = `${seq} ${hash}`;
    return limits;
  };
}
