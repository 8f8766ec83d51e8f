/** Prompts: continue a session, or start from what one left. */
import { ProtocolError, ProtocolErrorCode, type McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";
import { once } from "../../core/cache.ts";
import { needScope, sessionOf, type McpAccess } from "./access.ts";
import { cutText, untrusted, uriOf } from "./output.ts";
import { standing } from "./tools-read.ts";

/** A prompt becomes part of a conversation: it must fit into one. */
const handoffCharsMax = 40_000;

const args = once(() =>
  z.object({
    session: z.string().max(64).describe("a session's id, or a unique suffix of it"),
    task: z.string().max(10_000).optional().describe("what to do next"),
  }),
);

interface Message {
  readonly role: "user";
  readonly content:
    | { readonly type: "text"; readonly text: string }
    | {
        readonly type: "resource";
        readonly resource: { readonly uri: string; readonly mimeType: string; readonly text: string };
      };
}

const say = (text: string): Message => ({ role: "user", content: { type: "text", text } });

export function registerPrompts(server: McpServer, access: McpAccess): void {
  server.registerPrompt(
    "continue_session",
    {
      title: "Continue a session",
      description: "Continue a Skein session: its handoff, its status, and how to go on in it",
      argsSchema: args(),
    },
    ({ session: name, task }) =>
      messages(access, async () => {
        const session = await sessionOf(access, name);
        const now = JSON.stringify(await standing(session));
        const next = task ?? "Do what is left, or say what blocks it.";
        return [
          say(
            `Continue the Skein session ${session.id}. Run its turns with session_ask, follow it with ` +
              `session_read, and record decisions with session_record. Task: ${next}`,
          ),
          say(`Its status. ${untrusted}\n${now}`),
          await handoffOf(session),
        ];
      }),
  );
  server.registerPrompt(
    "start_from_handoff",
    {
      title: "Start from a handoff",
      description: "Start new work from what a Skein session left: decisions, open tasks, files, failures",
      argsSchema: args(),
    },
    ({ session: name, task }) =>
      messages(access, async () => {
        const session = await sessionOf(access, name);
        return [
          say(
            `Take over the work that the Skein session ${session.id} left. To keep a durable record, open ` +
              `the next session with session_open and from: "${session.id}". ` +
              `Task: ${task ?? "continue with the open tasks."}`,
          ),
          await handoffOf(session),
        ];
      }),
  );
}

async function handoffOf(session: Awaited<ReturnType<typeof sessionOf>>): Promise<Message> {
  const { text } = await session.handoff({ write: false });
  const shown = `> ${untrusted}\n\n${cutText(text, handoffCharsMax)}`;
  const resource = { uri: uriOf.handoff(session.id), mimeType: "text/markdown", text: shown };
  return { role: "user", content: { type: "resource", resource } };
}

/** Errors are those of the protocol. */
async function messages(access: McpAccess, make: () => Promise<Message[]>) {
  try {
    needScope(access, "read", "a prompt");
    return { messages: await make() };
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const { code, detail, hint } = access.problemOf(error);
    const isTheirs = ["invalid", "not-found", "forbidden", "refused"].includes(code);
    const kind = isTheirs ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(kind, detail, { code, ...(hint === undefined ? {} : { hint }) });
  }
}
