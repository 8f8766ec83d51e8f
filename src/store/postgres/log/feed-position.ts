/**
 * Places in the feed of PostgreSQL, as texts: the number of the transaction, the log and the seq of a record,
 * "xid.log.seq". What else a position says is in ../feed-position.ts. Where the projections stand is a
 * position too, with the number of erasures once there were any, "position~n": whoever makes projections
 * reads texts first and writes them later, and what was erased in between must not come back.
 */
import { notAPosition } from "../../feed-position.ts";

export interface Place {
  /** As a text: it may be greater than what a number holds. */
  readonly xid: string;
  readonly log: number;
  readonly seq: number;
}

const beginning: Place = { xid: "0", log: 0, seq: 0 };

const form = /^(\d{1,19})\.(\d{1,15})\.(\d{1,15})$/;

export function parsePlace(text: string | null): Place {
  if (text === null) return beginning;
  const [, xid, log, seq] = form.exec(text) ?? [];
  if (xid === undefined) throw notAPosition(text);
  return { xid, log: Number(log), seq: Number(seq) };
}

export const placeText = ({ xid, log, seq }: Place): string => `${xid}.${log}.${seq}`;

/** Where the projections stand; a step from a place with another number of erasures is not taken. */
export const placeOfProjections = (position: string | null, erasures: number): string | null =>
  erasures === 0 ? position : `${position ?? placeText(beginning)}~${erasures}`;

export const withoutErasures = (position: string): string => position.replace(/~\d{1,15}$/, "");
