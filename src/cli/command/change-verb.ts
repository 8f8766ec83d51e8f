/** The output of verbs that change a session. */
import type { Session } from "../../runtime/engine/session.ts";
import type { AppendResult } from "../../runtime/log/append-result.ts";
import type { PresentedResult } from "./presentation.ts";
import type { Screen } from "./screen.ts";

export const changeOf = (
  session: string,
  { seq, headSeq, duplicate }: AppendResult,
  done: string,
): PresentedResult & { readonly json: object } => ({
  json: { session, seq, headSeq, duplicate },
  lines: [
    duplicate ? `written before, at ${seq}; nothing was written now` : `${done} at ${seq} of ${session}`,
  ],
});

export function answerChange(
  out: Screen,
  session: Session,
  written: AppendResult,
  done: string,
): Promise<void> {
  const { json, lines } = changeOf(session.id, written, done);
  return out.answer(json, () => lines);
}
