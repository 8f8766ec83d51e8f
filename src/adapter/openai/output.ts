/** Output items: what a model answered, and the calls that it made. Pure. */
import type { EventOf } from "../../core/event.ts";
import type { AnswerSegment } from "../answer-segment.ts";
import { itemId } from "./ids.ts";

/** An item of a conversation or a response. */
export type OutputItem = Readonly<Record<string, unknown>> & { readonly id: string; readonly type: string };

/** The place of a text among those of its kind. */
export const placeOf = (segments: readonly AnswerSegment[], at: number): number =>
  segments.slice(0, at).filter(({ type }) => type === segments[at]?.type).length;

export const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });

/** A text of an answer as an item: by the position of its request, and its place among those of its kind. */
export function segmentItem(
  session: string,
  { seq, place, status = "completed" }: { seq: number; place: number; status?: string },
  { type, text }: AnswerSegment,
): OutputItem {
  if (type === "reasoning") {
    const summary = text === "" ? [] : [{ type: "summary_text", text }];
    return { id: itemId("rs", session, seq, place), type: "reasoning", summary, status };
  }
  const content = text === "" && status === "in_progress" ? [] : [textPart(text)];
  return { id: itemId("msg", session, seq, place), type: "message", role: "assistant", status, content };
}

type CallRequest = EventOf<"tool.requested">;
type CallOutcome = EventOf<"tool.settled">;

export const argumentsOf = ({ content, erased }: CallRequest): string =>
  erased ? '"[erased]"' : JSON.stringify(content?.input ?? {});

/** A call of a tool that the client executes, or of one that ran on the server. */
export function callItem(session: string, request: CallRequest, settled?: CallOutcome): OutputItem {
  const { seq, body } = request;
  const given = argumentsOf(request);
  if (body.external !== undefined) {
    const id = itemId("fc", session, seq);
    const more = { call_id: body.call, name: body.tool, arguments: given };
    return { id, type: "function_call", status: "completed", ...more };
  }
  const isOk = settled?.body.status === "ok";
  const output = settled === undefined ? null : outputText(settled);
  return {
    id: itemId("mcp", session, seq),
    type: "mcp_call",
    server_label: "skein",
    name: body.tool,
    arguments: given,
    status: settled === undefined ? "in_progress" : isOk ? "completed" : "failed",
    output: isOk ? output : null,
    error: settled === undefined || isOk ? null : `${settled.body.status}: ${output ?? ""}`,
    approval_request_id: null,
  };
}

/** The outcome of a call that the client executed. */
export const callOutputItem = (session: string, settled: CallOutcome): OutputItem => ({
  id: itemId("fco", session, settled.seq),
  type: "function_call_output",
  status: "completed",
  call_id: settled.body.call,
  output: outputText(settled),
});

function outputText({ content, erased }: CallOutcome): string {
  if (erased) return "[erased]";
  const output = content?.output ?? "";
  return typeof output === "string" ? output : JSON.stringify(output);
}
