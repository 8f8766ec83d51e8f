/** Relative times, with the exact time as a tooltip. They update automatically. */
import type { ReactNode } from "react";
import { cell, useCell } from "../signal.ts";
import { every, now } from "../world.ts";

const clock = cell(now());
const tickMs = 10_000;
if (typeof document !== "undefined")
  every(tickMs, () => {
    if (!document.hidden) clock.set(now());
  });

const exactly = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "medium",
  hourCycle: "h23",
});
const dayOnly = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
export const exact = (at: number): string => exactly.format(at);

const steps = [
  [60_000, 1_000, "s"],
  [3_600_000, 60_000, "min"],
  [86_400_000, 3_600_000, "h"],
  [7 * 86_400_000, 86_400_000, "d"],
] as const;

/** "12 s ago", "in 3 h"; from a week on, the date. */
function ago(at: number, nowMs: number): string {
  const ms = Math.abs(nowMs - at);
  if (ms < 3_000) return "now";
  const step = steps.find(([below]) => ms < below);
  if (step === undefined) return dayOnly.format(at);
  // A future time is rounded up: an hour from now stays one for a while.
  if (at > nowMs) return `in ${Math.ceil(ms / step[1])} ${step[2]}`;
  return `${Math.floor(ms / step[1])} ${step[2]} ago`;
}

/** A duration. */
export function span(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`;
}

/** Of a past event: never in the future, whatever the clocks say. */
export function Ago({ at }: { readonly at: number }): ReactNode {
  return <Moment at={at} nowMs={Math.max(useCell(clock), at)} />;
}

/** Of a future time, or one that has passed. */
export function Due({ at }: { readonly at: number }): ReactNode {
  return <Moment at={at} nowMs={useCell(clock)} />;
}

function Moment({ at, nowMs }: { readonly at: number; readonly nowMs: number }): ReactNode {
  return (
    <time dateTime={new Date(at).toISOString()} title={exact(at)}>
      {ago(at, nowMs)}
    </time>
  );
}
