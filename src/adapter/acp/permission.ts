/** Approvals through the editor: which calls wait, and what a choice there means here. */
import { SkeinError } from "../../core/error.ts";
import type { AnswerOptions } from "../../runtime/options.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { params, parseParams } from "./agent-params.ts";
import { RpcClosed, RpcError, type RpcConnection } from "./json-rpc.ts";
import { callStart } from "./tool-call.ts";

/** A call that waits for approval. */
export interface WaitingCall {
  readonly call: string;
  readonly tool: string;
  /** The position of its request. */
  readonly seq: number;
}

/** In the order of their requests. */
export async function waitingCalls(session: Session): Promise<WaitingCall[]> {
  const { mind } = await session.fold();
  return [...mind.calls.entries()]
    .filter(([, { phase }]) => phase === "asked")
    .map(([call, { tool, seq }]) => ({ call, tool, seq }))
    .toSorted((a, b) => a.seq - b.seq);
}

const once = { optionId: "once", name: "Allow once", kind: "allow_once" };
const forSession = { optionId: "session", name: "Allow this tool in this session", kind: "allow_always" };
const always = { optionId: "always", name: "Always allow this exact command", kind: "allow_always" };
const reject = { optionId: "reject", name: "Reject", kind: "reject_once" };
const rejectAll = {
  optionId: "reject-session",
  name: "Reject this tool in this session",
  kind: "reject_always",
};

/**
 * Asks the editor about one call. `decided`: it is answered, by this editor or by someone else. `cancelled`:
 * the editor cancelled the turn. A lost connection leaves the question open.
 */
export async function askPermission(
  { session, connection }: { readonly session: Session; readonly connection: RpcConnection },
  waiting: WaitingCall,
  signal: AbortSignal,
): Promise<"decided" | "cancelled"> {
  const { call, tool, seq } = waiting;
  const [content] = await contentAt(session, seq);
  const hasCommand = content?.["command"] !== undefined;
  const body = { tool, call };
  const toolCall = {
    ...callStart({ id: `c${seq}`, body, content: content ?? {}, root: undefined }),
    status: "pending",
  };
  const options = [once, forSession, ...(hasCommand ? [always] : []), reject, rejectAll];
  const request = { sessionId: session.id, toolCall, options };
  let answer: unknown;
  try {
    answer = await connection.request("session/request_permission", request, signal);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    if (error instanceof RpcClosed || signal.aborted) return "decided";
    throw error;
  }
  const { outcome } = parseParams(params.permission, answer);
  if (outcome.outcome === "cancelled") return "cancelled";
  await decide(session, waiting, outcome.optionId);
  return "decided";
}

async function decide(session: Session, { call, tool }: WaitingCall, optionId: string): Promise<void> {
  const calls = [call];
  const answers: Readonly<Record<string, AnswerOptions>> = {
    once: { allow: true, calls },
    session: { allow: true, calls, remember: "session" },
    always: { allow: true, calls, remember: "always" },
    reject: { allow: false, calls, reason: "rejected in the editor" },
    "reject-session": { allow: false, calls, reason: "rejected in the editor for this session" },
  };
  const answer = Object.hasOwn(answers, optionId) ? answers[optionId] : answers["reject"];
  try {
    if (optionId === "reject-session")
      await session.grant({ tool, rule: "deny", name: `deny-${tool}`, reason: "rejected in the editor" });
    await session.answer(answer ?? { allow: false, calls });
  } catch (error) {
    // Someone else was first.
    if (!(error instanceof SkeinError) || !["not-found", "refused", "conflict"].includes(error.code))
      throw error;
  }
}

async function contentAt(
  session: Session,
  seq: number,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  for await (const { content } of session.events({ fromSeq: seq, toSeq: seq }))
    return [(content ?? {}) as Readonly<Record<string, unknown>>];
  return [];
}
