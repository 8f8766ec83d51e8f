/** A ticket as written, and the rules for its id. */
import type { AcceptCheck } from "../core/check/check.ts";
import { parseCheck } from "../core/check/text.ts";
import type { Budget } from "../core/budget/commands.ts";
import { SkeinError } from "../core/error.ts";
import { limit } from "../core/limit.ts";

/** One piece of work: it gets a session. */
export interface Ticket {
  readonly id: string;
  readonly title: string;
  /** The task; may be empty if the title says it all. */
  readonly text: string;
  /** Ids of tickets that must be done before. */
  readonly after: readonly string[];
  /** Replaces the plan's agent. */
  readonly agent?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Replaces the plan's budget. */
  readonly budget?: Budget;
  /** What must pass before it is done: the plan's checks, and its own. */
  readonly accept?: readonly AcceptCheck[];
  /** Checked off in the plan: nothing runs for it. */
  readonly done?: true;
  /** Its line in the plan's text. */
  readonly line: number;
}

/** A plan as written, before validation. */
export interface PlanDraft {
  readonly name: string | null;
  /** For every ticket. */
  readonly accept?: readonly AcceptCheck[];
  readonly tickets: readonly Ticket[];
}

/** A mistake, with its position. */
export const mistake = (file: string, line: number, text: string, hint?: string): SkeinError =>
  new SkeinError("invalid", `${file}:${line}: ${text}`, { hint });

/** A text turned into an id. */
export function slug(text: string): string {
  const plain = text.normalize("NFKD").toLowerCase();
  return plain
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/\.{2,}/g, ".")
    .slice(0, limit.ticketIdCharsMax)
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, "")
    .replace(/\.lock$/, "-lock");
}

/** A check as written, with its position if it is none. */
export function checkAt(given: unknown, file: string, line: number): AcceptCheck {
  try {
    return parseCheck(given);
  } catch (error) {
    if (!(error instanceof SkeinError)) throw error;
    throw mistake(file, line, error.message, error.hint);
  }
}
