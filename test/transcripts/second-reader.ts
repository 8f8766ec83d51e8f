/* oxlint-disable typescript/no-explicit-any, typescript/no-unsafe-assignment, typescript/no-unsafe-return,
   typescript/no-unsafe-member-access, typescript/no-unsafe-call, typescript/no-unsafe-argument */
/**
 * A second, independent reader: counts what a file holds, written from the format's description alone. It
 * shares no code with src/transcripts and keeps whole files in memory.
 */
import { readFileSync } from "node:fs";

/** What both readers must agree on, over the whole file: path, branches and inline children. */
export interface Counted {
  readonly inputs: number;
  readonly answers: number;
  readonly calls: number;
  readonly paired: number;
  readonly compactions: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

type Json = Record<string, any>;

function lines(path: string): Json[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        const value: unknown = JSON.parse(line);
        return typeof value === "object" && value !== null ? [value as Json] : [];
      } catch {
        return [];
      }
    });
}

const blocks = (record: Json): Json[] =>
  Array.isArray(record["message"]?.content) ? record["message"].content : [];

export function countClaudeCode(path: string): Counted {
  const seen = new Set<string>();
  const records = lines(path).filter((record) => {
    if (record["uuid"] === undefined) return false;
    const isFirst = !seen.has(record["uuid"]);
    seen.add(record["uuid"]);
    return isFirst;
  });
  const answers = records.filter(({ type }) => type === "assistant");
  const users = records.filter(({ type }) => type === "user");
  const usage = new Map<string, { input: number; output: number }>();
  for (const { message, uuid } of answers) {
    const id = message.id ?? uuid;
    const {
      input_tokens = 0,
      cache_read_input_tokens = 0,
      cache_creation_input_tokens = 0,
      output_tokens = 0,
    } = message.usage ?? {};
    const output = Math.max(output_tokens, usage.get(id)?.output ?? 0);
    usage.set(id, { input: input_tokens + cache_read_input_tokens + cache_creation_input_tokens, output });
  }
  const uses = answers.flatMap((one) => blocks(one).filter(({ type }) => type === "tool_use"));
  const results = new Set(
    users.flatMap((one) =>
      blocks(one)
        .filter(({ type }) => type === "tool_result")
        .map((block) => block["tool_use_id"]),
    ),
  );
  const prompts = users.filter(
    (one) => !one["isCompactSummary"] && !blocks(one).some(({ type }) => type === "tool_result"),
  );
  return {
    inputs: prompts.length,
    answers: usage.size,
    calls: uses.length,
    paired: uses.filter(({ id }) => results.has(id)).length,
    compactions: records.filter(({ subtype }) => subtype === "compact_boundary").length,
    inputTokens: [...usage.values()].reduce((sum, { input }) => sum + input, 0),
    outputTokens: [...usage.values()].reduce((sum, { output }) => sum + output, 0),
  };
}

/** The tokens of several files of one family: an answer that stands in many of them counts once. */
export function tokensOfFamily(paths: readonly string[]): {
  readonly input: number;
  readonly output: number;
} {
  const usage = new Map<string, { input: number; output: number }>();
  for (const record of paths.flatMap(lines).filter(({ type }) => type === "assistant")) {
    const { id, usage: used = {} } = record["message"];
    const cached = (used.cache_read_input_tokens ?? 0) + (used.cache_creation_input_tokens ?? 0);
    const output = Math.max(used.output_tokens ?? 0, usage.get(id)?.output ?? 0);
    usage.set(id, { input: (used.input_tokens ?? 0) + cached, output });
  }
  const sum = (name: "input" | "output"): number =>
    [...usage.values()].reduce((all, one) => all + one[name], 0);
  return { input: sum("input"), output: sum("output") };
}

export function countCodex(path: string): Omit<Counted, "answers"> {
  const all = lines(path);
  const items = all.filter(({ type }) => type === "response_item").map(({ payload }) => payload as Json);
  const calls = items.filter(({ type }) => (type as string).endsWith("_call"));
  const outputs = new Set(
    items.filter(({ type }) => (type as string).endsWith("_output")).map((item) => item["call_id"]),
  );
  const totals = all
    .filter(({ type, payload }) => type === "event_msg" && payload.type === "token_count")
    .flatMap(({ payload }) => payload.info?.total_token_usage ?? []);
  const last = totals.at(-1) ?? {};
  return {
    inputs: items.filter(({ type, role }) => type === "message" && role !== "assistant").length,
    calls: calls.length,
    paired: calls.filter((item) => outputs.has(item["call_id"])).length,
    compactions: all.filter(({ type }) => type === "compacted").length,
    inputTokens: last.input_tokens ?? 0,
    outputTokens: last.output_tokens ?? 0,
  };
}

export function countPi(path: string): Counted {
  const all = lines(path);
  const messages = all.filter(({ type }) => type === "message").map(({ message }) => message as Json);
  const answers = messages.filter(({ role }) => role === "assistant");
  const calls = answers.flatMap(({ content }) =>
    content.filter(({ type }: Json) => type === "toolCall"),
  ) as Json[];
  const results = new Set(
    messages.filter(({ role }) => role === "toolResult").map((one) => one["toolCallId"]),
  );
  const sum = (names: string[]): number =>
    answers.reduce(
      (total, { usage }) => total + names.reduce((part, name) => part + (usage?.[name] ?? 0), 0),
      0,
    );
  return {
    inputs: messages.filter(({ role }) => role === "user").length,
    answers: answers.length,
    calls: calls.length,
    paired: calls.filter(({ id }) => results.has(id)).length,
    compactions: all.filter(({ type }) => type === "compaction").length,
    inputTokens: sum(["input", "cacheRead", "cacheWrite"]),
    outputTokens: sum(["output"]),
  };
}
