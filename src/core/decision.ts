/** The result of a decision: drafts of records, or a refusal; and helpers that decisions share. */
import { present } from "./present.ts";
import type { Budget } from "./budget/commands.ts";
import type { CommandName, CommandOf, Facts } from "./command.ts";
import type { BodyOf, ContentOf, SessionEventType } from "./catalog.ts";
import type { ErrorCode } from "./error.ts";
import { mayIn, wayOut, type LifecycleCommand } from "./session/lifecycle.ts";
import type { Amounts, State } from "./state.ts";

/** A record to append. `cause` may be a position that the same append fills. */
export interface DraftEvent {
  readonly type: string;
  readonly body: unknown;
  readonly content?: unknown;
  readonly turn?: number;
  readonly cause?: number;
  /** The actor, if it differs from the caller: `agent:name@version`, `tool:name`. */
  readonly actor?: string;
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint?: string;
}

export type Decision =
  | { readonly ok: true; readonly drafts: readonly DraftEvent[] }
  | { readonly ok: false; readonly refusal: Refusal };

export type Decide<K extends CommandName> = (state: State, command: CommandOf<K>, facts: Facts) => Decision;
export type Decisions<K extends CommandName> = { readonly [P in K]: Decide<P> };

export const accept = (...drafts: readonly DraftEvent[]): Decision => ({ ok: true, drafts });

export const refuse = (code: ErrorCode, message: string, hint?: string): Decision => ({
  ok: false,
  refusal: hint === undefined ? { code, message } : { code, message, hint },
});

/** A draft in the shape of the catalog. Empty contents are left out. */
export function draft<T extends SessionEventType>(
  type: T,
  body: BodyOf<T>,
  content?: ContentOf<T>,
  more: { readonly turn?: number; readonly cause?: number; readonly actor?: string } = {},
): DraftEvent {
  return content === undefined ? { type, body, ...more } : { type, body, content, ...more };
}

/** A reason as a content; undefined without a reason. */
export const because = (reason: string | undefined): { reason: string } | undefined =>
  reason === undefined ? undefined : { reason };

/** A refusal if the status forbids the command, with the way out. */
export function forbidden(state: State, command: LifecycleCommand, verb: string): Decision | null {
  const { status, next } = state.standing;
  if (mayIn(status, command)) return null;
  if (next !== null && status !== "moved") {
    const message = `the session went on as ${next} and cannot ${verb}`;
    return refuse("refused", message, `use ${next}; or ${wayOut[status]}`);
  }
  const isLive = status !== "archived" && status !== "moved";
  const hint = command === "archive" && isLive ? 'close it first: "skein close ID"' : wayOut[status];
  return refuse("refused", `the session is ${status} and cannot ${verb}`, hint);
}

/** Converts dollars to nano-dollars; leaves the other amounts unchanged. */
export function amountsOf({ usd, ...rest }: Budget): Amounts {
  return present({ ...rest, nanoUsd: usd === undefined ? undefined : Math.round(usd * 1e9) });
}
