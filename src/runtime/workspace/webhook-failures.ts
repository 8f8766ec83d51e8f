/**
 * What goes wrong with hooks just now, known to the process that tells them alone: it is not worth a record
 * each time, and gone when it is told at last.
 */
import { withoutTokens } from "../../core/workspace/access-token.ts";
import type { Store } from "../../store/port.ts";

/** The failures of the last calls of a webhook. */
export interface WebhookFailure {
  /** Why the last call did not count, in words; null: it did, or nobody knows here. */
  readonly lastError: string | null;
  /** Calls in a row that did not count; null: another process tells it, or none does. */
  readonly failures: number | null;
  /** When it is tried again; null: it need not be, or nobody knows here. */
  readonly nextTryAt: number | null;
}

const unknown: WebhookFailure = { lastError: null, failures: null, nextTryAt: null };
const none: WebhookFailure = { ...unknown, failures: 0 };
const wordsMax = 300;

/** By where a hook was set. Kept with the store: the server writes it, and every engine on it lists it. */
const known = new WeakMap<Store, Map<number, WebhookFailure>>();

export const troubleWith = (store: Store, setSeq: number): WebhookFailure =>
  known.get(store)?.get(setSeq) ?? unknown;

/** From now on it is known here how it goes. */
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

/** Somebody else tells it now, or nobody. */
export const forgetTrouble = (store: Store, setSeq: number): void => void known.get(store)?.delete(setSeq);
