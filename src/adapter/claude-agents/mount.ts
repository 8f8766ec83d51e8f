/** `/anthropic` on `skein serve`: the Managed Agents API. */
import type { Mount } from "../../server/http/mount.ts";

/** For `new Anthropic({ baseURL: "http://…/anthropic", apiKey: "skn_…" })`. */
export const claudeAgentsMount: Mount = {
  prefix: "/anthropic",
  cors: {
    methods: ["DELETE"],
    headers: ["anthropic-version", "anthropic-beta", "x-api-key", "x-stainless-retry-count"],
  },
  load: async () => (await import("./requests.ts")).answerClaude,
};
