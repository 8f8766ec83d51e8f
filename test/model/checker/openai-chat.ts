/**
 * What Chat Completions accepts, from OpenAI's documentation, and what the servers that speak it (Ollama,
 * vLLM, LM Studio) want besides: one system message in front, and users and models that take turns.
 */
import {
  checkSchema,
  fieldsOf,
  isFilled,
  isJsonObject,
  isText,
  listOf,
  makeFlaws,
  repeated,
} from "./flaw.ts";
import type { Fields, Flaws } from "./flaw.ts";

const nameForm = /^[a-zA-Z0-9_-]{1,64}$/;

export function completionsFlaws(given: unknown): readonly string[] {
  const flaws = makeFlaws();
  const body = fieldsOf(given);
  flaws.unless(isFilled(body["model"]), "no model");
  const messages = listOf(body["messages"]).map(fieldsOf);
  const spoken = messages.filter(({ role }) => role !== "system" && role !== "developer");
  flaws.unless(spoken.length > 0, "no messages");
  flaws.unless(spoken[0]?.["role"] === "user", "the first message is not the user's");
  flaws.unless(spoken.at(-1)?.["role"] !== "assistant", "the last message is the model's");
  for (const [place, message] of messages.entries()) {
    checkMessage(flaws, message, messages[place - 1], `messages.${place}`);
  }
  checkCalls(flaws, messages);
  checkTools(flaws, body["tools"]);
  return flaws.found;
}

const callsOf = (message: Fields): readonly Fields[] => listOf(message["tool_calls"]).map(fieldsOf);
const roles = ["system", "developer", "user", "assistant", "tool"];

function checkMessage(flaws: Flaws, message: Fields, before: Fields | undefined, where: string): void {
  const { role, content } = message;
  flaws.unless(roles.includes(String(role)), `${where}: role ${String(role)}`);
  const isSystem = role === "system" || role === "developer";
  flaws.unless(!isSystem || before === undefined, `${where}: a system message that is not in front`);
  flaws.unless(
    !(role === "user" && before?.["role"] === "user"),
    `${where}: two messages of the user in a row`,
  );
  const calls = callsOf(message);
  flaws.unless(calls.length === 0 || role === "assistant", `${where}: calls in a message of ${String(role)}`);
  if (content === null || content === undefined || content === "") {
    flaws.unless(role === "tool" ? isText(content) : calls.length > 0, `${where}: no content`);
  } else if (!isText(content)) {
    const parts = listOf(content).map(fieldsOf);
    flaws.unless(parts.length > 0, `${where}: no content`);
    for (const part of parts) checkPart(flaws, part, role, where);
  }
  for (const call of calls) {
    const made = fieldsOf(call["function"]);
    flaws.unless(call["type"] === "function" && isFilled(call["id"]), `${where}: a call without type or id`);
    flaws.unless(isText(made["name"]) && nameForm.test(made["name"]), `${where}: a call with an odd name`);
    flaws.unless(isJsonObject(made["arguments"]), `${where}: arguments that are no JSON object`);
  }
}

function checkPart(flaws: Flaws, part: Fields, role: unknown, where: string): void {
  const type = String(part["type"]);
  const fit = role === "user" ? /^(text|image_url|input_audio|file)$/.test(type) : type === "text";
  flaws.unless(fit, `${where}: ${type} in a message of ${String(role)}`);
  if (type === "text") flaws.unless(isFilled(part["text"]), `${where}: a text without words`);
  if (type === "image_url") {
    const url = String(fieldsOf(part["image_url"])["url"]);
    flaws.unless(
      /^data:image\/(png|jpeg|gif|webp);base64,|^https?:/.test(url),
      `${where}: an image of another type`,
    );
  }
}

/** Right after an answer with calls stands a result for each of them, and nowhere else. */
function checkCalls(flaws: Flaws, messages: readonly Fields[]): void {
  let open = new Set<unknown>();
  const all: unknown[] = [];
  for (const [place, message] of messages.entries()) {
    if (message["role"] === "tool") {
      const id = message["tool_call_id"];
      flaws.unless(open.delete(id), `messages.${place}: a result of no call before it`);
      continue;
    }
    for (const id of open) flaws.unless(false, `messages.${place}: call ${String(id)} has no result`);
    const ids = callsOf(message).map((call) => call["id"]);
    open = new Set(ids);
    all.push(...ids);
  }
  for (const id of open) flaws.unless(false, `call ${String(id)} has no result`);
  for (const id of repeated(all)) flaws.unless(false, `call ${String(id)} twice`);
}

function checkTools(flaws: Flaws, given: unknown): void {
  if (given === undefined) return;
  const tools = listOf(given).map((tool) => fieldsOf(fieldsOf(tool)["function"]));
  flaws.unless(tools.length > 0 && tools.length <= 128, `${tools.length} tools, from 1 to 128`);
  for (const name of repeated(tools.map((tool) => tool["name"])))
    flaws.unless(false, `tool ${String(name)} twice`);
  for (const tool of tools) {
    const where = `tool ${String(tool["name"])}`;
    flaws.unless(isText(tool["name"]) && nameForm.test(tool["name"]), `${where}: an odd name`);
    checkSchema(flaws, where, tool["parameters"]);
  }
}
