/** Errors in the shape of the API, with its own types, and what tells the client whether to try again. */
import type { Problem } from "../../protocol/problem.ts";
import type { World } from "../../runtime/world.ts";
import type { Fields } from "./values.ts";

const types: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  405: "invalid_request_error",
  409: "conflict_error",
  412: "conflict_error",
  413: "request_too_large",
  422: "invalid_request_error",
  429: "rate_limit_error",
  503: "overloaded_error",
};

/** For the operator's log and the client's report. */
export const newRequestId = ({ random }: Pick<World, "random">): string =>
  `req_${Buffer.from(random(12)).toString("hex")}`;

export interface ErrorResponse {
  readonly status: number;
  readonly body: Fields;
  readonly headers: Readonly<Record<string, string>>;
}

/** The vendor's client retries every 409. Retrying a conflict does not help, so a header forbids it. */
export function errorResponse({ status, detail, hint, code }: Problem, requestId: string): ErrorResponse {
  const type = types[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
  const message = hint === undefined ? detail : `${detail} (${hint})`;
  const isFinal = status === 409;
  return {
    status,
    body: {
      type: "error",
      error: { type, message, details: { error_code: code } },
      request_id: requestId,
    },
    headers: isFinal ? { "x-should-retry": "false" } : {},
  };
}
