/** Errors of PostgreSQL and its connection: their messages, and what they mean for a write. */
import { SkeinError } from "../../../core/error.ts";
import { errorText } from "../../../core/first-error.ts";
import { usualSettings } from "./settings.ts";

/**
 * `busy`: nothing was written, and a retry may succeed. `away`: the server is unreachable, and nothing was
 * sent. `lost`: the connection broke after sending: the statement may have been executed.
 */
export type ConnectionTrouble = "busy" | "away" | "lost";

/** It is unknown whether the transaction was committed. */
export class ConnectionLost extends Error {
  override readonly name = "Lost";
}

/** An answer was abandoned, and its connection with it. */
export class TooLong extends Error {
  override readonly name = "TooLong";
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/**
 * Codes of PostgreSQL (SQLSTATE), of sockets and of the library. `away` applies only to a connection that the
 * server has not accepted yet: see `outcomeOf` in connection.ts.
 */
const troubles: ReadonlyMap<string, ConnectionTrouble> = new Map([
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

export function troubleOf(error: unknown): ConnectionTrouble | null {
  if (error instanceof ConnectionLost) return "lost";
  return refusedSetting(error) === null ? (troubles.get(codeOf(error)) ?? null) : null;
}

/**
 * Whether it is the server's answer to a statement, so that its outcome is certain. FATAL and PANIC end the
 * connection, and may follow a COMMIT that took effect; a pooler reports an unreachable server for the
 * connection behind it.
 */
export function isServerAnswer(error: unknown): boolean {
  if (!(error instanceof Error) || error.name !== "PostgresError" || troubleOf(error) === "away")
    return false;
  const { severity, severity_local: local } = error as { severity?: unknown; severity_local?: unknown };
  return !["FATAL", "PANIC"].includes(String(severity ?? local));
}

/** The setting that a session-mode pooler rejects; null for other errors. */
function refusedSetting(error: unknown): string | null {
  if (codeOf(error) !== "08P01" || !(error instanceof Error)) return null;
  return /^unsupported startup parameter[^:]*: (\w+)/.exec(error.message)?.[1] ?? null;
}

/** A duplicate row. */
export const isUnique = (error: unknown): boolean =>
  error instanceof SkeinError ? isUnique(error.cause) : codeOf(error) === "23505";

interface Words {
  readonly code: "unavailable" | "refused" | "invalid" | "not-found";
  readonly message: string;
  readonly hint: string;
  /** See `SkeinError`. */
  readonly where: string;
}

/** By SQLSTATE or system code; `place` is the address without its password. */
const words = (code: string, place: string, said: string): Words | null => {
  const one = (kind: Words["code"], message: string, hint: string): Words => {
    const where = message.endsWith(place) || said === "" ? place : said;
    return { code: kind, message, hint, where };
  };
  switch (code) {
    case "28P01":
    case "28000":
      return one("refused", `PostgreSQL refused the login: ${place}`, "check user and password");
    case "3D000":
      return one("not-found", `there is no such database: ${place}`, "create it: createdb NAME");
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
      return one("unavailable", `there is no such host: ${place}`, "check the host name in the URL");
    case "57014":
      return one(
        "unavailable",
        `the statement took too long: ${place}`,
        "pg_stat_activity shows what the server is running",
      );
    default:
      return null;
  }
};

function poolerWords(place: string, setting: string): Words {
  const settings = [...new Set([...Object.keys(usualSettings), setting])].join(", ");
  return {
    code: "unavailable",
    message: `the connection pooler rejects the setting "${setting}": ${place}`,
    hint:
      "in transaction mode, add ?pooler=transaction to the URL; in session mode, configure the pooler with " +
      `ignore_startup_parameters = ${settings}`,
    where: place,
  };
}

/** Other messages: of a server that is unreachable, busy, or reports an unexpected error. */
function otherWords(error: unknown, place: string, said: string): Words | null {
  const one = (message: string, hint: string, where = place): Words => ({
    code: "unavailable",
    message,
    hint,
    where,
  });
  const trouble = troubleOf(error);
  if (trouble === "away" || trouble === "lost") {
    const tls = place.includes("sslmode=") ? "; or it does not speak TLS, which sslmode asks for" : "";
    return one(
      `PostgreSQL cannot be reached: ${place}`,
      `check that the server runs, and host and port in the address${tls}`,
    );
  }
  if (trouble === "busy") return one(`the store is busy: ${place}`, "try again");
  const code = codeOf(error);
  if (!/^[0-9A-Z]{5}$/.test(code)) return null;
  const message = `PostgreSQL says: ${said} (${code})`;
  return one(message, "look at the server's log; nothing was written", message);
}

/**
 * The error as a message. An error of another source is passed on unchanged. Once the store is open, any
 * refusal of the server is `unavailable`: a user of the store cannot fix it.
 */
export function asSkeinError(
  place: string,
  error: unknown,
  { isOpen = false }: { readonly isOpen?: boolean } = {},
): unknown {
  if (error instanceof SkeinError) return error;
  const said = errorText(error);
  const setting = refusedSetting(error);
  const found =
    setting === null
      ? (words(codeOf(error), place, said) ?? otherWords(error, place, said))
      : poolerWords(place, setting);
  if (found === null) return error;
  const { message, hint, where } = found;
  return new SkeinError(isOpen ? "unavailable" : found.code, message, { hint, where, cause: error });
}
