/** An editor for the tests: the official client on one end, Skein as the agent on the other. */
import type * as acp from "@agentclientprotocol/sdk";
import { client, ndJsonStream } from "@agentclientprotocol/sdk";
import type { Readable, Writable } from "node:stream";
import { Readable as NodeReadable, Writable as NodeWritable } from "node:stream";
import { serveAcp, type AcpAgentOptions } from "../../../src/adapter/acp/agent.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { WireCheck } from "./wire.ts";

export type Update = acp.SessionUpdate;

/** What the editor's user answers to a request for permission: an option's id, or what it returns. */
export type Permit = (request: acp.RequestPermissionRequest) => string | null | Promise<string | null>;

interface Answers {
  readonly "session/new": acp.NewSessionResponse;
  readonly "session/load": acp.LoadSessionResponse;
  readonly "session/resume": acp.ResumeSessionResponse;
  readonly "session/list": acp.ListSessionsResponse;
  readonly "session/prompt": acp.PromptResponse;
  readonly "session/set_config_option": acp.SetSessionConfigOptionResponse;
}

/** The client's end of the connection, with the answers that the tests look at. */
interface Agent {
  request<M extends string>(
    method: M,
    params: object,
  ): Promise<M extends keyof Answers ? Answers[M] : unknown>;
  notify(method: string, params: object): Promise<void>;
}

export interface Editor {
  readonly agent: Agent;
  /** All updates so far, of all sessions. */
  readonly updates: { readonly sessionId: string; readonly update: Update }[];
  readonly asked: acp.RequestPermissionRequest[];
  /** The texts of a kind of chunk, joined. */
  text(kind: string): string;
  /** The updates of a kind. */
  of(kind: string): readonly Record<string, unknown>[];
  /** Resolves with the first update that fits, also a past one. */
  until(fits: (update: Record<string, unknown>) => boolean): Promise<void>;
}

/** Talks to an agent over two pipes, and checks every line that it writes. */
export async function withEditor<T>(
  { input, output }: { readonly input: Writable; readonly output: Readable },
  permit: Permit,
  work: (editor: Editor) => Promise<T>,
): Promise<T> {
  const wire = new WireCheck();
  const failures: unknown[] = [];
  const updates: Editor["updates"] = [];
  const asked: Editor["asked"] = [];
  let changed = Promise.withResolvers<void>();
  const seeLines = (see: (line: string) => void) => {
    let rest = "";
    return (chunk: Buffer): void => {
      const lines = (rest + chunk.toString("utf8")).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        try {
          see(line);
        } catch (error) {
          failures.push(error);
        }
      }
    };
  };
  const sent = seeLines((line) => wire.fromClient(line));
  const said = seeLines((line) => wire.fromAgent(line));
  const out = new WritableStream<Uint8Array>({
    write: (chunk) => {
      sent(Buffer.from(chunk));
      return new Promise((resolve, reject) =>
        input.write(chunk, (error) => (error ? reject(error) : resolve())),
      );
    },
    close: () => void input.end(),
    abort: () => void input.destroy(),
  });
  const source = output.map((chunk: Buffer) => {
    said(chunk);
    return chunk;
  });
  const stream = ndJsonStream(out, NodeReadable.toWeb(source) as ReadableStream<Uint8Array>);
  const app = client({ name: "test-editor" })
    .onNotification("session/update", ({ params }) => {
      updates.push(params);
      changed.resolve();
      changed = Promise.withResolvers();
    })
    .onRequest("session/request_permission", async ({ params }) => {
      asked.push(params);
      const optionId = await permit(params);
      return { outcome: optionId === null ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
    });
  const of = (kind: string) =>
    updates
      .map(({ update }) => update as unknown as Record<string, unknown>)
      .filter(({ sessionUpdate }) => sessionUpdate === kind);
  const result = await app.connectWith(stream, async (context) => {
    const agent = context as unknown as Agent;
    await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    return work({
      agent,
      updates,
      asked,
      of,
      text: (kind) =>
        of(kind)
          .map(({ content }) => (content as { text?: string }).text ?? "")
          .join(""),
      async until(fits) {
        while (!updates.some(({ update }) => fits(update))) await changed.promise;
      },
    });
  });
  if (failures.length > 0) throw failures[0];
  return result;
}

/** The agent in this process, on an engine. */
export async function editing<T>(
  engine: Engine,
  work: (editor: Editor) => Promise<T>,
  more: { readonly permit?: Permit } & Partial<AcpAgentOptions> = {},
): Promise<T> {
  const { permit = () => "once", ...options } = more;
  const toAgent = pipe();
  const toEditor = pipe();
  const served = serveAcp({
    engine: async () => engine,
    input: toAgent.readable,
    write: (line) =>
      new Promise((resolve, reject) =>
        toEditor.writable.write(line, (error) => (error ? reject(error) : resolve())),
      ),
    shell: "none",
    setSecret: () => undefined,
    open: {},
    models: async () => ({ byDefault: "test/scripted", list: [{ name: "test/other" }] }),
    note: () => undefined,
    ...options,
  });
  try {
    return await withEditor({ input: toAgent.writable, output: toEditor.readable }, permit, work);
  } finally {
    toAgent.writable.end();
    await served;
  }
}

/** A pipe in this process. */
function pipe(): { readonly readable: Readable; readonly writable: Writable } {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  return {
    readable: NodeReadable.fromWeb(readable as Parameters<typeof NodeReadable.fromWeb>[0]),
    writable: NodeWritable.fromWeb(writable),
  };
}
