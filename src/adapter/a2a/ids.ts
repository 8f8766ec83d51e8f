/** Ids that a client sees: derived from session and position, so they are the same for ever. */
import { hash } from "node:crypto";
import { isSessionId, type SessionId } from "../../core/ids.ts";

/** The id of a task: by the position of its input. */
export const taskId = (session: string, inputSeq: number): string => `task_${session.slice(4)}_${inputSeq}`;

/** The session and position of a task's id; null for any other text. */
export function taskPlace(id: string): { readonly session: SessionId; readonly seq: number } | null {
  const [, of = "", seq] = /^task_([0-9a-z]{26})_([1-9]\d{0,14})$/.exec(id) ?? [];
  const session = `ses_${of}`;
  return seq !== undefined && isSessionId(session) ? { session, seq: Number(seq) } : null;
}

/** The id of a message: by the position of its event. */
export const messageId = (session: string, seq: number): string => `msg_${session.slice(4)}_${seq}`;

/** The id of an answer's artifact: by the position of its request. */
export const answerId = (requestSeq: number): string => `answer_${requestSeq}`;

/** The id of a tool call in a question, and in the answer to it. */
export const callId = (seq: number): string => `call_${seq}`;

/** The position in `call_N`; null for any other text. */
export function callSeq(id: string): number | null {
  const [, seq] = /^call_([1-9]\d{0,14})$/.exec(id) ?? [];
  return seq === undefined ? null : Number(seq);
}

export const sha256 = (text: string): string => hash("sha256", text, "hex");
