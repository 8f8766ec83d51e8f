/**
 * Places in the feed of PostgreSQL, as texts: the transaction number, the log and the seq of a record,
 * "xid.log.seq". ../../feed-position.ts has the rest of a position.
 */
import { notAPosition } from "../../feed-position.ts";

export interface XidPosition {
  /** As a text: it may exceed an exact number. */
  readonly xid: string;
  readonly log: number;
  readonly seq: number;
}

export const beginning: XidPosition = { xid: "0", log: 0, seq: 0 };

const form = /^(\d{1,19})\.(\d{1,15})\.(\d{1,15})$/;

export function parsePlace(text: string | null): XidPosition {
  if (text === null) return beginning;
  const [, xid, log, seq] = form.exec(text) ?? [];
  if (xid === undefined) throw notAPosition(text);
  return { xid, log: Number(log), seq: Number(seq) };
}

export const placeText = ({ xid, log, seq }: XidPosition): string => `${xid}.${log}.${seq}`;
