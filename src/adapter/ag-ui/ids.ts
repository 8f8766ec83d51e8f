/** Ids that a client sees: derived from session and position, so they are the same for ever. */
import { hash } from "node:crypto";

/** The id of a message: of a user by the position of the input, of an answer by that of its request. */
export const messageId = (session: string, seq: number, segment = 0): string =>
  `msg_${session.slice(4)}_${seq}${segment === 0 ? "" : `.${segment}`}`;

/** The id of a tool call, and of the interrupt that asks about it. */
export const toolCallId = (seq: number): string => `call_${seq}`;

/** The id of the message with the result of a tool call. */
export const resultId = (session: string, seq: number): string => `result_${session.slice(4)}_${seq}`;

/** The id of the interrupt of a session that waits for something else than an approval. */
export const waitId = (seq: number): string => `wait_${seq}`;

/** The position in `call_N` or `wait_N`; null for any other text. */
export function seqOf(kind: "call" | "wait", id: string): number | null {
  const [, found, seq] = /^(call|wait)_(\d{1,15})$/.exec(id) ?? [];
  return found === kind ? Number(seq) : null;
}

export const sha256 = (text: string): string => hash("sha256", text, "hex");

/** The idempotency key of a user message. */
export const inputKey = (id: string): string => `ag-ui:${sha256(id)}`;
