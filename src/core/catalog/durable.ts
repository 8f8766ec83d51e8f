/** Events of the durable tier, scratch, the context, messages and triggers. */
import * as z from "zod";
import {
  bare,
  Blocks,
  Count,
  event,
  Json,
  Key,
  MayReason,
  Millis,
  ModelName,
  NanoUsd,
  Position,
  RangeList,
  Seq,
  SessionRef,
  Sha256,
  Usage,
  Word,
  WorkspaceRef,
} from "./entry.ts";

export const itemKinds = ["fact", "decision", "task", "artifact"] as const;
export const ItemKind = z.enum(itemKinds);
export type ItemKind = z.infer<typeof ItemKind>;
const TaskStatus = z.enum(["open", "done", "dropped"]);

export const itemEvents = {
  "item.recorded": event({
    meaning: "A fact, decision, task or artifact is known under this key from now on.",
    erased: "There is an item under this key; its value and reasons are gone.",
    body: z.looseObject({
      kind: ItemKind,
      key: Key,
      /** Only for tasks. */
      status: TaskStatus.optional(),
      /** Where the value was copied from, for what came by merge or memory. */
      origin: Position.optional(),
      /** The model that recorded it, if one did. */
      model: ModelName.optional(),
    }),
    content: z.looseObject({ value: Json, because: z.string().optional() }),
  }),
  "item.retracted": event({
    meaning: "The item under this key no longer holds.",
    erased: "It was retracted; the reason is gone.",
    body: z.looseObject({ kind: ItemKind, key: Key, model: ModelName.optional() }),
    content: z.looseObject({ because: z.string() }).optional(),
  }),
  "scratch.set": event({
    meaning: "A key of the scratch has this value, or none.",
    erased: "The key is set; its value is gone.",
    body: z.looseObject({ key: Key, removed: z.boolean().optional(), model: ModelName.optional() }),
    content: z.looseObject({ value: Json }).optional(),
  }),
};

export const contextEvents = {
  "transcript.compacted": event({
    meaning: "In the context, a range of the transcript is replaced; in the log it stays.",
    erased: "The range is replaced by a note that its summary was erased.",
    body: z.looseObject({
      fromSeq: Seq,
      toSeq: Seq,
      strategy: z.enum(["prune", "summarize", "extract"]),
      model: ModelName.optional(),
      usage: Usage.optional(),
      costNanoUsd: NanoUsd.nullable().optional(),
      tokensBefore: Count,
      tokensAfter: Count,
      items: RangeList.optional(),
    }),
    content: z.looseObject({ summary: z.string().optional(), pruned: z.array(Seq).optional() }).optional(),
  }),
  "checkpoint.saved": event({
    meaning: "A position has a name.",
    erased: "The position has this name; the note is gone.",
    body: z.looseObject({ name: Key, seq: Seq }),
    content: z.looseObject({ note: z.string() }).optional(),
  }),
  "handoff.written": event({
    meaning: "The document for the next session was written.",
    erased: "A handoff was written here; its text is gone.",
    body: z.looseObject({
      digest: Sha256,
      /** The last position that it tells of. */
      toSeq: Seq.optional(),
      tokens: Count.optional(),
      /** The model that put it into prose, if one did, and what that cost. */
      model: ModelName.optional(),
      usage: Usage.optional(),
      costNanoUsd: NanoUsd.nullable().optional(),
    }),
    content: z.looseObject({ text: z.string() }),
  }),
};

export const messageEvents = {
  "message.sent": event({
    meaning: "A message left for another session. What was sent stays sent.",
    erased: "A message was sent there; what it said is gone here.",
    body: z.looseObject({
      message: Key,
      to: SessionRef,
      number: Count,
      topic: Key.optional(),
      replyTo: Key.optional(),
      /** Until when a reply is wanted. Only a request has one. */
      deadlineMs: Millis.optional(),
      /** The receiver lives in another store; the message waits here until it is known to be there. */
      away: z.boolean().optional(),
    }),
    content: Blocks.extend({
      /** Where the other store is. */
      place: z.string().optional(),
    }),
  }),
  "message.delivered": bare(
    "A message to another store is known to have arrived there.",
    z.looseObject({ message: Key, to: SessionRef, number: Count }),
  ),
  "message.received": event({
    meaning: "A message from another session waits in the inbox.",
    erased: "A message came from there; what it said is gone here.",
    body: z.looseObject({
      message: Key,
      /** Its number in the inbox. */
      input: Seq,
      from: SessionRef,
      number: Count,
      topic: Key.optional(),
      replyTo: Key.optional(),
      deadlineMs: Millis.optional(),
    }),
    content: Blocks.extend({
      /** Where the sender lives, when that is another store: a reply goes there. */
      place: z.string().optional(),
    }),
  }),
  "message.refused": event({
    meaning: "A message was not accepted, or a request had no reply in time; it says why.",
    erased: "The message was refused for this cause; the words are gone.",
    body: z.looseObject({ message: Key, to: SessionRef, error: Word }),
    content: MayReason,
  }),
};

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
  }),
  "trigger.removed": bare(
    "The trigger is gone.",
    z.looseObject({
      name: Key,
      /** Of a template that moved: the workspace in which it is set from now on. */
      to: WorkspaceRef.optional(),
    }),
  ),
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
  }),
  "trigger.skipped": bare(
    "Times passed while nobody was there, and the trigger goes on with the next one.",
    z.looseObject({ name: Key, dueMs: Millis, count: Count, nextMs: Millis.optional() }),
  ),
};
