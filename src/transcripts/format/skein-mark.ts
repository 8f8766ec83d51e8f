/**
 * The mark in files that Skein wrote for other tools: the session and the position that they were written
 * from. The tools ignore it and keep it, also in their forks, so that an import recognizes its own exports.
 */
import type { SourceRange, WrittenBySkein } from "../model.ts";
import { textOf } from "./json-value.ts";

/** The position of a session that a file was written from. */
export type SkeinPosition = Pick<WrittenBySkein, "session" | "seq">;

/** The field of a record that holds the mark. */
export const markField = "skein";

export const markOf = ({ session, seq }: SkeinPosition): string => `${session}@${seq}`;

/** The fields to add to a record; none when the file is not written from a session of Skein. */
export const markFields = (position: SkeinPosition | undefined): Record<string, string> =>
  position === undefined ? {} : { [markField]: markOf(position) };

/** Null for anything but a mark. */
export function readMark(value: unknown): SkeinPosition | null {
  const [, session, seq] = /^(ses_[0-9a-z]{26})@([1-9][0-9]{0,14})$/.exec(textOf(value) ?? "") ?? [];
  return session === undefined ? null : { session, seq: Number(seq) };
}

/** Follows the marks in the records of one file, which the tool continues at its end. */
export class MarkedRecords {
  #position: SkeinPosition | null = null;
  #to = 0;

  /** Notes a record. Other files of the session are never written by Skein. */
  see(mark: unknown, { to }: SourceRange): void {
    if (mark === undefined) return;
    const position = readMark(mark);
    if (position === null) return;
    this.#position ??= position;
    this.#to = to;
  }

  /** For the plan: nothing without a mark. */
  written(): { readonly written?: WrittenBySkein } {
    return this.#position === null ? {} : { written: writtenTo(this.#position, this.#to) };
  }
}

/** The entries whose records end at or before a byte of the file. */
export const writtenTo = (position: SkeinPosition, to: number): WrittenBySkein => ({
  ...position,
  holds: ({ records }) => records.every((record) => record.to <= to),
});
