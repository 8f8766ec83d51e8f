/** Policies of a workspace: set and removed by events of its log; the last of each name counts. */
import { readRecords } from "../read/record-pages.ts";
import { checkCall } from "../../call/check.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import {
  checkPolicy,
  checkPolicyName,
  defaultPolicy,
  isForEverything,
  storedPolicy,
  type NamedPolicy,
  type Policy,
} from "../../core/govern/policy.ts";
import type { Store } from "../../store/port.ts";
import { contentOf } from "../read/content.ts";
import { writeOnce, type WorkspaceDeps } from "../log/workspace-log.ts";

/** A policy with its name and writer. */
export interface PolicyEntry {
  readonly name: string;
  /** Null when only a newer program understands all of it: then it is not followed. */
  readonly policy: Policy | null;
  /** When it was set, and by whom; null for the default policy of every workspace. */
  readonly at: number | null;
  readonly actor: string | null;
  /** It would in time expire, archive or delete every session. */
  readonly everything: boolean;
}

/** Options of `engine.setPolicy`. */
export interface SetPolicyOptions {
  /** Confirms that the policy is meant for every session. */
  readonly everything?: boolean;
}

/** Sets a policy, or replaces the one of this name. The same policy again writes nothing. */
export async function setPolicy(
  deps: WorkspaceDeps,
  name: string,
  policy: Policy,
  options: SetPolicyOptions = {},
): Promise<PolicyEntry> {
  checkCall("engine.setPolicy", options);
  const checkedName = checkPolicyName(name);
  const checked = checkPolicy(policy, { where: `policy ${quote(checkedName)}` });
  if (options.everything !== true) refuseEverything([{ name: checkedName, policy: checked }]);
  const done = await writeOnce(deps, async () => {
    const all = await ownPolicies(deps.store);
    const before = all.get(checkedName);
    // After a lost answer this also finds the one that was written after all.
    if (before !== undefined && sameText(before.policy, checked)) return [];
    if (before === undefined && all.size >= limit.policiesMax) {
      throw new SkeinError("refused", `a workspace has at most ${limit.policiesMax} policies`, {
        hint: "remove one first",
      });
    }
    return [{ type: "policy.set", body: { name: checkedName }, content: { policy: checked } }];
  });
  const entry =
    done === null ? (await ownPolicies(deps.store)).get(checkedName) : await entryOf(deps.store, done);
  if (entry === undefined) {
    throw new SkeinError("conflict", `policy ${quote(checkedName)} was removed by another writer`);
  }
  return entry;
}

/** Removes a policy. Its past effects stay. */
export async function removePolicy(deps: WorkspaceDeps, name: string): Promise<void> {
  const checkedName = checkPolicyName(name);
  let asked = false;
  await writeOnce(deps, async () => {
    const all = await ownPolicies(deps.store);
    if (all.has(checkedName)) {
      asked = true;
      return [{ type: "policy.set", body: { name: checkedName, removed: true } }];
    }
    // After a lost answer: this very call removed it.
    if (asked) return [];
    throw noPolicy(checkedName, [...all.keys()]);
  });
}

/** All valid ones, by name, with the default. */
export async function listPolicies(deps: { readonly store: Store }): Promise<PolicyEntry[]> {
  const own = await ownPolicies(deps.store);
  const { name, policy } = defaultPolicy;
  const all = own.has(name)
    ? [...own.values()]
    : [...own.values(), { name, policy, at: null, actor: null, everything: false }];
  return all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** The policies that are followed. */
export const followedPolicies = async (deps: { readonly store: Store }): Promise<NamedPolicy[]> =>
  (await listPolicies(deps)).flatMap(({ name, policy }) => (policy === null ? [] : [{ name, policy }]));

/** Rejects when one applies to every session, which must not happen by mistake. */
export function refuseEverything(policies: readonly NamedPolicy[]): void {
  const wide = policies.find(({ policy }) => isForEverything(policy));
  if (wide === undefined) return;
  const { name, policy } = wide;
  const does = `policy ${quote(name)} would in time ${policy.do} every session`;
  throw new SkeinError("refused", does, {
    hint: "pass everything: true to confirm, or match an agent, labels or a status",
  });
}

function noPolicy(name: string, known: readonly string[]): SkeinError {
  if (name === defaultPolicy.name) {
    return new SkeinError("not-found", `policy ${quote(name)} is built in and not replaced`, {
      hint: "it only packs; to replace it, set a policy of the same name",
    });
  }
  const near = nearest(name, known);
  return new SkeinError("not-found", `there is no policy ${quote(name)}`, {
    hint: near === undefined ? '"skein policy" lists the policies' : `did you mean "${near}"?`,
  });
}

async function ownPolicies(store: Store): Promise<Map<string, PolicyEntry>> {
  const found = new Map<string, PolicyEntry>();
  const toSeq = (await store.head(store.workspace))?.seq ?? 0;
  const only = { types: ["policy.set"], contents: true };
  for await (const record of readRecords(store, store.workspace, [1, toSeq], only))
    await apply(store, found, record);
  return found;
}

async function apply(store: Store, found: Map<string, PolicyEntry>, record: StoredRecord): Promise<void> {
  const { name, removed } = JSON.parse(record.body) as { name: string; removed?: boolean };
  // Erased: there was a policy of this name, and it no longer holds.
  if (removed === true || (await contentOf(store, record)) === undefined) found.delete(name);
  else found.set(name, await entryOf(store, record));
}

/** The policy that this record set. */
async function entryOf(store: Store, record: StoredRecord): Promise<PolicyEntry> {
  const { name } = JSON.parse(record.body) as { name: string };
  const { at, actor } = record;
  const content = (await contentOf(store, record)) as { readonly policy?: unknown } | undefined;
  const policy = storedPolicy(content?.policy);
  return { name, policy, at, actor, everything: policy !== null && isForEverything(policy) };
}

const sameText = (a: Policy | null, b: Policy): boolean => JSON.stringify(a) === JSON.stringify(b);
