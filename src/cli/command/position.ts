/** `ID@SEQ`, `ID@NAME` and `ID@TIME`: a session, and a position, checkpoint or time of it, in one word. */
import { SkeinError } from "../../core/error.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { isTimeWord } from "../../core/text/time-word.ts";
import { isZoneless, localTime, momentOf } from "../../runtime/read/time-place.ts";
import { parsePlace } from "./args.ts";
import type { Screen } from "./screen.ts";

/** The session, and the position; null for the current one. Says which one a time means. */
export async function placeOf(
  where: string,
  word: string,
  at: string | number | undefined,
  {
    session,
    out,
  }: { readonly session: (id: string) => Promise<Session>; readonly out: Pick<Screen, "note"> },
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
      hint: "for example ID@12 or ID@yesterday",
    });
  }
  const found = await session(id);
  const seq = place === undefined ? null : (await found.load(await zonedPlace(found, place))).seq;
  if (seq !== null && typeof place === "string" && isTimeWord(place))
    for await (const { at: ms } of found.events({ fromSeq: seq, toSeq: seq }))
      out.note(`${place}: position ${seq}, of ${localTime(ms)}`);
  return { session: found, seq };
}

/** A time without a zone is in that of the person. An old checkpoint may be named like a time, and wins. */
export async function zonedPlace(session: Session, place: string | number): Promise<string | number> {
  if (typeof place === "number" || !isZoneless(place)) return place;
  if ((await session.fold()).standing.checkpoints.has(place)) return place;
  const ms = momentOf(place, Date.now());
  return ms === null ? place : new Date(ms).toISOString();
}
