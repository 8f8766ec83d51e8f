/** An answer that allows more than the waiting calls: for the session, or the same commands for good. */
import type { Command, CommandOf } from "../../core/command.ts";
import type { Permission, SavedCommand } from "../../core/tool/commands.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { levelOf } from "../../core/tool/permission.ts";
import type { State } from "../../core/state.ts";
import type { Also } from "../log/workspace-effects.ts";
import { readContent } from "../read/content.ts";
import type { Deps } from "../deps.ts";
import { readRules } from "./rules.ts";
import { inputRecord, type AnswerOptions } from "../options.ts";
import { saveBeside } from "../workspace/approvals.ts";

type Answer = Omit<CommandOf<"answer">, "do" | "grant">;

interface AskedCall {
  readonly call: string;
  readonly tool: string;
  readonly seq: number;
}

/** The records of an answer: a rule of the session in the same append, or a saved approval beside it. */
export async function answerChange(
  deps: Deps,
  session: SessionId,
  { text, remember, ...rest }: AnswerOptions,
): Promise<{ readonly build: (state: State) => Command | Promise<Command>; readonly also?: Also }> {
  const answer: Answer = {
    ...rest,
    ...(text === undefined ? {} : { input: inputRecord(text, "steer") }),
  };
  const command = { do: "answer", ...answer } as const;
  if (remember === undefined) return { build: () => command };
  deps.need?.("operate", "an approval that is remembered");
  if (remember === "session") {
    const build = async (state: State): Promise<Command> => {
      return { ...command, grant: await allowTools(deps, session, state, askedCalls(state, answer)) };
    };
    return { build };
  }
  const asked = askedCalls(await deps.writer.current(session), answer);
  const commands = [];
  for (const one of asked) commands.push({ tool: one.tool, command: await exactCommand(deps, session, one) });
  return { build: () => command, also: saveBeside(deps, commands) };
}

const askedCalls = ({ mind }: State, { calls }: Answer): AskedCall[] =>
  [...mind.calls.entries()]
    .filter(([call, { phase }]) => phase === "asked" && (calls === undefined || calls.includes(call)))
    .map(([call, { tool, seq }]) => ({ call, tool, seq }));

/** Replaces a rule of the session that asks about every call of the tool; any other one stays. */
async function allowTools(
  { store }: Deps,
  session: SessionId,
  state: State,
  asked: readonly AskedCall[],
): Promise<Permission[]> {
  const rules = await readRules(store, session, state);
  return [...new Set(asked.map(({ tool }) => tool))].map((tool) => {
    const plain = rules.find((one) => one.rule === "ask" && one.tool === tool && levelOf(one) === "tool");
    const isTaken = rules.some(({ name }) => name === tool);
    const name = plain?.name ?? (isTaken ? `allow-${tool}` : tool);
    return { tool, rule: "allow", name, reason: "allowed for this session" };
  });
}

/** As recorded with the request, so that the approval covers what the person saw. */
async function exactCommand(
  { store }: Deps,
  session: SessionId,
  { tool, seq }: AskedCall,
): Promise<SavedCommand> {
  const content = (await readContent(store, session, seq)) as { readonly command?: SavedCommand } | undefined;
  if (content?.command !== undefined) return content.command;
  throw new SkeinError("refused", `answer: remember: a call of ${tool} has no command to always allow`, {
    hint: 'allow it once, or for this session: remember: "session"',
  });
}
