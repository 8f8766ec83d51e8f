/**
 * The event catalog: the events of all slices in one table. `node docs/generate.ts` writes the page from it.
 *
 * Never edit an entry that is already in a log: add a version, and an upcaster from the previous one
 * (upcast.ts). Bodies are loose objects, so a field of a newer program passes through untouched.
 */
import * as z from "zod";
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
} satisfies Record<string, CatalogEntry>;

export const workspaceCatalog = workspaceEvents;

/** The types of events in the log of a session. */
export type SessionEventType = keyof typeof sessionCatalog;
/** The types of events in the log of a workspace. */
export type WorkspaceEventType = keyof typeof workspaceCatalog;
/** The types of all events. */
export type EventType = SessionEventType | WorkspaceEventType;

type Catalog = typeof sessionCatalog & typeof workspaceCatalog;
/** The body of an event by its type. */
export type BodyOf<T extends EventType> = z.infer<Catalog[T]["body"]>;
/** The content of an event by its type. */
export type ContentOf<T extends EventType> = z.infer<Catalog[T]["content"]>;

const all = new Map<string, CatalogEntry>(Object.entries({ ...sessionCatalog, ...workspaceCatalog }));

export const eventTypes: readonly EventType[] = [...all.keys()] as EventType[];
export const entryOf = (type: string): CatalogEntry | undefined => all.get(type);

/** Records of other programs: stored and passed on; the fold ignores them. */
export const isForeign = (type: string): boolean => /^x\.[a-z0-9][a-z0-9._-]{0,60}$/.test(type);

/** The catalog as a page of Markdown. */
export function describeCatalog(): string {
  const sections = Object.entries({ ...sessionSlices, workspace: workspaceEvents }).map(
    ([family, events]) => {
      const rows = Object.entries<CatalogEntry>(events).map(([type, entry]) => describeEvent(type, entry));
      return `## ${family}\n\n${rows.join("\n")}`;
    },
  );
  const head =
    "# Event catalog\n\n" +
    "Generated from `src/core/catalog.ts` by `node docs/generate.ts`; do not edit. Every record of a log " +
    "is one of these, or a foreign record (`x.…`) that Skein keeps and ignores. Body and content are JSON " +
    "Schema; a body holds at most 4,096 bytes and no free text, and is never erased. The summary is the " +
    "line that the command line and the console show, here for a sample.\n";
  return `${head}\n${sections.join("\n")}`;
}

function describeEvent(type: string, entry: CatalogEntry): string {
  const content = entry.content instanceof z.ZodUndefined ? "none" : schemaText(entry.content);
  return [
    `### ${type}\n`,
    `${entry.meaning}\n`,
    `- version: ${entry.v}`,
    `- body: ${schemaText(entry.body)}`,
    `- content: ${content}`,
    `- erased: ${entry.erased}`,
    `- summary: ${codeText(entry.summary(entry.sample.body, entry.sample.content))}\n`,
  ].join("\n");
}

const codeText = (text: string): string => `\`${text.replaceAll("`", "'")}\``;

function schemaText(schema: z.ZodType): string {
  const optional = schema instanceof z.ZodOptional;
  const json = z.toJSONSchema(optional ? (schema.unwrap() as z.ZodType) : schema, { unrepresentable: "any" });
  const { $schema: _, ...rest } = json;
  return `\`${JSON.stringify(rest)}\`${optional ? ", or none" : ""}`;
}
