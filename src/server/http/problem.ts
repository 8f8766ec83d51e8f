/** Turns errors of the engine into problems. Only the operator sees unexpected ones. */
import { makeCache } from "../../core/cache.ts";
import { SkeinError } from "../../core/error.ts";
import { makeProblem, type Problem } from "../../protocol/problem.ts";

/** A problem on its way to the response. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** The part of its message that callers must not see; null when they may read all of it. */
function whereIn(error: SkeinError): string | null {
  for (let one: unknown = error; one instanceof SkeinError; one = one.cause)
    if (one.where !== undefined) return one.where;
  return null;
}

/** Without the address of the store: it, and what to do there, is for the operator. */
function outward({ code, message }: SkeinError, where: string): Problem {
  const rest = message.replaceAll(`: ${where}`, "").replaceAll(where, "…");
  return makeProblem(code, /\w/.test(rest) ? rest : "the store is unavailable", {
    hint: "retry later; the server's log has the details",
  });
}

const againMs = 60_000;
const reportedCount = 50;

/** In an outage every request meets the same error of the store: it is logged once a minute. */
export function reportOnce(tell: (error: unknown) => void, clock: () => number): (error: unknown) => void {
  const reportedAt = makeCache<string, number>(reportedCount);
  return (error) => {
    if (!(error instanceof SkeinError) || whereIn(error) === null) return tell(error);
    const nowMs = clock();
    if (nowMs - (reportedAt.get(error.message) ?? -Infinity) < againMs) return;
    reportedAt.set(error.message, nowMs);
    tell(error);
  };
}

/** `tell` receives errors that only a bug of the program, or of the store, explains. */
export function problemOf(error: unknown, tell: (error: unknown) => void): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (error instanceof SkeinError) {
    const where = whereIn(error);
    if (error.code === "corrupt" || where !== null) tell(error);
    if (where !== null) return outward(error, where);
    return makeProblem(error.code, error.message, { hint: error.hint, field: error.field });
  }
  // Longer than any string can be: a retry would fail the same way.
  if (error instanceof RangeError && error.message === "Invalid string length")
    return makeProblem("refused", "the response is too large", {
      hint: "read it in pages",
    });
  tell(error);
  return makeProblem("unavailable", "internal error; the server's log has the details", {
    hint: "retry with the same Idempotency-Key; nothing is done twice",
  });
}
