/** The protocol's errors, in the shapes of both bindings. */
import type { Problem } from "../../protocol/problem.ts";

/** By reason: the code of JSON-RPC, and status and name over HTTP. */
const kinds = {
  TASK_NOT_FOUND: [-32001, 404, "NOT_FOUND"],
  TASK_NOT_CANCELABLE: [-32002, 400, "FAILED_PRECONDITION"],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400, "FAILED_PRECONDITION"],
  UNSUPPORTED_OPERATION: [-32004, 400, "FAILED_PRECONDITION"],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400, "INVALID_ARGUMENT"],
  VERSION_NOT_SUPPORTED: [-32009, 400, "FAILED_PRECONDITION"],
  INVALID_PARAMS: [-32602, 400, "INVALID_ARGUMENT"],
} as const;

type Reason = keyof typeof kinds;

/** An error that the protocol has a name for. */
export class A2aError extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string) {
    super(message);
    this.name = "A2aError";
    this.reason = reason;
  }
}

export const invalid = (what: string): A2aError => new A2aError("INVALID_PARAMS", what);

/** An error as both bindings send it. */
export interface ErrorForms {
  readonly status: number;
  /** The status of a JSON-RPC response: only the transport's own errors have one. */
  readonly rpcStatus: number;
  readonly rpc: { readonly code: number; readonly message: string; readonly data?: readonly object[] };
  readonly http: { readonly error: object };
}

const infoOf = (reason: string): object => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "a2a-protocol.org",
});

/** By the code of a problem, where the protocol has a name for it. */
const reasons: Readonly<Partial<Record<Problem["code"], Reason>>> = {
  invalid: "INVALID_PARAMS",
  "not-found": "TASK_NOT_FOUND",
  refused: "UNSUPPORTED_OPERATION",
  conflict: "UNSUPPORTED_OPERATION",
};

const statusNames: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  413: "INVALID_ARGUMENT",
  415: "INVALID_ARGUMENT",
  429: "RESOURCE_EXHAUSTED",
  503: "UNAVAILABLE",
};

/** The code of JSON-RPC for errors that are not the protocol's own. */
const rpcCodes: Readonly<Partial<Record<Problem["code"], number>>> = {
  "no-route": -32601,
  "wrong-method": -32600,
  "wrong-type": -32600,
};

export function errorForms(error: unknown, problemOf: (error: unknown) => Problem): ErrorForms {
  if (error instanceof A2aError) return ownForms(error.reason, error.message);
  const { code, status, detail, hint } = problemOf(error);
  const message = hint === undefined ? detail : `${detail} (${hint})`;
  const reason = reasons[code];
  if (reason !== undefined) return ownForms(reason, message);
  const name = statusNames[status] ?? "INTERNAL";
  return {
    status,
    rpcStatus: status === 404 ? 200 : status,
    rpc: { code: rpcCodes[code] ?? (status >= 500 ? -32603 : -32000), message },
    http: { error: { code: status, status: name, message, details: [] } },
  };
}

function ownForms(reason: Reason, message: string): ErrorForms {
  const [code, status, name] = kinds[reason];
  const details = [infoOf(reason)];
  return {
    status,
    rpcStatus: 200,
    rpc: { code, message, data: details },
    http: { error: { code: status, status: name, message, details } },
  };
}
