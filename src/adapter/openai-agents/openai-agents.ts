/** `skein/openai-agents`: the `Session` of OpenAI's Agents SDK in Skein. */
export { SkeinSession, type SkeinSessionOptions } from "./session.ts";
