/** Exit codes for scripts. `skein help` prints the same table. */
import type { ErrorCode } from "../../core/error.ts";

export const exitCodes = [
  { code: 0, meaning: "done" },
  { code: 1, meaning: "refused or failed: the state forbids it, or verify or scan found something" },
  { code: 2, meaning: "wrong usage, or invalid input" },
  { code: 3, meaning: "not found: no such store, session, position or name" },
  { code: 4, meaning: "unavailable now: the store, or a model; ask keeps its input queued" },
  { code: 5, meaning: "the store is damaged" },
  { code: 6, meaning: "no response: it may or may not have been written" },
  { code: 7, meaning: "the session is suspended; the output says why, and how to continue" },
  { code: 70, meaning: "a bug in Skein; SKEIN_DEBUG=1 prints the stack" },
] as const;

/** The exit code of `ask`, `run` and `chat` when the session is suspended. */
export const standsStill = 7;

const byError = {
  refused: 1,
  conflict: 1,
  fenced: 1,
  invalid: 2,
  "not-found": 3,
  unavailable: 4,
  corrupt: 5,
  unknown: 6,
} as const satisfies Record<ErrorCode, (typeof exitCodes)[number]["code"]>;

/** What to do next, where the error itself does not say. */
export const hintFor = {
  refused: '"skein show ID" shows the status of the session',
  conflict: "read what is new and try again",
  fenced: 'another process runs the session now; "skein show ID" names it',
  invalid: '"skein help VERB" shows what is expected',
  "not-found": '"skein show ID" lists what the session has',
  unavailable: "try again",
  corrupt: 'run "skein verify --all" to see what is damaged',
  unknown: "read the log before trying again",
  internal: "this is a fault in Skein; please report it with what SKEIN_DEBUG=1 shows",
} as const satisfies Record<ErrorCode | "internal", string>;

export const exitCodeOf = (code: ErrorCode | "internal"): number =>
  code === "internal" ? 70 : byError[code];
