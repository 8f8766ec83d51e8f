/** Whether a request failed before any of it was sent, by the errors of Node and fetch. */

/** Codes of a failed connect. A connection that breaks later has the same codes. */
const connectCodes = ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "ENOENT", "ETIMEDOUT"];
const lookupCodes = ["ENOTFOUND", "EAI_AGAIN"];

/**
 * True only if the connection was certainly never made: the lookup or the connect failed. The code alone does
 * not prove it: the system also reports EHOSTUNREACH, ENETUNREACH and even ECONNREFUSED on an established
 * connection, once the network rejects a packet.
 */
export function isUnsent(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall, errors } = error as Error & {
    readonly code?: unknown;
    readonly syscall?: unknown;
    readonly errors?: unknown;
  };
  // One error for each address of the host.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(isUnsent);
  if (code === "UND_ERR_CONNECT_TIMEOUT") return true;
  if (typeof code !== "string") return error.cause !== undefined && isUnsent(error.cause);
  return lookupCodes.includes(code) || (connectCodes.includes(code) && syscall === "connect");
}
