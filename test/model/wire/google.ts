/** Gemini's streamGenerateContent, as a server streams it. */
import { defaultUsage, field, list, pieces, serverSent } from "./format.ts";
import type { WireAnswer, WireBlock, WireFormat, WireStatus } from "./format.ts";

function error(code: number, status: string, message: string, details: readonly object[] = []): WireStatus {
  const more = details.length === 0 ? {} : { details };
  return { status: code, body: { error: { code, message, status, ...more } } };
}

const frame = { modelVersion: "gemini-test", responseId: "mAitaLmkHPPlz7IPvtfUqQ4" };

function events(answer: WireAnswer): string[] {
  const { input, output, cached = 0, reasoning = 0 } = answer.usage ?? defaultUsage;
  const usage = {
    promptTokenCount: input,
    candidatesTokenCount: output - reasoning,
    totalTokenCount: input + output,
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    ...(reasoning === 0 ? {} : { thoughtsTokenCount: reasoning }),
  };
  const parts = answer.blocks.flatMap(blockParts);
  const end = {
    content: { parts: [{ text: "" }], role: "model" },
    finishReason: answer.finish ?? "STOP",
    index: 0,
  };
  return [
    ...parts.map((part) =>
      serverSent({ candidates: [{ content: { parts: [part], role: "model" }, index: 0 }], ...frame }),
    ),
    serverSent({ candidates: [end], usageMetadata: usage, ...frame }),
  ];
}

/** The signature of a thought comes with the part that follows from it; of text, with its last piece. */
function blockParts(block: WireBlock): object[] {
  switch (block.type) {
    case "text":
    case "refusal":
      return pieces(block.text).map((text) => ({ text }));
    case "reasoning":
      return pieces(block.text).map((text, at, all) => ({
        text,
        thought: true,
        ...(at === all.length - 1 ? { thoughtSignature: block.seal } : {}),
      }));
    case "call": {
      const seal = block.seal === undefined ? {} : { thoughtSignature: block.seal };
      const args: unknown = JSON.parse(block.input);
      return [{ functionCall: { id: block.id, name: block.tool, args }, ...seal }];
    }
  }
}

export const googleWire: WireFormat = {
  base: "/v1beta",
  path: /^\/v1beta\/models\/[^/]+:streamGenerateContent\?alt=sse$/,
  events,
  troubles: {
    "rate-limited": error(
      429,
      "RESOURCE_EXHAUSTED",
      "You exceeded your current quota, please check your plan and billing details.",
    ),
    overloaded: error(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    overflow: error(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "bad-key": error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [
      {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        reason: "API_KEY_INVALID",
        domain: "googleapis.com",
      },
    ]),
    "unknown-model": error(404, "NOT_FOUND", "models/gemini-nobody is not found for API version v1beta."),
    "bad-request": error(
      400,
      "INVALID_ARGUMENT",
      "* GenerateContentRequest.contents: contents is not specified",
    ),
    failed: error(500, "INTERNAL", "An internal error has occurred. Please retry."),
  },
  lateTrouble: serverSent({
    error: { code: 503, message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" },
  }),
  read: ({ systemInstruction, tools, contents }) => ({
    system: list(field(systemInstruction, "parts")),
    tools: list(tools).flatMap((tool) => list(field(tool, "functionDeclarations"))),
    messages: list(contents),
  }),
};
