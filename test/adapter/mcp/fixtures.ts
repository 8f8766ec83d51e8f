/** What the protocol's conformance suites call by fixed names. Only servers of these tests have it. */
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  type InputRequests,
  type McpServer,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod";
import type { Extension } from "../../../src/adapter/mcp/server.ts";
import { richSchema } from "./rich-schema.ts";
import { registerContents } from "./fixture-contents.ts";

const state = createRequestStateCodec<{ readonly step: number }>({ key: "conformance".repeat(4) });

export const extension: Extension = {
  options: { requestState: { verify: state.verify }, capabilities: { logging: {}, completions: {} } },
  register(server, { publish }) {
    registerContents(server);
    registerRunning(server);
    registerAsking(server);
    registerRounds(server);
    const trigger = (name: string, kind: "tools_list_changed" | "prompts_list_changed") =>
      server.registerTool(name, { description: "Changes a list" }, () => {
        publish?.({ kind });
        return said("changed");
      });
    trigger("test_trigger_tool_change", "tools_list_changed");
    trigger("test_trigger_prompt_change", "prompts_list_changed");
  },
};

const said = (text: string) => ({ content: [{ type: "text" as const, text }] });
const pause = (): Promise<void> => new Promise((done) => setTimeout(done, 50));
const none = { description: "A fixture" };

function registerRunning(server: McpServer): void {
  const logged = async ({ mcpReq }: ServerContext) => {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      // The legacy era has it still, and the suite asks for it.
      // oxlint-disable-next-line typescript/no-deprecated
      await mcpReq.log("info", line);
      await pause();
    }
    return said("Logged.");
  };
  server.registerTool("test_tool_with_logging", none, logged);
  server.registerTool("test_logging_tool", none, logged);
  server.registerTool("test_tool_with_progress", none, async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of [0, 50, 100]) {
      const params = { progressToken: progressToken ?? 0, progress, total: 100 };
      if (progressToken !== undefined) await mcpReq.notify({ method: "notifications/progress", params });
      await pause();
    }
    return said("Done.");
  });
  server.registerTool("test_error_handling", none, () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  server.registerTool("test_reconnection", none, async ({ http }) => {
    await pause();
    http?.closeSSE?.();
    await pause();
    return said("Reconnected.");
  });
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Tool with JSON Schema 2020-12 features", inputSchema: fromJsonSchema(richSchema) },
    () => said("ok"),
  );
  const region = z.string().meta({ "x-mcp-header": "Region" });
  const inputSchema = z.object({ region, query: z.string().optional() });
  server.registerTool("test_custom_headers", { ...none, inputSchema }, () => said("ok"));
}

/** Requests to the client: in the legacy era they go out as requests, later as results. */
function registerAsking(server: McpServer): void {
  const sampled = { ...none, inputSchema: z.object({ prompt: z.string() }) };
  server.registerTool("test_sampling", sampled, async ({ prompt }, { mcpReq }) => {
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: prompt } }];
    const params = { messages, maxTokens: 100 };
    const { content } = await mcpReq.send({ method: "sampling/createMessage", params });
    const [first] = Array.isArray(content) ? content : [content];
    return said(`LLM response: ${first?.type === "text" ? first.text : ""}`);
  });
  const asked = { ...none, inputSchema: z.object({ message: z.string() }) };
  server.registerTool("test_elicitation", asked, async ({ message }, { mcpReq }) => {
    const texts = {
      username: { type: "string" as const, description: "User's response" },
      email: { type: "string" as const, description: "User's email address" },
    };
    const requestedSchema = { type: "object" as const, properties: texts, required: ["username", "email"] };
    const params = { message, requestedSchema };
    const { action, content } = await mcpReq.send({ method: "elicitation/create", params });
    return said(`User response: action=${action}, content=${JSON.stringify(content ?? {})}`);
  });
  const elicit = (name: string, properties: object): void => {
    server.registerTool(name, none, async ({ mcpReq }) => {
      const params = { message: "Please fill in", requestedSchema: { type: "object", properties } };
      const { action, content } = await mcpReq.send({ method: "elicitation/create", params });
      return said(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`);
    });
  };
  elicit("test_elicitation_sep1034_defaults", {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  });
  const titled = (name: string, ...titles: string[]) =>
    titles.map((title, place) => ({ const: `${name}${place + 1}`, title }));
  elicit("test_elicitation_sep1330_enums", {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: { type: "string", oneOf: titled("value", "First Option", "Second Option", "Third Option") },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: {
      type: "array",
      items: { anyOf: titled("value", "First Choice", "Second Choice", "Third Choice") },
    },
  });
}

const schemaOf = { string: { type: "string" as const }, boolean: { type: "boolean" as const } };
const question = (message: string, field: string, type: "string" | "boolean" = "string") =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: "object", properties: { [field]: schemaOf[type] }, required: [field] },
  });
const sample = (text: string, maxTokens: number) =>
  inputRequired.createMessage({ messages: [{ role: "user", content: { type: "text", text } }], maxTokens });

/** Results that ask for more input. */
function registerRounds(server: McpServer): void {
  const name = "test_input_required_result_";
  const once = (tool: string, key: string, request: InputRequests[string]): void => {
    server.registerTool(tool, none, ({ mcpReq: { inputResponses } }) => {
      if (inputResponse(inputResponses, key).kind === "missing")
        return inputRequired({ inputRequests: { [key]: request } });
      return said(`Hello, ${JSON.stringify(inputResponses)}!`);
    });
  };
  once(`${name}sampling`, "capital_question", sample("What is the capital of France?", 100));
  once(`${name}list_roots`, "client_roots", inputRequired.listRoots());
  once("test_missing_capability", "answer", sample("Anything", 10));
  once("test_streaming_elicitation", "answer", question("Anything?", "text"));
  server.registerTool(`${name}elicitation`, none, ({ mcpReq: { inputResponses } }) => {
    const found = acceptedContent(inputResponses, "user_name", z.object({ name: z.string() }));
    if (found !== undefined) return said(`Hello, ${found.name}!`);
    return inputRequired({ inputRequests: { user_name: question("What is your name?", "name") } });
  });
  const confirmed = async ({ mcpReq: { inputResponses, requestState } }: ServerContext) => {
    if (requestState() !== undefined && inputResponse(inputResponses, "confirm").kind !== "missing")
      return said("state-ok");
    const inputRequests = { confirm: question("Please confirm", "ok", "boolean") };
    return inputRequired({ inputRequests, requestState: await state.mint({ step: 1 }) });
  };
  server.registerTool(`${name}request_state`, none, confirmed);
  server.registerTool(`${name}tampered_state`, none, confirmed);
  server.registerTool(`${name}multiple_inputs`, none, async ({ mcpReq: { inputResponses } }) => {
    const inputRequests = {
      user_name: question("What is your name?", "name"),
      greeting: sample("Generate a greeting", 50),
      client_roots: inputRequired.listRoots(),
    };
    const isMissing = Object.keys(inputRequests).some(
      (key) => inputResponse(inputResponses, key).kind === "missing",
    );
    if (!isMissing) return said("All there.");
    return inputRequired({ inputRequests, requestState: await state.mint({ step: 1 }) });
  });
  server.registerTool(`${name}multi_round`, none, async ({ mcpReq: { inputResponses, requestState } }) => {
    const step = requestState<{ readonly step: number }>()?.step ?? 0;
    if (step >= 1 && inputResponse(inputResponses, `step${step}`).kind === "missing") return again(step);
    return step === 2 ? said("Both known.") : again(step + 1);
  });
  const again = async (step: number) =>
    inputRequired({
      inputRequests: {
        [`step${step}`]:
          step === 1
            ? question("Step 1: What is your name?", "name")
            : question("Step 2: What is your favorite color?", "color"),
      },
      requestState: await state.mint({ step }),
    });
  server.registerTool(`${name}capabilities`, none, ({ mcpReq: { envelope, inputResponses } }) => {
    const declared = (envelope as Record<string, object> | undefined)?.[CLIENT_CAPABILITIES_META_KEY] ?? {};
    if (inputResponses !== undefined && Object.keys(inputResponses).length > 0) return said("Thanks.");
    const inputRequests: InputRequests = {
      ...("sampling" in declared ? { sampled: sample("Anything", 10) } : {}),
      ...("elicitation" in declared ? { asked: question("Anything?", "text") } : {}),
    };
    return inputRequired({ inputRequests });
  });
  server.registerPrompt(`${name}prompt`, none, ({ mcpReq: { inputResponses } }) => {
    if (inputResponse(inputResponses, "user_context").kind === "missing") {
      const asked = question("What context should the prompt use?", "context");
      return inputRequired({ inputRequests: { user_context: asked } });
    }
    return { messages: [{ role: "user", content: { type: "text", text: "With context." } }] };
  });
}
