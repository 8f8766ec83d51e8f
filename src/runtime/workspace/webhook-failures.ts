/**
 * Current webhook failures, known only to the engine that sends: they are not worth a record each time, and
 * end with the next success.
 */
import { withoutTokens } from "../../core/workspace/access-token.ts";

/** The failures of the last calls of a webhook. */
export interface WebhookFailure {
  /** Why the last call failed, in words; null: it succeeded, or is unknown here. */
  readonly lastError: string | null;
  /** Failed calls in a row; null: another process sends it, or none does. */
  readonly failures: number | null;
  /** When it is retried; null: not needed, or unknown here. */
  readonly nextTryAt: number | null;
}

const unknown: WebhookFailure = { lastError: null, failures: null, nextTryAt: null };
const none: WebhookFailure = { ...unknown, failures: 0 };
const wordsMax = 300;

/** The failures of the webhooks that this engine sends, by the position where each was set. */
export interface WebhookFailures {
  of(setSeq: number): WebhookFailure;
  /** The last call succeeded, or none was made yet: from now on its state is known here. */
  clear(setSeq: number): void;
  note(
    setSeq: number,
    failure: { readonly error: Error; readonly failures: number; readonly nextTryAt: number },
  ): void;
  /** Another process sends it now, or none. */
  forget(setSeq: number): void;
}

export function makeWebhookFailures(): WebhookFailures {
  const known = new Map<number, WebhookFailure>();
  return {
    of: (setSeq) => known.get(setSeq) ?? unknown,
    clear: (setSeq) => void known.set(setSeq, none),
    note(setSeq, { error, ...failure }) {
      const lastError = withoutTokens(error.message).slice(0, wordsMax);
      known.set(setSeq, { lastError, ...failure });
    },
    forget: (setSeq) => void known.delete(setSeq),
  };
}
