/**
 * Responses cached for repeated requests with the same Idempotency-Key: while the first is in progress the
 * second waits for it, and gets the same. Refusals and failures are not cached. After a restart the log
 * itself knows what was done (runtime/log/request-scope.ts); this cache is for the response, and for calls
 * that leave no key.
 */
import { limit } from "../../core/limit.ts";
import { makeProblem } from "../../protocol/problem.ts";
import { reusedKey } from "../../runtime/log/same-change.ts";
import { ProblemError } from "./problem.ts";

export interface KeptAnswers {
  /** `name` is the owner of the key; `digest` covers the whole request, `session` is its session or empty. */
  once(
    name: string,
    asked: { readonly digest: string; readonly session: string },
    work: () => Promise<string>,
  ): Promise<string>;
  /** True when the request is answered already, or about to be. */
  has(name: string, digest: string): boolean;
  /**
   * For a call with the library's own key, which belongs to the session: throws when another call on it used
   * the key.
   */
  check(name: string, session: string): void;
}

interface StoredEntry {
  readonly digest: string;
  readonly session: string;
  readonly answer: Promise<string>;
}

export const reusedProblem = (): ProblemError => {
  const { message, hint } = reusedKey();
  return new ProblemError(makeProblem("conflict", message, { hint, field: "Idempotency-Key" }));
};

export function makeKeptAnswers(): KeptAnswers {
  const kept = new Map<string, StoredEntry>();

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
