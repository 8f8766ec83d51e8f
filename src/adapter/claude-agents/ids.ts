/** Ids that clients see: made of the session and the position, so they are the same on every server. */
import type { SessionId } from "../../core/ids.ts";

/** The id of an event. A record that becomes several events numbers them. */
export const eventId = (session: string, seq: number, part = 0): string =>
  `sevt_${session.slice(4)}_${seq}${part === 0 ? "" : `_${part}`}`;

/** The position in the id of an event of this session; null for any other text. */
export function seqOfEvent(session: string, id: unknown): number | null {
  const [, of, seq] = /^sevt_([0-9a-z]{26})_([1-9]\d{0,14})(?:_\d)?$/.exec(String(id)) ?? [];
  return of === session.slice(4) ? Number(seq) : null;
}

/** The id of a session's only thread. */
export const threadId = (session: string): string => `sthr_${session.slice(4)}`;

/** The parts of an answer to a model request: both ids are known before the answer is. */
export const thinkingId = (session: SessionId, requestSeq: number): string => eventId(session, requestSeq, 1);
export const messageId = (session: SessionId, requestSeq: number): string => eventId(session, requestSeq, 2);

const agentForm = /^agent_([a-z0-9][a-z0-9._-]{0,63})$/;

/** The name of an agent in its id; null for any other text. */
export const agentName = (id: unknown): string | null => agentForm.exec(String(id))?.[1] ?? null;
export const agentId = (name: string): string => `agent_${name}`;

/** A free text as the name of an agent. */
export function slugOf(text: string): string {
  const words = text
    .slice(0, 256)
    .normalize("NFKD")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const slug = words
    .filter((word) => word !== "")
    .join("-")
    .slice(0, 48);
  return slug === "" ? "agent" : slug;
}
