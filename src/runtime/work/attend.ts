/** What time brings about: a sleeping session is woken, a trigger fires, a request is given up. */
import type { SessionId } from "../../core/ids.ts";
import { dueOf } from "../../core/schedule.ts";
import type { State } from "../../core/state.ts";
import { giveUp } from "../deliver.ts";
import type { Context } from "../engine-context.ts";
import { indexEntryOf } from "../session-index.ts";
import { fireDue, ifOvertaken } from "./fire.ts";

/**
 * Does for a session what is due by the clock. Resolves to when it is due next; 0 when there is something to
 * run. What the index said of it is put right.
 */
export async function attend(context: Context, session: SessionId): Promise<number | null> {
  const { world, writer, store } = context;
  const before = await writer.current(session);
  await wake(context, session, before);
  if (before.standing.status !== "suspended") await fireDue(context, session, before);
  const overdue = [...before.standing.requests.values()].some(({ deadlineMs }) => deadlineMs <= world.now());
  if (overdue) await giveUp(context, session);
  const after = await writer.current(session);
  // Nothing was written, so nothing has put the index right: it may stem from an earlier layout.
  if (after.seq === before.seq)
    await store.index(session, await indexEntryOf(store, session, after), after.seq);
  return dueOf(after);
}

async function wake({ world, writer }: Context, session: SessionId, { standing }: State): Promise<void> {
  const untilMs = standing.sleep?.untilMs ?? null;
  if (standing.status !== "sleeping" || untilMs === null || untilMs > world.now()) return;
  const text = `The time you slept until has come: ${new Date(untilMs).toISOString()}.`;
  await writer.change(session, { do: "wake", by: "time", text }, { actor: "system" }).catch(ifOvertaken);
}
