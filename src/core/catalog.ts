/**
 * The event catalog: the events of all slices in one table. `npm run docs` writes the page from it.
 *
 * Never edit an entry that is already in a log: add a version, and an upcaster from the previous one
 * (upcast.ts). Bodies are loose objects, so a field of a newer program passes through untouched.
 */
import type * as z from "zod";
import type { CatalogEntry } from "./catalog-entry.ts";
import { sessionEvents } from "./session/events.ts";
import { branchEvents } from "./branch/events.ts";
import { turnEvents } from "./turn/events.ts";
import { toolEvents } from "./tool/events.ts";
import { itemEvents } from "./item/events.ts";
import { messageEvents } from "./message/events.ts";
import { triggerEvents } from "./trigger/events.ts";
import { budgetEvents } from "./budget/events.ts";
import { governEvents } from "./govern/events.ts";
import { historyEvents } from "./history/events.ts";
import { proxyEvents } from "./proxy/events.ts";
import { checkEvents } from "./check/events.ts";
import { amendEvents } from "./amend/events.ts";
import { projectEvents, projectListEvents } from "./project/events.ts";
import { ticketEvents } from "./project/ticket-events.ts";
import { workspaceEvents } from "./workspace/events.ts";

/** The events of a session by slice. */
export const sessionSlices = {
  session: sessionEvents,
  branch: branchEvents,
  turn: turnEvents,
  tool: toolEvents,
  item: itemEvents,
  message: messageEvents,
  trigger: triggerEvents,
  budget: budgetEvents,
  govern: governEvents,
  history: historyEvents,
  proxy: proxyEvents,
  check: checkEvents,
  amend: amendEvents,
} satisfies Record<string, Record<string, CatalogEntry>>;

export const sessionCatalog = {
  ...sessionEvents,
  ...branchEvents,
  ...turnEvents,
  ...toolEvents,
  ...itemEvents,
  ...messageEvents,
  ...triggerEvents,
  ...budgetEvents,
  ...governEvents,
  ...historyEvents,
  ...proxyEvents,
  ...checkEvents,
  ...amendEvents,
} satisfies Record<string, CatalogEntry>;

export const workspaceCatalog = { ...workspaceEvents, ...projectListEvents } satisfies Record<
  string,
  CatalogEntry
>;
/** The log of a project holds these, and items as in a session. */
export const projectCatalog = { ...projectEvents, ...ticketEvents } satisfies Record<string, CatalogEntry>;

/** The types of events in the log of a session. */
export type SessionEventType = keyof typeof sessionCatalog;
/** The types of events in the log of a workspace. */
export type WorkspaceEventType = keyof typeof workspaceCatalog;
/** The types of events in the log of a project, besides items. */
export type ProjectEventType = keyof typeof projectCatalog;
/** The types of all events. */
export type EventType = SessionEventType | WorkspaceEventType | ProjectEventType;

type Catalog = typeof sessionCatalog & typeof workspaceCatalog & typeof projectCatalog;
/** The body of an event by its type. */
export type BodyOf<T extends EventType> = z.infer<Catalog[T]["body"]>;
/** The content of an event by its type. */
export type ContentOf<T extends EventType> = z.infer<Catalog[T]["content"]>;

const all = new Map<string, CatalogEntry>(
  Object.entries({ ...sessionCatalog, ...workspaceCatalog, ...projectCatalog }),
);

export const eventTypes: readonly EventType[] = [...all.keys()] as EventType[];
export const entryOf = (type: string): CatalogEntry | undefined => all.get(type);

/** Records of other programs: stored and passed on; the fold ignores them. */
export const isForeign = (type: string): boolean => /^x\.[a-z0-9][a-z0-9._-]{0,60}$/.test(type);
