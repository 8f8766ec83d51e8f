/** Events of a session's life, and of the right to run it. */
import * as z from "zod";
import { limit } from "../limit.ts";
import {
  AgentName,
  bare,
  Count,
  event,
  Key,
  LabelKey,
  LabelValue,
  MayReason,
  Millis,
  ModelName,
  Position,
  RangeList,
  Seq,
  SessionRef,
  Sha256,
  WorkspaceRef,
  Word,
} from "./entry.ts";

const Name = z.string().min(1).max(limit.nameCharsMax);
const Objective = z.string().max(limit.objectiveCharsMax);
const Priority = z.int().min(0).max(limit.priorityMax);
/** Which of the two the content holds: the fold never reads contents. */
const Has = z.array(z.enum(["objective", "name"]));
const none = z.looseObject({});

export const sessionEvents = {
  "session.opened": event({
    meaning: "A session begins: one objective, and who is to work on it.",
    erased: "The session has no objective or name that can be shown; everything else of it stands.",
    body: z.looseObject({
      workspace: WorkspaceRef,
      agent: AgentName.optional(),
      model: ModelName.optional(),
      priority: Priority,
      labels: z.record(LabelKey, LabelValue).optional(),
      /** The session that opened this one, and where in its log it did. */
      parent: Position.optional(),
      /** How many sessions up the one is that nobody but a person opened; absent: it is that one. */
      depth: Count.optional(),
      /** It is closed with the end of the turn after which it waits for nothing. */
      closesWhenDone: z.boolean().optional(),
      /** The session whose work this one carries on. */
      from: SessionRef.optional(),
      expiresAfterIdleMs: Millis.optional(),
      has: Has,
    }),
    content: z.looseObject({
      objective: Objective,
      name: Name.optional(),
      instructions: z.string().optional(),
      constraints: z.array(z.string()).optional(),
    }),
  }),
  "session.renamed": event({
    meaning: "The session has another name.",
    erased: "It was renamed; to what is gone.",
    body: none,
    content: z.looseObject({ name: Name }),
  }),
  "session.labeled": bare(
    "Labels were set or removed.",
    z.looseObject({ set: z.record(LabelKey, LabelValue).optional(), remove: z.array(LabelKey).optional() }),
  ),
  "session.prioritized": bare(
    "The session is more or less urgent; 0 is the most.",
    z.looseObject({ priority: Priority }),
  ),
  "session.activated": event({
    meaning: "A suspended or sleeping session may go on.",
    erased: "It was activated; the reason is gone.",
    body: none,
    content: MayReason,
  }),
  "session.suspended": event({
    meaning: "The session stands still until it is activated, and says why.",
    erased: "It was suspended by what the body names; the words are gone.",
    body: z.looseObject({
      by: z.enum(["person", "budget", "approval", "unknown", "error"]),
      /** The calls or events it waits for. */
      on: z.array(Seq).max(100).optional(),
      /**
       * It was set back: the store had acknowledged records up to `toSeq`, and no longer holds them. Those
       * before `fromSeq` are still there; without it nobody knows where they end.
       */
      tail: z.looseObject({ fromSeq: Seq.optional(), toSeq: Seq }).optional(),
      /** It was imported from a bundle that no trusted key signed, and waits for a person to review it. */
      imported: z.boolean().optional(),
    }),
    content: MayReason,
  }),
  "session.slept": event({
    meaning: "The session sleeps, from now or from the end of its turn, until something wakes it.",
    erased: "It went to sleep; the reason is gone.",
    body: z.looseObject({ untilMs: Millis.optional(), triggers: z.array(Key).max(32).optional() }),
    content: MayReason,
  }),
  "session.woken": event({
    meaning: "A sleeping session is open again, and says what woke it.",
    erased: "It was woken by what the body names; the words are gone.",
    body: z.looseObject({
      by: z.enum(["person", "time", "trigger", "message", "session"]),
      trigger: Key.optional(),
    }),
    content: MayReason,
  }),
  "session.interrupted": event({
    meaning: "Somebody asked that the turn in progress end now.",
    erased: "It was interrupted; the reason is gone.",
    body: none,
    content: MayReason,
  }),
  "session.closed": event({
    meaning: "The session is over: completed, cancelled, failed or expired.",
    erased: "It was closed with this outcome; the reason is gone.",
    body: z.looseObject({ outcome: z.enum(["completed", "cancelled", "failed", "expired"]) }),
    content: MayReason,
  }),
  "session.reopened": event({
    meaning: "A closed or archived session is open again.",
    erased: "It was reopened; the reason is gone.",
    body: none,
    content: MayReason,
  }),
  "session.archived": event({
    meaning: "A closed session is packed and read-only.",
    erased: "It was archived; the reason is gone.",
    body: none,
    content: MayReason,
  }),
  "session.forked": event({
    meaning:
      "A new session begins with the mind of its parent at a position; the first record of a fork's own.",
    erased: "It is a fork of that parent; the objective and name given to it are gone.",
    body: z.looseObject({
      parent: SessionRef,
      parentSeq: Seq,
      parentHash: Sha256,
      /** `person`: asked for from outside. `session`: made by the parent itself, and paid by allotment. */
      by: z.enum(["person", "session"]),
      /** As of a session that is opened. */
      depth: Count.optional(),
      closesWhenDone: z.boolean().optional(),
      has: Has,
    }),
    content: z.looseObject({ objective: Objective.optional(), name: Name.optional() }).optional(),
  }),
  "session.rewound": event({
    meaning: "The session goes on with the mind it had at an earlier position.",
    erased: "It was rewound to this position; the reason is gone.",
    body: z.looseObject({
      toSeq: Seq,
      /** Inputs that had been taken up after `toSeq`, by number; none of them stands before `fromSeq`. */
      inputs: z.looseObject({ ranges: RangeList, fromSeq: Seq }),
      /** Whether those inputs wait in the inbox again. */
      requeued: z.boolean(),
    }),
    content: MayReason,
  }),
  "session.merged": event({
    meaning: "What another session learned since the base came into this one.",
    erased: "It was merged from that range; summary and resolutions are gone, the items it brought are not.",
    body: z.looseObject({
      from: SessionRef,
      fromSeq: Seq,
      toSeq: Seq,
      toHash: Sha256,
      base: Position.optional(),
      taken: Count,
      resolved: Count,
    }),
    content: z.looseObject({
      summary: z.string(),
      resolutions: z
        .array(z.looseObject({ kind: Word, key: Key, take: Word, because: z.string().optional() }))
        .optional(),
    }),
  }),
  "session.migrated": event({
    meaning: "The session goes on with another model.",
    erased: "It was migrated between these models; what could not travel is no longer named.",
    body: z.looseObject({ from: ModelName.optional(), to: ModelName }),
    content: z.looseObject({ left: z.array(z.string()) }).optional(),
  }),
  "session.moved": event({
    meaning: "The session lives elsewhere now; nothing more is written here.",
    erased: "It was moved; where to is gone.",
    body: z.looseObject({
      move: Key,
      /** The workspace it goes to, and to no other; absent when that was not known. */
      to: WorkspaceRef.optional(),
    }),
    content: z.looseObject({ to: z.string() }).optional(),
  }),
  "session.arrived": event({
    meaning: "A moved session goes on here.",
    erased: "It arrived by that move; where from is gone.",
    body: z.looseObject({
      move: Key,
      /** No trusted key signed the bundle that it came in. */
      untrusted: z.boolean().optional(),
    }),
    content: z.looseObject({ from: z.string() }).optional(),
  }),
};

export const leaseEvents = {
  "lease.taken": bare(
    "A runner took the right to run the session; its epoch is the position of this record.",
    z.looseObject({ holder: Key, leaseMs: Millis }),
  ),
  "lease.released": bare("The runner gave the right back.", z.looseObject({ epoch: Seq })),
};
