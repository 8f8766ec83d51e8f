/** Events of governance in a session, and of the workspace's own log. */
import * as z from "zod";
import {
  AgentName,
  Amounts,
  bare,
  Count,
  event,
  Json,
  Key,
  MayReason,
  Position,
  RangeList,
  Reason,
  SessionRef,
  Sha256,
  ToolName,
  Word,
} from "./entry.ts";
import { ItemKind } from "./durable.ts";

export const governanceEvents = {
  "budget.set": event({
    meaning: "The session may use this much in all; what is not named is unlimited.",
    erased: "The limits stand; the reason is gone.",
    body: z.looseObject({ limits: Amounts }),
    content: MayReason,
  }),
  "budget.allotted": bare(
    "A part of one session's budget went to another, or came back.",
    z.looseObject({
      session: SessionRef,
      direction: z.enum(["given", "got", "returned", "regained"]),
      amounts: Amounts,
    }),
  ),
  "budget.reached": bare(
    "A limit is used up.",
    z.looseObject({
      resource: z.enum(["tokens", "nanoUsd", "steps", "turns", "toolCalls", "wallMs"]),
      limit: Count,
      used: Count,
    }),
  ),
  "content.erased": event({
    meaning: "Contents were erased from the log for good; their hashes remain.",
    erased: "That much was erased; the reason is gone too.",
    body: z.looseObject({ ranges: RangeList, records: Count, bytes: Count }),
    content: MayReason,
  }),
  "hold.set": event({
    meaning: "Nothing of this session may be erased or deleted until the hold is lifted.",
    erased: "The hold stands; its reason is gone.",
    body: z.looseObject({ name: Key }),
    content: MayReason,
  }),
  "hold.lifted": event({
    meaning: "The hold is over.",
    erased: "The hold is over; the reason is gone.",
    body: z.looseObject({ name: Key }),
    content: MayReason,
  }),
  "score.recorded": event({
    meaning: "The session, or a position of it, was judged.",
    erased: "The score stands; its reason is gone.",
    body: z.looseObject({ name: Key, value: z.number(), seq: Count.optional() }),
    content: z.looseObject({ because: Reason }).optional(),
  }),
};

export const workspaceEvents = {
  "agent.defined": event({
    meaning: "An agent has a new version.",
    erased: "The version existed; its text is gone, so no new session can pin it.",
    body: z.looseObject({ agent: AgentName, version: Count, digest: Sha256 }),
    content: z.looseObject({ definition: Json }),
  }),
  "memory.promoted": event({
    meaning: "An item is remembered for later sessions.",
    erased: "Something was remembered under this key; it is carried no more.",
    body: z.looseObject({
      scope: Word,
      owner: Key.optional(),
      kind: ItemKind,
      key: Key,
      origin: Position.optional(),
      /** Who saw to it: a rule of the agent, a tool that the model called, or a person. */
      by: z.enum(["rule", "tool", "person"]).optional(),
    }),
    content: z.looseObject({ value: Json, because: z.string().optional() }),
  }),
  "memory.forgotten": event({
    meaning: "What was remembered under this key is carried no more.",
    erased: "It was forgotten; the reason is gone.",
    body: z.looseObject({
      scope: Word,
      owner: Key.optional(),
      kind: ItemKind,
      key: Key,
      by: z.enum(["rule", "tool", "person"]).optional(),
    }),
    content: MayReason,
  }),
  "policy.set": event({
    meaning: "A policy of the workspace holds from now on.",
    erased: "There was a policy of this name; it holds no more.",
    body: z.looseObject({
      name: Key,
      /** It holds no more. */
      removed: z.boolean().optional(),
    }),
    content: z.looseObject({ policy: Json }).optional(),
  }),
  "approval.saved": event({
    meaning: "This exact command is allowed in every session, where a rule would ask about it.",
    erased: "A command was allowed under this name; it is asked about again.",
    body: z.looseObject({ name: Key, tool: ToolName }),
    content: z.looseObject({
      /** The exact text, where it runs, and the binding it runs by. */
      command: z.looseObject({ text: z.string(), directory: z.string(), binding: Json }),
    }),
  }),
  "approval.revoked": bare("The command is asked about again.", z.looseObject({ name: Key })),
  "session.deleted": event({
    meaning: "A session was deleted; its last position and hash remain as a witness.",
    erased: "It was deleted; the reason is gone.",
    body: z.looseObject({ session: SessionRef, headSeq: Count, headHash: Sha256 }),
    content: MayReason,
  }),
};
