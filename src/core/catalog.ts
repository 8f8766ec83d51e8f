/**
 * The event catalogue: every event there is, in one table. docs/event-catalogue.md is generated from it.
 *
 * An entry is never edited once it is written to a log somewhere: it gains a version, and an upcaster from
 * the one before (upcast.ts). Bodies are loose, so that a field of a newer program passes through untouched.
 */
import * as z from "zod";
import { contextEvents, itemEvents, messageEvents, triggerEvents } from "./catalog/durable.ts";
import type { Entry } from "./catalog/entry.ts";
import { governanceEvents, workspaceEvents } from "./catalog/governance.ts";
import { headsEvents } from "./catalog/heads.ts";
import { hookEvents } from "./catalog/hook.ts";
import { leaseEvents, sessionEvents } from "./catalog/session.ts";
import { tokenEvents } from "./catalog/token.ts";
import { bootstrapEvents, toolEvents, turnEvents } from "./catalog/turn.ts";

const families = {
  session: sessionEvents,
  lease: leaseEvents,
  bootstrap: bootstrapEvents,
  turn: turnEvents,
  tool: toolEvents,
  "durable tier and scratch": itemEvents,
  context: contextEvents,
  message: messageEvents,
  trigger: triggerEvents,
  governance: governanceEvents,
  workspace: workspaceEvents,
  token: tokenEvents,
  hook: hookEvents,
  heads: headsEvents,
} satisfies Record<string, Record<string, Entry>>;

export const sessionCatalogue = {
  ...sessionEvents,
  ...leaseEvents,
  ...bootstrapEvents,
  ...turnEvents,
  ...toolEvents,
  ...itemEvents,
  ...contextEvents,
  ...messageEvents,
  ...triggerEvents,
  ...governanceEvents,
} satisfies Record<string, Entry>;

export const workspaceCatalogue = {
  ...workspaceEvents,
  ...tokenEvents,
  ...hookEvents,
  ...headsEvents,
} satisfies Record<string, Entry>;

export type SessionEventType = keyof typeof sessionCatalogue;
export type WorkspaceEventType = keyof typeof workspaceCatalogue;
export type EventType = SessionEventType | WorkspaceEventType;

type Catalogue = typeof sessionCatalogue & typeof workspaceCatalogue;
export type BodyOf<T extends EventType> = z.infer<Catalogue[T]["body"]>;
export type ContentOf<T extends EventType> = z.infer<Catalogue[T]["content"]>;

const all = new Map<string, Entry>(Object.entries({ ...sessionCatalogue, ...workspaceCatalogue }));

export const eventTypes: readonly EventType[] = [...all.keys()] as EventType[];
export const entryOf = (type: string): Entry | undefined => all.get(type);

/** Records of other programs: kept, passed on, ignored by the fold. */
export const isForeign = (type: string): boolean => /^x\.[a-z0-9][a-z0-9._-]{0,60}$/.test(type);

/** The catalogue as a page for people. */
export function describeCatalogue(): string {
  const sections = Object.entries(families).map(([family, events]) => {
    const rows = Object.entries<Entry>(events).map(([type, entry]) => describeEvent(type, entry));
    return `## ${family}\n\n${rows.join("\n")}`;
  });
  const head =
    "# Event catalogue\n\n" +
    "Generated from `src/core/catalog.ts` by `node docs/generate.ts`; do not edit. Every record of a log " +
    "is one of these, or a foreign record (`x.…`) that Skein keeps and ignores. Body and content are JSON " +
    "Schema; a body holds at most 4,096 bytes and no free text, and is never erased.\n";
  return `${head}\n${sections.join("\n")}`;
}

function describeEvent(type: string, entry: Entry): string {
  const content = entry.content instanceof z.ZodUndefined ? "none" : schemaText(entry.content);
  return [
    `### ${type}\n`,
    `${entry.meaning}\n`,
    `- version: ${entry.v}`,
    `- body: ${schemaText(entry.body)}`,
    `- content: ${content}`,
    `- erased: ${entry.erased}\n`,
  ].join("\n");
}

function schemaText(schema: z.ZodType): string {
  const optional = schema instanceof z.ZodOptional;
  const json = z.toJSONSchema(optional ? (schema.unwrap() as z.ZodType) : schema, { unrepresentable: "any" });
  const { $schema: _, ...rest } = json;
  return `\`${JSON.stringify(rest)}\`${optional ? ", or none" : ""}`;
}
