/** Cursors of the list of sessions: the activity and the id of the last row. */
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";

export interface ListPosition {
  readonly at: number;
  readonly session: string;
}

export function parseCursor(cursor: string): ListPosition {
  const match = /^([0-9]{1,16})\.(ses_[0-9a-z]{26})$/.exec(cursor);
  if (match === null) {
    throw new SkeinError(
      "invalid",
      `cursor: expected a cursor that this list returned, got ${quote(cursor)}`,
      {
        hint: "cursors are opaque; start again without a cursor",
        field: "cursor",
      },
    );
  }
  return { at: Number(match[1]), session: match[2] ?? "" };
}

export const cursorOf = ({ at, session }: ListPosition): string => `${at}.${session}`;
