/** The parameters of the requests that an editor sends, and the blocks of its prompts. */
import * as z from "zod";
import { RpcError, rpcCode } from "./json-rpc.ts";

const Text = z.string();
const listOf = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((list) => list ?? []);
const Pair = z.looseObject({ name: Text.min(1), value: Text });

const McpStdio = z.looseObject({
  type: z.literal("stdio").optional(),
  name: Text.min(1),
  command: Text.min(1),
  args: listOf(Text),
  env: listOf(Pair),
});
const McpRemote = z.looseObject({
  type: z.enum(["http", "sse"]),
  name: Text.min(1),
  url: Text.min(1),
  headers: listOf(Pair),
});
const McpServer = z.union([McpRemote, McpStdio]);

/** An MCP server that the editor wants in the session. */
export type AcpMcpServer = z.infer<typeof McpServer>;

const Place = {
  cwd: Text.min(1),
  mcpServers: listOf(McpServer),
  additionalDirectories: listOf(Text),
};

const Block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: Text }),
  z.looseObject({ type: z.literal("image"), data: z.base64(), mimeType: Text.min(1) }),
  z.looseObject({ type: z.literal("audio"), data: Text, mimeType: Text }),
  z.looseObject({ type: z.literal("resource_link"), uri: Text, name: Text }),
  z.looseObject({
    type: z.literal("resource"),
    resource: z.looseObject({
      uri: Text,
      text: Text.optional(),
      blob: z.base64().optional(),
      mimeType: Text.nullish(),
    }),
  }),
]);

/** A content block of a prompt. */
export type PromptBlock = z.infer<typeof Block>;

const sessionId = Text.min(1);

export const params = {
  initialize: z.looseObject({
    protocolVersion: z.int().nonnegative(),
    clientInfo: z.looseObject({ name: Text, version: Text.nullish() }).nullish(),
  }),
  newSession: z.looseObject(Place),
  openSession: z.looseObject({ ...Place, sessionId }),
  list: z.looseObject({ cwd: Text.nullish(), cursor: Text.nullish() }),
  prompt: z.looseObject({ sessionId, prompt: z.array(Block).min(1) }),
  session: z.looseObject({ sessionId }),
  setMode: z.looseObject({ sessionId, modeId: Text }),
  setConfig: z.looseObject({ sessionId, configId: Text, value: z.union([Text, z.boolean()]) }),
  permission: z.looseObject({
    outcome: z.union([
      z.looseObject({ outcome: z.literal("selected"), optionId: Text }),
      z.looseObject({ outcome: z.literal("cancelled") }),
    ]),
  }),
} as const;

export type SessionPlace = z.infer<typeof params.newSession>;

/** Throws the protocol's error for invalid parameters. */
export function parseParams<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const parsed = schema.safeParse(given ?? {});
  if (parsed.success) return parsed.data;
  throw new RpcError(rpcCode.invalidParams, `invalid params: ${z.prettifyError(parsed.error)}`);
}
