/** One run as a stream of events, from the updates of its session. */
import { SkeinError } from "../../core/error.ts";
import { isOf } from "../../core/transcript.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { isAtRest, isTurnOf, mayPause } from "../session-run.ts";
import { followSession } from "../session-updates.ts";
import type { RunEvent } from "./answer.ts";
import { threadMessages, threadTypes } from "./messages.ts";
import { RunProjection } from "./project.ts";
import { StateProjection } from "./state.ts";
import type { RunPlan } from "./thread.ts";

/** A keep-alive comment, between the events of a stream. */
export const keepAlive = "keep-alive";

interface RunStream {
  readonly threadId: string;
  readonly runId: string;
  readonly signal: AbortSignal;
  /** The text of an error for the client. */
  readonly errorText: (error: unknown) => { readonly message: string; readonly code: string };
}

/** The events of one run: until its turn ends, or waits for someone. */
export async function* streamRun(
  engine: Engine,
  session: Session,
  plan: RunPlan,
  options: RunStream,
): AsyncGenerator<RunEvent | typeof keepAlive, void> {
  const atSeq = plan.isDone ? undefined : Math.max(plan.fromSeq - 1, 1);
  const items = await session.items(atSeq === undefined ? {} : { atSeq });
  const projection = new RunProjection({
    session: session.id,
    ...options,
    ...plan,
    state: new StateProjection(items),
  });
  yield* projection.start();
  if (plan.snapshotSeq !== undefined) {
    yield await snapshot(session, plan, plan.snapshotSeq);
  }
  if (plan.isDone) yield projection.finish({ type: "success" });
  else yield* streamTurn(engine, session, plan, { ...options, projection });
}

interface TurnStream extends RunStream {
  readonly projection: RunProjection;
}

async function* streamTurn(
  engine: Engine,
  session: Session,
  plan: RunPlan,
  { projection, signal, errorText }: TurnStream,
): AsyncGenerator<RunEvent | typeof keepAlive, void> {
  const { fromSeq, afterSeq, inputSeq, run } = plan;
  const updates = followSession(engine, session, { fromSeq, types: threadTypes, signal, run });
  /** Whether the log was read to its end: before that, what waited may have been answered. */
  let isLive = false;
  for await (const update of updates) {
    if ("mark" in update) {
      if (update.mark === "failed") {
        yield { type: "RUN_ERROR", ...errorText(update.error) };
        return;
      }
      if (await mayPause(update, projection, () => isAtRest(engine, session)))
        return yield* projection.pause();
      isLive = true;
      if (update.mark === "idle") yield keepAlive;
    } else if ("delta" in update) {
      yield* projection.delta(update);
    } else {
      if (isOf(update, "turn.started") && !isTurnOf(update.body.inputs, inputSeq)) continue;
      const events = projection.event(update);
      if (update.seq > afterSeq) for (const event of events) yield await whole(session, plan, event);
      if (projection.isOver) return;
      if (isLive && isOf(update, "lease.released") && projection.waitsFor !== null)
        return yield* projection.pause();
    }
  }
}

/** A `resync` becomes the messages of the log. */
const whole = async (session: Session, plan: RunPlan, event: RunEvent): Promise<RunEvent> =>
  event.type === "resync" ? snapshot(session, plan, Number(event["toSeq"])) : event;

const snapshot = async (session: Session, { ids }: RunPlan, upToSeq: number | null): Promise<RunEvent> => ({
  type: "MESSAGES_SNAPSHOT",
  messages: await threadMessages(session, { upToSeq, ids: await ids() }),
});

/** The frame of an event. JSON has no line breaks, so no text can end it. */
export const eventFrame = (event: RunEvent | typeof keepAlive): string =>
  event === keepAlive ? ": keep-alive\n\n" : `data: ${JSON.stringify(event)}\n\n`;

/** The path's last segment: an agent, a session, or null. */
export function targetOf(path: string): string | null {
  const [, target, ...rest] = path.split("/");
  if (rest.length > 0) throw new SkeinError("not-found", "ag-ui: no such route");
  try {
    return target === undefined || target === "" ? null : decodeURIComponent(target);
  } catch {
    throw new SkeinError("invalid", "ag-ui: the agent is not a valid part of a URL");
  }
}
