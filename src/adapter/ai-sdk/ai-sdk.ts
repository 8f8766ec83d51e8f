/** The subpath `skein/ai-sdk`: chats of the AI SDK on sessions, and its own loops made durable. */
export { findChat, openChat } from "./chat.ts";
export type { ChatOpening } from "./chat.ts";
export { durableRun } from "./durable.ts";
export type { DurableRun, DurableRunOptions, ToolEffect } from "./durable.ts";
export type { RunUsage } from "./call-ledger.ts";
export type { ChatMessage, UserMetadata } from "./message.ts";
export { uiMessages } from "./messages.ts";
export type { MessagesOptions } from "./messages.ts";
export { TurnProjection } from "./project.ts";
export type { BlobBlock, ChatProjectionOptions, TurnMetadata, TurnUsage } from "./project.ts";
export { toUIMessageChunks, toUIMessageStreamResponse } from "./response.ts";
export type { RunResponseOptions } from "./response.ts";
export { chatRoutes } from "./routes.ts";
export type { ChatRoutes, ChatRoutesOptions } from "./routes.ts";
