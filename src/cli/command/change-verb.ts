/**
 * What verbs that change a session have in common: how they answer, and the plain ones among them as a
 * whole.
 */
import type { Session } from "../../runtime/engine/session.ts";
import { present } from "./input.ts";
import type { Screen } from "./screen.ts";
import { verb, type Verb } from "./verb.ts";
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

type PlainVerb = "activate" | "suspend" | "interrupt" | "reopen" | "archive";

/** A verb that takes a session and perhaps a reason. */
export function plainVerb(definition: {
  readonly name: PlainVerb;
  readonly line: string;
  readonly about?: readonly string[];
  /** What the session is afterwards. */
  readonly done: string;
  readonly reason: string;
  readonly examples?: Verb["examples"];
}): Verb {
  const { name, line, about, done, reason, examples = [] } = definition;
  return verb({
    name,
    line,
    args: ["ID"],
    ...(about === undefined ? {} : { about }),
    options: { reason: { type: "text", what: "why; it is kept in the log" } },
    examples: [
      ...examples,
      {
        command: `skein ${name} 4x8kz1 --reason "${reason}"`,
        what: `${line.replace(/\.$/, "")}, and say why`,
      },
    ],
    async run({ args, options, out, session }) {
      const found = await session(args.ID);
      const written = await found[name](present({ reason: options.reason }));
      await answerChange(out, found, written, done);
    },
  });
}
