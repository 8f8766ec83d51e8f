/** Wakes a session that sleeps until a time. */
import type { CommandOf } from "../../core/command.ts";
import type { State } from "../../core/state.ts";

/** The command that wakes it once the time has come; null before. */
export function wakeCommand({ standing }: State, nowMs: number): CommandOf<"wake"> | null {
  const untilMs = standing.sleep?.untilMs ?? null;
  if (standing.status !== "sleeping" || untilMs === null || untilMs > nowMs) return null;
  const text = `The time you slept until has come: ${new Date(untilMs).toISOString()}.`;
  return { do: "wake", by: "time", text };
}
