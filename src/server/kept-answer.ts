/**
 * Answers that are kept at hand for whoever asks again with the same Idempotency-Key: while the first is
 * under way the second waits for it, and gets the same. What was refused or failed is not kept. After a
 * restart the log itself knows what was done (runtime/asked.ts); this is for the answer, and for calls that
 * leave no key.
 */
import { limit } from "../core/limit.ts";
import { makeProblem } from "../protocol/problem.ts";
import { ProblemError } from "./problem.ts";

export interface KeptAnswers {
  /** `name` is whose key it is; `digest` is of all that was asked. */
  once(name: string, digest: string, work: () => Promise<string>): Promise<string>;
}

export function makeKeptAnswers(): KeptAnswers {
  const kept = new Map<string, { readonly digest: string; readonly answer: Promise<string> }>();

  function forget(name: string, answer: Promise<string>): void {
    if (kept.get(name)?.answer === answer) kept.delete(name);
  }

  return {
    async once(name, digest, work) {
      const before = kept.get(name);
      if (before !== undefined && before.digest !== digest) {
        throw new ProblemError(
          makeProblem("conflict", "this Idempotency-Key was used for something else", {
            hint: "use a key of its own for each change",
            field: "Idempotency-Key",
          }),
        );
      }
      if (before !== undefined) return before.answer;
      const answer = work();
      kept.set(name, { digest, answer });
      const [oldest] = kept.keys();
      if (kept.size > limit.keptAnswersMax && oldest !== undefined) kept.delete(oldest);
      try {
        const text = await answer;
        if (text.length > limit.keptAnswerBytesMax) forget(name, answer);
        return text;
      } catch (error) {
        forget(name, answer);
        throw error;
      }
    },
  };
}
