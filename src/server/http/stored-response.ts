/**
 * Answers that are kept at hand for whoever asks again with the same Idempotency-Key: while the first is
 * under way the second waits for it, and gets the same. What was refused or failed is not kept. After a
 * restart the log itself knows what was done (runtime/log/request-scope.ts); this is for the answer, and for
 * calls that leave no key.
 */
import { limit } from "../../core/limit.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { reusedKey } from "../../runtime/log/same-change.ts";
import { ProblemError } from "./problem.ts";

export interface KeptAnswers {
  /** `name` is whose key it is; `digest` is of all that was asked, `session` where; empty when nowhere. */
  once(
    name: string,
    asked: { readonly digest: string; readonly session: string },
    work: () => Promise<string>,
  ): Promise<string>;
  /** Whether what was asked is answered already, or about to be. */
  has(name: string, digest: string): boolean;
  /**
   * For a call whose key is the library's own, and so the session's: throws when the key is known to be that
   * of another call on it.
   */
  check(name: string, session: string): void;
}

interface Kept {
  readonly digest: string;
  readonly session: string;
  readonly answer: Promise<string>;
}

export const reusedProblem = (): ProblemError => {
  const { message, hint } = reusedKey();
  return new ProblemError(makeProblem("conflict", message, { hint, field: "Idempotency-Key" }));
};

export function makeKeptAnswers(): KeptAnswers {
  const kept = new Map<string, Kept>();

  function forget(name: string, answer: Promise<string>): void {
    if (kept.get(name)?.answer === answer) kept.delete(name);
  }

  return {
    has: (name, digest) => kept.get(name)?.digest === digest,
    check(name, session) {
      if (kept.get(name)?.session === session) throw reusedProblem();
    },
    async once(name, { digest, session }, work) {
      const before = kept.get(name);
      if (before !== undefined && before.digest !== digest) throw reusedProblem();
      if (before !== undefined) return before.answer;
      const answer = work();
      kept.set(name, { digest, session, answer });
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
