/** Positions in a log: its head, a position that must exist, that of a checkpoint, that of a time. */
import { SkeinError, sessionNotFound } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Head, Store } from "../../store/port.ts";
import { exactMomentOf, isZoneless, localTime, timeHint } from "./time-place.ts";

interface Logs {
  readonly store: Store;
  readonly writer: { readonly current: (session: SessionId) => Promise<State> };
}

export async function headOf({ store }: Pick<Logs, "store">, session: SessionId): Promise<Head> {
  const head = await store.head(session);
  if (head !== undefined) return head;
  throw sessionNotFound(session);
}

/** The position, if it exists. */
export async function positionIn(
  logs: Pick<Logs, "store">,
  session: SessionId,
  seq: number,
): Promise<number> {
  const head = await headOf(logs, session);
  if (Number.isInteger(seq) && seq >= 1 && seq <= head.seq) return seq;
  throw new SkeinError(
    "not-found",
    `position ${seq} does not exist in ${session}, which ends at ${head.seq}`,
    {
      hint: `expected a position from 1 to ${head.seq}`,
    },
  );
}

/** A position, or that of a checkpoint, or the last one until a time. The name of a checkpoint wins. */
export async function resolvePlace(logs: Logs, session: SessionId, place: string | number): Promise<number> {
  if (typeof place === "number") return positionIn(logs, session, place);
  const state = await logs.writer.current(session);
  const seq = state.standing.checkpoints.get(place);
  if (seq !== undefined) return seq;
  const moment = exactMomentOf(place, logs.store.now());
  if (moment !== null) return positionUntil(logs, session, moment);
  if (isZoneless(place))
    throw new SkeinError("invalid", `position: expected a time with a zone, got ${quote(place)}`, {
      hint: `for example ${timeHint}`,
    });
  const names = [...state.standing.checkpoints.keys()];
  const known =
    names.length === 0
      ? "the session has no checkpoints; save creates one"
      : `checkpoints: ${names.slice(0, 10).join(", ")}`;
  throw new SkeinError("not-found", `there is no checkpoint ${quote(place)} in ${session}`, {
    hint: `${known}; or a time, such as ${timeHint}`,
  });
}

/** The last position until a moment, that moment included. */
async function positionUntil({ store }: Logs, session: SessionId, moment: number): Promise<number> {
  const head = await headOf({ store }, session);
  if (head.at <= moment) return head.seq;
  const seq = (await store.seqAt(session, moment + 1)) - 1;
  if (seq >= 1) return seq;
  const [first] = await store.read(session, { fromSeq: 1, toSeq: 1, limit: 1, contents: false });
  const begun = first === undefined ? "" : `, which begins at ${localTime(first.at)}`;
  throw new SkeinError("not-found", `nothing had happened by ${localTime(moment)} in ${session}${begun}`, {
    hint: "use a later time, or a position from 1",
  });
}
