/** What a trigger watches or waits for, in one line. */
import { roughly, utcText } from "../text/utc.ts";
import type { SpecOf, TriggerSpec } from "./trigger.ts";

const spanText = (ms: number): string => (ms % 1_000 === 0 ? roughly(ms) : `${ms} ms`);

const specTexts: { readonly [K in TriggerSpec["kind"]]: (spec: SpecOf<K>) => string } = {
  at: ({ at }) => utcText(at),
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
  return (specTexts[spec.kind] as (one: TriggerSpec) => string)(spec);
}
