/** The rules for tickets that a file and a project share: ids, dependencies, what a ticket is defined by. */
import * as z from "zod";
import type { Budget } from "../budget/commands.ts";
import type { AcceptCheck, NamedCheck } from "../check/check.ts";
import { limit } from "../limit.ts";
import type { Amounts } from "../state.ts";

/** Part of a branch name, so its characters are limited. */
const idPattern = /^(?!.*\.\.)(?!.*\.lock$)[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/;
export const idHint = `expected at most ${limit.ticketIdCharsMax} letters, digits, ".", "_" and "-"`;

export const isTicketId = (id: string): boolean => id.length <= limit.ticketIdCharsMax && idPattern.test(id);

export const TicketId = z.string().max(limit.ticketIdCharsMax).regex(idPattern, idHint);

/** A ticket as a caller gives it. */
export interface TicketSpec {
  readonly id: string;
  readonly title: string;
  readonly text?: string;
  /** Ids of tickets that must be done before. */
  readonly after?: readonly string[];
  readonly agent?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly budget?: Budget;
  /** What must pass before it is done: checks, or their texts. */
  readonly accept?: readonly (AcceptCheck | string)[];
  /** Checked off: nothing runs for it. */
  readonly done?: boolean;
}

/** A ticket as it is planned or proposed: with the digest of its definition. */
export interface TicketDraft {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly after: readonly string[];
  readonly agent?: string;
  readonly budget?: Amounts;
  readonly labels?: Readonly<Record<string, string>>;
  readonly accept?: readonly NamedCheck[];
  /** Of all this. */
  readonly digest: string;
  /** Checked off: nothing runs for it. */
  readonly done?: true;
}

/** Ids of tickets that wait for one another, each after the next; null if there are none. */
export function cycleIn(
  tickets: Iterable<{ readonly id: string; readonly after: readonly string[] }>,
): readonly string[] | null {
  const after = new Map([...tickets].map((ticket) => [ticket.id, ticket.after]));
  const done = new Set<string>();
  for (const start of after.keys()) {
    // Without recursion: a plan may be one long chain.
    const path: { readonly id: string; next: number }[] = done.has(start) ? [] : [{ id: start, next: 0 }];
    const on = new Set(path.map(({ id }) => id));
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      const next = after.get(last.id)?.[last.next++];
      if (next === undefined) {
        done.add(last.id);
        on.delete(last.id);
        path.pop();
      } else if (on.has(next)) return path.slice(path.findIndex(({ id }) => id === next)).map(({ id }) => id);
      else if (!done.has(next)) {
        path.push({ id: next, next: 0 });
        on.add(next);
      }
    }
  }
  return null;
}
