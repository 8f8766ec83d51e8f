/** Chat Completions, as OpenAI defined it and Ollama, vLLM and LM Studio stream it. */
import { defaultUsage, field, list, pieces, serverSent } from "./format.ts";
import type { WireAnswer, WireBlock, WireFormat, WireStatus } from "./format.ts";

function error(status: number, type: string, code: string | number | null, message: string): WireStatus {
  return { status, body: { error: { message, type, param: null, code } } };
}

const frame = {
  id: "chatcmpl-9xL6y",
  object: "chat.completion.chunk",
  created: 1_741_476_542,
  model: "llama-test",
  system_fingerprint: "fp_ollama",
};
const chunk = (delta: object, finish: string | null = null): string =>
  serverSent({ ...frame, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] });

function events(answer: WireAnswer): string[] {
  const calls = answer.blocks.filter((block) => block.type === "call");
  const { input, output, cached = 0, reasoning = 0 } = answer.usage ?? defaultUsage;
  return [
    chunk({ role: "assistant", content: "" }),
    ...answer.blocks.flatMap((block) => deltas(block, calls.indexOf(block as (typeof calls)[number]))),
    chunk({}, answer.finish ?? (calls.length > 0 ? "tool_calls" : "stop")),
    serverSent({
      ...frame,
      choices: [],
      usage: {
        prompt_tokens: input,
        completion_tokens: output,
        total_tokens: input + output,
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens_details: { reasoning_tokens: reasoning },
      },
    }),
    serverSent("[DONE]"),
  ];
}

function deltas(block: WireBlock, index: number): string[] {
  switch (block.type) {
    case "text":
      return pieces(block.text).map((content) => chunk({ content }));
    case "refusal":
      return pieces(block.text).map((refusal) => chunk({ refusal }));
    case "reasoning":
      return pieces(block.text).map((text) => chunk({ reasoning_content: text }));
    case "call": {
      const first = {
        index,
        id: block.id,
        type: "function",
        function: { name: block.tool, arguments: "" },
      };
      return [
        chunk({ tool_calls: [first] }),
        ...pieces(block.input).map((text) =>
          chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
        ),
      ];
    }
  }
}

export const compatibleWire: WireFormat = {
  base: "/v1",
  path: /^\/v1\/chat\/completions$/,
  events,
  troubles: {
    "rate-limited": error(429, "requests", "rate_limit_exceeded", "Rate limit reached for llama-test."),
    overloaded: error(503, "overloaded_error", null, "The model is overloaded. Please try again later."),
    overflow: error(
      400,
      "BadRequestError",
      400,
      "This model's maximum context length is 4096 tokens. However, you requested 5120 tokens " +
        "(4096 in the messages, 1024 in the completion). Please reduce the length of the messages.",
    ),
    "bad-key": error(401, "invalid_request_error", "invalid_api_key", "Invalid API key"),
    "unknown-model": error(404, "api_error", null, 'model "llama-nobody" not found, try pulling it first'),
    "bad-request": error(400, "BadRequestError", 400, "messages must not be empty"),
    failed: error(500, "api_error", null, "llama runner process has terminated: exit status 2"),
  },
  lateTrouble: serverSent({
    error: { message: "The model is overloaded.", type: "overloaded_error", param: null, code: 503 },
  }),
  read: ({ messages, tools }) => {
    const isSystem = (item: unknown): boolean => field(item, "role") === "system";
    return {
      system: list(messages).filter(isSystem),
      tools: list(tools),
      messages: list(messages).filter((item) => !isSystem(item)),
    };
  },
};
