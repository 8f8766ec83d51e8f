/** The formats of `session.exportTranscript`: tools that open the file, and the messages of an API. */
export const exportFormats = [
  "claude-code",
  "codex",
  "opencode",
  "pi",
  "ai-sdk",
  "openai",
  "anthropic",
] as const;
