/** A ticket as it was written, and what its id may be. */
import type { Budget } from "../core/budget/commands.ts";
import { SkeinError } from "../core/error.ts";
import { limit } from "../core/limit.ts";

/** One piece of work: a session is opened for it. */
export interface Ticket {
  readonly id: string;
  readonly title: string;
  /** What is to be done; may be empty, if the title says it all. */
  readonly text: string;
  /** Ids of tickets that must be done before. */
  readonly after: readonly string[];
  /** In place of the agent that all others get. */
  readonly agent?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** In place of the budget that all others get. */
  readonly budget?: Budget;
  /** Ticked off in the plan: nothing is run for it. */
  readonly done?: true;
  /** Where it begins in the plan's text. */
  readonly line: number;
}

/** A plan as it was written, before it is held to anything. */
export interface Draft {
  readonly name: string | null;
  readonly tickets: readonly Ticket[];
}

/** A mistake, with its place. */
export const mistake = (file: string, line: number, text: string, hint?: string): SkeinError =>
  new SkeinError("invalid", `${file}:${line}: ${text}`, { hint });

/** Part of the name of a branch, so not everything will do. */
const idPattern = /^(?!.*\.\.)(?!.*\.lock$)[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/;
export const idHint = `letters, digits, ".", "_" and "-", at most ${limit.ticketIdCharsMax} of them`;

export const isTicketId = (id: string): boolean => id.length <= limit.ticketIdCharsMax && idPattern.test(id);

/** What is left of a text when it is to be an id. */
export function slug(text: string): string {
  const plain = text.normalize("NFKD").toLowerCase();
  return plain
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/\.{2,}/g, ".")
    .slice(0, limit.ticketIdCharsMax)
    .replaceAll(/^[^a-z0-9]+|[^a-z0-9]+$/g, "")
    .replace(/\.lock$/, "-lock");
}
