/** Values that the samples of the event catalog share. */

export const otherSession = "ses_01hf7yat00thers0000000000z";
export const otherWorkspace = "wsp_01hf7yat00000000000000000w";
export const otherProject = "prj_01hf7yat0000000000000000pj";
export const sha = "5e".repeat(32);
export const reason = { reason: "as agreed" };
export const blocks = {
  blocks: [
    { type: "text" as const, text: "Compute the November run." },
    { type: "image" as const, blob: sha, mediaType: "image/png" },
    { type: "file" as const, blob: sha, mediaType: "text/csv", name: "rates.csv" },
    { type: "reasoning" as const, text: "The base rate matters.", signature: "opaque" },
    { type: "tool-call" as const, call: "call_1", tool: "files.read", input: { path: "rates.json" } },
    { type: "tool-result" as const, call: "call_1", output: { base: 4.1 } },
  ],
};
export const usage = { inputTokens: 120, outputTokens: 30, cachedInputTokens: 100, reasoningTokens: 10 };
export const amounts = {
  tokens: 500,
  nanoUsd: 2_000_000,
  steps: 4,
  turns: 2,
  toolCalls: 3,
  wallMs: 60_000,
};
export const message = {
  message: "msg-1",
  number: 1,
  topic: "rates",
  replyTo: "msg-0",
  deadlineMs: 1_800_000_000_000,
};
