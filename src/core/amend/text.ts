/** An amendment in a context: what it begins with, and the note where it was made. */
import type { EventOf } from "../event.ts";
import type { AmendedTexts, Standing, State } from "../state.ts";
import { gap, isBlank, nested, textOf } from "../context/text.ts";

/** What a context begins with: until its next boundary, the same as before an amendment. */
export const frontOf = ({ standing }: Pick<State, "standing">): Pick<Standing, "agent" | "texts"> =>
  standing.front ?? standing;

/** The positions of what a context begins with, besides the opening. */
export function frontSeqs(state: Pick<State, "standing">): readonly number[] {
  const { agent, texts } = frontOf(state);
  return [...(agent === null ? [] : [agent.seq]), ...seqsOf(texts)];
}

const seqsOf = ({ objective, instructions, constraints }: AmendedTexts): readonly number[] =>
  [objective, instructions, constraints].filter((seq) => seq !== undefined);

/** The note of an amendment that was made since the context began; null if it begins with it. */
export function amendedNote(
  { body, content, seq }: EventOf<"session.amended">,
  { standing: { front } }: State,
): string | null {
  if (front === null || seq < front.sinceSeq) return null;
  const { objective, instructions, constraints, because, definition } = content ?? {};
  if (body.has.length === 0 && body.agent === undefined) return null;
  if (content === undefined) return `[${gap("what this session was amended to")}]`;
  const named = (definition as { readonly instructions?: unknown } | undefined)?.instructions;
  const reason = because === undefined || isBlank(because) ? "" : `, because ${nested(because)}`;
  const parts = [
    ...(body.agent === undefined || typeof named !== "string"
      ? []
      : [`You are now the agent ${body.agent}. Its instructions, in place of those before:\n${named}`]),
    ...(instructions === undefined ? [] : [saidOrNone("Instructions of this session", instructions)]),
    ...(objective === undefined ? [] : [`Objective of this session:\n${objective.toWellFormed()}`]),
    ...(constraints === undefined ? [] : [saidOrNone("Constraints", constraintLines(constraints))]),
  ];
  return `[From here on this holds, in place of what was said before${reason}.]\n\n${parts.join("\n\n")}`;
}

const saidOrNone = (what: string, text: string): string =>
  isBlank(text) ? `${what}: none from here on.` : `${what}:\n${text.toWellFormed()}`;

export const constraintLines = (constraints: readonly unknown[]): string =>
  constraints.map((one) => `- ${textOf(one)}`).join("\n");
