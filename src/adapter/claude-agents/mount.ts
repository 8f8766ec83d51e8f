/** `/anthropic` on `skein serve`: the Managed Agents API. */
import type { Mount } from "../../server/http/mount.ts";

/** For `new Anthropic({ baseURL: "http://…/anthropic", apiKey: "skn_…" })`. */
export const claudeAgentsMount: Mount = {
  prefix: "/anthropic",
  cors: {
    methods: ["DELETE"],
    headers: ["anthropic-version", "anthropic-beta", "x-api-key", "x-stainless-retry-count"],
  },
  async load() {
    const { makeClaudeHandler } = await import("./requests.ts");
    return makeClaudeHandler((await import("../../runtime/world.ts")).realWorld());
  },
};
