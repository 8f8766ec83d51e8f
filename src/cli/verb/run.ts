/** Runs a session until it is idle or suspended. */
import { shortId } from "../../core/text/short-id.ts";
import { SkeinError } from "../../core/error.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { exact } from "../format/moment.ts";
import { showRun } from "../chat/turn.ts";
import { oneLine } from "../format/text.ts";
import { verb, type VerbCall } from "../command/verb.ts";

export const run = verb({
  name: "run",
  line: "Run a session until it is idle: resumes unfinished work and processes queued input.",
  args: ["ID"],
  options: {
    wait: {
      type: "flag",
      what: "wait for another process's run, and for the wake-up time of a sleeping session",
    },
  },
  about: [
    "It first settles what a process left unfinished: calls that only read, or may be repeated, run " +
      "again; of any other the tool's probe finds the outcome. If that stays unknown, the session asks, or " +
      "informs the model where the agent says onUnknown: tell. Only one process runs a session; " +
      "without --wait the second names the first, and ends with 1.",
    "The exit code is 0 when the session is idle or asleep, and 7 when it is suspended. Ctrl-C " +
      "interrupts the turn; SIGTERM stops before the next step, and another process can continue.",
  ],
  examples: [
    "skein run 4x8kz1  # to idle",
    "skein run 4x8kz1 --wait  # also when it sleeps until a time, or another runs it",
  ],
  async run(call) {
    const found = await call.session(call.args.ID);
    if (call.options.wait) await untilFree(call, found);
    for (;;) {
      try {
        const code = await showRun(call, found, (signal) => found.watch({ signal }));
        if (!call.options.wait || call.untilStopped().aborted || !(await isToWake(found))) return code;
      } catch (error) {
        // Another process may have been quicker.
        const taken = error instanceof SkeinError && error.code === "conflict";
        if (taken && !call.options.wait) throw saysWait(error, found);
        if (!taken) throw error;
      }
      await untilFree(call, found);
    }
  },
});

const saysWait = ({ code, message, cause }: SkeinError, { id }: Session): SkeinError =>
  new SkeinError(code, message, { hint: `to wait for them: skein run ${shortId(id)} --wait`, cause });

/** True when it sleeps until a set time. */
async function isToWake(session: Session): Promise<boolean> {
  const { status, sleep } = (await session.fold()).standing;
  return status === "sleeping" && sleep?.untilMs !== null && sleep?.untilMs !== undefined;
}

/** Resolves when no process runs the session and it is not asleep, or its wake-up time has come. */
async function untilFree({ store, out, untilStopped }: VerbCall, session: Session): Promise<void> {
  const stopped = untilStopped();
  let shown = "";
  const tell = (text: string): void => {
    if (text !== shown) out.note(out.dim(text));
    shown = text;
  };
  while (!stopped.aborted) {
    const opened = await store();
    const head = await opened.head(session.id);
    const lease = head?.lease ?? null;
    const { status, sleep } = (await session.fold()).standing;
    const nowMs = Date.now();
    const heldMs = lease === null ? 0 : lease.untilMs - opened.now();
    const asleepMs = status === "sleeping" ? (sleep?.untilMs ?? Infinity) - nowMs : 0;
    if (heldMs <= 0 && asleepMs <= 0) return;
    if (heldMs > 0) tell(`${oneLine(lease?.holder ?? "another process")} runs it; waiting`);
    else if (asleepMs === Infinity) tell("asleep until it is woken; waiting");
    else tell(`asleep until ${exact(nowMs + asleepMs)}; waiting`);
    // Records appended after this check of the lease are new, however soon they came.
    const sinceSeq = head?.seq ?? 0;
    await changeOrTime(session, sinceSeq, Math.min(heldMs > 0 ? heldMs : asleepMs, dayMs), stopped);
  }
}

/** Timers do not reach further than some weeks; a check once a day is cheap. */
const dayMs = 86_400_000;

/** Resolves when something was appended to the session after a position, or the time has passed. */
async function changeOrTime(
  session: Session,
  sinceSeq: number,
  ms: number,
  stopped: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), ms);
  try {
    const signal = AbortSignal.any([over.signal, stopped]);
    for await (const _ of session.events({ fromSeq: sinceSeq + 1, follow: true, signal })) return;
  } finally {
    clearTimeout(timer);
  }
}
