/** Sessions as resources: what a tool's result links to, whole. */
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  ResourceTemplate,
  UriTemplate,
  type McpServer,
  type Variables,
} from "@modelcontextprotocol/server";
import { isSessionName } from "../../core/ids.ts";
import { readEventsPage } from "../../runtime/read/event-reader.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { needScope, needWorkspace, sessionOf, type McpAccess } from "./access.ts";
import { untrusted, uriOf } from "./output.ts";
import { showRow } from "./tools-read.ts";

const pageUsual = 100;
const pageMax = 1_000;
const listed = 50;

interface Part {
  readonly name: string;
  readonly title: string;
  /** After `skein://sessions/{id}`. */
  readonly path: string;
  readonly description: string;
  readonly mimeType: string;
  read(session: Session, access: McpAccess, query: URLSearchParams): Promise<unknown>;
}

const json = "application/json";

const parts: readonly Part[] = [
  {
    name: "session",
    title: "Session",
    path: "",
    description: "A session's state: status, objective, items, budget, what it waits for",
    mimeType: json,
    read: (session) => session.state(),
  },
  {
    name: "session-events",
    title: "Events of a session",
    path: "/events{?from,to}",
    description: "A page of a session's log, whole events; next is the position of the following page",
    mimeType: json,
    read: readPage,
  },
  {
    name: "session-items",
    title: "Items of a session",
    path: "/items",
    description: "Facts, decisions, tasks and artifacts with their whole values",
    mimeType: json,
    read: async (session) => ({ items: await session.items() }),
  },
  {
    name: "session-handoff",
    title: "Handoff of a session",
    path: "/handoff",
    description: "The document that the next session starts from, as it would be written now",
    mimeType: "text/markdown",
    read: async (session) => (await session.handoff({ write: false })).text,
  },
  {
    name: "session-context",
    title: "Context of a session",
    path: "/context",
    description: "What the next request would send to the model, and why each part is there",
    mimeType: json,
    read: (session) => session.context(),
  },
];

export function registerResources(server: McpServer, access: McpAccess): void {
  const config = { title: "Sessions", description: "The latest sessions with their status", mimeType: json };
  server.registerResource("sessions", uriOf.sessions, config, (uri) =>
    answer(access, uri, json, async () => ({ sessions: await latest(access) })),
  );
  for (const { name, path, mimeType, read, ...described } of parts) {
    const list = name === "session" ? { list: async () => ({ resources: await asResources(access) }) } : none;
    const template = new ResourceTemplate(new AnyQuery(`${uriOf.sessions}/{id}${path}`), list);
    server.registerResource(name, template, { ...described, mimeType }, (uri, variables) =>
      answer(access, uri, mimeType, async () => {
        const id = String(variables["id"]);
        if (!isSessionName(id)) throw new ResourceNotFoundError(uri.href);
        return read(await sessionOf(access, id), access, uri.searchParams);
      }),
    );
  }
}

const none = { list: undefined };

/** Matches with any part of its query, or none: the reader takes it from the URI. */
class AnyQuery extends UriTemplate {
  override match(uri: string): Variables | null {
    const [path = ""] = uri.split("?");
    const [own = ""] = this.toString().replace(uriOf.sessions, "").split("{?");
    const [, id, rest] = /^skein:\/\/sessions\/([^/]+)(\/[a-z]+)?$/.exec(path) ?? [];
    return id !== undefined && own === `/{id}${rest ?? ""}` ? { id: id } : null;
  }
}

async function latest(access: McpAccess) {
  needWorkspace(access);
  return (await access.engine.sessions({ limit: listed })).rows.map(showRow);
}

/** A caller with access to one session lists that one. */
async function asResources(access: McpAccess) {
  if (access.session !== null) return [{ uri: uriOf.session(access.session), name: access.session }];
  return (await latest(access)).map(({ session, name, objective, status }) => {
    const title = name ?? objective;
    const description = `${status}: ${objective ?? "no objective"}`;
    return { uri: uriOf.session(session), name: session, ...(title === null ? {} : { title }), description };
  });
}

async function readPage(session: Session, { engine }: McpAccess, query: URLSearchParams): Promise<unknown> {
  const from = positionIn(query, "from") ?? 1;
  const to = positionIn(query, "to");
  const count = to === undefined ? pageUsual : Math.min(pageMax, Math.max(1, to - from + 1));
  const range = { fromSeq: from, ...(to === undefined ? {} : { toSeq: to }) };
  return readEventsPage(internalsOf(engine).store, session.id, { ...range, limit: count });
}

function positionIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${name}: expected a position`);
}

/** One resource as text, marked as untrusted. Errors are those of the protocol. */
async function answer(access: McpAccess, uri: URL, mimeType: string, read: () => Promise<unknown>) {
  try {
    needScope(access, "read", "reading a resource");
    const value = await read();
    const text =
      typeof value === "string" ? value : JSON.stringify({ notice: untrusted, ...(value as object) });
    return { contents: [{ uri: uri.href, mimeType, text, _meta: { "skein/untrusted": true } }] };
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const { code, detail, hint } = access.problemOf(error);
    if (code === "not-found") throw new ResourceNotFoundError(uri.href);
    const isTheirs = ["invalid", "forbidden", "refused"].includes(code);
    const kind = isTheirs ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(kind, detail, { code, ...(hint === undefined ? {} : { hint }) });
  }
}
