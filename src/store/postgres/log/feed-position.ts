/**
 * Places in the feed of PostgreSQL, as texts: the number of the transaction, the log and the seq of a record,
 * "xid.log.seq". What else a position says is in ../../feed-position.ts.
 */
import { notAPosition } from "../../feed-position.ts";

export interface Place {
  /** As a text: it may be greater than what a number holds. */
  readonly xid: string;
  readonly log: number;
  readonly seq: number;
}

export const beginning: Place = { xid: "0", log: 0, seq: 0 };

const form = /^(\d{1,19})\.(\d{1,15})\.(\d{1,15})$/;

export function parsePlace(text: string | null): Place {
  if (text === null) return beginning;
  const [, xid, log, seq] = form.exec(text) ?? [];
  if (xid === undefined) throw notAPosition(text);
  return { xid, log: Number(log), seq: Number(seq) };
}

export const placeText = ({ xid, log, seq }: Place): string => `${xid}.${log}.${seq}`;
