/**
 * Where a session went on: `clear` and `rollover` close it and open the next. Its old id stays an address:
 * what is sent there arrives at the newest of the chain. The first of a chain names the newest, so the lookup
 * is as short for a hundred sessions as for two.
 */
import { SkeinError } from "../../core/error.ts";
import { isSessionId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import type { Store } from "../../store/port.ts";

interface SuccessorDeps {
  readonly store: Pick<Store, "head">;
  readonly writer: { current(session: SessionId): Promise<State> };
}

/** The session itself, or the newest of those that it went on as. Rejects when that one was deleted. */
export async function liveSession(place: SuccessorDeps, session: SessionId): Promise<SessionId> {
  const passed = new Set<string>();
  for (let at = session; passed.size <= limit.successionHopsMax;) {
    const { next, first } = (await place.writer.current(at)).standing;
    if (next === null) return at;
    passed.add(at);
    const newest = first === null ? null : await newestOf(place, first);
    const to = newest !== null && !passed.has(newest) ? newest : next;
    if (!isSessionId(to) || passed.has(to)) break;
    if ((await place.store.head(to)) === undefined) {
      throw new SkeinError("not-found", `${session} went on as ${to}, which was deleted`, {
        hint: `fork ${session} to go on from there`,
      });
    }
    at = to;
  }
  throw new SkeinError("corrupt", `${session}: its successors lead nowhere`, {
    hint: `run "skein verify ${session}"`,
  });
}

/** As the first of a chain has it; null where that was deleted or reopened. */
async function newestOf({ store, writer }: SuccessorDeps, first: string): Promise<string | null> {
  if (!isSessionId(first) || (await store.head(first)) === undefined) return null;
  return (await writer.current(first)).standing.next;
}

/** True for the refusal of a session that went on as another one. */
export async function wentOn(
  { writer }: SuccessorDeps,
  session: SessionId,
  error: unknown,
): Promise<boolean> {
  if (!(error instanceof SkeinError) || error.code !== "refused") return false;
  return (await writer.current(session)).standing.next !== null;
}
