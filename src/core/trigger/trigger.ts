/**
 * Triggers: what wakes a session, or opens a new one. Here is what one may say; runtime/work watches.
 *
 *   at       once, at a time                         every    again and again
 *   cron     by a cron line, in a time zone          file     files below a bound path have other contents
 *   git      a ref moved, or a commit touches paths  webhook  somebody calls its address
 *   message  a message came                          session  other sessions ended, or recorded something
 *   query    a check gives another result            resource a bound resource is not what it was
 */
import { itemKinds } from "../item/events.ts";
import type { TriggerKind } from "./events.ts";
import { Key, SessionRef } from "../schema.ts";
import * as z from "zod";
import { SkeinError } from "../error.ts";
import { quote } from "../ids.ts";
import { limit } from "../limit.ts";
import { checkShape } from "../text/shape.ts";

const Millis = z.int().nonnegative();
const Every = z.int().min(1_000, "a trigger fires at most once a second");
const Zone = z.string().min(1).max(64);
const Line = z.string().min(1).max(1_024);

/** What may be said of each kind. */
export const triggerSchemas = {
  at: z.strictObject({ kind: z.literal("at"), at: Millis }),
  every: z.strictObject({ kind: z.literal("every"), everyMs: Every, fromMs: Millis.exactOptional() }),
  cron: z.strictObject({ kind: z.literal("cron"), cron: Line, zone: Zone.exactOptional() }),
  file: z.strictObject({
    kind: z.literal("file"),
    path: Line,
    /** Which files below it; by default all. */
    glob: Line.exactOptional(),
    /** How long nothing must have changed before it fires. */
    debounceMs: Millis.exactOptional(),
  }),
  git: z.strictObject({
    kind: z.literal("git"),
    path: Line,
    /** By default what is checked out. */
    ref: Line.exactOptional(),
    /** Only commits that touch one of these. */
    paths: z.array(Line).min(1).max(100).readonly().exactOptional(),
  }),
  webhook: z.strictObject({
    kind: z.literal("webhook"),
    /** Of its token, which is shown once, when the trigger is set. Not given, but made then. */
    digest: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .exactOptional(),
    /** The name of the secret that bodies are signed with, as it is given. */
    secret: Line.exactOptional(),
    /** The same as it is stored: what stands under "secret" is taken for one, and taken out. */
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
    item: z.strictObject({ kind: z.enum(itemKinds), key: Key }).exactOptional(),
    /** What the session is told of those that ended. */
    give: z.enum(["handoff", "facts", "nothing"]).exactOptional(),
    /** With `item`: where each of them stood when it was set. Not given, but made then. */
    since: z.record(SessionRef, Millis).exactOptional(),
  }),
  query: z.strictObject({
    kind: z.literal("query"),
    everyMs: Every,
    /** One of these. */
    command: z.array(z.string()).min(1).max(100).readonly().exactOptional(),
    url: Line.exactOptional(),
    binding: Key.exactOptional(),
    sql: z.string().max(limit.queryCharsMax).exactOptional(),
  }),
  resource: z.strictObject({
    kind: z.literal("resource"),
    binding: Key,
    debounceMs: Millis.exactOptional(),
    /** Where what is bound lies. Not given, but taken from the binding when it is set. */
    path: Line.exactOptional(),
  }),
} as const satisfies Record<TriggerKind, z.ZodType>;

/** The cause that a trigger watches, by `kind`: a time, file, repository, query, session or webhook. */
export type TriggerSpec = {
  readonly [K in TriggerKind]: Readonly<z.infer<(typeof triggerSchemas)[K]>>;
}[TriggerKind];
export type SpecOf<K extends TriggerKind> = Extract<TriggerSpec, { readonly kind: K }>;

/** What becomes of times that pass while nobody is there: one firing for all, one each, or none. */
export const missedRules = ["once", "all", "skip"] as const;
/** Whether a trigger fires for causes that no process saw: once, each time, or not. */
export type MissedRule = (typeof missedRules)[number];

/** A trigger that a session is opened with. By default its name is its kind. */
export type WakeTrigger = TriggerSpec & { readonly name?: string; readonly missed?: MissedRule };

/** Holds a trigger against its schema. Says where the first mistake is, and how it is spelled right. */
export function checkTrigger(given: unknown, where = "the trigger"): TriggerSpec {
  const kind = (given as { readonly kind?: unknown } | null | undefined)?.kind;
  if (typeof kind !== "string" || !Object.hasOwn(triggerSchemas, kind)) {
    throw new SkeinError("invalid", `${where}: there is no kind of trigger ${quote(kind)}`, {
      hint: `one of ${Object.keys(triggerSchemas).join(", ")}`,
    });
  }
  const schema = triggerSchemas[kind as TriggerKind];
  try {
    return checkShape(schema, given, { what: "trigger", where });
  } catch (error) {
    if (!(error instanceof SkeinError) || error.hint !== undefined) throw error;
    const hint = `its fields: ${Object.keys(schema.shape).join(", ")}`;
    throw new SkeinError(error.code, error.message, { hint, cause: error });
  }
}

/** Checks what becomes of missed times; undefined when nothing was said. */
export function checkMissed(missed: unknown, where: string): MissedRule | undefined {
  if (missed === undefined || missedRules.some((one) => one === missed)) return missed as MissedRule;
  throw new SkeinError("invalid", `${where}: missed is ${quote(missed)}`, {
    hint: `one of ${missedRules.join(", ")}`,
  });
}

/** A name such as triggers have: one line, not too long. */
export function checkTriggerName(name: unknown, where = "trigger"): string {
  if (Key.safeParse(name).success) return name as string;
  throw new SkeinError("invalid", `${where}: ${quote(name)} is no name`, {
    hint: `one line of 1 to ${limit.keyCharsMax} characters`,
  });
}

/** A trigger that was read back from a log; null when this program does not understand all of it. */
export function storedTrigger(value: unknown): TriggerSpec | null {
  try {
    return checkTrigger(value);
  } catch {
    return null;
  }
}
