/**
 * Policies: what becomes of sessions as they grow old, and how many are run at once. A policy names one thing
 * to do, how long nothing must have been written for it to be due, and which sessions it is for. Here it is
 * checked, and held against a session; runtime/govern/retain.ts does what is due, and workers keep to the
 * limits.
 *
 *     { do: "expire", after: "90d", match: { agent: "payroll", labels: { env: "test" }, status: ["open"] } }
 *
 *   pack     what is older than `after`, or lies before the last compaction, is packed; nothing is lost
 *   expire   the session is closed, with the outcome `expired`
 *   archive  a closed session becomes read-only, and all of it is packed
 *   delete   the session is gone for good; forks keep what they share
 *   limit    at most `running` of them are run at once, by all workers together
 */
import { AgentName, Key, ModelName } from "../schema.ts";
import * as z from "zod";
import { SkeinError } from "../error.ts";
import { quote } from "../ids.ts";
import { limit } from "../limit.ts";
import { statuses, type SessionStatus } from "../session/lifecycle.ts";
import { checkLimit, type RunLimit } from "../trigger/schedule.ts";
import { checkShape, type Origin } from "../text/shape.ts";
import type { Mind, Standing, State } from "../state.ts";

/** From the weakest to the strongest. */
export const actions = ["pack", "expire", "archive", "delete"] as const;
/** The actions of a policy. */
export type PolicyAction = (typeof actions)[number];
/** All that a policy may say. */
export const policyKinds = [...actions, "limit"] as const;

const spanUnitsMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const spanPattern = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d|w)$/;

/** A length of time as people write it. */
const Span = z.string().regex(spanPattern, "a length of time is a number and a unit, such as 12h, 90d or 4w");
const LabelKey = z
  .string()
  .min(1)
  .max(limit.labelKeyCharsMax, `a label's key has at most ${limit.labelKeyCharsMax} characters`);
const LabelValue = z
  .string()
  .max(limit.labelValueCharsMax, `a label's value has at most ${limit.labelValueCharsMax} characters`);

export const Policy = z.strictObject({
  do: z.enum(policyKinds),
  /** How long nothing was written to the session; for packing, how old a record is. */
  after: Span.exactOptional(),
  /** Of a limit: how many are run at once; 0 is none. */
  running: z.int().min(0).max(limit.concurrencyMax).exactOptional(),
  /** Which sessions it is for: each that has all of it. */
  match: z
    .strictObject({
      agent: AgentName.exactOptional(),
      /** For limits only. */
      model: ModelName.exactOptional(),
      labels: z.record(LabelKey, LabelValue).readonly().exactOptional(),
      status: z.array(z.enum(statuses)).min(1, "name a status, or leave it out").readonly().exactOptional(),
    })
    .exactOptional(),
});
/** A policy of retention: which sessions, after how long, and the action. */
export type Policy = Readonly<z.infer<typeof Policy>>;

/** A policy under its name. */
export interface NamedPolicy {
  readonly name: string;
  readonly policy: Policy;
}

/** In which statuses it may be done, and in which it is done where the policy names none. */
const reach = {
  pack: { may: statuses, usual: statuses },
  expire: { may: ["open", "suspended", "sleeping"], usual: ["open", "suspended"] },
  archive: { may: ["closed"], usual: ["closed"] },
  delete: {
    may: ["open", "suspended", "sleeping", "closed", "archived", "moved"],
    usual: ["closed", "archived"],
  },
} as const satisfies Record<PolicyAction, { may: readonly SessionStatus[]; usual: readonly SessionStatus[] }>;

/** Holds in every workspace, unless one of its name takes its place. It deletes nothing. */
export const defaultPolicy: NamedPolicy = { name: "default", policy: { do: "pack", after: "7d" } };

export function spanMs(text: string): number {
  const [, count = "0", unit = "ms"] = spanPattern.exec(text) ?? [];
  return Math.round(Number(count) * spanUnitsMs[unit as keyof typeof spanUnitsMs]);
}

/** Roughly, in the largest unit that fits: `92d`. */
export function spanText(ms: number): string {
  const [unit, size] = (["d", "h", "m", "s"] as const)
    .map((name) => [name, spanUnitsMs[name]] as const)
    .find(([, each]) => ms >= 2 * each) ?? ["s", 1_000];
  return `${Math.floor(ms / size)}${unit}`;
}

/** Holds a policy against the schema. Says where the first mistake is, and how it is spelled right. */
export function checkPolicy(given: unknown, origin: Origin = {}): Policy {
  const where = origin.where ?? "the policy";
  const policy = checkShape(Policy, given, { what: "policy", ...origin, where });
  if (policy.do === "limit") return checkRunLimit(policy, where);
  const astray = policy.running !== undefined ? "running" : policy.match?.model ? "match.model" : null;
  if (astray !== null) {
    throw new SkeinError("invalid", `${where}: "${astray}" is not for ${policy.do}`, {
      hint: "it says how many are run at once, of which model; that is for limit",
    });
  }
  if (policy.after === undefined && policy.do !== "pack") {
    throw new SkeinError("invalid", `${where}: after: missing`, {
      hint: `how long nothing was written before it is time to ${policy.do}, such as 90d; 0d is at once`,
    });
  }
  const may: readonly SessionStatus[] = reach[policy.do].may;
  const wrong = policy.match?.status?.find((status) => !may.includes(status));
  if (wrong === undefined) return policy;
  throw new SkeinError("invalid", `${where}: "match.status" cannot be ${quote(wrong)} with ${policy.do}`, {
    hint: wrong === "running" ? "a running session is left alone" : `one of ${may.join(", ")}`,
  });
}

function checkRunLimit(policy: Policy, where: string): Policy {
  const { running, after, match = {} } = policy;
  const astray = after !== undefined ? "after" : match.status !== undefined ? "match.status" : null;
  if (astray !== null) {
    throw new SkeinError("invalid", `${where}: "${astray}" is not for limit`, {
      hint: "a limit holds at once, and for sessions that are run",
    });
  }
  if (running === undefined) {
    throw new SkeinError("invalid", `${where}: running: missing`, {
      hint: "how many are run at once, such as 2",
    });
  }
  checkLimit({ ...match, running }, where);
  return policy;
}

/** What these policies say of how many are run at once. */
export const limitsOf = (policies: readonly NamedPolicy[]): RunLimit[] =>
  policies.flatMap(({ policy: { do: what, match = {}, running } }) => {
    const { agent, model, labels } = match;
    if (what !== "limit" || running === undefined) return [];
    return [
      {
        ...(agent === undefined ? {} : { agent }),
        ...(model === undefined ? {} : { model }),
        ...(labels === undefined ? {} : { labels }),
        running,
      },
    ];
  });

export function checkPolicyName(name: unknown): string {
  const checked = Key.safeParse(name);
  if (checked.success) return checked.data;
  throw new SkeinError("invalid", `${quote(name)} is no name of a policy`, {
    hint: checked.error.issues[0]?.message,
  });
}

/**
 * A policy that was read back from a log; null when this program does not understand all of it. What is not
 * understood might have made it narrower, so such a policy is not followed.
 */
export function storedPolicy(value: unknown): Policy | null {
  try {
    return checkPolicy(value);
  } catch {
    return null;
  }
}

/** Whether it would in time expire, archive or delete every session there is that can be. */
export function isForEverything({ do: what, match = {} }: Policy): boolean {
  if (
    what === "pack" ||
    what === "limit" ||
    match.agent !== undefined ||
    Object.keys(match.labels ?? {}).length > 0
  )
    return false;
  return reach[what].usual.every((status) => match.status?.includes(status) ?? true);
}

/** What a policy is held against: what the session index, or the state, says of a session. */
export interface Candidate {
  readonly status: SessionStatus;
  readonly agent: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** When anything was last written to it. */
  readonly activeAt: number;
  /** It lives elsewhere, and cannot be written here. */
  readonly copy?: true;
  /** After how long it wants to expire by itself. */
  readonly expiresAfterIdleMs?: number | null;
}

export const candidateOf = ({ standing, at }: State): Candidate => ({
  status: standing.status,
  agent: standing.agent?.name ?? null,
  labels: Object.fromEntries(standing.labels.entries()),
  activeAt: at,
  expiresAfterIdleMs: standing.expiresAfterIdleMs,
});

/** Whether it is for such a session, at whatever age. */
export function isFor({ do: what, match = {} }: Policy, { status, agent, labels, copy }: Candidate): boolean {
  if (what === "limit" || (copy === true && (what === "expire" || what === "archive"))) return false;
  const wanted: readonly SessionStatus[] = match.status ?? reach[what].usual;
  return (
    wanted.includes(status) &&
    (match.agent === undefined || match.agent === agent) &&
    Object.entries(match.labels ?? {}).every(([key, value]) => labels[key] === value)
  );
}

/** What is due for a session, and why. */
export interface Due {
  readonly do: Exclude<PolicyAction, "pack">;
  /** The policy that says so; null: the session was opened so. */
  readonly policy: string | null;
  readonly because: string;
  /** Others that are due as well, and are weaker or say the same. */
  readonly besides: readonly string[];
}

/**
 * The strongest of what is due; of two that say the same, the first by name. What a session was opened with
 * comes after the policies.
 */
export function dueFor(policies: readonly NamedPolicy[], candidate: Candidate, nowMs: number): Due | null {
  const idleMs = nowMs - candidate.activeAt;
  const found: Omit<Due, "besides">[] = [];
  for (const { name, policy } of policies.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { do: what, after = "0ms" } = policy;
    if (what === "pack" || what === "limit" || idleMs < spanMs(after) || !isFor(policy, candidate)) continue;
    found.push({ do: what, policy: name, because: `idle for ${spanText(idleMs)}, and ${after} are enough` });
  }
  const ownMs = candidate.expiresAfterIdleMs ?? null;
  if (ownMs !== null && idleMs >= ownMs && isFor({ do: "expire" }, candidate)) {
    const because = `idle for ${spanText(idleMs)}, and it was opened to expire after ${spanText(ownMs)}`;
    found.push({ do: "expire", policy: null, because });
  }
  const [strongest, ...others] = found.toSorted((a, b) => actions.indexOf(b.do) - actions.indexOf(a.do));
  if (strongest === undefined) return null;
  return { ...strongest, besides: others.map(({ policy }) => policy ?? "the session itself") };
}

/** What stands in the way of what is due; null when nothing does. */
export function obstacle(what: Due["do"], standing: Standing, nowMs: number): string | null {
  const [held] = standing.status === "moved" ? [] : standing.holds.keys();
  if (held !== undefined) return `it is under the hold ${quote(held)}`;
  if (standing.status === "running") return "it is running";
  if (standing.newer !== null) return "only a newer program understands all of it";
  if (what === "expire") return null;
  if (standing.outbox.size > 0) return `${standing.outbox.size} of its messages did not arrive yet`;
  const isOpen = ({ deadlineMs }: { readonly deadlineMs: number }): boolean => deadlineMs > nowMs;
  if ([...standing.requests.values()].some(isOpen)) return "it waits for the reply to a request";
  if ([...standing.asked.values()].some(isOpen)) return "another session waits for its reply";
  return null;
}

/** Up to where the context was compacted: what lies before it is seldom read. 0 when it never was. */
export const compactedTo = ({ overlays }: Mind): number =>
  overlays.reduce((to, { strategy, toSeq }) => (strategy === "prune" ? to : Math.max(to, toSeq)), 0);

/** What a session that goes on must have to pack, so that segments are worth their while. */
export const packRecordsMin = 64;

/** The policies by which records of such a session are packed. Null: not by their age. */
export const packersFor = (
  policies: readonly NamedPolicy[],
  candidate: Candidate,
): readonly { readonly name: string; readonly afterMs: number | null }[] =>
  policies
    .filter(({ policy }) => policy.do === "pack" && isFor(policy, candidate))
    .map(({ name, policy: { after } }) => ({ name, afterMs: after === undefined ? null : spanMs(after) }))
    .toSorted((a, b) => (a.afterMs ?? Infinity) - (b.afterMs ?? Infinity));
