/** Limits of concurrent sessions, from the worker's options, policies, and agents. */
import { limitsOf } from "../../core/govern/policy.ts";
import type { RunLimit } from "../../core/trigger/schedule.ts";
import { agentLimits } from "../workspace/agents.ts";
import type { Deps } from "../deps.ts";
import { followedPolicies } from "../workspace/policies.ts";

/** Returns all current limits. They are read again after a write to the workspace's log. */
export function makeLimits(deps: Deps, own: readonly RunLimit[]): () => Promise<readonly RunLimit[]> {
  let seen = "";
  let limits: readonly RunLimit[] = own;
  return async () => {
    const { seq, hash } = await deps.writer.workspace.read();
    if (`${seq} ${hash}` === seen) return limits;
    const policies = limitsOf(await followedPolicies(deps));
    limits = [...own, ...policies, ...(await agentLimits(deps))];
    seen = `${seq} ${hash}`;
    return limits;
  };
}
