/**
 * Current webhook failures, known only to the process that sends: they are not worth a record each time, and
 * end with the next success.
 */
import { withoutTokens } from "../../core/workspace/access-token.ts";
import type { Store } from "../../store/port.ts";

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

/**
 * By the position where a webhook was set. Kept with the store: the server writes it, and every engine on it
 * lists it.
 */
const known = new WeakMap<Store, Map<number, WebhookFailure>>();

export const troubleWith = (store: Store, setSeq: number): WebhookFailure =>
  known.get(store)?.get(setSeq) ?? unknown;

/** From now on its state is known here. */
export function noteWell(store: Store, setSeq: number): void {
  const hooks = known.get(store) ?? new Map<number, WebhookFailure>();
  known.set(store, hooks.set(setSeq, none));
}

export function noteTrouble(
  store: Store,
  setSeq: number,
  { error, ...trouble }: { readonly error: Error; readonly failures: number; readonly nextTryAt: number },
): void {
  const lastError = withoutTokens(error.message).slice(0, wordsMax);
  known.get(store)?.set(setSeq, { lastError, ...trouble });
}

/** Another process sends it now, or none. */
export const forgetTrouble = (store: Store, setSeq: number): void => void known.get(store)?.delete(setSeq);
