/** The body of `POST /responses`, checked. What would be ignored and matters is refused. */
import { readMetadata } from "./conversations.ts";
import { invalid, isFields, readItems, textOf, type Fields, type GivenItem } from "./input.ts";

/** A function that the client executes. */
export interface FunctionTool {
  readonly name: string;
  readonly description: string;
  readonly input: Fields;
}

export interface ResponseRequest {
  readonly model: string | null;
  readonly items: readonly GivenItem[];
  readonly instructions: string | null;
  readonly tools: readonly FunctionTool[];
  /** As they were given: the response shows them. */
  readonly givenTools: readonly unknown[];
  readonly previous: string | null;
  readonly conversation: string | null;
  readonly metadata: Fields;
  readonly isStream: boolean;
}

const itemsMax = 400;

/** Reads a request. Options of sampling are accepted and have no effect; see docs/from-openai.md. */
export function readResponseRequest(body: Fields): ResponseRequest {
  refuseUnsupported(body);
  const { previous_response_id: previous, conversation, instructions, stream, tools } = body;
  const id = isFields(conversation) ? conversation["id"] : conversation;
  if (isText(previous) && isText(id))
    throw invalid("previous_response_id", "expected either a conversation or a previous response, got both");
  const items = readItems("input", body["input"], itemsMax);
  if (items.length === 0) throw invalid("input", "expected a text or a list of items");
  const givenTools: unknown[] = tools === undefined || tools === null ? [] : (tools as unknown[]);
  if (!Array.isArray(givenTools)) throw invalid("tools", "expected a list");
  return {
    model: textOrNull("model", body["model"]),
    items,
    instructions: textOrNull("instructions", instructions),
    tools: givenTools.map(readTool),
    givenTools,
    previous: textOrNull("previous_response_id", previous),
    conversation: textOrNull("conversation", id),
    metadata: readMetadata(body["metadata"]),
    isStream: stream === true,
  };
}

/** The name of a model in Skein: without a provider it is OpenAI's. */
export const modelName = (model: string): string => (model.includes("/") ? model : `openai/${model}`);

/** The outputs of functions, by the id of the call; and the rest. */
export function splitOutputs(items: readonly GivenItem[]): {
  readonly outputs: ReadonlyMap<string, string>;
  readonly rest: readonly GivenItem[];
} {
  const outputs = new Map<string, string>();
  const rest = items.filter((item) => {
    const { type, call_id: call, output } = item;
    if (type !== "function_call_output" || typeof call !== "string") return true;
    outputs.set(call, textOf(output));
    return false;
  });
  return { outputs, rest };
}

function refuseUnsupported(body: Fields): void {
  const { background, store, prompt, tool_choice: choice, text } = body;
  if (background === true)
    throw invalid(
      "background",
      "background responses are not supported",
      "stream it: closing the stream cancels nothing",
    );
  if (store === false) throw invalid("store", "expected true: every response is in the log");
  if (prompt !== undefined && prompt !== null) throw invalid("prompt", "stored prompts are not supported");
  if (choice !== undefined && choice !== null && choice !== "auto")
    throw invalid("tool_choice", 'expected "auto": the model decides');
  const format = isFields(text) && isFields(text["format"]) ? text["format"]["type"] : "text";
  if (format !== "text") throw invalid("text.format", 'expected "text": structured output is not supported');
}

function readTool(tool: unknown, place: number): FunctionTool {
  const field = `tools[${place}]`;
  if (!isFields(tool) || tool["type"] !== "function") {
    throw invalid(
      field,
      'expected a tool of type "function"',
      "bind tools of the server to an agent or a session",
    );
  }
  const { name, description, parameters } = tool;
  if (typeof name !== "string") throw invalid(`${field}.name`, "expected a text");
  const input = isFields(parameters) ? parameters : { type: "object", properties: {} };
  const text = typeof description === "string" && description.trim() !== "" ? description : name;
  return { name, description: text, input };
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

function textOrNull(field: string, value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") throw invalid(field, "expected a text");
  return value;
}
