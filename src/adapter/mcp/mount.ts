/** The mount `/mcp` of the server: streamable HTTP, both eras. */
import type { Mount } from "../../server/http/mount.ts";
import type { Extension } from "./server.ts";

/** `extension` registers more on every server: for the protocol's conformance suites. */
export const makeMcpMount = ({ extension }: { readonly extension?: Extension } = {}): Mount => ({
  prefix: "/mcp",
  cors: {
    headers: ["mcp-protocol-version", "mcp-session-id", "mcp-method", "mcp-name", "last-event-id"],
  },
  load: async () => (await import("./http.ts")).makeMcpHandler({ extension }),
});
