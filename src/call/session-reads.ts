/** The calls that read one session, as operations. */
import * as z from "zod";
import { partKinds } from "../core/context/source.ts";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { read } from "./operation.ts";

const { Count, Flag, SessionId, Text } = answer;
const atSeq = field.Seq.exactOptional();
const Place = z.looseObject({ session: SessionId, seq: Count });

export const sessionReads = {
  "session.state": read("session", "state", {
    title: "Read the state",
    summary: "The state now, or at an earlier position, with its contents.",
    params: { atSeq },
    answer: answer.StateView,
  }),
  "session.fold": read("session", "fold", {
    title: "Read the state without contents",
    summary: "The state as the log gives it: names and positions, no contents. Maps are lists of entries.",
    params: { atSeq },
    answer: z.looseObject({ seq: Count, mind: z.looseObject({}), standing: z.looseObject({}) }),
  }),
  "session.items": read("session", "items", {
    title: "Read the items",
    summary: "The durable tier, with values.",
    params: { atSeq },
    answer: z.array(answer.Item),
  }),
  "session.load": read("session", "load", {
    title: "Load a checkpoint or position",
    summary: "The position that a checkpoint names, to be read at, forked from or rewound to.",
    args: ["place"],
    params: { place: field.Place },
    answer: z.looseObject({ session: SessionId, seq: Count }),
  }),
  "session.head": read("session", "head", {
    title: "Read the head",
    summary: "Position and hash of the last record. To be noted elsewhere, and given to verify later.",
    answer: z.looseObject({ seq: Count, hash: answer.Sha256, at: Count }),
  }),
  "session.events": read("session", "events", {
    title: "Show the log",
    local: { signal: "client" },
    summary:
      "Events by position or time. A page; or a stream, which goes on with what is appended later. Of a " +
      "page, next is where the next one starts: its fromSeq, or in reverse its toSeq.",
    params: {
      fromSeq: field.Seq.exactOptional(),
      toSeq: field.Seq.exactOptional(),
      /** The position before the first that is wanted, or the id of an event of a stream. */
      after: z
        .string()
        .regex(/^\d{1,15}(\.[0-9a-f]{16})?$/)
        .exactOptional(),
      since: z.number().exactOptional(),
      until: z.number().exactOptional(),
      types: z.array(z.string().max(100)).max(200).exactOptional(),
      reverse: z.boolean().exactOptional(),
      limit: z.int().min(1).max(limit.pageRecordsMax).exactOptional(),
      follow: z.boolean().exactOptional(),
      /** False: no deltas in the stream. */
      deltas: z.boolean().exactOptional(),
    },
    answer: z.looseObject({ events: z.array(answer.Event), next: Count.nullable() }),
    streams: true,
  }),
  "session.records": read("session", "records", {
    title: "Get the records as they are stored",
    summary: "The records exactly as they are stored, one a line, from the first to the last there is now.",
    gives: "bytes",
  }),
  "session.verify": read("session", "verify", {
    title: "Verify the session",
    summary: "Hashes everything again and holds it against the chain, and against a head noted earlier.",
    params: {
      /** As head gave it. */
      head: z
        .strictObject({ seq: field.Seq, hash: answer.Sha256, at: Count.exactOptional() })
        .exactOptional(),
      own: z.boolean().exactOptional(),
    },
    answer: answer.VerifyReport,
  }),
  "session.lineage": read("session", "lineage", {
    title: "Show what was forked from what",
    summary: "The family of this session: forks, children, successors, and what was merged.",
    answer: answer.Lineage,
  }),
  "session.diff": read("session", "diff", {
    title: "Diff two positions",
    summary:
      "What differs between two positions of it, or from another session; by default to how it is now.",
    args: ["from", "to"],
    params: {
      from: field.DiffPlace,
      to: field.DiffPlace.exactOptional(),
      only: z.array(z.enum(["state", "items", "transcript", "context", "files"])).exactOptional(),
    },
    answer: z.looseObject({ from: Place, to: Place, common: Place.nullable() }),
  }),
  "session.context": read("session", "context", {
    title: "Show the context",
    words: "explain window prompt",
    summary: "What the model was sent by the request at a position, or would be sent next, and why.",
    params: { atSeq, uncompacted: z.boolean().exactOptional() },
    answer: z.looseObject({
      parts: z.array(z.looseObject({})),
      reasons: z.array(z.looseObject({ kind: z.enum(partKinds), why: Text, tokens: Count })),
      digest: Text,
      renderer: Count,
      model: Text,
      requestSeq: Count.nullable(),
      matches: Flag.nullable(),
      tokens: Count,
      windowTokens: Count.nullable(),
      zones: z.looseObject({ strainedTokens: Count.nullable(), fullTokens: Count.nullable() }),
    }),
  }),
  "session.tools": read("session", "tools", {
    title: "Read which tools the model is offered",
    summary: "What the model is offered, and what becomes of calls by the rules that name no arguments.",
    answer: z.array(z.looseObject({ name: Text, description: Text, effect: Text, rule: Text })),
  }),
  "session.contracts": read("session", "contracts", {
    title: "Read the contracts",
    summary: "What it has declared of messages, by topic.",
    answer: z.array(z.looseObject({ topic: Text, schema: z.unknown().optional(), seq: Count })),
  }),
  "session.triggers": read("session", "triggers", {
    title: "Read the triggers",
    summary: "What wakes it, by name.",
    answer: z.array(z.looseObject({ name: Text, kind: Text, spec: z.looseObject({}).nullable() })),
  }),
};
