/**
 * Thinking with a budget, as Anthropic's models before adaptive thinking have it. Applied to the body of a
 * request, for only there it shows whether the library asks for such a budget.
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
 * The library adds the budget to the limit of output. The limit is what was reserved, so it is put back, and
 * thinking gets a share of it. There is no thinking where the share would be too small, or where results are
 * given to calls that were made without a thought, as after a change of model: both are refused.
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

/** Where the calls begin whose results reach to the end; the length when the end is no result. */
function loopStart(messages: readonly Message[]): number {
  let start = messages.length;
  while (start >= 2 && blocksOf(messages[start - 1]).some(({ type }) => type === "tool_result")) start -= 2;
  return start;
}

/** Without thinking, no thought may stand among the calls that results are given to. */
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
