/** Chat Completions and Responses of OpenAI, which many other providers speak as well. */
import { readUsage, type ReportedUsage } from "../../core/budget/reported-usage.ts";
import {
  type WireAnswerReader,
  countIn,
  indexIn,
  isJson,
  type Json,
  MessageBuilder,
  objectsIn,
  parsed,
  type ProxyRefusal,
  retryHeaders,
  statusOf,
  textIn,
  type ProviderWire,
  type WireMessage,
  without,
} from "./wire.ts";

/** Compatible providers serve them below paths of their own. */
const chatPath = /\/chat\/completions\/?$/;
const responsesPath = /\/responses\/?$/;

export const openai: ProviderWire = {
  provider: "openai",
  upstream: "https://api.openai.com",
  isCall: (path) => chatPath.test(path) || responsesPath.test(path),
  request(path, json) {
    if (!isJson(json)) return null;
    const model = textIn(json["model"]);
    if (chatPath.test(path)) {
      return {
        model,
        messages: objectsIn(json["messages"]).map(chatMessage),
        settings: without(json, ["messages", "model"]),
        outputTokensMax: countIn(json["max_completion_tokens"] ?? json["max_tokens"]) || null,
        outputs: Math.min(Math.max(countIn(json["n"]), 1), 1_000),
        previous: null,
      };
    }
    if (!responsesPath.test(path)) return null;
    const { input } = json;
    const items = typeof input === "string" ? [{ role: "user", content: input }] : objectsIn(input);
    return {
      model,
      messages: items.map(responseItem),
      settings: without(json, ["input", "model", "previous_response_id"]),
      outputTokensMax: countIn(json["max_output_tokens"]) || null,
      outputs: 1,
      previous: textIn(json["previous_response_id"]) || null,
    };
  },
  reader: (path) => (chatPath.test(path) ? new ChatReader() : new ResponseReader()),
  // Usage comes at the end, and for all that was generated.
  mayHide: (model, { usage, isWhole }) => usage === null && (!isWhole || !/gpt-(3|4)/.test(model)),
  refuse(why, message) {
    const code = why === "budget" ? "insufficient_quota" : why.replace("-", "_");
    const type = why === "budget" ? "insufficient_quota" : errorTypes[why];
    return {
      status: statusOf(why),
      body: { error: { message, type, param: null, code } },
      headers: retryHeaders(why),
    };
  },
};

const errorTypes: Readonly<Record<ProxyRefusal, string>> = {
  budget: "insufficient_quota",
  unauthorized: "authentication_error",
  forbidden: "permission_error",
  invalid: "invalid_request_error",
  "too-large": "invalid_request_error",
  unavailable: "server_error",
  "not-found": "invalid_request_error",
};

const roles: Readonly<Record<string, WireMessage["role"]>> = {
  assistant: "assistant",
  system: "context",
  developer: "context",
};

function chatMessage(json: Json): WireMessage {
  const role = textIn(json["role"]);
  const builder = new MessageBuilder(roles[role] ?? "user");
  if (role === "tool") {
    const output = typeof json["content"] === "string" ? json["content"] : (json["content"] ?? "");
    builder.results.push({ id: textIn(json["tool_call_id"]) || null, name: null, output, isError: false });
    return builder.message();
  }
  readContent(builder, json["content"]);
  const spoken = textIn(json["reasoning_content"]);
  if (spoken !== "") builder.reasoning.push(spoken);
  for (const call of objectsIn(json["tool_calls"])) {
    const made = isJson(call["function"]) ? call["function"] : {};
    const input = parsed(textIn(made["arguments"]));
    builder.calls.push({ id: textIn(call["id"]) || null, name: textIn(made["name"]), input });
  }
  return builder.message();
}

const imageUrl = /^data:([a-z0-9/.+-]{1,60});base64,/;

function readContent(builder: MessageBuilder, content: unknown): void {
  if (typeof content === "string") return builder.text(content);
  for (const part of objectsIn(content)) {
    const { type } = part;
    const url = isJson(part["image_url"]) ? part["image_url"]["url"] : part["image_url"];
    const [head = "", mediaType] = imageUrl.exec(textIn(url)) ?? [];
    if (type === "text" || type === "input_text" || type === "output_text") builder.text(part["text"]);
    else if (type === "refusal") builder.text(part["refusal"]);
    else if (mediaType !== undefined)
      builder.images.push({ mediaType, base64: textIn(url).slice(head.length) });
    else builder.other.push(textIn(type));
  }
}

function responseItem(item: Json): WireMessage {
  const type = textIn(item["type"]);
  const role = roles[textIn(item["role"])] ?? "user";
  if (type === "function_call" || type === "custom_tool_call") {
    const builder = new MessageBuilder("assistant");
    builder.calls.push(callOf(item));
    return builder.message();
  }
  if (type === "function_call_output" || type === "custom_tool_call_output") {
    const builder = new MessageBuilder("user");
    const id = textIn(item["call_id"]) || null;
    builder.results.push({ id, name: null, output: item["output"] ?? "", isError: false });
    return builder.message();
  }
  const builder = new MessageBuilder(type === "reasoning" ? "assistant" : role);
  if (type === "reasoning") readReasoning(builder, item);
  else if (type === "" || type === "message") readContent(builder, item["content"]);
  else builder.other.push(type);
  return builder.message();
}

function readReasoning(builder: MessageBuilder, item: Json): void {
  for (const { text } of objectsIn(item["summary"])) builder.reasoning.push(textIn(text));
}

const callOf = (item: Json) => ({
  id: textIn(item["call_id"]) || null,
  name: textIn(item["name"]),
  input: item["input"] ?? parsed(textIn(item["arguments"])),
});

interface ChatCall {
  id: string;
  name: string;
  text: string;
}

class ChatReader implements WireAnswerReader {
  readonly #calls: ChatCall[] = [];
  #text = "";
  #reasoning = "";
  #finish: string | null = null;
  #usage: ReportedUsage | null = null;
  #id: string | null = null;
  #error: string | null = null;
  #isWhole = false;
  #message: WireMessage | null = null;

  body(json: unknown): void {
    if (!isJson(json)) return;
    const [choice] = objectsIn(json["choices"]);
    if (isJson(choice?.["message"])) this.#message = chatMessage(choice["message"]);
    this.#finish = textIn(choice?.["finish_reason"]) || null;
    this.#rest(json);
    this.#isWhole = true;
  }

  event(data: unknown): void {
    if (data === "[DONE]") this.#isWhole = true;
    if (!isJson(data)) return;
    this.#rest(data);
    // Of several choices the first is the answer.
    const choice = objectsIn(data["choices"]).find(({ index }) => countIn(index) === 0);
    this.#finish = textIn(choice?.["finish_reason"]) || this.#finish;
    const delta = choice?.["delta"];
    if (!isJson(delta)) return;
    this.#text += textIn(delta["content"]) + textIn(delta["refusal"]);
    this.#reasoning += textIn(delta["reasoning_content"]);
    for (const piece of objectsIn(delta["tool_calls"])) {
      const at = indexIn(piece["index"]);
      if (at === null) continue;
      const call = (this.#calls[at] ??= { id: "", name: "", text: "" });
      const made = isJson(piece["function"]) ? piece["function"] : {};
      call.id ||= textIn(piece["id"]);
      call.name += textIn(made["name"]);
      call.text += textIn(made["arguments"]);
    }
  }

  #rest(json: Json): void {
    this.#id ??= textIn(json["id"]) || null;
    if (isJson(json["usage"])) this.#usage = usageBy("prompt", "completion", json["usage"]) ?? this.#usage;
    if (isJson(json["error"])) this.#error = textIn(json["error"]["message"]) || "stream error";
  }

  answer() {
    const builder = new MessageBuilder("assistant");
    builder.text(this.#text);
    if (this.#reasoning !== "") builder.reasoning.push(this.#reasoning);
    for (const call of this.#calls)
      if (call !== undefined)
        builder.calls.push({ id: call.id || null, name: call.name, input: parsed(call.text) });
    return {
      message: this.#message ?? builder.message(),
      finish: this.#finish,
      usage: this.#usage,
      isWhole: this.#isWhole || this.#finish !== null,
      id: this.#id,
      error: this.#error,
    };
  }
}

/** Chat Completions counts `prompt` and `completion` tokens, Responses `input` and `output` tokens. */
function usageBy(
  input: "prompt" | "input",
  output: "completion" | "output",
  usage: Json,
): ReportedUsage | null {
  const detailsOf = (side: string): Json => {
    const details = usage[`${side}_tokens_details`];
    return isJson(details) ? details : {};
  };
  return readUsage({
    inputTokens: usage[`${input}_tokens`],
    outputTokens: usage[`${output}_tokens`],
    cachedInputTokens: countIn(detailsOf(input)["cached_tokens"]),
    reasoningTokens: countIn(detailsOf(output)["reasoning_tokens"]),
  });
}

class ResponseReader implements WireAnswerReader {
  #text = "";
  #response: Json | null = null;
  readonly #items: Json[] = [];
  #id: string | null = null;
  #error: string | null = null;
  #isWhole = false;

  body(json: unknown): void {
    if (isJson(json)) this.#finish(json);
  }

  event(data: unknown): void {
    if (!isJson(data)) return;
    const { type, response, item } = data;
    if (type === "response.created" && isJson(response)) this.#id = textIn(response["id"]) || null;
    else if (type === "response.output_text.delta") this.#text += textIn(data["delta"]);
    else if (type === "response.output_item.done" && isJson(item)) {
      this.#items.push(item);
      this.#text = "";
    } else if (/^response\.(completed|incomplete|failed)$/.test(textIn(type)) && isJson(response))
      this.#finish(response);
    else if (type === "error") this.#error = textIn(data["message"]) || "stream error";
  }

  #finish(response: Json): void {
    this.#response = response;
    this.#id = textIn(response["id"]) || this.#id;
    const { error } = response;
    if (isJson(error)) this.#error = textIn(error["message"]) || "stream error";
    this.#isWhole = true;
  }

  answer() {
    const builder = new MessageBuilder("assistant");
    const items = objectsIn(this.#response?.["output"]);
    for (const item of items.length > 0 ? items : this.#items) {
      const { type } = item;
      if (type === "message") readContent(builder, item["content"]);
      else if (type === "reasoning") readReasoning(builder, item);
      else if (type === "function_call" || type === "custom_tool_call") builder.calls.push(callOf(item));
      else builder.other.push(textIn(type));
    }
    builder.text(this.#text);
    const usage = this.#response?.["usage"];
    return {
      message: builder.message(),
      finish: textIn(this.#response?.["status"]) || null,
      usage: isJson(usage) ? usageBy("input", "output", usage) : null,
      isWhole: this.#isWhole,
      id: this.#id,
      error: this.#error,
    };
  }
}
