/** Events of messages between sessions, and the contracts of their topics. */
import { because, blocksText, onTopic } from "../summary-text.ts";
import { shortId } from "../text/short-id.ts";
import { otherSession, sha, reason, blocks, message } from "../sample.ts";
import { type CatalogEntry, bare, event } from "../catalog-entry.ts";
import { Blocks, Count, Json, Key, MayReason, Millis, Seq, SessionRef, Sha256, Word } from "../schema.ts";
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
