/** The checkers accept what the providers document, and refuse requests that are wrong in one thing. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { anthropicFlaws } from "./anthropic.ts";
import { geminiFlaws } from "./gemini.ts";
import { completionsFlaws } from "./openai-chat.ts";
import { responsesFlaws } from "./openai-responses.ts";

type Malformed = readonly (readonly [what: string, change: object, flaw: RegExp])[];
const schema = { type: "object", properties: { path: { type: "string" } } };

function holds(
  provider: string,
  flaws: (body: unknown) => readonly string[],
  good: object,
  malformed: Malformed,
): void {
  describe(provider, () => {
    test("accepts a request with calls and results", () => assert.deepEqual(flaws(good), []));
    for (const [what, change, flaw] of malformed) {
      test(`refuses ${what}`, () => assert.match(flaws({ ...good, ...change }).join("\n"), flaw));
    }
  });
}

{
  const user = { role: "user", content: "Compute." };
  const use = { type: "tool_use", id: "call_7", name: "read_file", input: { path: "a" } };
  const thought = { type: "thinking", thinking: "Hm.", signature: "EqQ" };
  const asks = { role: "assistant", content: [thought, { type: "text", text: "I look." }, use] };
  const result = { type: "tool_result", tool_use_id: "call_7", content: "4.1" };
  const gives = { role: "user", content: [result, { type: "text", text: "And?" }] };
  const tools = [{ name: "read_file", description: "", input_schema: schema }];
  const good = {
    model: "claude",
    max_tokens: 100,
    system: [{ type: "text", text: "Be exact." }],
    messages: [user, asks, gives],
    tools,
  };
  const said = (...content: readonly object[]): object => ({ messages: [{ role: "user", content }] });
  const asked = (change: object): object => ({
    messages: [user, { role: "assistant", content: [{ ...use, ...change }] }, gives],
  });
  holds("Anthropic", anthropicFlaws, good, [
    ["no messages", { messages: [] }, /no messages/],
    ["a model that speaks first", { messages: [asks, gives] }, /first message/],
    ["a model that speaks last", { messages: [user, asks] }, /last message/],
    ["a call without its result", { messages: [user, asks, user] }, /without result/],
    [
      "a result without its call",
      { messages: [user, { role: "assistant", content: "Yes." }, gives] },
      /without call/,
    ],
    [
      "words before a result",
      { messages: [user, asks, { ...gives, content: gives.content.toReversed() }] },
      /first/,
    ],
    [
      "a result given twice",
      { messages: [user, asks, { role: "user", content: [result, result] }] },
      /twice/,
    ],
    ["the id of a call twice", { messages: [user, asks, gives, asks, gives] }, /call call_7 twice/],
    ["an id of another style", asked({ id: "call:7" }), /odd id/],
    ["a call whose input is a text", asked({ input: "a" }), /no object/],
    ["a tool name with dots", asked({ name: "files.read" }), /odd name/],
    ["a text without words", said({ type: "text", text: " \n" }), /without words/],
    ["a message without content", said(), /no content/],
    [
      "an image of an odd type",
      said({ type: "image", source: { type: "base64", media_type: "image/tiff" } }),
      /tiff/,
    ],
    [
      "a thought without signature",
      { messages: [user, { role: "assistant", content: [{ type: "thinking", thinking: "" }, use] }, gives] },
      /signature/,
    ],
    ["calls where no tools are", { tools: [] }, /without any tools/],
    ["a tool twice", { tools: [...tools, ...tools] }, /twice/],
    [
      "alternatives at the top of a schema",
      { tools: [{ ...tools[0], input_schema: { ...schema, anyOf: [] } }] },
      /anyOf/,
    ],
    [
      "an answer without a thought while it thinks",
      { ...asked({}), thinking: { type: "enabled" } },
      /begin with a thought/,
    ],
    [
      "a thought while thinking is off",
      { messages: [user, asks, { role: "user", content: [result] }], thinking: { type: "disabled" } },
      /no thought may stand/,
    ],
  ]);
}

{
  const user = { role: "user", content: [{ type: "input_text", text: "Compute." }] };
  const thought = { type: "reasoning", id: "rs_1", encrypted_content: "gAAA", summary: [] };
  const call = { type: "function_call", call_id: "call_7", name: "read_file", arguments: '{"path":"a"}' };
  const output = { type: "function_call_output", call_id: "call_7", output: "4.1" };
  const tools = [{ type: "function", name: "read_file", parameters: schema }];
  const good = { model: "gpt", store: false, input: [user, thought, call, output], tools };
  const input = (...items: readonly object[]): object => ({ input: items });
  holds("OpenAI Responses", responsesFlaws, good, [
    ["no input", input(), /no input/],
    ["a request that is stored", { store: true }, /stored/],
    ["a call without output", input(user, call), /no tool output/],
    ["an output without call", input(user, output), /no tool call/],
    ["reasoning that leads to nothing", input(user, thought, user), /must follow/],
    [
      "reasoning that is not encrypted",
      input(user, { type: "reasoning", id: "r", summary: [] }, call, output),
      /does not keep/,
    ],
    [
      "an item twice",
      input(user, thought, call, output, thought, { ...call, call_id: "b" }, { ...output, call_id: "b" }),
      /rs_1 twice/,
    ],
    ["a reference to an item", input(user, { type: "item_reference", id: "rs_1" }), /item_reference/],
    ["arguments that are a list", input(user, { ...call, arguments: "[]" }, output), /no JSON object/],
    ["arguments that are no JSON", input(user, { ...call, arguments: '{"a' }, output), /no JSON object/],
    ["a message of a tool", input({ role: "tool", content: "x" }), /role tool/],
    ["a message without content", input({ role: "user", content: [] }), /no content/],
    ["a name too long", { tools: [{ ...tools[0], name: "a".repeat(65) }] }, /odd name/],
    [
      "a schema without properties",
      { tools: [{ ...tools[0], parameters: { type: "object" } }] },
      /without properties/,
    ],
  ]);
}

{
  const user = { role: "user", content: "Compute." };
  const made = { id: "call_7", type: "function", function: { name: "read_file", arguments: "{}" } };
  const asks = { role: "assistant", content: null, tool_calls: [made] };
  const gives = { role: "tool", tool_call_id: "call_7", content: "4.1" };
  const tools = [{ type: "function", function: { name: "read_file", parameters: schema } }];
  const good = {
    model: "llama",
    messages: [{ role: "system", content: "Be exact." }, user, asks, gives],
    tools,
  };
  const messages = (...given: readonly object[]): object => ({ messages: given });
  holds("Chat Completions", completionsFlaws, good, [
    ["a call without its result", messages(user, asks, user), /no result/],
    ["a result without its call", messages(user, gives), /no call before it/],
    ["a result that comes late", messages(user, asks, user, gives), /no result/],
    ["an empty answer", messages(user, { role: "assistant", content: null }, user), /no content/],
    ["two users in a row", messages(user, user), /in a row/],
    ["a late system message", messages(user, { role: "system", content: "x" }), /not in front/],
    ["a model that speaks last", messages(user, { role: "assistant", content: "x" }), /last message/],
    [
      "arguments that are a text",
      messages(
        user,
        { ...asks, tool_calls: [{ ...made, function: { name: "a", arguments: '"x"' } }] },
        gives,
      ),
      /no JSON object/,
    ],
    ["an empty list of tools", { tools: [] }, /0 tools/],
  ]);
}

{
  const user = { role: "user", parts: [{ text: "Compute." }] };
  const call = { functionCall: { name: "read_file", args: { path: "a" } } };
  const asks = { role: "model", parts: [call] };
  const response = { functionResponse: { name: "read_file", response: { content: "4.1" } } };
  const gives = { role: "user", parts: [response] };
  const tools = [{ functionDeclarations: [{ name: "read_file", parameters: schema }] }];
  const good = { contents: [user, asks, gives], tools };
  const contents = (...given: readonly object[]): object => ({ contents: given });
  holds("Gemini", geminiFlaws, good, [
    ["no contents", contents(), /no contents/],
    ["a model that speaks first", contents(asks, gives), /first turn/],
    [
      "fewer responses than calls",
      contents(user, { role: "model", parts: [call, call] }, gives),
      /2 calls, 1 responses/,
    ],
    ["responses without calls", contents(user, gives), /without calls/],
    [
      "a response to another call",
      contents(user, asks, { role: "user", parts: [{ functionResponse: { name: "b", response: {} } }] }),
      /not to these/,
    ],
    [
      "calls after a turn of the model",
      contents(user, { role: "model", parts: [{ text: "x" }] }, asks, gives),
      /after a turn of the user/,
    ],
    ["an empty text", contents({ role: "user", parts: [{ text: "" }] }), /empty text/],
    ["a part that holds nothing", contents({ role: "user", parts: [{}] }), /holds nothing/],
    [
      "a role of another provider",
      contents(user, { role: "assistant", parts: [{ text: "x" }] }, user),
      /role assistant/,
    ],
    [
      "a response that is a text",
      contents(user, asks, {
        role: "user",
        parts: [{ functionResponse: { name: "read_file", response: "x" } }],
      }),
      /no object/,
    ],
    [
      "a name that begins with a digit",
      { tools: [{ functionDeclarations: [{ name: "9lives" }] }] },
      /odd name/,
    ],
    [
      "parameters without properties",
      { tools: [{ functionDeclarations: [{ name: "a", parameters: { type: "object", properties: {} } }] }] },
      /non-empty/,
    ],
  ]);
}
