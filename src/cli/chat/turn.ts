/**
 * Runs of a session on the command line: prints what happens, Ctrl-C interrupts the turn, and the exit code
 * is the session's status afterwards.
 */
import { shortId } from "../../core/text/short-id.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionUpdate } from "../../runtime/turn/ask.ts";
import type { RunResult } from "../../runtime/turn/runner.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { standsStill } from "../command/exit-code.ts";
import { makeHearing, type HearingOptions } from "./turn-printer.ts";
import { realWorld } from "../../runtime/world.ts";
import { questionLines, questionOf, wayOn } from "./question.ts";
import { oneLine } from "../format/text.ts";
import type { Screen } from "../command/screen.ts";
import type { VerbCall } from "../command/verb.ts";

/** `begin` gets a signal that is aborted when the run should be left as it is. Returns the exit code. */
export async function showRun(
  { out, untilStopped, session: find }: Pick<VerbCall, "out" | "untilStopped" | "session">,
  session: Session,
  begin: (signal: AbortSignal) => AsyncGenerator<SessionUpdate, RunResult>,
  options: Pick<HearingOptions, "ownOnly" | "waiting"> = {},
): Promise<number> {
  const stopped = untilStopped();
  const leaving = new AbortController();
  const stop = (): void => void stopRun(session, stopped.reason).catch(() => leaving.abort());
  stopped.addEventListener("abort", stop, { once: true });
  const hearing = makeHearing(out, options);
  try {
    const ran = await hearAll(begin(leaving.signal), hearing);
    if (!hearing.isTaken()) out.note(inputWaits(session));
    const last = ran.session === undefined ? session : await find(ran.session);
    if (last.id !== session.id)
      out.note(out.dim(`${shortId(session.id)} continues as ${shortId(last.id)}: it was answered there`));
    return await tellEnd(out, last, { ...ran, outcome: hearing.outcome() });
  } catch (error) {
    await hearing.rest();
    // The user who ended the wait needs no message about it.
    if (stopped.aborted && error instanceof SkeinError) return 0;
    throw options.ownOnly === true ? waitingError(error, session) : error;
  } finally {
    stopped.removeEventListener("abort", stop);
  }
}

const inputWaits = ({ id }: Session): string => `the input is queued; skein run ${shortId(id)} processes it`;

/** The library says that an input stays queued; this adds how to continue with it. */
function waitingError(error: unknown, session: Session): unknown {
  if (!(error instanceof SkeinError) || error.detail !== "input-queued") return error;
  const reason = error.cause instanceof SkeinError ? error.cause.hint : undefined;
  const hint = reason === undefined ? inputWaits(session) : `${reason}; ${inputWaits(session)}`;
  return new SkeinError(error.code, error.message, { hint, cause: error });
}

export async function hearAll(
  run: AsyncGenerator<SessionUpdate, RunResult>,
  hearing: ReturnType<typeof makeHearing>,
): Promise<RunResult> {
  for (;;) {
    const next = await run.next();
    if (next.done === true) {
      await hearing.rest();
      return next.value;
    }
    await hearing.hear(next.value);
  }
}

/**
 * Ctrl-C ends the turn, if it runs here; any other signal leaves it for the next runner. Rejects when the run
 * should only be left.
 */
async function stopRun(session: Session, reason: unknown): Promise<void> {
  const { lease, turn } = (await session.fold()).standing;
  const isMine = lease.held && lease.holder === realWorld().self && turn !== null;
  if (reason !== "SIGINT" || !isMine) throw new Error("the run is left to others");
  await session.interrupt();
}

async function tellEnd(
  out: Screen,
  session: Session,
  ran: RunResult & { readonly outcome: string | null },
): Promise<number> {
  const { status, by, seq, outcome } = ran;
  if (out.json) await out.emit({ type: "ran", session: session.id, status, by, seq, outcome });
  const question = await questionOf(session);
  if (question !== null) {
    // It was suspended before this input, so no event of the turn has said why.
    if ((question.by === "person" || question.by === "zone") && question.reason !== null)
      out.note(`suspended by ${question.by}: ${oneLine(question.reason)}`);
    for (const line of [...questionLines(question, out.command), ...wayOn(question, out.command)])
      out.note(line);
    return standsStill;
  }
  if (status === "open") return 0;
  // A sleeping session has done what was asked; a closed one has not.
  return status === "sleeping" ? 0 : 1;
}
