/** The tools of bound MCP servers, over stdio and streamable HTTP, through the protocol's official client. */
import { makeArgumentCheck } from "./argument-check.ts";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResultSchema, Tool as McpTool } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { SkeinError } from "../core/error.ts";
import { errorText } from "../core/first-error.ts";
import { isUnsent } from "../core/unsent-request.ts";
import { version } from "../core/version.ts";
import { hideSecrets, plainEnv, secretsOf } from "./environment.ts";
import { LooseResult, outputOf, readResult } from "./mcp-output.ts";
import { watchAnswers } from "./mcp-http.ts";
import { makeStdioTransport, NotSent, type McpWorld } from "./mcp-stdio.ts";
import { OutcomeUnknown, type StoredBinding, type OuterTool } from "./port.ts";

const mcpLimit = {
  openMsDefault: 20_000,
  /** Without a message from the server; each progress message restarts it. */
  timeoutMsDefault: 120_000,
  /** The total, as a multiple of that. */
  totalFactor: 10,
  toolsMax: 200,
  pagesMax: 50,
  nameCharsMax: 64,
} as const;

const Options = z.strictObject({
  cwd: z.string().optional(),
  /** Plain values; the binding names its secrets separately. */
  env: z.record(z.string(), z.string()).optional(),
  /** The header that carries the secret; default: `Authorization`, as a bearer token. */
  header: z.string().optional(),
  openMs: z.int().positive().max(600_000).default(mcpLimit.openMsDefault),
  timeoutMs: z.int().positive().max(3_600_000).default(mcpLimit.timeoutMsDefault),
});

interface Server {
  readonly name: string;
  readonly client: Client;
  readonly timeoutMs: number;
  readonly secrets: Readonly<Record<string, string>>;
  /** What is known of the failure. */
  complaint(): string;
}

interface McpTools {
  /** The tools of all servers, as last listed. */
  tools(): readonly OuterTool[];
  /** Lists the tools again of each server that announced a change. True if one did. */
  refresh(signal: AbortSignal): Promise<boolean>;
}

interface OpenServer {
  tools: readonly OuterTool[];
  /** Undefined if the server has not announced a change. */
  relist?: (signal: AbortSignal) => Promise<readonly OuterTool[]>;
}

/** Starts or connects all servers. What is opened goes to the stack at once, so that a failure closes it. */
export async function mcpTools(
  world: McpWorld,
  bound: readonly StoredBinding[],
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<McpTools> {
  const settled = await Promise.allSettled(bound.map((one) => openServer(world, one, opened, signal)));
  const failed = settled.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  const servers = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  return {
    tools: () => servers.flatMap(({ tools }) => tools),
    refresh: async (running) => {
      const changed = await Promise.all(servers.map((server) => refreshServer(server, running)));
      return changed.includes(true);
    },
  };
}

/** A server that cannot list its tools keeps those it had: a call reports the problem. */
async function refreshServer(server: OpenServer, signal: AbortSignal): Promise<boolean> {
  const { relist } = server;
  if (relist === undefined) return false;
  delete server.relist;
  try {
    server.tools = await relist(signal);
    return true;
  } catch {
    return false;
  }
}

async function openServer(
  world: McpWorld,
  bound: StoredBinding,
  opened: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<OpenServer> {
  const { name } = bound;
  const options = Options.safeParse(bound.options ?? {});
  if (!options.success)
    throw new SkeinError(
      "invalid",
      `MCP server "${name}": invalid options: ${z.prettifyError(options.error)}`,
    );
  const { openMs, timeoutMs } = options.data;
  const secrets = secretsOf(world, bound);
  const sdk = await import("@modelcontextprotocol/sdk/client/index.js");
  const { transport, complaint, end, watch } = await reach(world, bound, { ...options.data, secrets });
  const client = new sdk.Client({ name: "skein", version });
  opened.defer(async () => {
    await end();
    await client.close();
  });
  const server: Server = { name, client, timeoutMs, secrets, complaint };
  try {
    await client.connect(transport, { timeout: openMs, signal });
    watch?.(client);
    markAnswers(transport);
    const list = async (running: AbortSignal): Promise<readonly OuterTool[]> =>
      toolsOf(world, server, await listTools(client, { timeout: openMs, signal: running }));
    const open: OpenServer = { tools: [] };
    const { ToolListChangedNotificationSchema } = await import("@modelcontextprotocol/sdk/types.js");
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      open.relist = list;
    });
    open.tools = await list(signal);
    return open;
  } catch (error) {
    signal.throwIfAborted();
    throw unavailable(server, `MCP server "${name}": connection failed`, error);
  }
}

async function reach(
  world: McpWorld,
  { name, command, url }: StoredBinding,
  options: z.infer<typeof Options> & { readonly secrets: Readonly<Record<string, string>> },
): Promise<{
  readonly transport: Transport;
  readonly complaint: () => string;
  readonly end: () => Promise<void>;
  /** Receives the client once it is connected. */
  readonly watch?: (client: Client) => void;
}> {
  const [program, ...args] = command ?? [];
  if (program !== undefined) {
    const { deserializeMessage } = await import("@modelcontextprotocol/sdk/shared/stdio.js");
    const env = { ...plainEnv(world), ...options.env, ...options.secrets };
    const cwd = options.cwd === undefined ? {} : { cwd: options.cwd };
    const child = await world.spawnPiped([program, ...args], { ...cwd, env }).catch((cause: unknown) => {
      throw new SkeinError("unavailable", `MCP server "${name}": cannot start: ${errorText(cause)}`, {
        hint: `install ${program}, or unbind "${name}"`,
        cause,
      });
    });
    const transport = makeStdioTransport(world, child, deserializeMessage);
    return { transport, complaint: transport.complaint, end: () => transport.close() };
  }
  if (url === undefined || !URL.canParse(url)) {
    throw new SkeinError("invalid", `MCP server "${name}": the binding has neither a command nor a URL`, {
      hint: "bind it again",
    });
  }
  const { StreamableHTTPClientTransport } =
    await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const headers = headersOf(options);
  const answers = watchAnswers(world);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    fetch: answers.fetch,
  });
  const over = new AbortController();
  const end = async () => {
    // Does not wait for a server that does not answer.
    await Promise.race([
      transport.terminateSession().catch(() => undefined),
      world.sleep(1_000, over.signal),
    ]);
    over.abort();
  };
  return { transport, complaint: () => "", end, watch: (client) => answers.watch(client, transport) };
}

function headersOf({
  header,
  secrets,
}: {
  readonly header?: string | undefined;
  readonly secrets: Readonly<Record<string, string>>;
}): Record<string, string> {
  const [secret] = Object.values(secrets);
  if (secret === undefined) return {};
  return header === undefined ? { Authorization: `Bearer ${secret}` } : { [header]: secret };
}

async function listTools(
  client: Client,
  options: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<McpTool[]> {
  const tools: McpTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mcpLimit.pagesMax; page++) {
    const answer = await client.listTools(cursor === undefined ? {} : { cursor }, options);
    tools.push(...answer.tools);
    if (tools.length > mcpLimit.toolsMax) throw new Error(`it has more than ${mcpLimit.toolsMax} tools`);
    cursor = answer.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new Error(`its list of tools has more than ${mcpLimit.pagesMax} pages`);
}

/** Sorted by name, because a server may list them in another order each time. */
async function toolsOf(world: McpWorld, server: Server, tools: readonly McpTool[]): Promise<OuterTool[]> {
  const checkArguments = await makeArgumentCheck();
  const taken = new Set<string>();
  const sorted = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return sorted.map((tool) => {
    const name = toolName(world, `${server.name}_${tool.name}`, taken);
    const { timeoutMs } = server;
    const effect = effectOf(tool);
    return {
      name,
      description: tool.description ?? tool.title ?? tool.name,
      input: { ...tool.inputSchema },
      effect,
      timeoutMs: timeoutMs * mcpLimit.totalFactor + 5_000,
      check: (input) => Promise.resolve(checkArguments(tool.inputSchema, input)),
      run: async (input, { signal }) => callTool(server, { name: tool.name, effect }, input, signal),
    };
  });
}

/** Valid for every provider, and unique even after characters were removed. */
function toolName(world: McpWorld, raw: string, taken: Set<string>): string {
  const plain = raw.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  const mark = world.hashBytes(Buffer.from(raw)).slice(0, 6);
  const isFree = plain.length <= mcpLimit.nameCharsMax && !taken.has(plain);
  const name = isFree ? plain : `${plain.slice(0, mcpLimit.nameCharsMax - 7)}_${mark}`;
  taken.add(name);
  return name;
}

function effectOf({ annotations }: McpTool): OuterTool["effect"] {
  if (annotations?.readOnlyHint === true) return "read";
  return annotations?.idempotentHint === true ? "idempotent" : "unsafe";
}

async function callTool(
  server: Server,
  { name, effect }: Pick<OuterTool, "name" | "effect">,
  input: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  const { client, timeoutMs, secrets } = server;
  if (client.transport === undefined)
    throw unavailable(
      server,
      `MCP server "${server.name}": connection closed`,
      new NotSent("no request was sent"),
    );
  try {
    const schema = LooseResult as unknown as typeof CallToolResultSchema;
    const result = await client.callTool({ name, arguments: input as Record<string, unknown> }, schema, {
      signal,
      timeout: timeoutMs,
      onprogress: () => undefined,
      resetTimeoutOnProgress: true,
      maxTotalTimeout: timeoutMs * mcpLimit.totalFactor,
    });
    return outputOf(await readResult(result as z.infer<typeof LooseResult>), (text) =>
      hideSecrets(text, secrets),
    );
  } catch (error) {
    signal.throwIfAborted();
    const fate = fateOf(error);
    const said = {
      refused: "rejected the call",
      lost: "did not respond to the call",
      unsent: "cannot be reached",
    };
    const failed = unavailable(server, `MCP server "${server.name}" ${said[fate]}`, error);
    if (fate !== "lost" || effect !== "unsafe") throw failed;
    throw new OutcomeUnknown(`${failed.message}; the effect is unknown`, { cause: error });
  }
}

/** Marks an error that the server sent: the SDK uses the same codes for its own errors. */
const sentByServer = Symbol("sent by the server");

/** Marks errors that arrive as an answer. The HTTP watch reports lost answers past this, unmarked. */
function markAnswers(transport: Transport): void {
  const { onmessage } = transport;
  const mark: typeof onmessage = (message, ...more) => {
    const isError = "error" in message && typeof message.error === "object";
    const marked = isError ? { ...message, error: { ...message.error, data: sentByServer } } : message;
    onmessage?.(marked, ...more);
  };
  Object.assign(transport, { onmessage: mark });
}

const isAnswer = (error: unknown): boolean =>
  error instanceof Error && "data" in error && error.data === sentByServer;

/** Codes of the SDK for a closed connection and a timeout. */
const lostCodes: readonly number[] = [-32_000, -32_001];

/** The fate of a failed call: the server refused it, never received it, or it is unknown. */
function fateOf(error: unknown): "refused" | "unsent" | "lost" {
  if (error instanceof NotSent || isUnsent(error)) return "unsent";
  if (isAnswer(error)) return "refused";
  const code = codeOf(error);
  // An error of the SDK is negative, an HTTP answer a status; a proxy in between may say 502.
  return typeof code === "number" && !lostCodes.includes(code) && code < 500 ? "refused" : "lost";
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

function unavailable({ name, secrets, complaint }: Server, what: string, error: unknown): SkeinError {
  if (error instanceof SkeinError) return error;
  const known = complaint();
  // The exit of a server says more than a closed connection.
  const isClosed = codeOf(error) === lostCodes[0] && !isAnswer(error);
  const isTold = known !== "" && (error instanceof NotSent || isClosed);
  const why = [isTold ? "" : errorText(error).slice(0, 500), known].filter((part) => part !== "").join("; ");
  return new SkeinError("unavailable", hideSecrets(`${what}: ${why}`, secrets), {
    hint: `check that the server runs, or unbind "${name}"`,
    cause: error,
  });
}
