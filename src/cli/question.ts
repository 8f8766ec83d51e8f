/** What a session that stands still waits for, and what one can do about it. */
import type { Session } from "../runtime/session.ts";
import { argumentsOf } from "./hearing.ts";
import { oneLine } from "./text.ts";
import { ending } from "./title.ts";

export interface AskedCall {
  readonly call: string;
  readonly tool: string;
  readonly input: unknown;
  /** The position of the request. */
  readonly seq: number;
}

export interface Question {
  readonly session: string;
  readonly by: string;
  readonly reason: string | null;
  /** Tool calls that wait for approval, in the order they were asked for. */
  readonly calls: readonly AskedCall[];
}

/** Null when the session is not suspended. */
export async function questionOf(session: Session): Promise<Question | null> {
  const { mind, standing } = await session.fold();
  const { status, why } = standing;
  if (status !== "suspended" || why === null) return null;
  const asked = [...mind.calls.entries()].filter(([, { phase }]) => phase === "asked");
  const calls: AskedCall[] = [];
  for (const [call, { tool, seq }] of asked.toSorted(([, a], [, b]) => a.seq - b.seq)) {
    const { input = null } = (await contentAt(session, seq)) as { readonly input?: unknown };
    calls.push({ call, tool, input, seq });
  }
  const { reason = null } = (await contentAt(session, why.seq)) as { readonly reason?: string };
  return { session: session.id, by: why.by, reason, calls };
}

async function contentAt(session: Session, seq: number): Promise<object> {
  for await (const { content } of session.events({ fromSeq: seq, toSeq: seq })) return content ?? {};
  return {};
}

/** The calls, one a line. */
export const questionLines = ({ calls }: Question): string[] =>
  calls.map(({ call, tool, input }) => `  ${tool} ${argumentsOf(input)}  (${oneLine(call)})`);

/** What to type next. */
export function wayOn({ session, by }: Pick<Question, "session" | "by">): string[] {
  const id = ending(session);
  const run = `skein run ${id}`;
  switch (by) {
    case "approval":
      return [`allow it: skein answer ${id} allow; or: skein answer ${id} deny --reason WHY; then: ${run}`];
    case "unknown":
      return [`look what happened, then: skein answer ${id} --text "what you found"; then: ${run}`];
    case "budget":
      return [`give it more, such as: skein budget ${id} --usd 5; then: ${run}`];
    case "error":
      return [`mend it, then: skein activate ${id}; then: ${run}`];
    default:
      return [`to go on: skein activate ${id}; then: ${run}`];
  }
}
