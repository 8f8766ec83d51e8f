/** Tools that only read. */
import * as z from "zod";
import { limit } from "../../core/limit.ts";
import { present } from "../../core/present.ts";
import { statuses } from "../../core/session/lifecycle.ts";
import * as field from "../../call/field.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { needWorkspace, sessionOf, type McpAccess } from "./access.ts";
import {
  cutText,
  cutValue,
  link,
  resultCharsMax,
  showEvent,
  timeText,
  uriOf,
  type ShownEvent,
} from "./output.ts";
import { readOnly, tool, type ToolOutcome } from "./tool.ts";

export const sessionName = (): z.ZodString =>
  field.SessionName.describe("a session's id, or a unique suffix of it of at least 4 characters");
const Text = z.string();
const MaybeText = z.string().nullable();
const Count = z.int().nonnegative();

const rowFields = () => ({
  session: Text,
  name: MaybeText,
  objective: MaybeText,
  status: Text,
  waitingFor: MaybeText,
  agent: MaybeText,
  model: MaybeText,
  activeAt: Text,
});

export const sessionList = tool("session_list", {
  title: "List sessions",
  description: "Lists sessions, the most recently active first, with their status and what each waits for.",
  scopes: ["read"],
  hints: readOnly,
  untrusted: true,
  input: () => ({
    status: z.array(z.enum(statuses)).min(1).optional().describe("only these statuses"),
    agent: field.AgentName.optional().describe("only sessions of this agent"),
    text: field.Name.optional().describe("only sessions whose name or objective holds this text"),
    limit: z.int().min(1).max(50).optional().describe("at most this many; by default 20"),
    cursor: z.string().max(1_000).optional().describe("the cursor of the page before"),
  }),
  output: () => ({ sessions: z.array(z.looseObject(rowFields())), cursor: MaybeText }),
  async run(access, { limit: count = 20, ...filter }) {
    needWorkspace(access);
    const page = await access.engine.sessions({ ...present(filter), limit: count });
    return { data: { sessions: page.rows.map(showRow), cursor: page.cursor } };
  },
});

type Row = Awaited<ReturnType<McpAccess["engine"]["sessions"]>>["rows"][number];

/** A row of a list, without figures that only operators need. */
export const showRow = (row: Row) => ({
  session: row.session,
  name: row.name === null ? null : cutText(row.name, 200),
  objective: row.objective === null ? null : cutText(row.objective, 300),
  status: row.status,
  waitingFor: row.waitingFor,
  agent: row.agent,
  model: row.model,
  activeAt: timeText(row.activeAt),
});

export const sessionSearch = tool("session_search", {
  title: "Search sessions",
  description:
    "Full-text search over everything said in sessions. word* matches words that begin so. Read around a " +
    "hit with session_read.",
  scopes: ["read"],
  hints: readOnly,
  untrusted: true,
  input: () => ({
    text: z.string().min(1).max(1_000).describe("the words; an event matches when it holds all of them"),
    session: sessionName().optional().describe("only in this session"),
    limit: z.int().min(1).max(limit.searchMax).optional().describe("at most this many; by default 20"),
  }),
  output: () => ({
    hits: z.array(
      z.looseObject({ session: Text, seq: Count, at: Text, type: Text, snippet: Text, mind: Text }),
    ),
    truncated: z.boolean(),
  }),
  async run(access, { text, session, limit: count = 20 }) {
    if (session === undefined) needWorkspace(access);
    else await sessionOf(access, session);
    const found = await access.engine.search(text, { limit: count, ...present({ session }) });
    const hits = found.map(({ at, snippet, ...hit }) => {
      return { ...hit, at: timeText(at), snippet: cutText(snippet, 400) };
    });
    const shown = withinRoom(hits);
    return { data: { hits: shown, truncated: shown.length < hits.length } };
  },
});

export const sessionRead = tool("session_read", {
  title: "Read a session",
  description:
    "Reads events of a session with its status: the latest, or from a position on. Long contents are " +
    "shortened; a resource link leads to each. Use it to follow a turn that session_ask did not wait for.",
  scopes: ["read"],
  hints: readOnly,
  untrusted: true,
  input: () => ({
    session: sessionName(),
    from: field.Seq.optional().describe("the first position; by default the latest events"),
    to: field.Seq.optional().describe("the last position"),
    types: z.array(z.string().max(64)).min(1).max(50).optional().describe("only events of these types"),
    limit: z.int().min(1).max(200).optional().describe("at most this many events; by default 30"),
  }),
  output: () => ({
    session: Text,
    status: Text,
    objective: MaybeText,
    head: Count,
    waiting: z.array(z.looseObject({ call: Text, tool: Text, summary: Text })),
    events: z.array(z.looseObject({ seq: Count, at: Text, type: Text, summary: Text })),
    next: Count.nullable().describe("where the next page starts; null: nothing more"),
  }),
  async run(access, { session: name, from, to, types, limit: count = 30 }) {
    const session = await sessionOf(access, name);
    const range = present({ toSeq: to, types });
    const page = await readShown(session, { range, from, count });
    return { data: { ...(await standing(session)), ...page.data }, links: page.links };
  },
});

interface WantedEvents {
  readonly range: { readonly toSeq?: number; readonly types?: readonly string[] };
  readonly from: number | undefined;
  readonly count: number;
}

/** As many events as there is room for: from a position on, or the latest. */
async function readShown(session: Session, { range, from, count }: WantedEvents): Promise<ToolOutcome> {
  const reverse = from === undefined;
  const events: ShownEvent[] = [];
  let [room, next] = [resultCharsMax, null as number | null];
  const options = { ...range, limit: count + 1, ...(reverse ? { reverse } : { fromSeq: from }) };
  for await (const event of session.events(options)) {
    const shown = showEvent(event);
    room -= JSON.stringify(shown).length;
    if (events.length === count || (room < 0 && events.length > 0)) {
      next = reverse ? null : event.seq;
      break;
    }
    events.push(shown);
  }
  const cut = events.filter(({ truncated }) => truncated === true);
  const links = cut.map(({ seq, type }) =>
    link(uriOf.events(session.id, { from: seq, to: seq }), `the whole content of event ${seq}, ${type}`),
  );
  return { data: { events: reverse ? events.toReversed() : events, next }, links };
}

/** The status of a session, and the calls that wait for an approval. */
export async function standing(session: Session): Promise<Readonly<Record<string, unknown>>> {
  const state = await session.state();
  const waiting: unknown[] = [];
  for (const { call, tool: name, phase, seq } of state.calls) {
    if (phase !== "asked") continue;
    let summary = "";
    for await (const event of session.events({ fromSeq: seq, toSeq: seq }))
      summary = showEvent(event).summary;
    waiting.push({ call, tool: name, summary });
  }
  const { status, why, objective, seq: head } = state;
  const reason = why?.reason ?? why?.by ?? null;
  return {
    session: session.id,
    status,
    ...(reason === null ? {} : { reason: cutText(reason, 400) }),
    objective: objective === null ? null : cutText(objective, 500),
    head,
    waiting,
  };
}

export const sessionItems = tool("session_items", {
  title: "Read a session's items",
  description: "Facts, decisions, tasks and artifacts that a session has recorded, with their values.",
  scopes: ["read"],
  hints: readOnly,
  untrusted: true,
  input: () => ({
    session: sessionName(),
    kind: field.ItemKind.optional().describe("only items of this kind"),
  }),
  output: () => ({
    session: Text,
    items: z.array(z.looseObject({ kind: Text, name: Text, value: z.unknown(), seq: Count })),
    truncated: z.boolean(),
  }),
  async run(access, { session: name, kind }) {
    const session = await sessionOf(access, name);
    const all = (await session.items()).filter((item) => (kind ?? item.kind) === item.kind);
    const cut = all.map(showItem);
    const items = withinRoom(cut.map(({ item }) => item));
    const truncated = items.length < all.length || cut.some(({ isCut }) => isCut);
    const links = truncated ? [link(uriOf.items(session.id), "all items with their whole values")] : [];
    return { data: { session: session.id, items, truncated }, links };
  },
});

type Item = Awaited<ReturnType<Session["items"]>>[number];

function showItem({ kind, key, value: whole, because, status, seq }: Item) {
  const { value, isCut } = cutValue(whole, 1_500);
  const item = {
    kind,
    name: key,
    value,
    seq,
    ...present({ because: because ?? undefined, status: status ?? undefined }),
  };
  return { item, isCut };
}

export const lookup = tool("lookup", {
  title: "Look up memory",
  description:
    "Memory of the workspace: what later sessions start with. All entries, the newest first, or those " +
    "with all these words.",
  scopes: ["read"],
  hints: readOnly,
  untrusted: true,
  input: () => ({
    text: z.string().max(1_000).optional().describe("only entries with all these words"),
    scope: field.Scope.optional().describe("only of this scope"),
    owner: z.string().max(64).optional().describe("only of this agent or principal"),
  }),
  output: () => ({
    entries: z.array(z.looseObject({ scope: Text, kind: Text, name: Text, value: z.unknown() })),
    truncated: z.boolean(),
  }),
  async run(access, filter) {
    needWorkspace(access);
    const found = await access.engine.memory(present(filter));
    const cut = found.map((entry) => showMemory(entry));
    const entries = withinRoom(cut.map(({ entry }) => entry));
    const truncated = entries.length < found.length || cut.some(({ isCut }) => isCut);
    return { data: { entries, truncated } };
  },
});

type Entry = Awaited<ReturnType<McpAccess["engine"]["memory"]>>[number];

export function showMemory({ scope, owner, kind, key, value: whole, because }: Entry) {
  const { value, isCut } = cutValue(whole, 4_000);
  const more = present({ owner: owner ?? undefined, because: because ?? undefined });
  return { entry: { scope, kind, name: key, value, ...more }, isCut };
}

/** As many of a list as fit into a result, but at least one. */
function withinRoom<T>(list: readonly T[]): T[] {
  let room = resultCharsMax;
  const end = list.findIndex((one, place) => (room -= JSON.stringify(one).length) < 0 && place > 0);
  return end === -1 ? [...list] : list.slice(0, end);
}
