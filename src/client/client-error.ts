/** Failures between client and server, as the library's error. */
import { isUnsent, SkeinError } from "../protocol/library.ts";
import type { Operation } from "../call/operation.ts";
import { errorOf, Problem } from "../protocol/problem.ts";

/** No response, or only a part. What the server did is unknown. */
export class ResponseLost extends Error {
  override readonly name = "Lost";
  /** The retry delay of the server, or of a proxy before it. */
  readonly waitMs: number;
  /** The server itself refused the request, and did nothing. */
  readonly isRefused: boolean;

  constructor(cause: unknown, { waitMs = 0, isRefused = false } = {}) {
    super("the connection was lost", { cause });
    this.waitMs = waitMs;
    this.isRefused = isRefused;
  }
}

export const brokenOff = (): SkeinError => new SkeinError("unavailable", "aborted by the caller");

/** The delay before a retry; null if a retry would not help. */
export const isPassing = (error: unknown): number | null =>
  error instanceof ResponseLost ? error.waitMs : null;

const waitMsMax = 60_000;
/** Too many requests; and a proxy's responses when it cannot reach the server. */
const passing = [429, 502, 503, 504];

/**
 * The error of a response. A temporary failure is retried; so is a proxy's response, although the proxy may
 * have passed the request on before it lost the server.
 */
export async function errorIn(response: Response): Promise<Error> {
  const text = await response.text().catch(() => "");
  const problem = Problem.safeParse(parsed(text));
  const seconds = Number(response.headers.get("retry-after") ?? 0);
  const waitMs = Number.isFinite(seconds) ? Math.min(seconds * 1_000, waitMsMax) : 0;
  if (problem.success) {
    const error = errorOf(problem.data);
    return response.status === 429 ? new ResponseLost(error, { waitMs, isRefused: true }) : error;
  }
  const what = `the server answered ${response.status}, and not as Skein does`;
  if (passing.includes(response.status)) {
    const isRefused = response.status === 429;
    return new ResponseLost(new SkeinError("unavailable", what), { waitMs, isRefused });
  }
  return new SkeinError("unavailable", what, { hint: "check that the URL is a Skein server" });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** After the last retry. A read has changed nothing; the outcome of a write is unknown. */
export function lostError(
  url: string,
  { method, call }: Operation,
  error: unknown,
  maybeDone = method !== "GET",
): SkeinError {
  const cause = error instanceof ResponseLost ? error.cause : error;
  if (cause instanceof SkeinError && !maybeDone) return cause;
  if (!maybeDone) {
    return new SkeinError("unavailable", `connection to ${url} failed`, {
      hint: 'start the server: "skein serve"',
      cause,
    });
  }
  return new SkeinError("unknown", `${call}: no response from ${url}`, {
    hint: "the call may or may not have taken effect; read the current state before you retry",
    cause,
  });
}

/** Whether it may have reached the server. Node tells when it has not; browsers do not. */
export function mayHaveArrived(error: unknown): boolean {
  if (error instanceof ResponseLost && error.isRefused) return false;
  return !isUnsent(error instanceof ResponseLost ? error.cause : error);
}
