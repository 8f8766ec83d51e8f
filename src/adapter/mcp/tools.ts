/** All tools, as clients list them. */
import { sessionAsk } from "./tool-ask.ts";
import type { McpTool } from "./tool.ts";
import { lookup, sessionItems, sessionList, sessionRead, sessionSearch } from "./tools-read.ts";
import {
  remember,
  sessionAnswer,
  sessionFork,
  sessionHandoff,
  sessionInput,
  sessionInterrupt,
  sessionOpen,
  sessionRecord,
} from "./tools-write.ts";

export const tools: readonly McpTool[] = [
  sessionList,
  sessionSearch,
  sessionRead,
  sessionItems,
  sessionOpen,
  sessionAsk,
  sessionInput,
  sessionFork,
  sessionHandoff,
  sessionRecord,
  sessionAnswer,
  sessionInterrupt,
  remember,
  lookup,
];
