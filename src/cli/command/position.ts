/** `ID@SEQ` and `ID@NAME`: a session, and a position or checkpoint of it, in one word. */
import { SkeinError } from "../../core/error.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { parsePlace } from "./args.ts";

/** The session, and the position; null for the current one. */
export async function placeOf(
  where: string,
  word: string,
  at: string | number | undefined,
  session: (id: string) => Promise<Session>,
): Promise<{ readonly session: Session; readonly seq: number | null }> {
  const mark = word.indexOf("@");
  const id = mark === -1 ? word : word.slice(0, mark);
  if (mark !== -1 && at !== undefined) {
    throw new SkeinError("invalid", `${where}: the position is given twice`, {
      hint: "use ID@SEQ or --at, not both",
    });
  }
  const place = mark === -1 ? at : parsePlace(word.slice(mark + 1));
  if (place === "") {
    throw new SkeinError("invalid", `${where}: position missing after the @`, {
      hint: "for example ID@12",
    });
  }
  const found = await session(id);
  return { session: found, seq: place === undefined ? null : (await found.load(place)).seq };
}
