/** Ids that a chat client sees: derived from session and position, so they are the same for ever. */
import { hash } from "node:crypto";

/** The id of a message: of a user by the position of the input, of an assistant by that of `turn.started`. */
export const messageId = (session: string, seq: number): string => `msg_${session.slice(4)}_${seq}`;

/** The position in a message's id; null if the id is of another session, or a client's own. */
export function messageSeq(session: string, id: string): number | null {
  const [, of, seq] = /^msg_([0-9a-z]{26})_(\d{1,15})$/.exec(id) ?? [];
  return of === session.slice(4) && seq !== undefined ? Number(seq) : null;
}

/** The id of a tool call, and of its approval: by the position of its request. */
export const toolCallId = (seq: number): string => `call_${seq}`;

/** The position in the id of a tool call; null for any other text. */
export function toolCallSeq(id: string): number | null {
  const [, seq] = /^call_(\d{1,15})$/.exec(id) ?? [];
  return seq === undefined ? null : Number(seq);
}

export const sha256 = (text: string): string => hash("sha256", text, "hex");
