/**
 * Thinking with a budget, for Anthropic's models before adaptive thinking. Applied to the request body,
 * because only there it shows whether the library requests such a budget.
 */

interface Body {
  readonly max_tokens?: number;
  readonly thinking?: { readonly budget_tokens?: number };
  readonly messages?: readonly Message[];
}

interface Message {
  readonly role?: string;
  readonly content?: string | readonly Block[];
}

interface Block {
  readonly type?: string;
}

/** The least that Anthropic accepts. */
const budgetTokensMin = 1024;

/**
 * The library adds the budget to the output limit. The limit is what was reserved, so it is restored, and
 * thinking gets a share of it. Thinking is off if the share would be too small, or if results belong to calls
 * that were made without a thought, as after a change of model: both are rejected.
 */
export function withinReserve(text: string, outputTokensMax: number): string {
  if (!text.includes('"budget_tokens"')) return text;
  const body = JSON.parse(text) as Body;
  const budget = body.thinking?.budget_tokens;
  if (budget === undefined) return text;
  const messages = body.messages ?? [];
  const limit = Math.min(body.max_tokens ?? outputTokensMax, outputTokensMax);
  const share = limit === body.max_tokens ? budget : Math.min(budget, Math.floor(limit / 2));
  const start = loopStart(messages);
  const mayThink = start === messages.length || isThought(blocksOf(messages[start])[0]);
  const asked =
    mayThink && share >= budgetTokensMin
      ? { thinking: { ...body.thinking, budget_tokens: share } }
      : { thinking: { type: "disabled" }, messages: withoutThoughts(messages, start) };
  return JSON.stringify({ ...body, max_tokens: limit, ...asked });
}

/** The index of the first call whose results reach the end; the length if the end is not a result. */
function loopStart(messages: readonly Message[]): number {
  let start = messages.length;
  while (start >= 2 && blocksOf(messages[start - 1]).some(({ type }) => type === "tool_result")) start -= 2;
  return start;
}

/** Without thinking, no thought may appear among the calls of the results. */
function withoutThoughts(messages: readonly Message[], start: number): readonly Message[] {
  return messages.map((message, at) =>
    at < start || message.role !== "assistant"
      ? message
      : { ...message, content: blocksOf(message).filter((block) => !isThought(block)) },
  );
}

const blocksOf = (message: Message | undefined): readonly Block[] =>
  typeof message?.content === "object" ? message.content : [];
const isThought = (block: Block | undefined): boolean =>
  block?.type === "thinking" || block?.type === "redacted_thinking";
