/** What PostgreSQL and the way to it can say, in words a user can act on, and what follows for a write. */
import { SkeinError } from "../../core/error.ts";

/**
 * `busy`: nothing was written, and it may go well if tried again. `away`: the server cannot be reached now,
 * and nothing was sent. `lost`: the connection broke after something was sent: it may have been done.
 */
export type Trouble = "busy" | "away" | "lost";

/** Nobody can tell whether the transaction was committed. */
export class Lost extends Error {
  override readonly name = "Lost";
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** Codes of PostgreSQL (SQLSTATE), of sockets and of the library; others are no trouble of the way. */
const troubles: ReadonlyMap<string, Trouble> = new Map([
  ["40001", "busy"], // serialization failure
  ["40P01", "busy"], // deadlock
  ["55P03", "busy"], // lock not available
  ["57P03", "away"], // starting up, shutting down
  ["53300", "away"], // too many connections
  ["57P01", "lost"], // ended by an administrator
  ["57P02", "lost"], // ended since another process crashed
  ["57P05", "lost"], // idle for too long
  ["25P03", "lost"], // idle in a transaction for too long
  ["08000", "lost"],
  ["08003", "lost"],
  ["08006", "lost"],
  ["08P01", "lost"], // a pooler's way to say that its server is gone
  ["ECONNREFUSED", "away"],
  ["ENOENT", "away"], // no socket there
  ["EHOSTUNREACH", "away"],
  ["ENETUNREACH", "away"],
  ["ETIMEDOUT", "lost"],
  ["CONNECT_TIMEOUT", "away"],
  ["ECONNRESET", "lost"],
  ["EPIPE", "lost"],
  ["CONNECTION_CLOSED", "lost"],
  ["CONNECTION_DESTROYED", "lost"],
]);

export const troubleOf = (error: unknown): Trouble | null =>
  error instanceof Lost ? "lost" : (troubles.get(codeOf(error)) ?? null);

/** A row that would be there twice. */
export const isUnique = (error: unknown): boolean =>
  error instanceof SkeinError ? isUnique(error.cause) : codeOf(error) === "23505";

interface Words {
  readonly code: "unavailable" | "refused" | "invalid" | "not-found";
  readonly message: string;
  readonly hint: string;
}

/** By SQLSTATE or system code; `place` is the address without its password. */
const words = (code: string, place: string, said: string): Words | null => {
  const one = (kind: Words["code"], message: string, hint: string): Words => ({ code: kind, message, hint });
  switch (code) {
    case "28P01":
    case "28000":
      return one("refused", `PostgreSQL refused the login: ${place}`, "check user and password");
    case "3D000":
      return one("not-found", `there is no such database: ${place}`, "make it first: createdb NAME");
    case "42501":
    case "25006":
      return one(
        "refused",
        `the role may not do this in the database: ${said}`,
        "on the primary, use the role that owns the schema skein, or a tenant's own: " +
          "skein tenants set NAME --role ROLE",
      );
    case "53100":
    case "58030":
      return one("unavailable", `the server's disk is full or failing: ${said}`, "free some space there");
    case "53300":
      return one(
        "unavailable",
        `the server takes no more connections: ${place}`,
        "raise max_connections, lower ?connections=, or put a pooler in front",
      );
    case "53200":
      return one("unavailable", `the server is out of memory: ${said}`, "lower work_mem or max_connections");
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return one("unavailable", `there is no such host: ${place}`, "check the host's name in the address");
    case "57014":
      return one(
        "unavailable",
        `the statement took too long: ${place}`,
        "look at what the server is busy with",
      );
    default:
      return null;
  }
};

/** What happened, in words. An error that is neither the server's nor the way's is passed on as it is. */
export function asSkeinError(place: string, error: unknown): unknown {
  if (error instanceof SkeinError) return error;
  const code = codeOf(error);
  const said = error instanceof Error ? error.message : String(error);
  const known = words(code, place, said);
  if (known !== null) return new SkeinError(known.code, known.message, { hint: known.hint, cause: error });
  const trouble = troubleOf(error);
  if (trouble === "away" || trouble === "lost") {
    return new SkeinError("unavailable", `PostgreSQL cannot be reached: ${place}`, {
      hint:
        "check that the server runs, and host and port in the address" +
        (place.includes("sslmode=") ? "; or it does not speak TLS, which sslmode asks for" : ""),
      cause: error,
    });
  }
  if (trouble === "busy") {
    return new SkeinError("unavailable", `the store is busy: ${place}`, { hint: "try again", cause: error });
  }
  if (/^[0-9A-Z]{5}$/.test(code)) {
    return new SkeinError("unavailable", `PostgreSQL says: ${said} (${code})`, {
      hint: "look at the server's log; nothing was written",
      cause: error,
    });
  }
  return error;
}
