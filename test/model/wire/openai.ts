/** OpenAI's Responses API, as a server streams it. */
import { defaultUsage, field, list, pieces, serverSent } from "./format.ts";
import type { WireAnswer, WireBlock, WireFormat, WireStatus } from "./format.ts";

function error(status: number, type: string, code: string | null, message: string): WireStatus {
  return { status, body: { error: { message, type, param: null, code } } };
}

function events(answer: WireAnswer): string[] {
  const begun = {
    id: "resp_67ccd2bed1ec8190b14f964abc054267",
    object: "response",
    created_at: 1_741_476_542,
    model: "gpt-test",
    store: false,
  };
  const response = { ...begun, status: "in_progress", output: [], usage: null, incomplete_details: null };
  const incomplete = answer.finish === undefined ? null : { reason: answer.finish };
  const end = incomplete === null ? "completed" : "incomplete";
  return [
    { type: "response.created", response },
    { type: "response.in_progress", response },
    ...answer.blocks.flatMap(itemEvents),
    {
      type: `response.${end}`,
      response: {
        ...begun,
        status: end,
        output: answer.blocks.map((block, at) => finished(block, at)),
        usage: usage(answer),
        incomplete_details: incomplete,
      },
    },
  ].map((event, at) => serverSent({ ...event, sequence_number: at }, event.type));
}

function usage({ usage = defaultUsage }: WireAnswer): object {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached ?? 0 },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning ?? 0 },
    total_tokens: usage.input + usage.output,
  };
}

interface Event {
  readonly type: string;
  readonly [field: string]: unknown;
}

function itemEvents(block: WireBlock, at: number): Event[] {
  return [
    { type: "response.output_item.added", output_index: at, item: begun(block, at) },
    ...contentEvents(block, at),
    { type: "response.output_item.done", output_index: at, item: finished(block, at) },
  ];
}

function contentEvents(block: WireBlock, at: number): Event[] {
  const place = { item_id: itemId(block, at), output_index: at };
  switch (block.type) {
    case "text":
    case "refusal": {
      const kind = block.type === "text" ? "output_text" : "refusal";
      return [
        { type: "response.content_part.added", ...place, content_index: 0, part: part(block, "") },
        ...pieces(block.text).map((delta) => ({
          type: `response.${kind}.delta`,
          ...place,
          content_index: 0,
          delta,
        })),
        { type: `response.${kind}.done`, ...place, content_index: 0, [said(block)]: block.text },
        { type: "response.content_part.done", ...place, content_index: 0, part: part(block, block.text) },
      ];
    }
    case "reasoning":
      if (block.text === "") return [];
      return [
        {
          type: "response.reasoning_summary_part.added",
          ...place,
          summary_index: 0,
          part: { type: "summary_text", text: "" },
        },
        ...pieces(block.text).map((delta) => ({
          type: "response.reasoning_summary_text.delta",
          ...place,
          summary_index: 0,
          delta,
        })),
        {
          type: "response.reasoning_summary_part.done",
          ...place,
          summary_index: 0,
          part: { type: "summary_text", text: block.text },
        },
      ];
    case "call":
      return [
        ...pieces(block.input).map((delta) => ({
          type: "response.function_call_arguments.delta",
          ...place,
          delta,
        })),
        { type: "response.function_call_arguments.done", ...place, arguments: block.input },
      ];
  }
}

const said = (block: WireBlock): "text" | "refusal" => (block.type === "refusal" ? "refusal" : "text");

function part(block: WireBlock, text: string): object {
  return block.type === "refusal"
    ? { type: "refusal", refusal: text }
    : { type: "output_text", text, annotations: [], logprobs: [] };
}

function itemId(block: WireBlock, at: number): string {
  const prefix = block.type === "reasoning" ? "rs" : block.type === "call" ? "fc" : "msg";
  return `${prefix}_67ccd3a9da748190baa7f1570fe91ac604becb25c45c1d4${at}`;
}

function begun(block: WireBlock, at: number): object {
  const id = itemId(block, at);
  switch (block.type) {
    case "text":
    case "refusal":
      return { id, type: "message", status: "in_progress", role: "assistant", content: [] };
    case "reasoning":
      return { id, type: "reasoning", encrypted_content: "gAAAAunfinished", summary: [] };
    case "call":
      return {
        id,
        type: "function_call",
        status: "in_progress",
        call_id: block.id,
        name: block.tool,
        arguments: "",
      };
  }
}

function finished(block: WireBlock, at: number): object {
  switch (block.type) {
    case "text":
    case "refusal":
      return { ...begun(block, at), status: "completed", content: [part(block, block.text)] };
    case "reasoning": {
      const summary = block.text === "" ? [] : [{ type: "summary_text", text: block.text }];
      return { ...begun(block, at), encrypted_content: block.seal, summary };
    }
    case "call":
      return { ...begun(block, at), status: "completed", arguments: block.input };
  }
}

export const openaiWire: WireFormat = {
  base: "/v1",
  path: /^\/v1\/responses$/,
  events,
  troubles: {
    "rate-limited": error(
      429,
      "requests",
      "rate_limit_exceeded",
      "Rate limit reached for gpt-test in organization org-x on requests per min (RPM): Limit 3, Used 3.",
    ),
    overloaded: error(
      503,
      "service_unavailable_error",
      "server_is_overloaded",
      "Our servers are currently overloaded. Please try again later.",
    ),
    overflow: error(
      400,
      "invalid_request_error",
      "context_length_exceeded",
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
    ),
    "bad-key": error(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-nope."),
    "unknown-model": error(
      400,
      "invalid_request_error",
      "model_not_found",
      "The requested model 'gpt-nobody' does not exist.",
    ),
    "bad-request": error(400, "invalid_request_error", "unknown_parameter", "Unknown parameter: 'inptu'."),
    failed: error(500, "server_error", null, "The server had an error while processing your request."),
  },
  lateTrouble: serverSent(
    {
      type: "response.failed",
      sequence_number: 9,
      response: {
        id: "resp_67ccd2bed1ec8190b14f964abc054267",
        object: "response",
        created_at: 1_741_476_542,
        model: "gpt-test",
        status: "failed",
        error: { code: "server_is_overloaded", message: "Our servers are currently overloaded." },
        incomplete_details: null,
        usage: null,
      },
    },
    "response.failed",
  ),
  read: ({ input, tools }) => {
    const isSystem = (item: unknown): boolean => /^(system|developer)$/.test(String(field(item, "role")));
    return {
      system: list(input).filter(isSystem),
      tools: list(tools),
      messages: list(input).filter((item) => !isSystem(item)),
    };
  },
};
