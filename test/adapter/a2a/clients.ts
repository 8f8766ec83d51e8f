/** The unmodified client, by each binding, and short forms of what it gives. */
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  type Client,
} from "@a2a-js/sdk/client";
import {
  Role,
  TaskState,
  type Artifact,
  type Message,
  type Part,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
  type TaskArtifactUpdateEvent,
} from "@a2a-js/sdk";
import { a2aCardMount, a2aMount } from "../../../src/adapter/a2a/mount.ts";
import { served, type Served, type ServedOptions } from "../../server/served.ts";

export const bindings = ["JSONRPC", "HTTP+JSON"] as const;
export type Binding = (typeof bindings)[number];

export const place = (options: ServedOptions): Promise<Served> =>
  served({ mounts: [a2aCardMount, a2aMount], ...options });

/** A client with a token. `path`: where the card is. */
export async function clientOn(
  { server, token }: Pick<Served, "token"> & { readonly server: { readonly url: string } },
  binding: Binding,
  options: { readonly token?: string; readonly path?: string } = {},
): Promise<Client> {
  const authorized: typeof fetch = (url, init) => {
    const headers = {
      ...(init?.headers as Record<string, string>),
      authorization: `Bearer ${options.token ?? token}`,
    };
    return fetch(url, { ...init, headers });
  };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [
        new JsonRpcTransportFactory({ fetchImpl: authorized }),
        new RestTransportFactory({ fetchImpl: authorized }),
      ],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl: authorized }),
      preferredTransports: [binding],
    }),
  );
  return factory.createFromUrl(server.url, options.path);
}

const partOf = (content: Part["content"], mediaType = ""): Part => ({
  content,
  metadata: undefined,
  filename: "",
  mediaType,
});
export const text = (value: string): Part => partOf({ $case: "text", value });
export const data = (value: unknown): Part => partOf({ $case: "data", value });
export const raw = (value: Buffer, mediaType: string): Part => partOf({ $case: "raw", value }, mediaType);
export const url = (value: string): Part => partOf({ $case: "url", value });

let count = 0;
/** A message to send. */
export function message(
  parts: string | readonly Part[],
  more: Partial<Message> & { readonly configuration?: SendMessageRequest["configuration"] } = {},
): SendMessageRequest {
  const { configuration, ...fields } = more;
  count += 1;
  return {
    tenant: "",
    metadata: undefined,
    configuration,
    message: {
      messageId: `m${count}`,
      contextId: "",
      taskId: "",
      role: Role.ROLE_USER,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...fields,
      parts: typeof parts === "string" ? [text(parts)] : [...parts],
    },
  };
}

/** Sends a message, and returns its task. */
export async function send(client: Client, request: SendMessageRequest): Promise<Task> {
  const result = await client.sendMessage(request);
  if (!("status" in result)) throw new Error("expected a task");
  return result;
}

export const stateOf = (task: Pick<Task, "status">): string =>
  (TaskState[task.status?.state ?? 0] ?? "").replace("TASK_STATE_", "");

export const textsOf = (parts: readonly Part[] = []): string =>
  parts
    .map(({ content }) => (content?.$case === "text" ? content.value : JSON.stringify(content?.value)))
    .join(" | ");

/** Of a task: its state, what was asked, and what came of it. */
export const short = (task: Task): readonly string[] => [
  stateOf(task),
  ...task.history.map(({ parts }) => `> ${textsOf(parts)}`),
  ...task.artifacts.map(({ name, parts }) => `${name}: ${textsOf(parts)}`),
];

/** The task that the updates of a stream make, as a client would keep it. */
export async function gather(stream: AsyncIterable<StreamResponse>): Promise<{
  readonly task: Task;
  readonly kinds: readonly string[];
}> {
  let task: Task | null = null;
  const kinds: string[] = [];
  for await (const { payload } of stream) {
    if (payload === undefined) throw new Error("expected a payload");
    if (payload.$case === "statusUpdate") {
      if (task === null) throw new Error("an update before the task");
      task.status = payload.value.status;
      kinds.push(stateOf(payload.value));
    } else if (payload.$case === "task") {
      task = payload.value;
      kinds.push(`task ${stateOf(task)}`);
    } else if (payload.$case === "artifactUpdate") {
      if (task === null) throw new Error("an update before the task");
      takeArtifact(task.artifacts, payload.value);
      kinds.push("artifact");
    } else throw new Error(`unexpected ${payload.$case}`);
  }
  if (task === null) throw new Error("the stream had no task");
  return { task, kinds };
}

function takeArtifact(artifacts: Artifact[], { artifact, append }: TaskArtifactUpdateEvent): void {
  if (artifact === undefined) throw new Error("an update without its artifact");
  const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const known = artifacts[at];
  if (known === undefined) {
    if (append) throw new Error("a part is appended to an artifact that is not there");
    artifacts.push(artifact);
  } else if (append) {
    const whole = [...known.parts, ...artifact.parts].map(({ content }) =>
      content?.$case === "text" ? content.value : "",
    );
    artifacts[at] = { ...known, parts: [text(whole.join(""))] };
  } else artifacts[at] = artifact;
}
