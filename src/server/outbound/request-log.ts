/**
 * The request log for the operator: one line each. Never a token, a body or a query, for those hold what
 * people said.
 */
import type { CompletedRequest } from "../http/server.ts";

export const logForms = ["none", "text", "json"] as const;
export type LogForm = (typeof logForms)[number];

export interface RequestLogOptions {
  readonly form: LogForm;
  readonly now: () => number;
  /** Takes one line, without its end. */
  readonly write: (line: string) => void;
}

/** An error, as a line of the same form; null when the log is not JSON. */
export const troubleLine = (
  { form, now }: Pick<RequestLogOptions, "form" | "now">,
  message: string,
): string | null =>
  form === "json"
    ? JSON.stringify({
        at: new Date(now()).toISOString(),
        level: "error",
        message: "trouble",
        trouble: message,
      })
    : null;

export function makeRequestLog({
  form,
  now,
  write,
}: RequestLogOptions): (completed: CompletedRequest) => void {
  if (form === "none") return () => undefined;
  const line = form === "json" ? jsonLine : textLine;
  return (completed) => write(line(completed, new Date(now()).toISOString()));
}

/** Keys in a fixed order; unknown values are null. */
function jsonLine(
  { method, path, operation, status, ms, tenant, actor }: CompletedRequest,
  at: string,
): string {
  const level = status >= 500 ? "error" : "info";
  const rounded = Math.round(ms * 1_000) / 1_000;
  const request = { method, path, operation, status, ms: rounded, tenant, actor };
  return JSON.stringify({ at, level, message: "request", ...request });
}

function textLine({ method, path, status, ms, actor }: CompletedRequest, at: string): string {
  // A path must not move the cursor of a terminal.
  const shown = path.replaceAll(/[^\x21-\x7e…]/gu, "?").slice(0, pathCharsMax);
  const who = actor === null ? "" : ` ${actor}`;
  return `${at.slice(11, 23)} ${status} ${method} ${shown} ${ms.toFixed(1)} ms${who}`;
}

const pathCharsMax = 200;
