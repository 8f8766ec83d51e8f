/** generateContent of the Gemini API. */
import { readUsage, type ReportedUsage } from "../../core/budget/reported-usage.ts";
import {
  type WireAnswerReader,
  countIn,
  isJson,
  type Json,
  MessageBuilder,
  objectsIn,
  type ProxyRefusal,
  statusOf,
  textIn,
  type ProviderWire,
  type WireMessage,
  without,
} from "./wire.ts";

const callPath = /^\/v1(?:beta|alpha)?\/models\/([^/:]{1,120}):(?:generateContent|streamGenerateContent)$/;

export const google: ProviderWire = {
  provider: "google",
  upstream: "https://generativelanguage.googleapis.com",
  isCall: (path) => callPath.test(path),
  request(path, json) {
    const [, model] = callPath.exec(path) ?? [];
    if (model === undefined || !isJson(json)) return null;
    const config = isJson(json["generationConfig"]) ? json["generationConfig"] : {};
    return {
      model,
      messages: objectsIn(json["contents"]).map(readMessage),
      settings: without(json, ["contents"]),
      outputTokensMax: countIn(config["maxOutputTokens"]) || null,
      outputs: Math.min(Math.max(countIn(config["candidateCount"]), 1), 1_000),
      previous: null,
    };
  },
  reader: () => new Reader(),
  // Usage counts thoughts as they come.
  mayHide: (_, { usage }) => usage === null,
  refuse: (why, message) => ({
    status: statusOf(why),
    body: { error: { code: statusOf(why), message, status: statusNames[why] } },
  }),
};

const statusNames: Readonly<Record<ProxyRefusal, string>> = {
  budget: "RESOURCE_EXHAUSTED",
  unauthorized: "UNAUTHENTICATED",
  forbidden: "PERMISSION_DENIED",
  invalid: "INVALID_ARGUMENT",
  "too-large": "INVALID_ARGUMENT",
  unavailable: "UNAVAILABLE",
  "not-found": "NOT_FOUND",
};

function readMessage(json: Json): WireMessage {
  const builder = new MessageBuilder(json["role"] === "model" ? "assistant" : "user");
  for (const part of objectsIn(json["parts"])) readPart(builder, part);
  return builder.message();
}

function readPart(builder: MessageBuilder, part: Json): void {
  const { functionCall: call, functionResponse: response, inlineData: data } = part;
  if (typeof part["text"] === "string") {
    if (part["thought"] === true) builder.reasoning.push(part["text"]);
    else builder.text(part["text"]);
  } else if (isJson(call))
    builder.calls.push({ id: textIn(call["id"]) || null, name: textIn(call["name"]), input: call["args"] });
  else if (isJson(response)) {
    const output = response["response"];
    const isError = isJson(output) && output["error"] !== undefined;
    const id = textIn(response["id"]) || null;
    builder.results.push({ id, name: textIn(response["name"]) || null, output, isError });
  } else if (isJson(data))
    builder.images.push({ mediaType: textIn(data["mimeType"]), base64: textIn(data["data"]) });
  else builder.other.push(Object.keys(part)[0] ?? "part");
}

class Reader implements WireAnswerReader {
  readonly #parts: Json[] = [];
  #usage: ReportedUsage | null = null;
  #finish: string | null = null;
  #id: string | null = null;
  #error: string | null = null;

  body(json: unknown): void {
    // Without alt=sse a stream is one array of its events.
    if (Array.isArray(json)) for (const one of json) this.event(one);
    else this.event(json);
  }

  event(data: unknown): void {
    if (!isJson(data)) return;
    this.#id ??= textIn(data["responseId"]) || null;
    const [candidate] = objectsIn(data["candidates"]);
    this.#finish = textIn(candidate?.["finishReason"]) || this.#finish;
    const content = candidate?.["content"];
    if (isJson(content)) this.#parts.push(...objectsIn(content["parts"]));
    if (isJson(data["usageMetadata"])) this.#usage = usageOf(data["usageMetadata"]) ?? this.#usage;
    if (isJson(data["error"])) this.#error = textIn(data["error"]["message"]) || "stream error";
  }

  answer() {
    const builder = new MessageBuilder("assistant");
    const spoken = this.#parts.filter((part) => typeof part["text"] === "string" && part["thought"] !== true);
    builder.text(spoken.map((part) => textIn(part["text"])).join(""));
    const said = new Set(spoken);
    for (const part of this.#parts) if (!said.has(part)) readPart(builder, part);
    return {
      message: builder.message(),
      finish: this.#finish,
      usage: this.#usage,
      isWhole: this.#finish !== null,
      id: this.#id,
      error: this.#error,
    };
  }
}

function usageOf(usage: Json): ReportedUsage | null {
  const thoughts = countIn(usage["thoughtsTokenCount"]);
  const prompt = usage["promptTokenCount"];
  return readUsage({
    // The prompts of the provider's own tools come on top.
    inputTokens: typeof prompt === "number" ? prompt + countIn(usage["toolUsePromptTokenCount"]) : undefined,
    outputTokens: countIn(usage["candidatesTokenCount"]) + thoughts,
    cachedInputTokens: countIn(usage["cachedContentTokenCount"]),
    reasoningTokens: thoughts,
  });
}
