/** The output of verbs that change a session. */
import type { Session } from "../../runtime/engine/session.ts";
import type { Screen } from "./screen.ts";
import type { AppendResult } from "../../runtime/log/append-result.ts";

export function answerChange(
  out: Screen,
  session: Session,
  written: AppendResult,
  done: string,
): Promise<void> {
  const { seq, headSeq, duplicate } = written;
  return out.answer({ session: session.id, seq, headSeq, duplicate }, () => [
    duplicate ? `written before, at ${seq}; nothing was written now` : `${done} at ${seq} of ${session.id}`,
  ]);
}
