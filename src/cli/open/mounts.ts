/** The protocols that `skein serve` speaks besides its own. Each loads with its first request. */
import { agUiMount } from "../../adapter/ag-ui/mount.ts";
import { makeA2aMounts } from "../../adapter/a2a/mount.ts";
import { aiSdkMount } from "../../adapter/ai-sdk/mount.ts";
import { claudeAgentsMount } from "../../adapter/claude-agents/mount.ts";
import { makeDurableStreamsMount } from "../../adapter/durable-streams/mount.ts";
import { makeMcpMount } from "../../adapter/mcp/mount.ts";
import { openaiMount } from "../../adapter/openai/mount.ts";
import { makePushCalls, type PushCalls } from "../../adapter/push-calls.ts";
import { SkeinError } from "../../core/error.ts";
import { quote } from "../../core/ids.ts";
import type { World } from "../../runtime/world.ts";
import type { Mount } from "../../server/http/mount.ts";

/** `push`: how URLs that clients name are called; null: they are not. */
export const makeMountList = (push: PushCalls | null): readonly Mount[] => [
  ...makeA2aMounts(push),
  agUiMount,
  aiSdkMount,
  claudeAgentsMount,
  makeDurableStreamsMount(push),
  makeMcpMount(),
  openaiMount,
];

/** The calls that `--push-secret` allows; null without it. */
export function pushFrom(
  name: string | undefined,
  world: Pick<World, "secret">,
  allowPrivate: boolean,
): PushCalls | null {
  if (name === undefined) return null;
  const secret = world.secret(name) ?? "";
  if (secret === "")
    throw new SkeinError("invalid", `--push-secret: the environment variable ${quote(name)} is not set`, {
      hint: `export ${/^\w+$/.test(name) ? name : "NAME"}=$(openssl rand -hex 32)`,
    });
  return makePushCalls({ secret, allowPrivate });
}
