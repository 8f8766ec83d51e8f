/** Events of triggers. */
import { ifGiven, after } from "../summary-text.ts";
import { plural } from "../text/number-format.ts";
import { shortId } from "../text/short-id.ts";
import { utcText } from "../text/utc.ts";
import { sha } from "../sample.ts";
import { specText } from "./spec-text.ts";
import { storedTrigger } from "./trigger.ts";
import { type Entry, bare, event } from "../catalog-entry.ts";
import { Count, Json, Key, Millis, Seq, SessionRef, Sha256, WorkspaceRef } from "../schema.ts";
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
    meaning: "Something wakes the session, or opens a new one, from now on.",
    erased: "A trigger of this kind was set; what it watched is gone, so it fires no more.",
    body: z.looseObject({
      name: Key,
      kind: z.enum(triggerKinds),
      /** What becomes of times that pass while nobody is there: one firing for all, one each, or none. */
      missed: z.enum(["once", "all", "skip"]).optional(),
      /** When it fires next, for what goes by time. */
      nextMs: Millis.optional(),
      /** How what it watches was when it was set: it fires when that changes. */
      digest: Sha256.optional(),
      /** Of messages: only on this topic, only from this session. */
      topic: Key.optional(),
      from: SessionRef.optional(),
    }),
    content: z.looseObject({
      spec: Json,
      /** Of a template: what each session is opened with. */
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
    meaning: "The trigger is gone.",
    body: z.looseObject({
      name: Key,
      /** Of a template that moved: the workspace in which it is set from now on. */
      to: WorkspaceRef.optional(),
    }),
    summary: ({ name }) => `Trigger ${name} removed`,
    sample: { body: { name: "nightly" } },
  }),
  "trigger.fired": event({
    meaning: "The trigger fired for this cause, once.",
    erased: "It fired for the cause with this digest; the details are gone.",
    body: z.looseObject({
      name: Key,
      /** Of the cause; of what is watched, as it is now. */
      digest: Sha256,
      /** The time that it fired for, and the next one. */
      dueMs: Millis.optional(),
      nextMs: Millis.optional(),
      /** How many causes came together in it; absent: one. */
      count: Count.optional(),
      /** The number of the input that tells of it. */
      input: Seq.optional(),
      /** The session that it opened. */
      opened: SessionRef.optional(),
    }),
    content: z.looseObject({ detail: Json }).optional(),
    summary: ({ name, dueMs, count: times, opened }) =>
      `Trigger ${name} fired${ifGiven(dueMs, (ms) => ` for ${utcText(ms)}`)}` +
      ifGiven(times, (many) => `, ${plural(many, "time")} at once`) +
      ifGiven(opened, (session) => `, opened ${shortId(session)}`),
    sample: { body: { name: "nightly", digest: sha }, content: { detail: { at: "09:00" } } },
  }),
  "trigger.skipped": bare({
    meaning: "Times passed while nobody was there, and the trigger goes on with the next one.",
    body: z.looseObject({ name: Key, dueMs: Millis, count: Count, nextMs: Millis.optional() }),
    summary: ({ name, count: times }) => `Trigger ${name} skipped ${plural(times, "time")}`,
    sample: { body: { name: "nightly", dueMs: 1_000, count: 2, nextMs: 2_000 } },
  }),
} satisfies Record<string, Entry>;
