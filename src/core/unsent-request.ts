/** Whether a request failed before anything of it was sent, by the errors that Node and fetch give. */

/** While the connection was made. The same codes come from a connection that broke later. */
const connectCodes = ["ECONNREFUSED", "EHOSTUNREACH", "ENETUNREACH", "EADDRNOTAVAIL", "ENOENT", "ETIMEDOUT"];
const lookupCodes = ["ENOTFOUND", "EAI_AGAIN"];

/**
 * True only where the connection was certainly never made: the name was not found, or connecting failed. The
 * code alone does not say so: the system reports EHOSTUNREACH, ENETUNREACH and even ECONNREFUSED on a
 * connection that was established, once what was sent on it is refused on the way.
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
