/**
 * JSON-RPC 2.0 over lines of UTF-8: one connection, both ways. ACP uses it for the agent and for the client.
 * A message that is not valid gets the protocol's own error, and the connection continues.
 */
import { errorText } from "../../core/first-error.ts";
import { readRpcLines } from "./rpc-lines.ts";

/** The error codes of JSON-RPC and ACP of Skein and of agents. */
export const rpcCode = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  notFound: -32_002,
  /** Received from an agent without a login. */
  authRequired: -32_000,
} as const;

/** An error answer: sent to the other side, or received from it. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The other side has closed the connection, or this side has. */
export class RpcClosed extends Error {
  override readonly name = "RpcClosed";
}

/** Handles a request and returns its result. Throw `RpcError` for an error answer. */
export type RpcHandler = (params: unknown) => Promise<unknown>;

export interface RpcConnection {
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown>;
  notify(method: string, params: unknown): Promise<void>;
  /** Reads until the other side closes. Requests in progress then reject with `RpcClosed`. */
  serve(): Promise<void>;
}

export interface RpcOptions {
  readonly input: AsyncIterable<Uint8Array>;
  /** Writes one line, with its line end. */
  readonly write: (line: string) => Promise<void>;
  readonly lineBytesMax: number;
  readonly requests: Readonly<Record<string, RpcHandler>>;
  /** An unknown notification is ignored. Handlers run in the order of arrival; they must not wait. */
  readonly notifications: Readonly<Record<string, (params: unknown) => void>>;
  /** Converts what a request handler throws. */
  readonly toError: (error: unknown) => RpcError;
}

interface PendingRequest {
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

type Id = string | number | null;
type Message = Readonly<Record<string, unknown>>;

export function makeRpc(options: RpcOptions): RpcConnection {
  const pending = new Map<number, PendingRequest>();
  let lastId = 0;
  let isClosed = false;

  const send = async (message: object): Promise<void> => {
    if (isClosed) throw new RpcClosed("the connection is closed");
    await options.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  };
  const answer = (message: object): void => void send(message).catch(() => undefined);
  const refuse = (id: Id, { code, message, data }: RpcError): void =>
    answer({ id, error: { code, message, ...(data === undefined ? {} : { data }) } });

  async function perform(id: Id, method: string, params: unknown): Promise<void> {
    const handler = Object.hasOwn(options.requests, method) ? options.requests[method] : undefined;
    if (handler === undefined)
      return refuse(id, new RpcError(rpcCode.methodNotFound, `method not found: ${method}`, { method }));
    try {
      answer({ id, result: (await handler(params)) ?? {} });
    } catch (error) {
      refuse(id, error instanceof RpcError ? error : options.toError(error));
    }
  }

  function settle(id: unknown, message: Message): void {
    const waiting = typeof id === "number" ? pending.get(id) : undefined;
    if (waiting === undefined) return;
    pending.delete(id as number);
    const { error: failure } = message as { readonly error?: Readonly<Record<string, unknown>> | null };
    if (failure === undefined || failure === null) return waiting.resolve(message["result"]);
    const { code: given, message: said, data } = failure;
    const code = typeof given === "number" ? given : rpcCode.internal;
    waiting.reject(new RpcError(code, typeof said === "string" ? said : "unknown error", data));
  }

  function take(message: unknown): void {
    if (typeof message !== "object" || message === null || Array.isArray(message))
      return refuse(null, new RpcError(rpcCode.invalidRequest, "expected one JSON-RPC message a line"));
    const { jsonrpc, id, method, params } = message as Message;
    const isId = typeof id === "string" || typeof id === "number" || id === null;
    const known = isId ? id : null;
    if (jsonrpc !== "2.0")
      return refuse(known, new RpcError(rpcCode.invalidRequest, 'jsonrpc: expected "2.0"'));
    if (method === undefined && ("result" in message || "error" in message)) return settle(id, message);
    if (typeof method !== "string" || (id !== undefined && !isId))
      return refuse(known, new RpcError(rpcCode.invalidRequest, "method and id: expected texts"));
    if (id !== undefined) return void perform(known, method, params);
    if (Object.hasOwn(options.notifications, method)) options.notifications[method]?.(params);
  }

  return {
    async request(method, params, signal) {
      signal?.throwIfAborted();
      const id = ++lastId;
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      pending.set(id, { resolve, reject });
      const stop = (): void => {
        void send({ method: "$/cancel_request", params: { requestId: id } }).catch(() => undefined);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
      promise.catch(() => undefined);
      try {
        await send({ id, method, params });
        return await promise;
      } finally {
        pending.delete(id);
        signal?.removeEventListener("abort", stop);
      }
    },
    notify: (method, params) => send({ method, params }),
    async serve() {
      try {
        for await (const line of readRpcLines(options.input, options.lineBytesMax)) {
          if (line === null) {
            const message = `a message has at most ${options.lineBytesMax} bytes`;
            refuse(null, new RpcError(rpcCode.invalidRequest, message));
            continue;
          }
          let message: unknown;
          try {
            message = JSON.parse(line);
          } catch (error) {
            refuse(null, new RpcError(rpcCode.parse, `invalid JSON: ${errorText(error)}`));
            continue;
          }
          take(message);
        }
      } finally {
        isClosed = true;
        for (const { reject } of pending.values()) reject(new RpcClosed("the connection is closed"));
        pending.clear();
      }
    },
  };
}
