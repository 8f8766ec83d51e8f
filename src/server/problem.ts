/** From what went wrong in the engine to a problem. What nobody expected is told to the operator only. */
import { SkeinError } from "../core/error.ts";
import { makeProblem, type Problem } from "../protocol/problem.ts";

/** A problem on its way to whoever answers the request. */
export class ProblemError extends Error {
  override readonly name = "ProblemError";
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
  }
}

/** `tell` hears of what only a fault of the program, or of the store, explains. */
export function problemOf(error: unknown, tell: (error: unknown) => void): Problem {
  if (error instanceof ProblemError) return error.problem;
  if (error instanceof SkeinError) {
    if (error.code === "corrupt") tell(error);
    return makeProblem(error.code, error.message, { hint: error.hint });
  }
  tell(error);
  return makeProblem("unavailable", "the server met something it did not expect; its log says more", {
    hint: "try again later; with the same Idempotency-Key nothing is done twice",
  });
}
