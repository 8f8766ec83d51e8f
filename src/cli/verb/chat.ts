/** Chats with a session. */
import { existsSync } from "node:fs";
import { SkeinError, type ErrorCode } from "../../core/error.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { lastWords, Talk, type TalkPlace } from "../chat/chat.ts";
import { offerBindings } from "../chat/offer-bindings.ts";
import { titleOf } from "../format/title.ts";
import { typedLines } from "../chat/typed-lines.ts";
import { verb, type VerbCall } from "../command/verb.ts";
import { noteAgent } from "./open.ts";

const openOptions = {
  objective: { type: "text", what: "the objective; by default the first typed line" },
  agent: { type: "text", value: "NAME[@VERSION]", what: "the agent" },
  model: { type: "text", value: "PROVIDER/MODEL", what: "the model" },
  executor: { type: "text", value: "acp:NAME", what: "another agent that runs the turns; see skein open" },
  bind: {
    type: "list",
    value: "KIND:PATH[:write]",
    what: "a resource it may use, such as directory:.:write, shell or shell:sandbox",
  },
  file: { type: "list", value: "PATH", what: "a text file that it starts with" },
  yes: { type: "flag", short: "y", what: "allow unsafe tools, such as shell, without asking" },
} as const;

export const talk = verb({
  name: "chat",
  line: "Chat with a session, new or existing.",
  args: ["ID?"],
  options: openOptions,
  about: [
    "Without ID the first line opens a session, in a new store if there is none. Answers stream and " +
      "tool calls show as they happen. Commands begin with a slash and are verbs without the ID, such " +
      "as /state, /fork or /budget --usd 2; /help lists them.",
    "Unsafe tools, such as shell, ask before they run in a session that is opened here: y allows " +
      "the call once, s every call of the tool in this session, a always exactly this command (in " +
      'this directory, by this binding, in every session; "skein approvals" lists and revokes), n or ' +
      "a reason denies it. --yes allows unsafe tools without asking. An existing session keeps its " +
      "rules.",
    "An imported session is bound to nothing: on a terminal chat offers its directory, and a sandboxed " +
      "shell there; without one it prints the commands.",
    "Without a terminal, a call that asks ends the chat with exit code 7 and prints the command " +
      "that answers; with --json the next line is the answer.",
    "What you type while a turn runs is queued; with ! in front it steers the turn at its next " +
      "step. Ctrl-C interrupts the turn, and a second one leaves. Leaving cancels nothing: the " +
      "session continues from where it is, here or with any other verb.",
    "When standard input is not a terminal, each line waits until the one before is done, and the " +
      "end of the input ends the chat; the exit code is then that of the last line, as with ask, and " +
      "0 after /quit.",
  ],
  examples: [
    "skein chat  # a new session in ./skein.db",
    "skein chat 4x8kz1  # continue a session",
    "skein chat --agent reviewer --bind directory:. --bind shell  # with tools",
  ],
  async run(call) {
    const { args, options, out, place, perform } = call;
    const given = openWords(options);
    if (args.ID !== undefined && given.length > 0) {
      throw new SkeinError("invalid", `chat: ${given[0]?.split("=")[0]} is only allowed for a new session`, {
        hint: "omit it, or omit the ID",
      });
    }
    let current: Talk | null = null;
    using lines = typedLines({
      interrupted: () => current?.interrupted(),
      ended: () => lines.close(),
    });
    const open = (objective: string): Promise<Session> =>
      openSession(call, [`--objective=${options.objective ?? objective}`, ...given]);
    const where: TalkPlace = {
      out,
      lines,
      engine: () => call.engine(),
      open,
      perform: (words) => perform(["--store", place, ...words], { columns: out.columns }),
    };
    const session =
      args.ID !== undefined
        ? await call.session(args.ID)
        : options.objective === undefined
          ? null
          : await open(options.objective);
    if (args.ID !== undefined && session !== null) {
      await greet(call, session);
      await offerBindings(session, { out, lines });
    }
    if (lines.interactive) out.note(out.dim("/help lists commands, Ctrl-C interrupts, /quit leaves"));
    current = new Talk(where, session);
    return await current.run();
  },
});

/** The given options of `open`, as words. */
function openWords(options: VerbCall<typeof openOptions>["options"]): string[] {
  const { agent, model, executor, bind, file } = options;
  return [
    ...(agent === undefined ? [] : [`--agent=${agent}`]),
    ...(model === undefined ? [] : [`--model=${model}`]),
    ...(executor === undefined ? [] : [`--executor=${executor}`]),
    ...bind.map((word) => `--bind=${word}`),
    ...file.map((path) => `--file=${path}`),
    ...(options.yes ? ["--yes"] : []),
  ];
}

/** Opens a session as `skein open` does, and says so. */
async function openSession(
  { perform, place, out, session }: Pick<VerbCall, "perform" | "place" | "out" | "session">,
  words: readonly string[],
): Promise<Session> {
  const fresh = !existsSync(place);
  const { code, stdout, stderr } = await perform(["--store", place, "open", "--json", ...words]);
  if (code !== 0) {
    const { error } = JSON.parse(stderr) as { error: { code: ErrorCode; message: string; hint: string } };
    throw new SkeinError(error.code, error.message, { hint: error.hint });
  }
  const opened = await session((JSON.parse(stdout) as { id: string }).id);
  out.note(out.dim(`opened ${opened.id}${fresh ? ` in a new store: ${place}` : ""}`));
  await noteAgent(out, opened);
  return opened;
}

async function greet({ out }: Pick<VerbCall, "out">, session: Session): Promise<void> {
  const state = await session.state();
  out.note(`${out.bold(titleOf(state))}  ${out.dim(`${session.id}, ${state.status}`)}`);
  await lastWords(session, out);
}
