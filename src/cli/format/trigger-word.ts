/** Triggers as people type and read them: in one word, by options, and in a line of a list. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { WakeTrigger } from "../../core/trigger/trigger.ts";
import { ownZone, parseComing, parseSpan } from "./moment.ts";

const shapes =
  "at:TIME, every:SPAN, cron[@ZONE]:LINE, file:PATH, git:PATH, message[:TOPIC], resource:BINDING";

/** `KIND:VALUE`: a wake-up trigger, in one word. */
export function parseWake(word: string, nowMs: number): WakeTrigger {
  const [, kind = "", zone, value] = /^([a-z]+)(?:@([^:]*))?(?::([\s\S]*))?$/.exec(word) ?? [];
  const what = `--wake ${kind}`;
  const hint = `one of ${shapes}`;
  if (zone !== undefined && kind !== "cron")
    throw new SkeinError("invalid", `--wake: ${quote(word)}: only cron takes a zone`, { hint });
  if (kind === "message") return value === undefined || value === "" ? { kind } : { kind, topic: value };
  if (value === undefined || value === "")
    throw new SkeinError("invalid", `--wake: expected KIND:VALUE, got ${quote(word)}`, { hint });
  switch (kind) {
    case "at":
      return { kind, at: parseComing(what, value, nowMs) };
    case "every":
      return { kind, everyMs: parseSpan(what, value) };
    case "cron":
      return { kind, cron: value, zone: zone ?? ownZone() };
    case "file":
    case "git":
      return { kind, path: value };
    case "resource":
      return { kind, binding: value };
    default:
      throw new SkeinError("invalid", `--wake: unknown kind ${quote(kind)}`, { hint });
  }
}
