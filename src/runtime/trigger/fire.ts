/** Firing: each cause once, as a record of the session's log, with the input for the session. */
import { present } from "../../core/present.ts";
import type { CommandOf } from "../../core/command.ts";
import { nearest, SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import { storedTrigger, type TriggerSpec } from "../../core/trigger/trigger.ts";
import type { State, TriggerRef } from "../../core/state.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import type { Change } from "../log/writer.ts";
import type { Cause } from "./source.ts";
import { isTimeSpec, momentIn, nextTime, timesBetween, type TimeSpec } from "./times.ts";

/** The specification of a session's trigger; null when it was erased, or a newer program wrote it. */
export async function specOf(
  { store }: Pick<Deps, "store">,
  session: SessionId,
  { seq }: TriggerRef,
): Promise<TriggerSpec | null> {
  const content = (await readContent(store, session, seq)) as { readonly spec?: unknown } | undefined;
  return content === undefined ? null : storedTrigger(content.spec);
}

/**
 * Fires for a cause, unless it has already fired for it. Resolves to the trigger's state then; undefined when
 * it was removed or the session accepts nothing any more.
 */
export async function fire(
  deps: Deps,
  session: SessionId,
  trigger: { readonly name: string; readonly setSeq: number },
  cause: Cause,
): Promise<string | null | undefined> {
  const { name, setSeq } = trigger;
  const { digest, was, once, text, detail, count, last } = cause;
  const command = {
    do: "fire" as const,
    name,
    setSeq,
    digest,
    text,
    ...present({ was, detail, count, last }),
  };
  const key = once === undefined ? undefined : causeKey(deps, trigger, once);
  try {
    const reaction = await (await import("./react.ts")).reactionTo(deps, session, trigger, cause);
    await deps.writer.change(session, { ...command, ...reaction }, { actor: "system", key });
  } catch (error) {
    if (!(error instanceof SkeinError) || !["conflict", "not-found", "refused"].includes(error.code))
      throw error;
    if (error.code !== "conflict") return undefined;
  }
  return (await deps.writer.current(session)).standing.triggers.get(name)?.lastCause;
}

/** The key under which an occurrence is written, so that it fires once. */
export const causeKey = (
  { world }: Pick<Deps, "world">,
  { name, setSeq }: { readonly name: string; readonly setSeq: number },
  once: string,
): string => `trigger/${world.digest("", JSON.stringify([name, setSeq, once]))}`;

/** How late a time may be and still count as on time. */
const graceMs = 60_000;

/** Fires due time triggers, by each one's rule for missed times. */
export async function fireDue(deps: Deps, session: SessionId, state: State): Promise<void> {
  for (const [name, trigger] of state.standing.triggers.entries()) {
    const dueMs = trigger.nextMs;
    if (dueMs === null || dueMs > deps.store.now()) continue;
    const spec = await specOf(deps, session, trigger);
    if (spec === null || !isTimeSpec(spec))
      await passOver(deps, session, name, trigger, { count: 1, nextMs: null });
    else await fireTimes(deps, session, { name, trigger, spec, dueMs });
  }
}

async function fireTimes(
  deps: Deps,
  session: SessionId,
  due: {
    readonly name: string;
    readonly trigger: TriggerRef;
    readonly spec: TimeSpec;
    readonly dueMs: number;
  },
): Promise<void> {
  const { name, trigger, spec, dueMs } = due;
  const nowMs = deps.store.now();
  const decided = timesToFire(spec, trigger.missed, dueMs, nowMs);
  if (decided.skip) await passOver(deps, session, name, trigger, decided);
  else await fireTime(deps, session, due, decided);
}

/** What to do with the times from `dueMs` until now: which one to fire for, or to skip them. */
export function timesToFire(
  spec: TimeSpec,
  missed: TriggerRef["missed"],
  dueMs: number,
  clockMs: number,
): { readonly skip: boolean; readonly at: number; readonly count: number; readonly nextMs: number | null } {
  // A clock that was set back since the time was due must not repeat earlier times.
  const nowMs = Math.max(clockMs, dueMs);
  const { count, first, last } = timesBetween(spec, dueMs, nowMs);
  const late = nowMs - last > graceMs;
  if (missed === "skip" && late) return { skip: true, at: last, count, nextMs: nextTime(spec, nowMs) };
  // The last one may be on time although those before it are not.
  if (missed === "skip" && count > 1) return { skip: true, at: last, count: count - 1, nextMs: last };
  if (missed === "all") return { skip: false, ...first, nextMs: nextTime(spec, first.at) };
  return { skip: false, at: last, count, nextMs: nextTime(spec, nowMs) };
}

async function fireTime(
  { writer, world }: Deps,
  session: SessionId,
  {
    name,
    trigger,
    spec,
    dueMs,
  }: { readonly name: string; readonly trigger: TriggerRef; readonly spec: TimeSpec; readonly dueMs: number },
  { at, count, nextMs }: { readonly at: number; readonly count: number; readonly nextMs: number | null },
): Promise<void> {
  const command = {
    do: "fire" as const,
    name,
    setSeq: trigger.seq,
    digest: world.digest("", `${name}\n${at}`),
    dueMs,
    ...(nextMs === null ? {} : { nextMs }),
    ...(count > 1 ? { count } : {}),
    text: timeText(name, spec, { at, count }),
  };
  await writer.change(session, command, { actor: "system" }).catch(ifOvertaken);
}

/** The input for a time. */
export function timeText(
  name: string,
  spec: TimeSpec,
  { at, count }: { readonly at: number; readonly count: number },
): string {
  const missed = count > 1 ? ` It stands for ${count} times, of which this is the last.` : "";
  const by = spec.kind === "cron" ? `${spec.cron}, ${spec.zone ?? "UTC"}` : spec.kind;
  return `Trigger "${name}" (${by}) fired for ${momentIn(spec, at)}.${missed}`;
}

async function passOver(
  { writer }: Deps,
  session: SessionId,
  name: string,
  { seq: setSeq, nextMs: dueMs }: TriggerRef,
  { count, nextMs }: { readonly count: number; readonly nextMs: number | null },
): Promise<void> {
  const next = nextMs === null ? {} : { nextMs };
  const command = { do: "skip" as const, name, setSeq, dueMs: dueMs ?? 0, count, ...next };
  await writer.change(session, command, { actor: "system" }).catch(ifOvertaken);
}

/** Another worker was quicker, or the session is closed: either way nothing is left to do. */
export function ifOvertaken(error: unknown): void {
  if (!(error instanceof SkeinError) || !["conflict", "not-found", "refused"].includes(error.code))
    throw error;
}

/** Fires a trigger by hand. What it watches, and its time, stay as they are. */
export async function fireNow(
  deps: Deps,
  session: SessionId,
  name: string,
  text = `Trigger "${name}" was fired by hand.`,
): Promise<Change> {
  const { world, writer, actor } = deps;
  const build = ({ standing }: State): CommandOf<"fire"> => {
    const trigger = standing.triggers.get(name);
    if (trigger === undefined) {
      const near = nearest(name, [...standing.triggers.keys()]);
      throw new SkeinError("not-found", `there is no trigger ${quote(name)}`, {
        hint: near === undefined ? "set it first" : `did you mean ${quote(near)}?`,
      });
    }
    const digest = trigger.lastCause ?? world.digest("", Buffer.from(world.random(16)).toString("hex"));
    return { do: "fire", name, setSeq: trigger.seq, digest, text };
  };
  return writer.change(session, build, { actor });
}
