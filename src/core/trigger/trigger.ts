/**
 * Triggers: what wakes a session, or opens a new one. This file has their schemas; runtime/work watches them.
 *
 *   at       once, at a time                         every    at an interval
 *   cron     by a cron expression, in a time zone    file     files below a bound path changed
 *   git      a ref moved, or a commit touches paths  webhook  a call of its URL
 *   message  a message arrived                       session  other sessions ended, or recorded an item
 *   query    the result of a check changed           resource a bound resource changed
 */
import { ItemKind } from "../item/events.ts";
import type { TriggerKind } from "./events.ts";
import { Key, SessionRef } from "../schema.ts";
import * as z from "zod";
import { SkeinError } from "../error.ts";
import { quote } from "../ids.ts";
import { limit } from "../limit.ts";
import { checkShape } from "../text/shape.ts";

const Millis = z.int().nonnegative();
const Every = z.int().min(1_000, "expected at least 1000 (one second)");
const Zone = z.string().min(1).max(64);
const Line = z.string().min(1).max(1_024);

/**
 * What a change of a source does. `mark`: the session counts as stale. `reload`: the change is in its context
 * from the next turn on. `wake`: the same, and the session runs.
 */
export const reactions = ["mark", "reload", "wake"] as const;
/** What a change of a source does to a session. */
export type Reaction = (typeof reactions)[number];

/** The schema of each kind. */
export const triggerSchemas = {
  at: z.strictObject({ kind: z.literal("at"), at: Millis }),
  every: z.strictObject({ kind: z.literal("every"), everyMs: Every, fromMs: Millis.exactOptional() }),
  cron: z.strictObject({ kind: z.literal("cron"), cron: Line, zone: Zone.exactOptional() }),
  file: z.strictObject({
    kind: z.literal("file"),
    path: Line,
    /** Which files below it; default: all. */
    glob: Line.exactOptional(),
    /** How long the files must be unchanged before it fires. */
    debounceMs: Millis.exactOptional(),
    /** What a change does, in place of waking the session with an input. */
    onChange: z.enum(reactions).exactOptional(),
  }),
  git: z.strictObject({
    kind: z.literal("git"),
    path: Line,
    /** Default: the checked-out one. */
    ref: Line.exactOptional(),
    /** Only commits that touch one of these. */
    paths: z.array(Line).min(1).max(100).readonly().exactOptional(),
  }),
  webhook: z.strictObject({
    kind: z.literal("webhook"),
    /** Of its token, which is shown once, when the trigger is set. Generated then, not given. */
    digest: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .exactOptional(),
    /** The name of the secret that signs request bodies, as given. */
    secret: Line.exactOptional(),
    /** The same as stored: the redactor would remove the value of a field named "secret". */
    signedBy: Line.exactOptional(),
  }),
  message: z.strictObject({
    kind: z.literal("message"),
    topic: Key.exactOptional(),
    from: SessionRef.exactOptional(),
  }),
  session: z.strictObject({
    kind: z.literal("session"),
    sessions: z.array(SessionRef).min(1).max(limit.awaitedMax).readonly(),
    on: z.enum(["end", "item"]),
    /** With `end`: only once all of them have ended. */
    all: z.boolean().exactOptional(),
    item: z.strictObject({ kind: ItemKind, key: Key }).exactOptional(),
    /** What the session learns of those that ended. */
    give: z.enum(["handoff", "facts", "nothing"]).exactOptional(),
    /** With `item`: the position of each when it was set. Generated then, not given. */
    since: z.record(SessionRef, Millis).exactOptional(),
  }),
  query: z.strictObject({
    kind: z.literal("query"),
    everyMs: Every,
    /** Exactly one of these. */
    command: z.array(z.string()).min(1).max(100).readonly().exactOptional(),
    url: Line.exactOptional(),
    binding: Key.exactOptional(),
    sql: z.string().max(limit.queryCharsMax).exactOptional(),
  }),
  resource: z.strictObject({
    kind: z.literal("resource"),
    binding: Key,
    debounceMs: Millis.exactOptional(),
    /** The path of the bound resource. Taken from the binding when it is set, not given. */
    path: Line.exactOptional(),
    onChange: z.enum(reactions).exactOptional(),
  }),
} as const satisfies Record<TriggerKind, z.ZodType>;

/** The cause that a trigger watches, by `kind`: a time, file, repository, query, session or webhook. */
export type TriggerSpec = {
  readonly [K in TriggerKind]: Readonly<z.infer<(typeof triggerSchemas)[K]>>;
}[TriggerKind];
export type SpecOf<K extends TriggerKind> = Extract<TriggerSpec, { readonly kind: K }>;

/** What to do about times missed while no worker ran: one firing for all, one each, or none. */
export const missedRules = ["once", "all", "skip"] as const;
/** Whether a trigger fires for causes that no process saw: once, each time, or not. */
export type MissedRule = (typeof missedRules)[number];

/** An initial trigger of a session. By default its name is its kind. */
export type WakeTrigger = TriggerSpec & { readonly name?: string; readonly missed?: MissedRule };

/** Validates a trigger. Reports the first mistake, and the nearest spelling. */
export function checkTrigger(given: unknown, where = "the trigger"): TriggerSpec {
  const kind = (given as { readonly kind?: unknown } | null | undefined)?.kind;
  if (typeof kind !== "string" || !Object.hasOwn(triggerSchemas, kind)) {
    throw new SkeinError("invalid", `${where}: kind: expected a kind of trigger, got ${quote(kind)}`, {
      hint: `one of ${Object.keys(triggerSchemas).join(", ")}`,
    });
  }
  const schema = triggerSchemas[kind as TriggerKind];
  try {
    return checkShape(schema, given, { what: "trigger", where });
  } catch (error) {
    if (!(error instanceof SkeinError) || error.hint !== undefined) throw error;
    const hint = `fields: ${Object.keys(schema.shape).join(", ")}`;
    throw new SkeinError(error.code, error.message, { hint, cause: error });
  }
}

/** Validates the rule for missed times; undefined if absent. */
export function checkMissed(missed: unknown, where: string): MissedRule | undefined {
  if (missed === undefined || missedRules.some((one) => one === missed)) return missed as MissedRule;
  throw new SkeinError(
    "invalid",
    `${where}: missed: expected one of ${missedRules.join(", ")}, got ${quote(missed)}`,
    {
      hint: 'missed times fire "once" by default',
    },
  );
}

/** Validates the name of a trigger: one line, not too long. */
export function checkTriggerName(name: unknown, where = "trigger"): string {
  if (Key.safeParse(name).success) return name as string;
  throw new SkeinError("invalid", `${where}: name: expected a name, got ${quote(name)}`, {
    hint: `one line of 1 to ${limit.keyCharsMax} characters`,
  });
}

/** A trigger read back from a log; null if this program does not understand all of it. */
export function storedTrigger(value: unknown): TriggerSpec | null {
  try {
    return checkTrigger(value);
  } catch {
    return null;
  }
}
