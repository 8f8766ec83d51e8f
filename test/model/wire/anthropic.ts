/** Anthropic's Messages API, as a server streams it. */
import { defaultUsage, list, pieces, serverSent } from "./format.ts";
import type { WireAnswer, WireBlock, WireFormat, WireStatus } from "./format.ts";

const send = (type: string, fields: object = {}): string => serverSent({ type, ...fields }, type);

function error(status: number, type: string, message: string): WireStatus {
  return {
    status,
    body: { type: "error", error: { type, message }, request_id: "req_011CSHoEeqs5C35K2UUqR7Fy" },
  };
}

function events(answer: WireAnswer): string[] {
  const { input, output, cached = 0, written = 0, reasoning } = answer.usage ?? defaultUsage;
  const usage = {
    input_tokens: input - cached - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cached,
    output_tokens: 1,
  };
  const message = {
    id: "msg_01XFDUDYJgAACzvnptvVoYEL",
    type: "message",
    role: "assistant",
    content: [],
    model: "claude-test",
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const details = reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } };
  return [
    send("message_start", { message }),
    send("ping"),
    ...answer.blocks.flatMap(blockEvents),
    send("message_delta", {
      delta: { stop_reason: answer.finish ?? stopReason(answer.blocks), stop_sequence: null },
      usage: { output_tokens: output, ...details },
    }),
    send("message_stop"),
  ];
}

function blockEvents(block: WireBlock, index: number): string[] {
  const { start, deltas } = blockParts(block);
  return [
    send("content_block_start", { index, content_block: start }),
    ...deltas.map((delta) => send("content_block_delta", { index, delta })),
    send("content_block_stop", { index }),
  ];
}

function blockParts(block: WireBlock): { readonly start: object; readonly deltas: object[] } {
  switch (block.type) {
    case "text":
    case "refusal":
      return {
        start: { type: "text", text: "" },
        deltas: pieces(block.text).map((text) => ({ type: "text_delta", text })),
      };
    case "reasoning":
      if (block.text === "") return { start: { type: "redacted_thinking", data: block.seal }, deltas: [] };
      return {
        start: { type: "thinking", thinking: "", signature: "" },
        deltas: [
          ...pieces(block.text).map((thinking) => ({ type: "thinking_delta", thinking })),
          { type: "signature_delta", signature: block.seal },
        ],
      };
    case "call":
      return {
        start: { type: "tool_use", id: block.id, name: block.tool, input: {} },
        deltas: ["", ...pieces(block.input)].map((json) => ({
          type: "input_json_delta",
          partial_json: json,
        })),
      };
  }
}

function stopReason(blocks: readonly WireBlock[]): string {
  if (blocks.some(({ type }) => type === "refusal")) return "refusal";
  return blocks.some(({ type }) => type === "call") ? "tool_use" : "end_turn";
}

export const anthropicWire: WireFormat = {
  base: "/v1",
  path: /^\/v1\/messages$/,
  events,
  troubles: {
    "rate-limited": error(
      429,
      "rate_limit_error",
      "This request would exceed your organization's rate limit of 50,000 input tokens per minute.",
    ),
    overloaded: error(529, "overloaded_error", "Overloaded"),
    overflow: error(400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
    "bad-key": error(401, "authentication_error", "invalid x-api-key"),
    "unknown-model": error(404, "not_found_error", "model: claude-nobody"),
    "bad-request": error(400, "invalid_request_error", "messages.0.content: Input should be a valid list"),
    failed: error(500, "api_error", "Internal server error"),
  },
  lateTrouble: send("error", { error: { type: "overloaded_error", message: "Overloaded" } }),
  read: ({ system, tools, messages }) => ({
    system: list(system),
    tools: list(tools),
    messages: list(messages),
  }),
};
