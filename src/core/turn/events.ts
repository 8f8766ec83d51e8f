/** Events of a turn: inputs, model calls, the context window. */
import { type Entry, bare, event } from "../catalog-entry.ts";
import {
  Amounts,
  Blocks,
  Count,
  Json,
  Key,
  Millis,
  ModelName,
  NanoUsd,
  RangeList,
  Seq,
  Sha256,
  Taken,
  Usage,
  Word,
} from "../schema.ts";
import * as z from "zod";

export const turnEvents = {
  "turn.started": bare(
    "A turn begins and takes up these inputs; here they stand in the transcript.",
    z.looseObject({ inputs: Taken }),
  ),
  "turn.ended": bare(
    "The turn is over; the hash of the mind is what the fold must give at this position.",
    z.looseObject({
      outcome: z.enum(["completed", "interrupted", "cancelled", "failed", "refused", "length", "suspended"]),
      steps: Count,
      mindForm: Count,
      mindHash: Sha256,
    }),
  ),
  "input.received": event({
    meaning: "Something for the session to take up, from a person, a trigger or a program.",
    erased: "There was an input here; what it said is gone.",
    body: z.looseObject({
      /** Its number in the inbox: 1, 2, 3… */
      input: Seq,
      /** Absent: a user. */
      from: z.enum(["user", "trigger", "system"]).optional(),
      /** `queue`: for the next turn. `steer`: for the next step of the turn in progress. */
      mode: z.enum(["queue", "steer"]).optional(),
      /** What it is about, where that was said. */
      topic: Key.optional(),
    }),
    content: Blocks,
  }),
  "model.requested": event({
    meaning: "The context with this digest is about to be sent to a model; what it may cost is reserved.",
    erased: "The request was made; its settings are gone, so this context can no longer be rebuilt.",
    body: z.looseObject({
      model: ModelName,
      /** Absent: a step of the turn. `compaction`: a summary of the transcript up to `toSeq` is asked for. */
      purpose: z.enum(["step", "compaction"]).optional(),
      toSeq: Seq.optional(),
      renderer: Count,
      context: Sha256,
      parts: Count,
      /** Inputs that are taken up with this step. */
      inputs: Taken,
      attempt: Count,
      reserved: Amounts,
      estimatedTokens: Count.optional(),
      /** The most that may come back: what the model can do, or what the budget still allows. */
      outputTokensMax: Count.optional(),
    }),
    content: z.looseObject({ settings: Json, prompt: z.string().optional() }).optional(),
  }),
  "model.responded": event({
    meaning: "The model answered; usage and cost are final.",
    erased: "The model answered; what it said is gone, what it cost is not.",
    body: z.looseObject({
      model: ModelName,
      finish: z.enum(["stop", "tool-calls", "length", "refusal", "content-filter", "other"]),
      usage: Usage,
      costNanoUsd: NanoUsd.nullable(),
      /** Hash of the body that was really sent, as evidence. */
      sent: Sha256.optional(),
      ms: Millis.optional(),
    }),
    content: Blocks,
  }),
  "model.failed": event({
    meaning: "The model call came to nothing; what it cost, if anything, is counted.",
    erased: "The call failed in this way; the provider's words are gone.",
    body: z.looseObject({
      model: ModelName,
      error: Word,
      retryable: z.boolean(),
      /** As far as the provider reported it, or Skein counted what was streamed. */
      usage: Usage.optional(),
      /** Null: the price is not known, or the call was lost. */
      costNanoUsd: NanoUsd.nullable(),
      /** The most that it may have used besides. Absent up to 0.4: then with a null cost, the reservation. */
      unconfirmed: Amounts.optional(),
      /** The call was given up as lost, and this is what it cost after all: so much is no longer counted. */
      released: Amounts.optional(),
      /** Characters of `partial`; absent when nothing was said. */
      partialChars: Count.optional(),
    }),
    /** `partial`: the text that was streamed before the call ended. */
    content: z.looseObject({ message: z.string(), partial: z.string().optional() }).optional(),
  }),
  "zone.crossed": bare(
    "The context is fuller or older than before, or emptier.",
    z.looseObject({
      zone: z.enum(["smart", "strained", "full"]),
      tokens: Count,
      windowTokens: Count,
      /** The thresholds that put it there: `share` of the window, `tokens`, `turns`, `age`. From 0.5 on. */
      by: z.array(Word).max(8).optional(),
      /** Since the opening or the last compaction. */
      turns: Count.optional(),
      ageMs: Millis.optional(),
    }),
  ),
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
} satisfies Record<string, Entry>;
