/** The one error class. Codes are the API, messages are for people, hints say what to do next. */

export const errorCodes = [
  "invalid", // the input is wrong, regardless of what the store holds
  "not-found", // the session, position, name or file does not exist
  "refused", // valid, but the session's state or a policy forbids it
  "conflict", // another writer was first; read again and decide again
  "fenced", // the writer has lost its lease
  "corrupt", // the stored data contradicts itself
  "unavailable", // the store is not usable now; nothing was written
  "unknown", // the store never answered; the write may or may not have happened
] as const;

/** The kinds of a `SkeinError`. Branch on these, not on messages. */
export type ErrorCode = (typeof errorCodes)[number];

/**
 * The one error of Skein. `code` is its kind, `hint` says what to do.
 *
 * @example
 *   try {
 *     await engine.session("4x8kz1");
 *   } catch (error) {
 *     if (error instanceof SkeinError && error.code === "not-found") console.log(error.hint);
 *   }
 */
export class SkeinError extends Error {
  override readonly name = "SkeinError";
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  /**
   * The part of the message for operators only: an address, a path, the database's own message. A server that
   * passes the error on to clients leaves it out, and the hint with it.
   */
  readonly where: string | undefined;
  /** The input field in question, as `bind[0].kind`, if known. */
  readonly field: string | undefined;
  /**
   * Distinguishes errors of one code where a program must: an idempotency key was reused for another change;
   * this engine never opens other stores; a log no longer holds a record that was read from it; the damage is
   * in received data (a bundle, a session that moves), not in this store; the input of a run that failed
   * stays queued; the session that a key made was deleted.
   */
  readonly detail:
    | "reused-key"
    | "opens-no-stores"
    | "rolled-back"
    | "received"
    | "input-queued"
    | "deleted-session"
    | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      hint?: string | undefined;
      where?: string | undefined;
      field?: string | undefined;
      detail?: SkeinError["detail"];
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint;
    this.where = options.where;
    this.field = options.field;
    this.detail = options.detail;
  }
}

/** Asserts what only a bug can make false. Never catch it to continue. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`invariant: ${message}`);
}

/** Rejects unknown options, and suggests the nearest spelling. */
export function checkOptions(where: string, given: object, known: readonly string[]): void {
  if (typeof given !== "object" || given === null) {
    throw new SkeinError(
      "invalid",
      `${where}: options: expected an object, got ${given === null ? "null" : typeof given}`,
      {
        hint: `known options: ${known.join(", ")}`,
      },
    );
  }
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue;
    const near = nearest(key, known);
    throw new SkeinError("invalid", `${where}: unknown option "${key}"`, {
      hint: near === undefined ? `known options: ${known.join(", ")}` : `did you mean "${near}"?`,
    });
  }
}

/** The known word closest to the typed one, if any is close enough. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

export const sessionNotFound = (session: string): SkeinError =>
  new SkeinError("not-found", `there is no session ${session}`, { hint: '"skein ps" lists the sessions' });
