/**
 * What Anthropic's Messages API accepts, from its documentation (Messages, Tool use, Extended thinking,
 * Vision, Prompt caching). Gives the flaws of a request's body; none when it would be accepted.
 */
import { checkSchema, fieldsOf, isFields, isFilled, isText, listOf, makeFlaws, repeated } from "./flaw.ts";
import type { Fields, Flaws } from "./flaw.ts";

const idForm = /^[a-zA-Z0-9_-]+$/;
const nameForm = /^[a-zA-Z0-9_-]{1,64}$/;
const propertyForm = /^[a-zA-Z0-9_.-]{1,64}$/;
const imageTypes = ["image/jpeg", "image/png", "image/gif", "image/webp"];

export function anthropicFlaws(given: unknown): readonly string[] {
  const flaws = makeFlaws();
  const body = fieldsOf(given);
  flaws.unless(isFilled(body["model"]), "no model");
  flaws.unless(Number.isInteger(body["max_tokens"]) && Number(body["max_tokens"]) > 0, "no max_tokens");
  checkSystem(flaws, body["system"]);
  const messages = listOf(body["messages"]).map(readMessage);
  flaws.unless(messages.length > 0, "no messages");
  flaws.unless(messages[0]?.role === "user", "the first message is not the user's");
  flaws.unless(messages.at(-1)?.role === "user", "the last message is not the user's");
  for (const [place, message] of messages.entries()) checkMessage(flaws, message, place);
  checkCalls(flaws, messages);
  checkThinking(flaws, body, messages);
  const uses = messages.some(({ blocks }) => blocks.some(({ type }) => String(type).startsWith("tool_")));
  checkTools(flaws, body["tools"], uses);
  const marks = JSON.stringify(body).split('"cache_control"').length - 1;
  flaws.unless(marks <= 4, `${marks} marks of the prompt cache, at most 4`);
  return flaws.found;
}

interface Message {
  readonly role: unknown;
  readonly blocks: readonly Fields[];
}

function readMessage(given: unknown): Message {
  const { role, content } = fieldsOf(given);
  return {
    role,
    blocks: isText(content) ? [{ type: "text", text: content }] : listOf(content).map(fieldsOf),
  };
}

function checkSystem(flaws: Flaws, system: unknown): void {
  if (system === undefined) return;
  const texts = isText(system) ? [system] : listOf(system).map((block) => fieldsOf(block)["text"]);
  flaws.unless(texts.length > 0 && texts.every(isFilled), "a system text without words");
}

function checkMessage(flaws: Flaws, { role, blocks }: Message, place: number): void {
  const where = `messages.${place}`;
  flaws.unless(role === "user" || role === "assistant", `${where}: role ${String(role)}`);
  flaws.unless(blocks.length > 0, `${where}: no content`);
  for (const block of blocks) checkBlock(flaws, block, role, where);
}

const allowed: Readonly<Record<string, readonly string[]>> = {
  user: ["text", "image", "document", "tool_result"],
  assistant: ["text", "tool_use", "thinking", "redacted_thinking"],
};

function checkBlock(flaws: Flaws, block: Fields, role: unknown, where: string): void {
  const type = String(block["type"]);
  flaws.unless(
    (allowed[String(role)] ?? []).includes(type),
    `${where}: ${type} in a message of ${String(role)}`,
  );
  if (type === "text") flaws.unless(isFilled(block["text"]), `${where}: a text without words`);
  if (type === "thinking") {
    flaws.unless(isText(block["thinking"]), `${where}: thinking without its text`);
    flaws.unless(isFilled(block["signature"]), `${where}: thinking without its signature`);
  }
  if (type === "tool_use") {
    flaws.unless(isText(block["id"]) && idForm.test(block["id"]), `${where}: a call with an odd id`);
    flaws.unless(isText(block["name"]) && nameForm.test(block["name"]), `${where}: a call with an odd name`);
    flaws.unless(isFields(block["input"]), `${where}: a call whose input is no object`);
  }
  if (type === "image") {
    const source = fieldsOf(block["source"]);
    const fit = source["type"] !== "base64" || imageTypes.includes(String(source["media_type"]));
    flaws.unless(fit, `${where}: an image of type ${String(source["media_type"])}`);
  }
  if (type === "tool_result" && !isText(block["content"])) {
    for (const inner of listOf(block["content"])) {
      const one = fieldsOf(inner);
      flaws.unless(one["type"] !== "text" || isFilled(one["text"]), `${where}: a result with an empty text`);
    }
  }
}

/** Every call has its result at the head of the next message, and every result its call in the one before. */
function checkCalls(flaws: Flaws, messages: readonly Message[]): void {
  const idsOf = (message: Message | undefined, type: string, name: string): readonly unknown[] =>
    (message?.blocks ?? []).filter((block) => block["type"] === type).map((block) => block[name]);
  const all = messages.flatMap((message) => idsOf(message, "tool_use", "id"));
  for (const id of repeated(all)) flaws.unless(false, `call ${String(id)} twice`);
  for (const [place, message] of messages.entries()) {
    const calls = idsOf(message, "tool_use", "id");
    const results = idsOf(messages[place + 1], "tool_result", "tool_use_id");
    for (const id of calls)
      flaws.unless(results.includes(id), `messages.${place}: call ${String(id)} without result`);
    const here = idsOf(message, "tool_result", "tool_use_id");
    const before = idsOf(messages[place - 1], "tool_use", "id");
    for (const id of here)
      flaws.unless(before.includes(id), `messages.${place}: result ${String(id)} without call`);
    for (const id of repeated(here)) flaws.unless(false, `messages.${place}: result ${String(id)} twice`);
    const head = message.blocks.slice(0, here.length).every((block) => block["type"] === "tool_result");
    flaws.unless(head, `messages.${place}: results must come first`);
  }
}

/** With a budget for thinking, the answers that results are given to must begin with a thought. */
function checkThinking(flaws: Flaws, body: Fields, messages: readonly Message[]): void {
  const hasResult = (message: Message | undefined): boolean =>
    (message?.blocks ?? []).some(({ type }) => type === "tool_result");
  let start = messages.length;
  while (start >= 2 && hasResult(messages[start - 1])) start -= 2;
  const answers = messages.slice(start).filter(({ role }) => role === "assistant");
  const isOn = fieldsOf(body["thinking"])["type"] === "enabled";
  const begins = answers.length === 0 || String(answers[0]?.blocks[0]?.["type"]).endsWith("thinking");
  flaws.unless(!isOn || begins, "with thinking on, the answer must begin with a thought");
  const thinks = answers.some(({ blocks }) => blocks.some(({ type }) => String(type).endsWith("thinking")));
  const isOff = fieldsOf(body["thinking"])["type"] === "disabled";
  flaws.unless(!isOff || !thinks, "with thinking off, no thought may stand in the answer");
}

function checkTools(flaws: Flaws, given: unknown, areUsed: boolean): void {
  const tools = listOf(given).map(fieldsOf);
  flaws.unless(!areUsed || tools.length > 0, "calls or results without any tools");
  for (const name of repeated(tools.map((tool) => tool["name"])))
    flaws.unless(false, `tool ${String(name)} twice`);
  for (const tool of tools) {
    const where = `tool ${String(tool["name"])}`;
    flaws.unless(isText(tool["name"]) && nameForm.test(tool["name"]), `${where}: an odd name`);
    checkSchema(flaws, where, tool["input_schema"]);
    const properties = Object.keys(fieldsOf(fieldsOf(tool["input_schema"])["properties"]));
    flaws.unless(
      properties.every((key) => propertyForm.test(key)),
      `${where}: a property with an odd name`,
    );
  }
}
