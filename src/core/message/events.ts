/** Events of messages between sessions, and the contracts of their topics. */
import { because, blocksText, ifGiven, onTopic } from "../summary-text.ts";
import { shortId } from "../text/short-id.ts";
import { otherSession, sha, reason, blocks, message } from "../sample.ts";
import { type CatalogEntry, bare, event } from "../catalog-entry.ts";
import {
  Blocks,
  Count,
  Json,
  Key,
  MayReason,
  Millis,
  Position,
  Seq,
  SessionRef,
  Sha256,
  Word,
} from "../schema.ts";
import * as z from "zod";

export const messageEvents = {
  "message.sent": event({
    meaning: "A message was sent to another session. A rewind does not unsend it.",
    erased: "A message was sent there; its text is erased here.",
    body: z.looseObject({
      message: Key,
      to: SessionRef,
      number: Count,
      topic: Key.optional(),
      replyTo: Key.optional(),
      /** The deadline of the reply. Only a request has one. */
      deadlineMs: Millis.optional(),
      /** Of a reply: the session that the request was sent to, if this one continues it. Since 0.5. */
      as: SessionRef.optional(),
      /** The receiver lives in another store; the message is queued here until its delivery is confirmed. */
      away: z.boolean().optional(),
    }),
    content: Blocks.extend({
      /** The address of the other store. */
      place: z.string().optional(),
    }),
    summary: ({ to, topic }, content) => `Message to ${shortId(to)}${onTopic(topic)}${blocksText(content)}`,
    sample: { body: { ...message, to: otherSession }, content: blocks },
  }),
  "message.delivered": bare({
    meaning: "The delivery of a message to another store is confirmed.",
    body: z.looseObject({ message: Key, to: SessionRef, number: Count }),
    summary: ({ to, number }) => `Message ${number} to ${shortId(to)} delivered`,
    sample: { body: { message: "msg-1", to: otherSession, number: 1 } },
  }),
  "message.received": event({
    meaning: "A message from another session is queued in the inbox.",
    erased: "A message came from there; its text is erased here.",
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
      /** The address of the sender's store, if that is another one: a reply goes there. */
      place: z.string().optional(),
    }),
    summary: ({ from, topic }, content) =>
      `Message from ${shortId(from)}${onTopic(topic)}${blocksText(content)}`,
    sample: { body: { ...message, input: 2, from: otherSession }, content: blocks },
  }),
  "request.inherited": event({
    meaning: "A request of the session before this one is open, and is this one's now.",
    erased: "The request is open; the address of the other store is erased.",
    body: z.looseObject({
      message: Key,
      deadlineMs: Millis,
      /** It was sent there, and a reply is awaited. */
      to: SessionRef.optional(),
      /** It came from there, and this session is to reply as the one that it was sent to. */
      from: SessionRef.optional(),
      as: SessionRef.optional(),
    }),
    content: z
      .looseObject({
        /** The address of the requester's store, if that is another one: a reply goes there. */
        place: z.string(),
      })
      .optional(),
    summary: ({ message: id, to, from }) =>
      to === undefined
        ? `Inherited the request ${id}${ifGiven(from, (one) => ` from ${shortId(one)}`)}`
        : `Inherited the wait for a reply to ${id} from ${shortId(to)}`,
    sample: {
      body: { message: "msg-2", deadlineMs: 1_800_000_000_000, from: otherSession, as: otherSession },
      content: { place: "/data/other.skein" },
    },
  }),
  "input.forwarded": bare({
    meaning:
      "What was sent here went to the session that continues this one. The record has the key of " +
      "the input, so that it is not sent twice.",
    body: z.looseObject({ to: Position }),
    summary: ({ to }) => `Input forwarded to ${shortId(to.session)}@${to.seq}`,
    sample: { body: { to: { session: otherSession, seq: 3 } } },
  }),
  "message.refused": event({
    meaning: "A message was rejected, or a request got no reply in time; the body has the cause.",
    erased: "The message was rejected for this cause; the text is erased.",
    body: z.looseObject({ message: Key, to: SessionRef, error: Word }),
    content: MayReason,
    summary: ({ to, error }, content) => `Message to ${shortId(to)} refused (${error})${because(content)}`,
    sample: { body: { message: "msg-1", to: otherSession, error: "no-contract" }, content: reason },
  }),
  "contract.declared": event({
    meaning: "Messages on this topic must fit this schema.",
    erased: "A contract was declared; its schema is erased, so no message fits it.",
    body: z.looseObject({ topic: Key, digest: Sha256 }),
    content: z.looseObject({ schema: Json }),
    summary: ({ topic }) => `Contract declared for topic ${topic}`,
    sample: { body: { topic: "rates", digest: sha }, content: { schema: { type: "object" } } },
  }),
} satisfies Record<string, CatalogEntry>;
