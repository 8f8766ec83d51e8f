/** Triggers as text, and as form values. */
import type { RemoteEngine } from "../../../client/connect.ts";
import { plural } from "../../ui/amount.ts";
import { brief } from "../../ui/visible.ts";

export type Spec = Parameters<RemoteEngine["trigger"]>[1];

/** Those that need only typed values. */
export const formKinds = ["cron", "every", "at", "webhook"] as const;
export type FormKind = (typeof formKinds)[number];

export const kindNames: Readonly<Record<FormKind, string>> = {
  cron: "By a cron expression",
  every: "At an interval",
  at: "Once, at a time",
  webhook: "Webhook",
};

export interface SpecForm {
  readonly kind: FormKind;
  readonly cron: string;
  readonly zone: string;
  readonly everyMinutes: string;
  /** As a datetime field returns it. */
  readonly at: string;
}

export const emptySpec: SpecForm = {
  kind: "cron",
  cron: "0 9 * * 1-5",
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  everyMinutes: "60",
  at: "",
};

const minuteMs = 60_000;

/** Throws if something is missing. The server validates cron expressions and zones. */
export function specOf({ kind, cron, zone, everyMinutes, at }: SpecForm): Spec {
  switch (kind) {
    case "cron":
      return { kind, cron: cron.trim(), ...(zone.trim() === "" ? {} : { zone: zone.trim() }) };
    case "every": {
      const everyMs = Math.round(Number(everyMinutes) * minuteMs);
      if (!(everyMs >= 1_000)) throw new Error("Interval: expected at least one second.");
      return { kind, everyMs };
    }
    case "at": {
      const atMs = Date.parse(at);
      if (Number.isNaN(atMs)) throw new Error("Time: required.");
      return { kind, at: atMs };
    }
    case "webhook":
      return { kind };
  }
}

const units = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [minuteMs, "minute"],
  [1_000, "second"],
] as const;

/** In the largest unit without a remainder: "hour", "90 minutes". */
export function everyWords(ms: number): string {
  const [unitMs, name] = units.find(([one]) => ms % one === 0) ?? [1, "millisecond"];
  return ms === unitMs ? name : plural(ms / unitMs, name);
}

/** What fires it, in a few words. */
export function specWords(spec: Spec | null, exact: (at: number) => string): string {
  if (spec === null) return "unreadable: erased, or written by a newer program";
  switch (spec.kind) {
    case "at":
      return `once, ${exact(spec.at)}`;
    case "every":
      return `every ${everyWords(spec.everyMs)}`;
    case "cron":
      return `cron ${brief(spec.cron, 80)}${spec.zone === undefined ? "" : `, ${brief(spec.zone, 60)}`}`;
    case "file":
      return `files at ${brief(spec.path, 80)}`;
    case "git":
      return `commits in ${brief(spec.path, 80)}`;
    case "webhook":
      return "webhook";
    case "message":
      return spec.topic === undefined ? "any message" : `messages on ${brief(spec.topic, 60)}`;
    case "session":
      return spec.on === "end" ? "when other sessions end" : "when other sessions record something";
    case "query":
      return `a check every ${everyWords(spec.everyMs)}`;
    case "resource":
      return `changes of ${brief(spec.binding, 60)}`;
  }
}
