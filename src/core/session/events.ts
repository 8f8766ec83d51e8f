/** Events of a session: its life, its lease, where it lives and what it starts with. */
import { type Entry, bare, event } from "../catalog-entry.ts";
import { limit } from "../limit.ts";
import {
  AgentName,
  Count,
  Has,
  Json,
  Key,
  LabelKey,
  LabelValue,
  MayReason,
  Millis,
  ModelName,
  Name,
  Objective,
  Position,
  Seq,
  SessionRef,
  Sha256,
  WorkspaceRef,
} from "../schema.ts";
import * as z from "zod";

const Priority = z.int().min(0).max(limit.priorityMax);

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
  "lease.taken": bare(
    "A runner took the right to run the session; its epoch is the position of this record.",
    z.looseObject({ holder: Key, leaseMs: Millis }),
  ),
  "lease.released": bare("The runner gave the right back.", z.looseObject({ epoch: Seq })),
  "agent.pinned": event({
    meaning: "The session works under this version of an agent.",
    erased: "The agent's name and version are known; its text must be read from the workspace.",
    body: z.looseObject({ agent: AgentName, version: Count, digest: Sha256 }),
    content: z.looseObject({ definition: Json }),
  }),
  "document.loaded": event({
    meaning: "A document came into the mind: AGENTS.md, an initial file, a handoff.",
    erased: "A document of this kind and size was loaded; its path and text are gone.",
    body: z.looseObject({ kind: z.enum(["agents-md", "file", "handoff"]), digest: Sha256, bytes: Count }),
    content: z.looseObject({ path: z.string().optional(), text: z.string() }),
  }),
} satisfies Record<string, Entry>;
