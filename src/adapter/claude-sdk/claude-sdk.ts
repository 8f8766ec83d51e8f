/** `skein/claude-agent-sdk`: the `SessionStore` of the Claude Agent SDK in Skein. */
export {
  SkeinSessionStore,
  type ClaudeSessionEntry,
  type ClaudeSessionKey,
  type ClaudeSessionSummary,
  type FoldSessionSummary,
  type SkeinSessionStoreOptions,
} from "./store.ts";
