/** Ids that a client of OpenAI's API sees: of session and position, so they are the same for ever. */
import { hash } from "node:crypto";
import { isSessionId, type SessionId } from "../../core/ids.ts";

export const conversationId = (session: string): string => `conv_${session.slice(4)}`;

/** The session of a conversation's id; null for any other text. */
export function conversationSession(id: string): SessionId | null {
  const session = id.replace(/^conv_/, "ses_");
  return id.startsWith("conv_") && isSessionId(session) ? session : null;
}

/** The id of a response: by the position of its record. */
export const responseId = (session: string, seq: number): string => `resp_${session.slice(4)}_${seq}`;

/** The session and position of a response's id; null for any other text. */
export function responsePlace(id: string): { readonly session: SessionId; readonly seq: number } | null {
  const [, of = "", seq] = /^resp_([0-9a-z]{26})_([1-9]\d{0,14})$/.exec(id) ?? [];
  const session = `ses_${of}`;
  return seq !== undefined && isSessionId(session) ? { session, seq: Number(seq) } : null;
}

/** The id of an item: by the position of its event, and its place in there. */
export const itemId = (kind: string, session: string, seq: number, place = 0): string =>
  `${kind}_${session.slice(4)}_${seq}${place === 0 ? "" : `_${place}`}`;

export const sha256 = (text: string): string => hash("sha256", text, "hex");
