/**
 * Positions in the feed of PostgreSQL, as texts: the number of the transaction, the log and the seq of a
 * record, "xid.log.seq". Where the projections stand is such a position too, with the number of erasures once
 * there were any, "xid.log.seq~n": whoever makes projections reads texts first and writes them later, and
 * what was erased in between must not come back.
 */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";

export interface Position {
  /** As a text: it may be greater than what a number holds. */
  readonly xid: string;
  readonly log: number;
  readonly seq: number;
}

const beginning: Position = { xid: "0", log: 0, seq: 0 };

const form = /^(\d{1,19})\.(\d{1,15})\.(\d{1,15})(~\d{1,15})?$/;

/** The position, and what else the text says, to be given back with the next one. */
export function parsePosition(text: string | null): { readonly at: Position; readonly erasures: string } {
  if (text === null) return { at: beginning, erasures: "" };
  const [, xid, log, seq, erasures = ""] = form.exec(text) ?? [];
  if (xid !== undefined) return { at: { xid, log: Number(log), seq: Number(seq) }, erasures };
  throw new SkeinError("invalid", `not a position of this feed: ${quote(text)}`, {
    hint: "positions are opaque; give back one that the feed of this store gave out",
    field: "after",
  });
}

export const positionText = ({ xid, log, seq }: Position): string => `${xid}.${log}.${seq}`;

/** Where the projections stand; a step from a place with another number of erasures is not taken. */
export const placeOfProjections = (position: string | null, erasures: number): string | null =>
  erasures === 0 ? position : `${position ?? positionText(beginning)}~${erasures}`;
