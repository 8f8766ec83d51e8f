/** Events of triggers. */
import { ifGiven, after } from "../summary-text.ts";
import { plural } from "../text/number-format.ts";
import { shortId } from "../text/short-id.ts";
import { utcText } from "../text/utc.ts";
import { sha } from "../sample.ts";
import { specText } from "./spec-text.ts";
import { storedTrigger } from "./trigger.ts";
import { type CatalogEntry, bare, event } from "../catalog-entry.ts";
import { Count, Json, Key, Millis, Position, Seq, SessionRef, Sha256, WorkspaceRef } from "../schema.ts";
import * as z from "zod";

export const triggerKinds = [
  "at",
  "every",
  "cron",
  "file",
  "git",
  "webhook",
  "message",
  "query",
  "session",
  "resource",
] as const;

/** The kinds of triggers. */
export type TriggerKind = (typeof triggerKinds)[number];

export const triggerEvents = {
  "trigger.set": event({
    meaning: "A trigger is set: from now on it wakes the session, or opens a new one.",
    erased: "A trigger of this kind was set; its specification is erased, so it no longer fires.",
    body: z.looseObject({
      name: Key,
      kind: z.enum(triggerKinds),
      /** What to do about times missed while no worker ran: one firing for all, one each, or none. */
      missed: z.enum(["once", "all", "skip"]).optional(),
      /** When it fires next, if it is timed. */
      nextMs: Millis.optional(),
      /** The watched value when it was set: a change fires it. */
      digest: Sha256.optional(),
      /** Where it was set first, if a session before had it. Since 0.5. */
      origin: Position.optional(),
      /** Of messages: only on this topic, only from this session. */
      topic: Key.optional(),
      from: SessionRef.optional(),
    }),
    content: z.looseObject({
      spec: Json,
      /** Of a template: the options of each opened session. */
      open: Json.optional(),
    }),
    summary: ({ name, kind, nextMs }, content) =>
      `Trigger ${name} set (${kind})${ifGiven(nextMs, (ms) => `, next ${utcText(ms)}`)}` +
      after(specText(storedTrigger(content?.spec))),
    sample: {
      body: { name: "nightly", kind: "cron", missed: "once" },
      content: { spec: { cron: "0 9 1 * *" } },
    },
  }),
  "trigger.removed": bare({
    meaning: "The trigger was removed.",
    body: z.looseObject({
      name: Key,
      /** Of a moved template: the workspace that has it from now on. */
      to: WorkspaceRef.optional(),
    }),
    summary: ({ name }) => `Trigger ${name} removed`,
    sample: { body: { name: "nightly" } },
  }),
  "trigger.fired": event({
    meaning: "The trigger fired for this cause, once.",
    erased: "It fired for the cause with this digest; the details are erased.",
    body: z.looseObject({
      name: Key,
      /** Of the cause; of a watched value, its current digest. */
      digest: Sha256,
      /** The time it fired for, and the next one. */
      dueMs: Millis.optional(),
      nextMs: Millis.optional(),
      /** How many causes it combines; absent: one. */
      count: Count.optional(),
      /** The number of the input that reports it. */
      input: Seq.optional(),
      /** The session that it opened. */
      opened: SessionRef.optional(),
      /** A source changed: what that does in place of an input. Since 0.5. */
      react: z.enum(["mark", "reload", "wake"]).optional(),
    }),
    content: z
      .looseObject({
        detail: Json,
        /** Of a changed source that is no document: what the context says of it. Since 0.5. */
        note: z.string().optional(),
      })
      .optional(),
    summary: ({ name, dueMs, count: times, opened }) =>
      `Trigger ${name} fired${ifGiven(dueMs, (ms) => ` for ${utcText(ms)}`)}` +
      ifGiven(times, (many) => `, ${plural(many, "time")} at once`) +
      ifGiven(opened, (session) => `, opened ${shortId(session)}`),
    sample: { body: { name: "nightly", digest: sha }, content: { detail: { at: "09:00" } } },
  }),
  "trigger.skipped": bare({
    meaning: "Times passed while no worker ran, and the trigger continues with the next one.",
    body: z.looseObject({ name: Key, dueMs: Millis, count: Count, nextMs: Millis.optional() }),
    summary: ({ name, count: times }) => `Trigger ${name} skipped ${plural(times, "time")}`,
    sample: { body: { name: "nightly", dueMs: 1_000, count: 2, nextMs: 2_000 } },
  }),
} satisfies Record<string, CatalogEntry>;
