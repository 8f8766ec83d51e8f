/** The protocol's own clients, unmodified: of the legacy era, and of 2026-07-28. */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const eras = ["legacy", "modern"] as const;
export type Era = (typeof eras)[number];

/** What a tool's result has in both eras. */
export interface CallResult {
  readonly content: readonly { readonly type: string; readonly text?: string; readonly uri?: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** What these tests use of a client. */
export interface McpClient extends AsyncDisposable {
  readonly era: Era;
  /** The process of the server; null over HTTP. */
  readonly pid: number | null;
  call(
    name: string,
    args?: object,
    options?: { readonly onprogress?: (progress: { message?: string }) => void },
  ): Promise<CallResult>;
  tools(): Promise<
    readonly { readonly name: string; readonly annotations?: object; readonly outputSchema?: object }[]
  >;
  resources(): Promise<readonly { readonly uri: string }[]>;
  read(uri: string): Promise<string>;
  prompt(name: string, args: Record<string, string>): Promise<string>;
  /** Resolves with the URI of the next update of a resource. */
  watch(uri: string): Promise<{ readonly next: Promise<string> }>;
}

const program = fileURLToPath(new URL("../../../src/cli/main.ts", import.meta.url));
const info = { name: "test", version: "1.0.0" };

export async function overStdio(
  era: Era,
  store: string,
  more: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<McpClient> {
  const given = {
    command: process.execPath,
    args: [program, "mcp", "--store", store, ...more],
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: dirname(store),
      SKEIN_MODEL: "offline/offline",
      // Without it each process compiles the sources into a new home.
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(tmpdir(), "skein-test-code"),
      ...env,
    },
    stderr: "ignore" as const,
  };
  const transport = era === "modern" ? new ModernStdio(given) : new StdioClientTransport(given);
  const client = await connected(era, transport);
  return { ...client, pid: transport.pid };
}

export async function overHttp(era: Era, url: string, token: string): Promise<McpClient> {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const at = new URL("/mcp", url);
  return connected(
    era,
    era === "modern"
      ? new ModernHttp(at, { requestInit })
      : new StreamableHTTPClientTransport(at, { requestInit }),
  );
}

async function connected(
  era: Era,
  transport: ModernHttp | ModernStdio | StdioClientTransport | StreamableHTTPClientTransport,
): Promise<McpClient> {
  const updated = Promise.withResolvers<string>();
  if (era === "legacy") {
    const client = new Client(info);
    await client.connect(transport);
    const { ResourceUpdatedNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) =>
      updated.resolve(params.uri),
    );
    return {
      ...commonOf(era, client as unknown as Common),
      async watch(uri) {
        await client.subscribeResource({ uri });
        return { next: updated.promise };
      },
    };
  }
  const client = new ModernClient(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(transport);
  return {
    ...commonOf(era, client as unknown as Common),
    async watch(uri) {
      client.setNotificationHandler("notifications/resources/updated", ({ params }) =>
        updated.resolve(params.uri),
      );
      await client.listen({ resourceSubscriptions: [uri] });
      return { next: updated.promise };
    },
  };
}

/** The same names in both. */
interface Common {
  callTool(given: object, ...more: unknown[]): Promise<unknown>;
  listTools(): Promise<{ tools: Awaited<ReturnType<McpClient["tools"]>> }>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  readResource(given: object): Promise<{ contents: { text: string }[] }>;
  getPrompt(given: object): Promise<unknown>;
  close(): Promise<void>;
}

const commonOf = (era: Era, client: Common): Omit<McpClient, "watch"> => ({
  era,
  pid: null,
  async call(name, args = {}, options = {}) {
    const given = { name, arguments: args };
    const result =
      era === "legacy" ? client.callTool(given, undefined, options) : client.callTool(given, options);
    return (await result) as CallResult;
  },
  tools: async () => (await client.listTools()).tools,
  resources: async () => (await client.listResources()).resources,
  read: async (uri) => (await client.readResource({ uri })).contents[0]?.text ?? "",
  prompt: async (name, args) => JSON.stringify(await client.getPrompt({ name, arguments: args })),
  [Symbol.asyncDispose]: () => client.close(),
});
