/** The Messages API of Anthropic. */
import { readUsage, type ReportedUsage } from "../../core/budget/reported-usage.ts";
import {
  countIn,
  indexIn,
  isJson,
  isUnseen,
  type Json,
  MessageBuilder,
  objectsIn,
  parsed,
  type WireAnswerReader,
  type ProxyRefusal,
  retryHeaders,
  statusOf,
  textIn,
  type ProviderWire,
  type WireMessage,
  without,
} from "./wire.ts";

const callPath = /^\/v1\/messages\/?$/;

export const anthropic: ProviderWire = {
  provider: "anthropic",
  upstream: "https://api.anthropic.com",
  isCall: (path) => callPath.test(path),
  request(path, json) {
    if (!callPath.test(path) || !isJson(json)) return null;
    return {
      model: textIn(json["model"]),
      messages: objectsIn(json["messages"]).map(readMessage),
      settings: without(json, ["messages", "model"]),
      outputTokensMax: countIn(json["max_tokens"]) || null,
      outputs: 1,
      previous: null,
    };
  },
  reader: () => new Reader(),
  mayHide: (_, answer) => isUnseen(answer),
  refuse(why, message) {
    const type = errorTypes[why];
    const body = { type: "error", error: { type, message } };
    return { status: statusOf(why), body, headers: retryHeaders(why) };
  },
};

const errorTypes: Readonly<Record<ProxyRefusal, string>> = {
  budget: "rate_limit_error",
  unauthorized: "authentication_error",
  forbidden: "permission_error",
  invalid: "invalid_request_error",
  "too-large": "request_too_large",
  unavailable: "overloaded_error",
  "not-found": "not_found_error",
};

function readMessage(json: Json): WireMessage {
  const builder = new MessageBuilder(json["role"] === "assistant" ? "assistant" : "user");
  const { content } = json;
  if (typeof content === "string") builder.text(content);
  for (const block of objectsIn(content)) readBlock(builder, block);
  return builder.message();
}

function readBlock(builder: MessageBuilder, block: Json): void {
  const { type, source } = block;
  if (type === "text") builder.text(block["text"]);
  else if (type === "thinking") builder.reasoning.push(textIn(block["thinking"]));
  else if (type === "tool_use")
    builder.calls.push({
      id: textIn(block["id"]) || null,
      name: textIn(block["name"]),
      input: block["input"],
    });
  else if (type === "tool_result") {
    builder.results.push({
      id: textIn(block["tool_use_id"]) || null,
      name: null,
      output: resultOf(block["content"]),
      isError: block["is_error"] === true,
    });
  } else if (type === "image" && isJson(source) && source["type"] === "base64")
    builder.images.push({ mediaType: textIn(source["media_type"]), base64: textIn(source["data"]) });
  else builder.other.push(textIn(type));
}

/** Texts of a result as one text. */
function resultOf(content: unknown): unknown {
  if (!Array.isArray(content)) return content ?? "";
  const blocks = objectsIn(content);
  return blocks.every(({ type }) => type === "text")
    ? blocks.map(({ text }) => textIn(text)).join("\n")
    : blocks.map((block) => (block["type"] === "text" ? block : { type: block["type"] }));
}

class Reader implements WireAnswerReader {
  /** By index. */
  readonly #blocks: Json[] = [];
  readonly #texts: string[] = [];
  #usage: Json = {};
  #hasUsage = false;
  #finish: string | null = null;
  #id: string | null = null;
  #error: string | null = null;
  #isWhole = false;

  body(json: unknown): void {
    if (!isJson(json)) return;
    this.#blocks.push(...objectsIn(json["content"]));
    this.#end(json);
    this.#id = textIn(json["id"]) || null;
    this.#isWhole = true;
  }

  event(data: unknown): void {
    if (!isJson(data)) return;
    const { type, message, delta, error } = data;
    const at = indexIn(data["index"]);
    if (at === null) return;
    if (type === "message_start" && isJson(message)) {
      this.#id = textIn(message["id"]) || null;
      this.#end(message);
    } else if (type === "content_block_start" && isJson(data["content_block"])) {
      this.#blocks[at] = data["content_block"];
      this.#texts[at] = "";
    } else if (type === "content_block_delta" && isJson(delta)) {
      const piece = delta["text"] ?? delta["thinking"] ?? delta["partial_json"];
      this.#texts[at] = (this.#texts[at] ?? "") + textIn(piece);
    } else if (type === "message_delta" && isJson(delta)) this.#end({ ...delta, usage: data["usage"] });
    else if (type === "message_stop") this.#isWhole = true;
    else if (type === "error") this.#error = isJson(error) ? textIn(error["message"]) : "stream error";
  }

  #end(json: Json): void {
    if (isJson(json["usage"])) {
      // A null says nothing new.
      const given = Object.entries(json["usage"]).filter(([, count]) => count !== null);
      this.#usage = { ...this.#usage, ...Object.fromEntries(given) };
      this.#hasUsage = true;
    }
    this.#finish = textIn(json["stop_reason"]) || this.#finish;
  }

  answer() {
    const builder = new MessageBuilder("assistant");
    for (const [at, block] of this.#blocks.entries()) {
      if (block === undefined) continue;
      readBlock(builder, filled(block, this.#texts[at] ?? ""));
    }
    return {
      message: builder.message(),
      finish: this.#finish,
      usage: this.#hasUsage ? usageOf(this.#usage) : null,
      isWhole: this.#isWhole,
      id: this.#id,
      error: this.#error,
    };
  }
}

/** A streamed block with what its deltas brought. */
function filled(block: Json, text: string): Json {
  if (text === "") return block;
  if (block["type"] === "tool_use") return { ...block, input: parsed(text) };
  if (block["type"] === "thinking") return { ...block, thinking: textIn(block["thinking"]) + text };
  return { ...block, text: textIn(block["text"]) + text };
}

function usageOf(usage: Json): ReportedUsage | null {
  const cached = countIn(usage["cache_read_input_tokens"]);
  const written = countIn(usage["cache_creation_input_tokens"]);
  const fresh = usage["input_tokens"];
  return readUsage({
    inputTokens: typeof fresh === "number" ? fresh + cached + written : undefined,
    outputTokens: usage["output_tokens"],
    cachedInputTokens: cached,
    cacheWriteTokens: written,
  });
}
