/** Addresses of stores in PostgreSQL: postgres://user:password@host:port/database?tenant=acme&pooler=… */
import { nearest, SkeinError } from "../../../core/error.ts";
import { joinHosts, splitHosts } from "../../../core/text/host-list.ts";
import { quote } from "../../../core/ids.ts";
import type { HostPort } from "../../../platform/host-ring.ts";

export interface StoreAddress {
  /** For the library, without Skein's own parameters. */
  readonly url: string;
  /** For display: without the password. */
  readonly shown: string;
  readonly tenant: string | undefined;
  /** If there are several; otherwise empty, and the library takes the one from the URL. */
  readonly hosts: readonly HostPort[];
  /** Connections at most. */
  readonly connections: number;
  /** The server is behind a pooler that assigns connections per transaction. */
  readonly pooled: boolean;
}

const connectionsUsual = 10;
const connectionsMax = 200;
const portMax = 65_535;
/** Allowed in keys, lists and addresses. */
const tenantName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** The query parameters of an address; `sslmode` is the library's own. */
const parameters = ["tenant", "connections", "pooler", "sslmode", "target_session_attrs"];
/** The required kind of host; of several, the writable one is used in any case. */
const sessionAttrs = ["read-write", "primary", "any"];

/** Without its password, for messages. An invalid address is not shown at all. */
export function shownAddress(place: string): string {
  const { plain, hosts } = splitHosts(place);
  const url = URL.canParse(plain) ? new URL(plain) : null;
  if (url === null) return "postgres://…";
  url.password = "";
  return joinHosts(url.href, hosts);
}

/** The same with its tenant, if one is given. */
export function addressWith(place: string, tenant: string | undefined): string {
  const { plain, hosts } = splitHosts(place);
  if (tenant === undefined || !URL.canParse(plain)) return place;
  const url = new URL(plain);
  url.searchParams.set("tenant", tenant);
  return joinHosts(url.href, hosts);
}

/** The tenant in the address; `default` if there is none. */
export function tenantAt(place: string): string {
  const { plain } = splitHosts(place);
  const url = URL.canParse(plain) ? new URL(plain) : null;
  return url?.searchParams.get("tenant") ?? "default";
}

export function parseAddress(place: string): StoreAddress {
  const { plain, hosts } = splitHosts(place);
  const url = URL.canParse(plain) ? new URL(plain) : null;
  const wrong = (message: string, hint: string): SkeinError => new SkeinError("invalid", message, { hint });
  const port = /^[^/]*\/\/(?:[^/?#]*@)?[^/?#@]*:(\d+)(?:[/?#]|$)/.exec(plain)?.[1];
  if (port !== undefined && (Number(port) < 1 || Number(port) > portMax)) {
    throw wrong("store URL: port: out of range", `expected 1 to ${portMax}`);
  }
  if (url === null || url.pathname.length < 2) {
    throw wrong("store URL: incomplete", "postgres://user:password@host:5432/database");
  }
  // The rest may be a part of the password: it is not shown.
  if (place.includes("#")) {
    throw wrong("store URL: # starts a fragment", "encode # in a password as %23");
  }
  if (![url.username, url.password, url.hostname, url.pathname].every(isEncoded)) {
    throw wrong("store URL: invalid percent-encoding", "encode % as %25, or set PGPASSWORD");
  }
  const shown = shownAddress(place);
  for (const name of url.searchParams.keys()) {
    if (url.searchParams.getAll(name).length > 1) {
      throw wrong(`store URL: parameter ${quote(name)} is given twice: ${shown}`, "remove one of them");
    }
    if (parameters.includes(name)) continue;
    const near = nearest(name, parameters);
    const hint =
      near === undefined ? `known parameters: ${parameters.join(", ")}` : `did you mean "${near}"?`;
    throw wrong(`store URL: unknown parameter ${quote(name)}: ${shown}`, hint);
  }
  const tenant = url.searchParams.get("tenant") ?? undefined;
  if (tenant !== undefined) checkTenant(tenant);
  const asked = url.searchParams.get("connections") ?? String(connectionsUsual);
  const connections = /^\d{1,4}$/.test(asked) ? Number(asked) : 0;
  if (connections < 1 || connections > connectionsMax) {
    throw wrong(
      `store URL: connections: out of range, got ${quote(asked)}: ${shown}`,
      `expected 1 to ${connectionsMax}`,
    );
  }
  const pooler = url.searchParams.get("pooler");
  if (pooler !== null && pooler !== "transaction" && pooler !== "session") {
    throw wrong(
      `store URL: pooler: expected "transaction" or "session", got ${quote(pooler)}: ${shown}`,
      '"transaction" or "session"',
    );
  }
  const attrs = url.searchParams.get("target_session_attrs");
  if (attrs !== null && !sessionAttrs.includes(attrs)) {
    throw wrong(`target_session_attrs=${quote(attrs)} is not supported: ${shown}`, sessionAttrs.join(", "));
  }
  for (const name of ["tenant", "connections", "pooler", "target_session_attrs"])
    url.searchParams.delete(name);
  const list = hosts === null ? [] : hosts.split(",").map((one) => hostIn(one, shown));
  return { url: url.href, shown, tenant, hosts: list, connections, pooled: pooler === "transaction" };
}

/** One of several: a name, an address, or an IPv6 address in brackets; with or without a port. */
function hostIn(text: string, shown: string): HostPort {
  const [, name = "", digits = "5432"] = /^(\[[0-9A-Fa-f:.]+\]|[^:[\]\s]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const port = Number(digits);
  if (name === "" || port < 1 || port > portMax) {
    throw new SkeinError("invalid", `store URL: invalid host ${quote(text)}: ${shown}`, {
      hint: "postgres://user:password@host1:5432,host2:5432/database",
    });
  }
  return { host: decodeURIComponent(name.replace(/^\[(.*)\]$/, "$1")), port };
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

export function checkTenant(tenant: string): void {
  if (tenantName.test(tenant)) return;
  throw new SkeinError("invalid", `tenant: invalid name ${quote(tenant)}`, {
    hint: "expected at most 63 letters, digits, dots, hyphens and underscores",
  });
}
