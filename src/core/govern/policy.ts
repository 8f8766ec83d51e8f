/**
 * Policies: what happens to sessions as they age, and how many run at once. A policy has one action, the idle
 * time after which it is due, and the sessions it applies to. This file validates a policy and matches it
 * against a session; runtime/govern/retain.ts executes it, and workers enforce the limits.
 *
 *     { do: "expire", after: "90d", match: { agent: "payroll", labels: { env: "test" }, status: ["open"] } }
 *
 *   pack     packs records older than `after`, or before the last compaction; nothing is lost
 *   expire   closes the session, with the outcome `expired`
 *   archive  makes a closed session read-only and packs all of it
 *   delete   deletes the session for good; forks keep what they share
 *   limit    runs at most `running` of them at once, over all workers
 */
import { present } from "../present.ts";
import { AgentName, Key, ModelName } from "../schema.ts";
import * as z from "zod";
import { SkeinError } from "../error.ts";
import { quote } from "../ids.ts";
import { limit } from "../limit.ts";
import { statuses, type SessionStatus } from "../session/lifecycle.ts";
import { checkLimit, type RunLimit } from "../trigger/schedule.ts";
import { checkShape, type InputOrigin } from "../text/shape.ts";
import type { Mind, Standing, State } from "../state.ts";

/** From the weakest to the strongest. */
export const actions = ["pack", "expire", "archive", "delete"] as const;
/** The actions of a policy. */
export type PolicyAction = (typeof actions)[number];
/** Everything a policy can do. */
export const policyKinds = [...actions, "limit"] as const;

const spanUnitsMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
const spanPattern = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d|w)$/;

/** A duration as people write it. */
const Span = z.string().regex(spanPattern, "expected a number and a unit, such as 12h, 90d or 4w");
const LabelKey = z
  .string()
  .min(1)
  .max(limit.labelKeyCharsMax, `expected a label key of at most ${limit.labelKeyCharsMax} characters`);
const LabelValue = z
  .string()
  .max(limit.labelValueCharsMax, `expected a label value of at most ${limit.labelValueCharsMax} characters`);

export const Policy = z.strictObject({
  do: z.enum(policyKinds),
  /** How long the session has been idle; for packing, the age of a record. */
  after: Span.exactOptional(),
  /** Of a limit: how many run at once; 0 is none. */
  running: z.int().min(0).max(limit.concurrencyMax).exactOptional(),
  /** The sessions it applies to: those that match every field. */
  match: z
    .strictObject({
      agent: AgentName.exactOptional(),
      /** For limits only. */
      model: ModelName.exactOptional(),
      labels: z.record(LabelKey, LabelValue).readonly().exactOptional(),
      status: z
        .array(z.enum(statuses))
        .min(1, "expected at least one status; omit the field to match all")
        .readonly()
        .exactOptional(),
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

/** The statuses in which an action is possible, and those it applies to by default. */
const reach = {
  pack: { may: statuses, usual: statuses },
  expire: { may: ["open", "suspended", "sleeping"], usual: ["open", "suspended"] },
  archive: { may: ["closed"], usual: ["closed"] },
  delete: {
    may: ["open", "suspended", "sleeping", "closed", "archived", "moved"],
    usual: ["closed", "archived"],
  },
} as const satisfies Record<PolicyAction, { may: readonly SessionStatus[]; usual: readonly SessionStatus[] }>;

/** Applies to every workspace, unless a policy of the same name replaces it. It deletes nothing. */
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

/** Validates a policy. Reports the first mistake, and the nearest spelling. */
export function checkPolicy(given: unknown, origin: InputOrigin = {}): Policy {
  const where = origin.where ?? "the policy";
  const policy = checkShape(Policy, given, { what: "policy", ...origin, where });
  if (policy.do === "limit") return checkRunLimit(policy, where);
  const field = policy.running !== undefined ? "running" : policy.match?.model ? "match.model" : null;
  if (field !== null) {
    throw new SkeinError("invalid", `${where}: ${field}: not allowed with do: ${policy.do}`, {
      hint: "running and match.model belong to a policy with do: limit",
    });
  }
  if (policy.after === undefined && policy.do !== "pack") {
    throw new SkeinError("invalid", `${where}: after: missing`, {
      hint: `the idle time before ${policy.do}, such as 90d; 0d applies at once`,
    });
  }
  const may: readonly SessionStatus[] = reach[policy.do].may;
  const wrong = policy.match?.status?.find((status) => !may.includes(status));
  if (wrong === undefined) return policy;
  throw new SkeinError(
    "invalid",
    `${where}: match.status: ${quote(wrong)} is not allowed with do: ${policy.do}`,
    {
      hint: wrong === "running" ? "policies never apply to a running session" : `one of ${may.join(", ")}`,
    },
  );
}

function checkRunLimit(policy: Policy, where: string): Policy {
  const { running, after, match = {} } = policy;
  const field = after !== undefined ? "after" : match.status !== undefined ? "match.status" : null;
  if (field !== null) {
    throw new SkeinError("invalid", `${where}: ${field}: not allowed with do: limit`, {
      hint: "a limit applies at once and to running sessions; remove the field",
    });
  }
  if (running === undefined) {
    throw new SkeinError("invalid", `${where}: running: missing`, {
      hint: "the number of sessions that may run at once, such as 2",
    });
  }
  checkLimit({ ...match, running }, where);
  return policy;
}

/** The run limits among these policies. */
export const limitsOf = (policies: readonly NamedPolicy[]): RunLimit[] =>
  policies.flatMap(({ policy: { do: what, match = {}, running } }) => {
    const { agent, model, labels } = match;
    if (what !== "limit" || running === undefined) return [];
    return [
      {
        ...present({ agent, model, labels }),
        running,
      },
    ];
  });

export function checkPolicyName(name: unknown): string {
  const checked = Key.safeParse(name);
  if (checked.success) return checked.data;
  throw new SkeinError("invalid", `policy: name: expected a policy name, got ${quote(name)}`, {
    hint: checked.error.issues[0]?.message,
  });
}

/**
 * A policy read back from a log; null if this program does not understand all of it. The unknown part might
 * narrow the policy, so such a policy is ignored.
 */
export function storedPolicy(value: unknown): Policy | null {
  try {
    return checkPolicy(value);
  } catch {
    return null;
  }
}

/** Whether it would eventually expire, archive or delete every eligible session. */
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

/** The fields a policy is matched against, from the session index or the state. */
export interface PolicySubject {
  readonly status: SessionStatus;
  readonly agent: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** The time of the last record. */
  readonly activeAt: number;
  /** It lives in another store, and is read-only here. */
  readonly copy?: true;
  /** The idle time after which it expires on its own. */
  readonly expiresAfterIdleMs?: number | null;
}

export const candidateOf = ({ standing, at }: State): PolicySubject => ({
  status: standing.status,
  agent: standing.agent?.name ?? null,
  labels: Object.fromEntries(standing.labels.entries()),
  activeAt: at,
  expiresAfterIdleMs: standing.expiresAfterIdleMs,
});

/** Whether the policy applies to such a session, at any age. */
export function isFor(
  { do: what, match = {} }: Policy,
  { status, agent, labels, copy }: PolicySubject,
): boolean {
  if (what === "limit" || (copy === true && (what === "expire" || what === "archive"))) return false;
  const wanted: readonly SessionStatus[] = match.status ?? reach[what].usual;
  return (
    wanted.includes(status) &&
    (match.agent === undefined || match.agent === agent) &&
    Object.entries(match.labels ?? {}).every(([key, value]) => labels[key] === value)
  );
}

/** The due action for a session, and its cause. */
export interface Due {
  readonly do: Exclude<PolicyAction, "pack">;
  /** The policy; null: the session was opened with this rule. */
  readonly policy: string | null;
  readonly because: string;
  /** Other policies that are also due, with a weaker or the same action. */
  readonly besides: readonly string[];
}

/**
 * The strongest due action; of two equal ones, the first by name. The session's own rule comes after the
 * policies.
 */
export function dueFor(
  policies: readonly NamedPolicy[],
  candidate: PolicySubject,
  nowMs: number,
): Due | null {
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

/** What blocks a due action; null if nothing does. */
export function obstacle(what: Due["do"], standing: Standing, nowMs: number): string | null {
  const [held] = standing.status === "moved" ? [] : standing.holds.keys();
  if (held !== undefined) return `it is under legal hold ${quote(held)}`;
  if (standing.status === "running") return "it is running";
  if (standing.newer !== null) return "a newer version of Skein wrote it";
  if (what === "expire") return null;
  if (standing.outbox.size > 0) return `${standing.outbox.size} of its messages are not delivered yet`;
  const isOpen = ({ deadlineMs }: { readonly deadlineMs: number }): boolean => deadlineMs > nowMs;
  if ([...standing.requests.values()].some(isOpen)) return "it waits for the reply to a request";
  if ([...standing.asked.values()].some(isOpen)) return "another session waits for its reply";
  return null;
}

/** The end of the compacted range: records before it are seldom read. 0 without a compaction. */
export const compactedTo = ({ overlays }: Mind): number =>
  overlays.reduce((to, { strategy, toSeq }) => (strategy === "prune" ? to : Math.max(to, toSeq)), 0);

/** The minimum to pack of a live session, so that segments are worthwhile. */
export const packRecordsMin = 64;

/** The policies that pack records of such a session. Null: not by age. */
export const packersFor = (
  policies: readonly NamedPolicy[],
  candidate: PolicySubject,
): readonly { readonly name: string; readonly afterMs: number | null }[] =>
  policies
    .filter(({ policy }) => policy.do === "pack" && isFor(policy, candidate))
    .map(({ name, policy: { after } }) => ({ name, afterMs: after === undefined ? null : spanMs(after) }))
    .toSorted((a, b) => (a.afterMs ?? Infinity) - (b.afterMs ?? Infinity));
