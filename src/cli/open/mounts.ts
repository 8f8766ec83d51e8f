/** The protocols that `skein serve` speaks besides its own. Each loads with its first request. */
import { agUiMount } from "../../adapter/ag-ui/mount.ts";
import { a2aCardMount, a2aMount } from "../../adapter/a2a/mount.ts";
import { aiSdkMount } from "../../adapter/ai-sdk/mount.ts";
import { claudeAgentsMount } from "../../adapter/claude-agents/mount.ts";
import { durableStreamsMount } from "../../adapter/durable-streams/mount.ts";
import { makeMcpMount } from "../../adapter/mcp/mount.ts";
import { openaiMount } from "../../adapter/openai/mount.ts";
import type { Mount } from "../../server/http/mount.ts";

export const mounts: readonly Mount[] = [
  a2aCardMount,
  a2aMount,
  agUiMount,
  aiSdkMount,
  claudeAgentsMount,
  durableStreamsMount,
  makeMcpMount(),
  openaiMount,
];
