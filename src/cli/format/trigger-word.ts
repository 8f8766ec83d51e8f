/** Triggers as people type and read them: in one word, by options, and in a line of a list. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { SpecOf, TriggerSpec, WakeTrigger } from "../../core/trigger/trigger.ts";
import { exact, parseMoment, parseSpan, roughly } from "./moment.ts";
import { oneLine } from "./text.ts";

/** A moment to come: as any moment, or a length of time from now. Clocks are those of the zone, or UTC. */
export function parseComing(what: string, text: string, nowMs: number, zone?: string): number {
  const reading = { spanHint: "2h for two hours from now", ...(zone === undefined ? {} : { zone }) };
  if (zone !== undefined || !/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text))
    return parseMoment(what, text, nowMs, reading);
  return nowMs + parseSpan(what, text);
}

const shapes =
  "at:TIME, every:SPAN, cron[@ZONE]:LINE, file:PATH, git:PATH, message[:TOPIC], resource:BINDING";

/** `KIND:VALUE`: what wakes a session, in one word. */
export function parseWake(word: string, nowMs: number): WakeTrigger {
  const [, kind = "", zone, value] = /^([a-z]+)(?:@([^:]*))?(?::([\s\S]*))?$/.exec(word) ?? [];
  const what = `--wake ${kind}`;
  const hint = `one of ${shapes}`;
  if (zone !== undefined && kind !== "cron")
    throw new SkeinError("invalid", `--wake: ${quote(word)} has a zone, which only cron has`, { hint });
  if (kind === "message") return value === undefined || value === "" ? { kind } : { kind, topic: value };
  if (value === undefined || value === "")
    throw new SkeinError("invalid", `--wake: ${quote(word)} does not say what wakes it`, { hint });
  switch (kind) {
    case "at":
      return { kind, at: parseComing(what, value, nowMs) };
    case "every":
      return { kind, everyMs: parseSpan(what, value) };
    case "cron":
      return { kind, cron: value, ...(zone === undefined ? {} : { zone }) };
    case "file":
    case "git":
      return { kind, path: value };
    case "resource":
      return { kind, binding: value };
    default:
      throw new SkeinError("invalid", `--wake: there is no ${quote(kind)}`, { hint });
  }
}

const spanText = (ms: number): string => (ms % 1_000 === 0 ? roughly(ms) : `${ms} ms`);

const texts: { readonly [K in TriggerSpec["kind"]]: (spec: SpecOf<K>) => string } = {
  at: ({ at }) => exact(at),
  every: ({ everyMs }) => `every ${spanText(everyMs)}`,
  cron: ({ cron, zone = "UTC" }) => `${cron}, ${zone}`,
  file: ({ path, glob }) => (glob === undefined ? path : `${path} (${glob})`),
  git: ({ path, ref, paths = [] }) => [path, ...(ref === undefined ? [] : [ref]), ...paths].join(" "),
  webhook: ({ signedBy }) =>
    signedBy === undefined ? "by its token" : `by its token, signed by ${signedBy}`,
  message: ({ topic, from }) =>
    [...(topic === undefined ? [] : [`on ${topic}`]), ...(from === undefined ? [] : [`from ${from}`])].join(
      " ",
    ) || "any",
  session: ({ sessions, on, item, all }) => {
    const what = on === "item" ? `${item?.kind ?? "item"} ${item?.key ?? "*"}` : "end";
    return `${what} of ${all === true && sessions.length > 1 ? "all of " : ""}${sessions.join(", ")}`;
  },
  query: ({ everyMs, command, url, binding, sql }) => {
    const check = command?.join(" ") ?? url ?? `${binding}: ${sql}`;
    return `${check}, every ${spanText(everyMs)}`;
  },
  resource: ({ binding }) => binding,
};

/** What it watches or waits for, in one line. */
export function specText(spec: TriggerSpec | null): string {
  if (spec === null) return "[erased, or set by a newer program]";
  return oneLine((texts[spec.kind] as (one: TriggerSpec) => string)(spec));
}
