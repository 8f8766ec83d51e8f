/* oxlint-disable unicorn/no-useless-spread -- groups short fields on one line */
/** Small sessions of each format and version, made for the tests: each holds the traps of its format. */

const lines = (records: readonly unknown[]): string =>
  records.map((record) => `${JSON.stringify(record)}\n`).join("");
const at = (second: number): string => new Date(Date.UTC(2026, 0, 2, 3, 4, second)).toISOString();

const claudeId = "11111111-1111-4111-8111-111111111111";

function claude(uuid: string, parentUuid: string | null, second: number, fields: object): object {
  return {
    ...{ uuid, parentUuid, timestamp: at(second), sessionId: claudeId, cwd: "/tmp/p", version: "2.1.80" },
    ...{ gitBranch: "main", isSidechain: false, userType: "external" },
    ...fields,
  };
}

const said = (id: string, block: object, output: number): object => ({
  type: "assistant",
  requestId: `req-${id}`,
  message: {
    ...{
      id,
      type: "message",
      role: "assistant",
      model: "claude-opus-4-6",
      content: [block],
      stop_reason: null,
    },
    usage: {
      input_tokens: 10,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: 1,
      output_tokens: output,
    },
  },
});
const asked = (text: string): object => ({ type: "user", message: { role: "user", content: text } });
const use = (id: string): object => ({ type: "tool_use", id, name: "Bash", input: { command: id } });
const result = (id: string): object => ({
  type: "user",
  toolUseResult: { stdout: id },
  message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: `out ${id}` }] },
});

/** Parallel calls, a screen-only link, an edited prompt, a compaction, a time that goes back. */
export const claudeCode = lines([
  claude("u1", null, 1, asked("first")),
  claude("p1", "u1", 2, { type: "progress", data: { type: "hook_progress" } }),
  claude("a1", "p1", 3, said("msg1", { type: "thinking", thinking: "hm", signature: "sig" }, 1)),
  claude("a2", "a1", 4, said("msg1", use("t1"), 7)),
  claude("a3", "a2", 4, said("msg1", use("t2"), 3)),
  claude("r1", "a2", 6, result("t1")),
  claude("r2", "a3", 5, result("t2")),
  claude("a4", "r2", 7, said("msg2", { type: "text", text: "done" }, 4)),
  claude("u2", "a4", 8, asked("wrong turn")),
  claude("a5", "u2", 9, said("msg3", { type: "text", text: "left behind" }, 2)),
  claude("u3", "a4", 10, asked("right turn")),
  claude("b1", null, 11, {
    type: "system",
    subtype: "compact_boundary",
    logicalParentUuid: "u3",
    compactMetadata: { trigger: "auto", preTokens: 900 },
  }),
  claude("s1", "b1", 11, { ...asked("summary"), isCompactSummary: true }),
  claude("a6", "s1", 12, said("msg4", use("t3"), 6)),
  { type: "custom-title", customTitle: "A title", sessionId: claudeId },
]);

const codexLine = (second: number, type: string, payload: object): object => ({
  timestamp: at(second),
  type,
  payload,
});
const total = (input: number, output: number): object => ({
  type: "token_count",
  info: {
    total_token_usage: {
      input_tokens: input,
      cached_input_tokens: 1,
      output_tokens: output,
      total_tokens: 0,
    },
    last_token_usage: { input_tokens: input, output_tokens: output },
  },
});
const codexSays = (role: string, text: string): object => ({
  type: "message",
  role,
  content: [{ type: role === "assistant" ? "output_text" : "input_text", text }],
});

/** Doubled usage lines, a call without output, a rollback, a compaction, arguments that do not parse. */
export const codex = lines([
  codexLine(1, "session_meta", {
    id: "22222222-2222-4222-8222-222222222222",
    cwd: "/tmp/p",
    cli_version: "0.104.0",
  }),
  codexLine(1, "response_item", codexSays("developer", "rules")),
  codexLine(2, "response_item", codexSays("user", "<environment_context>x</environment_context>")),
  codexLine(3, "response_item", codexSays("user", "first")),
  codexLine(3, "event_msg", { type: "user_message", message: "first" }),
  codexLine(3, "turn_context", { model: "gpt-5.1-codex", cwd: "/tmp/p" }),
  codexLine(4, "response_item", { type: "reasoning", summary: [{ text: "hm" }], encrypted_content: "zzz" }),
  codexLine(5, "response_item", { type: "function_call", name: "exec", arguments: "{broken", call_id: "c1" }),
  codexLine(5, "response_item", { type: "function_call", name: "exec", arguments: '{"a":1}', call_id: "c2" }),
  codexLine(5, "event_msg", total(100, 10)),
  codexLine(6, "response_item", { type: "function_call_output", call_id: "c1", output: "one" }),
  codexLine(6, "response_item", {
    type: "function_call_output",
    call_id: "c2",
    output: { content: "two", success: false },
  }),
  codexLine(6, "event_msg", total(100, 10)),
  codexLine(7, "response_item", codexSays("assistant", "done")),
  codexLine(7, "event_msg", total(250, 25)),
  codexLine(8, "response_item", codexSays("user", "wrong turn")),
  codexLine(9, "response_item", codexSays("assistant", "left behind")),
  codexLine(9, "event_msg", { type: "thread_rolled_back", num_turns: 1 }),
  codexLine(10, "compacted", { message: "summary" }),
  codexLine(11, "response_item", codexSays("user", "second")),
  codexLine(12, "response_item", { type: "function_call", name: "exec", arguments: "{}", call_id: "c3" }),
]);

const piEntry = (
  id: string,
  parentId: string | null,
  second: number,
  type: string,
  fields: object,
): object => ({
  ...{ type, id, parentId, timestamp: at(second) },
  ...fields,
});
const piMessage = (message: object): object => ({ message });
const piUsage = { input: 10, output: 5, cacheRead: 2, cacheWrite: 1, totalTokens: 18, cost: { total: 0.5 } };

/** A branch, a compaction that keeps a tail, usage of its own, a new type. */
export const piThree = lines([
  {
    type: "session",
    version: 3,
    id: "33333333-3333-4333-8333-333333333333",
    timestamp: at(0),
    cwd: "/tmp/p",
  },
  piEntry("00000001", null, 1, "message", piMessage({ role: "user", content: "first" })),
  piEntry("00000002", "00000001", 2, "message", {
    message: {
      ...{
        role: "assistant",
        provider: "anthropic",
        model: "claude-sonnet-4-5",
        usage: piUsage,
        stopReason: "toolUse",
      },
      content: [{ type: "toolCall", id: "c1", name: "read", arguments: { path: "a" } }],
    },
  }),
  piEntry("00000003", "00000002", 3, "message", {
    message: {
      role: "toolResult",
      toolCallId: "c1",
      toolName: "read",
      content: [{ type: "text", text: "x" }],
      isError: false,
    },
  }),
  piEntry("00000004", "00000003", 4, "message", piMessage({ role: "user", content: "left behind" })),
  piEntry("00000005", "00000003", 5, "message", piMessage({ role: "user", content: "second" })),
  piEntry("00000006", "00000005", 6, "usage", { kind: "title", usage: piUsage }),
  piEntry("00000007", "00000006", 7, "compaction", {
    summary: "sum",
    firstKeptEntryId: "00000005",
    tokensBefore: 50,
  }),
  piEntry("00000008", "00000007", 8, "invented_tomorrow", {}),
]);

/** Version 1: a list without ids. */
export const piOne = lines([
  { type: "session", id: "44444444-4444-4444-8444-444444444444", timestamp: at(0), cwd: "/tmp/p" },
  {
    type: "message",
    timestamp: at(1),
    message: { role: "user", content: [{ type: "text", text: "first" }] },
  },
  {
    type: "message",
    timestamp: at(2),
    message: {
      role: "assistant",
      content: [{ type: "text", text: "hi" }],
      usage: piUsage,
      stopReason: "stop",
    },
  },
]);

/** Replaced in place, rewound, patched. */
export const geminiLines = lines([
  { sessionId: "g1", projectHash: "x", startTime: at(0), kind: "main" },
  { id: "m1", timestamp: at(1), type: "user", content: [{ text: "first" }] },
  {
    id: "m2",
    timestamp: at(2),
    type: "gemini",
    content: "",
    tokens: { input: 10, output: 2, cached: 0, thoughts: 1 },
  },
  {
    ...{ id: "m2", timestamp: at(2), type: "gemini", content: "hi", model: "gemini-3-pro" },
    tokens: { input: 10, output: 2, cached: 0, thoughts: 1, tool: 0, total: 13 },
    toolCalls: [
      {
        id: "c1",
        name: "ls",
        args: {},
        status: "success",
        result: [{ functionResponse: { response: { output: "a" } } }],
      },
    ],
  },
  { id: "m3", timestamp: at(3), type: "user", content: "left behind" },
  { $rewindTo: "m3" },
  { id: "m4", timestamp: at(4), type: "user", content: "second" },
  { $set: { summary: "A title" } },
]);

export const geminiDocument = JSON.stringify({
  sessionId: "g2",
  startTime: at(0),
  messages: [
    { id: "m1", timestamp: at(1), type: "user", content: "first" },
    { id: "m2", timestamp: at(2), type: "gemini", content: "hi", tokens: { input: 3, output: 4 } },
  ],
});

const node = (id: string, parent: string | null, message: object | null): [string, object] => [
  id,
  { id, parent, children: [], message: message === null ? null : { id, ...message } },
];
const text = (role: string, words: string, recipient = "all"): object => ({
  ...{ author: { role }, recipient, create_time: 1767323041.5, metadata: { model_slug: "gpt-5" } },
  content: { content_type: "text", parts: [words] },
});

/** A hidden root, a call with its result, a regenerated answer, an asset that is missing. */
export const chatgpt = JSON.stringify([
  {
    conversation_id: "c-1",
    title: "A title, with ] and } in it",
    create_time: 1767323040.25,
    mapping: Object.fromEntries([
      node("root", null, null),
      node("u1", "root", {
        author: { role: "user" },
        content: {
          content_type: "multimodal_text",
          parts: ["look", { content_type: "image_asset_pointer", asset_pointer: "file-service://file-abc" }],
        },
      }),
      node("a1", "u1", text("assistant", '{"q":1}', "browser")),
      node("t1", "a1", text("tool", "found")),
      node("a2", "t1", text("assistant", "left behind")),
      node("a3", "t1", text("assistant", "done")),
    ]),
    current_node: "a3",
  },
  { conversation_id: "c-2", title: "empty", mapping: {}, current_node: "x" },
]);

export const claudeAi = JSON.stringify([
  {
    uuid: "k-1",
    name: "A title",
    created_at: at(0),
    chat_messages: [
      {
        uuid: "h1",
        sender: "human",
        text: "first",
        content: [],
        created_at: at(1),
        files: [{ file_name: "a.png" }],
      },
      {
        ...{ uuid: "x1", sender: "assistant", text: "", created_at: at(2) },
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "tool_use", name: "search", input: { q: 1 } },
          { type: "tool_result", content: [{ type: "text", text: "found" }] },
          { type: "text", text: "done" },
        ],
      },
    ],
  },
]);

/** `opencode export`: a pending call, a summary, a revert that hides the tail. */
export const opencodeExport = JSON.stringify({
  info: {
    ...{ id: "ses_1", slug: "s", projectID: "p", directory: "/tmp/p", title: "A title", version: "1.18.33" },
    ...{ time: { created: 1767323040000, updated: 1767323050000 }, revert: { messageID: "msg_5" } },
  },
  messages: [
    {
      info: { id: "msg_1", sessionID: "ses_1", role: "user", time: { created: 1767323041000 } },
      parts: [{ id: "prt_1", type: "text", text: "first" }],
    },
    {
      info: {
        ...{
          id: "msg_2",
          sessionID: "ses_1",
          role: "assistant",
          time: { created: 1767323042000 },
          modelID: "gpt-5",
        },
        ...{ tokens: { input: 10, output: 4, reasoning: 1, cache: { read: 2, write: 0 } }, cost: 0.25 },
      },
      parts: [
        {
          ...{ id: "prt_2", type: "tool", callID: "c1", tool: "bash" },
          state: {
            status: "completed",
            input: { c: 1 },
            output: "a",
            title: "t",
            metadata: {},
            time: { start: 1, end: 2 },
          },
        },
        {
          id: "prt_3",
          type: "tool",
          callID: "c2",
          tool: "bash",
          state: { status: "pending", input: {}, raw: "" },
        },
      ],
    },
    {
      info: { id: "msg_3", sessionID: "ses_1", role: "user", time: { created: 1767323043000 } },
      parts: [{ id: "prt_4", type: "compaction", auto: true, tail_start_id: "msg_2" }],
    },
    {
      info: {
        ...{ id: "msg_4", sessionID: "ses_1", role: "assistant", parentID: "msg_3", summary: true },
        time: { created: 1767323044000 },
      },
      parts: [{ id: "prt_5", type: "text", text: "summary" }],
    },
    {
      info: { id: "msg_5", sessionID: "ses_1", role: "user", time: { created: 1767323045000 } },
      parts: [{ id: "prt_6", type: "text", text: "hidden" }],
    },
  ],
});

/** Every golden session with the name of a file it could have. */
export const goldenFiles: readonly {
  readonly format: string;
  readonly file: string;
  readonly text: string;
}[] = [
  { format: "claude-code", file: `${claudeId}.jsonl`, text: claudeCode },
  {
    format: "codex",
    file: "rollout-2026-01-02T03-04-01-22222222-2222-4222-8222-222222222222.jsonl",
    text: codex,
  },
  { format: "pi", file: "2026_33333333.jsonl", text: piThree },
  { format: "pi", file: "2025_44444444.jsonl", text: piOne },
  { format: "gemini", file: "session-1.jsonl", text: geminiLines },
  { format: "gemini", file: "session-0.json", text: geminiDocument },
  { format: "chatgpt", file: "conversations.json", text: chatgpt },
  { format: "claude-ai", file: "conversations-k.json", text: claudeAi },
  { format: "opencode", file: "export.json", text: opencodeExport },
];
