/** Problems (RFC 9457): errors over HTTP, with Skein's codes, messages and hints. */
import * as z from "zod";
import { withoutTokens } from "../core/workspace/access-token.ts";
import { errorCodes, SkeinError, type ErrorCode } from "../core/error.ts";

/** Codes that exist only over HTTP, with their statuses. */
const wireStatuses = {
  unauthorized: 401,
  forbidden: 403,
  "no-route": 404,
  "wrong-method": 405,
  "not-acceptable": 406,
  "timed-out": 408,
  "precondition-failed": 412,
  "too-large": 413,
  "too-long": 414,
  "wrong-type": 415,
  misdirected: 421,
  "rate-limited": 429,
  "header-too-large": 431,
} as const;

const errorStatuses: Readonly<Record<ErrorCode, number>> = {
  invalid: 400,
  "not-found": 404,
  refused: 409,
  conflict: 409,
  fenced: 409,
  // The stored data contradicts itself: the one error that no caller can cause.
  corrupt: 500,
  unavailable: 503,
  unknown: 503,
};

export const problemStatuses: Readonly<Record<ProblemCode, number>> = { ...errorStatuses, ...wireStatuses };
export type ProblemCode = ErrorCode | keyof typeof wireStatuses;

const codes = [...errorCodes, ...Object.keys(wireStatuses)] as ProblemCode[];

export const Problem = z.looseObject({
  /** `urn:skein:problem:<code>` */
  type: z.string(),
  title: z.string(),
  status: z.int(),
  /** The message, for people. */
  detail: z.string(),
  code: z.enum(codes as [ProblemCode, ...ProblemCode[]]),
  /** What to do next. */
  hint: z.string().optional(),
  /** Of invalid input: the path of the field, as `bind[0].kind`. */
  field: z.string().optional(),
});
export type Problem = Readonly<z.infer<typeof Problem>>;

const titles: Readonly<Record<ProblemCode, string>> = {
  invalid: "Invalid input",
  "not-found": "Not found",
  refused: "Not allowed in the current state",
  conflict: "Conflict",
  fenced: "Lease lost",
  corrupt: "Stored data is damaged",
  unavailable: "Unavailable",
  unknown: "Outcome unknown",
  unauthorized: "Not authenticated",
  forbidden: "Forbidden",
  "no-route": "No such route",
  "wrong-method": "Method not allowed",
  "not-acceptable": "Not acceptable",
  "timed-out": "Request timeout",
  "precondition-failed": "Precondition failed",
  "too-large": "Body too large",
  "too-long": "URL too long",
  "wrong-type": "Unsupported media type",
  misdirected: "Misdirected request",
  "rate-limited": "Too many requests",
  "header-too-large": "Headers too large",
};

export interface ProblemDetails {
  readonly hint?: string | undefined;
  readonly field?: string | undefined;
}

export function makeProblem(code: ProblemCode, detail: string, details: ProblemDetails = {}): Problem {
  const { hint, field } = details;
  return {
    type: `urn:skein:problem:${code}`,
    title: titles[code],
    status: problemStatuses[code],
    // Any input may hold a token, and problems are logged in many places.
    detail: withoutTokens(detail),
    code,
    ...(hint === undefined ? {} : { hint: withoutTokens(hint) }),
    ...(field === undefined ? {} : { field: withoutTokens(field) }),
  };
}

/** The code of the error that the library would have thrown. */
function errorCodeOf(code: string): ErrorCode {
  const own = errorCodes.find((one) => one === code);
  if (own !== undefined) return own;
  if (code === "precondition-failed") return "conflict";
  if (code === "no-route") return "not-found";
  if (code === "unauthorized" || code === "forbidden" || code === "misdirected") return "refused";
  if (code === "rate-limited" || code === "timed-out") return "unavailable";
  return "invalid";
}

/** The error that the library would have thrown; its cause is the problem. */
export const errorOf = (problem: Problem): SkeinError =>
  new SkeinError(errorCodeOf(problem.code), problem.detail, {
    hint: problem.hint,
    field: problem.field,
    cause: problem,
  });
