/**
 * What Gemini's generateContent accepts, from its documentation (Generating content, Function calling,
 * Thought signatures). Gives the flaws of a body.
 */
import { fieldsOf, isFields, isFilled, isText, listOf, makeFlaws, repeated } from "./flaw.ts";
import type { Fields, Flaws } from "./flaw.ts";

const nameForm = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];

export function geminiFlaws(given: unknown): readonly string[] {
  const flaws = makeFlaws();
  const body = fieldsOf(given);
  const system = body["systemInstruction"];
  if (system !== undefined) {
    const texts = listOf(fieldsOf(system)["parts"]).map((part) => fieldsOf(part)["text"]);
    flaws.unless(texts.length > 0 && texts.every(isFilled), "a system instruction without words");
  }
  const turns = listOf(body["contents"]).map(readTurn);
  flaws.unless(turns.length > 0, "no contents");
  flaws.unless(turns[0]?.role === "user", "the first turn is not the user's");
  flaws.unless(turns.at(-1)?.role !== "model", "the last turn is the model's");
  for (const [place, turn] of turns.entries()) {
    checkTurn(flaws, turn, `contents.${place}`);
    checkCalls(flaws, turns, place);
  }
  checkTools(flaws, body["tools"]);
  return flaws.found;
}

interface Turn {
  readonly role: unknown;
  readonly parts: readonly Fields[];
}

const readTurn = (given: unknown): Turn => {
  const { role = "user", parts } = fieldsOf(given);
  return { role, parts: listOf(parts).map(fieldsOf) };
};

const kinds = ["text", "inlineData", "fileData", "functionCall", "functionResponse"] as const;

function checkTurn(flaws: Flaws, { role, parts }: Turn, where: string): void {
  flaws.unless(role === "user" || role === "model" || role === "function", `${where}: role ${String(role)}`);
  flaws.unless(parts.length > 0, `${where}: no parts`);
  for (const part of parts) {
    const held = kinds.filter((kind) => part[kind] !== undefined);
    flaws.unless(held.length === 1, `${where}: a part that holds ${held.join(" and ") || "nothing"}`);
    if (held[0] === "text") {
      const signed = isFilled(part["thoughtSignature"]);
      flaws.unless(isText(part["text"]) && (part["text"] !== "" || signed), `${where}: an empty text`);
    }
    if (held[0] === "functionCall") checkCall(flaws, fieldsOf(part["functionCall"]), role, where);
    if (held[0] === "functionResponse") {
      const made = fieldsOf(part["functionResponse"]);
      flaws.unless(isFields(made["response"]), `${where}: a response that is no object`);
      flaws.unless(role !== "model", `${where}: a response in the model's turn`);
    }
    if (held[0] === "inlineData") {
      const type = String(fieldsOf(part["inlineData"])["mimeType"]);
      const fit = !type.startsWith("image/") || imageTypes.includes(type);
      flaws.unless(fit, `${where}: an image of type ${type}`);
    }
  }
}

function checkCall(flaws: Flaws, call: Fields, role: unknown, where: string): void {
  flaws.unless(role === "model", `${where}: a call in a turn of ${String(role)}`);
  flaws.unless(isText(call["name"]) && nameForm.test(call["name"]), `${where}: a call with an odd name`);
  flaws.unless(call["args"] === undefined || isFields(call["args"]), `${where}: args that are no object`);
}

const namesOf = (turn: Turn | undefined, kind: "functionCall" | "functionResponse"): readonly unknown[] =>
  (turn?.parts ?? []).filter((part) => kind in part).map((part) => fieldsOf(part[kind])["name"]);

/** A turn with calls comes right after one of the user, and right before as many responses. */
function checkCalls(flaws: Flaws, turns: readonly Turn[], place: number): void {
  const turn = turns[place];
  const calls = namesOf(turn, "functionCall");
  const answers = namesOf(turns[place + 1], "functionResponse");
  const where = `contents.${place}`;
  if (calls.length > 0) {
    flaws.unless(
      turns[place - 1]?.role !== "model" && place > 0,
      `${where}: calls not after a turn of the user`,
    );
    flaws.unless(
      calls.length === answers.length,
      `${where}: ${calls.length} calls, ${answers.length} responses`,
    );
    flaws.unless(calls.join() === answers.join(), `${where}: responses are not to these calls`);
  }
  const here = namesOf(turn, "functionResponse");
  const before = namesOf(turns[place - 1], "functionCall");
  flaws.unless(here.length === 0 || before.length > 0, `${where}: responses without calls`);
}

function checkTools(flaws: Flaws, given: unknown): void {
  const tools = listOf(given)
    .flatMap((tool) => listOf(fieldsOf(tool)["functionDeclarations"]))
    .map(fieldsOf);
  flaws.unless(tools.length <= 128, `${tools.length} functions, at most 128`);
  for (const name of repeated(tools.map((tool) => tool["name"])))
    flaws.unless(false, `tool ${String(name)} twice`);
  for (const { name, parameters } of tools) {
    flaws.unless(isText(name) && nameForm.test(name), `tool ${String(name)}: an odd name`);
    if (parameters === undefined) continue;
    const { type, properties } = fieldsOf(parameters);
    flaws.unless(/^object$/i.test(String(type)), `tool ${String(name)}: parameters that are no object`);
    const filled = Object.keys(fieldsOf(properties)).length > 0;
    flaws.unless(filled, `tool ${String(name)}: properties should be non-empty`);
  }
}
