/**
 * What OpenAI's Responses API accepts of a stateless request, from its documentation (Create a response,
 * Function calling, Reasoning: encrypted items, Images and files). Gives the flaws of a body.
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

export function responsesFlaws(given: unknown): readonly string[] {
  const flaws = makeFlaws();
  const body = fieldsOf(given);
  flaws.unless(isFilled(body["model"]), "no model");
  flaws.unless(body["store"] === false, "the request is to be stored");
  const items = listOf(body["input"]).map(fieldsOf);
  flaws.unless(items.length > 0, "no input");
  for (const [place, item] of items.entries()) checkItem(flaws, item, items[place + 1], `input.${place}`);
  checkCalls(flaws, items);
  const ids = items.map((item) => item["id"]).filter((id) => id !== undefined);
  for (const id of repeated(ids)) flaws.unless(false, `item ${String(id)} twice`);
  checkTools(flaws, body["tools"]);
  return flaws.found;
}

const kindOf = ({ type, role }: Fields): string =>
  isText(type) ? type : role === undefined ? "no kind" : "message";

function checkItem(flaws: Flaws, item: Fields, next: Fields | undefined, where: string): void {
  switch (kindOf(item)) {
    case "message":
      return checkMessage(flaws, item, where);
    case "function_call":
      flaws.unless(isText(item["name"]) && nameForm.test(item["name"]), `${where}: a call with an odd name`);
      flaws.unless(isJsonObject(item["arguments"]), `${where}: arguments that are no JSON object`);
      return checkId(flaws, item, where);
    case "function_call_output": {
      const { output } = item;
      const parts = listOf(output).map((part) => String(fieldsOf(part)["type"]));
      const fit = parts.length > 0 && parts.every((type) => /^input_(text|image|file)$/.test(type));
      flaws.unless(isText(output) || fit, `${where}: a result that is no text`);
      return checkId(flaws, item, where);
    }
    case "reasoning": {
      flaws.unless(Array.isArray(item["summary"]), `${where}: reasoning without a summary`);
      flaws.unless(
        isFilled(item["encrypted_content"]),
        `${where}: reasoning that the provider does not keep`,
      );
      const follows = next !== undefined && (next["role"] === "assistant" || leads.includes(kindOf(next)));
      return flaws.unless(follows, `${where}: reasoning without the item that must follow it`);
    }
    default:
      flaws.unless(false, `${where}: an item of type ${kindOf(item)}`);
  }
}

/** What reasoning may lead to. */
const leads = ["function_call", "reasoning"];

const roles = ["user", "assistant", "system", "developer"];
const userTypes = ["input_text", "input_image", "input_file"];

function checkMessage(flaws: Flaws, { role, content }: Fields, where: string): void {
  flaws.unless(roles.includes(String(role)), `${where}: role ${String(role)}`);
  if (isText(content)) return flaws.unless(content !== "", `${where}: no content`);
  const parts = listOf(content).map(fieldsOf);
  flaws.unless(parts.length > 0, `${where}: no content`);
  for (const part of parts) {
    const type = String(part["type"]);
    const fit = role === "assistant" ? /^(output_text|refusal)$/.test(type) : userTypes.includes(type);
    flaws.unless(fit, `${where}: ${type} in a message of ${String(role)}`);
    if (type.endsWith("_text")) flaws.unless(isText(part["text"]), `${where}: a text without text`);
    if (type === "input_image") checkImage(flaws, part, where);
    if (type === "input_file") flaws.unless(isFilled(part["filename"]), `${where}: a file without a name`);
  }
}

function checkImage(flaws: Flaws, part: Fields, where: string): void {
  const url = String(part["image_url"]);
  flaws.unless(
    /^data:image\/(png|jpeg|gif|webp);base64,|^https?:/.test(url),
    `${where}: an image of another type`,
  );
}

function checkId(flaws: Flaws, item: Fields, where: string): void {
  const id = item["call_id"];
  flaws.unless(isText(id) && id.length >= 1 && id.length <= 64, `${where}: an odd call_id`);
}

function checkCalls(flaws: Flaws, items: readonly Fields[]): void {
  const open = new Set<unknown>();
  const all: unknown[] = [];
  for (const [place, item] of items.entries()) {
    const id = item["call_id"];
    if (kindOf(item) === "function_call") {
      open.add(id);
      all.push(id);
    }
    if (kindOf(item) === "function_call_output") {
      flaws.unless(open.delete(id), `input.${place}: no tool call found for output ${String(id)}`);
    }
  }
  for (const id of open) flaws.unless(false, `no tool output found for call ${String(id)}`);
  for (const id of repeated(all)) flaws.unless(false, `call ${String(id)} twice`);
}

function checkTools(flaws: Flaws, given: unknown): void {
  const tools = listOf(given).map(fieldsOf);
  flaws.unless(tools.length <= 128, `${tools.length} tools, at most 128`);
  for (const name of repeated(tools.map((tool) => tool["name"])))
    flaws.unless(false, `tool ${String(name)} twice`);
  for (const tool of tools) {
    const where = `tool ${String(tool["name"])}`;
    flaws.unless(tool["type"] === "function", `${where}: not a function`);
    flaws.unless(isText(tool["name"]) && nameForm.test(tool["name"]), `${where}: an odd name`);
    checkSchema(flaws, where, tool["parameters"]);
    flaws.unless("properties" in fieldsOf(tool["parameters"]), `${where}: a schema without properties`);
  }
}
