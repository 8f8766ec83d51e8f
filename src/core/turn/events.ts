/** Events of a turn: inputs, model calls, the context window. */
import { ifGiven, after, blocksText, usageText, onTopic, lineText } from "../summary-text.ts";
import { plural, count, compact } from "../text/number-format.ts";
import { sha, blocks, usage, amounts } from "../sample.ts";
import { limit } from "../limit.ts";
import { zoneReasons } from "../context/zone.ts";
import { type CatalogEntry, bare, event } from "../catalog-entry.ts";
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

/** The choice of a plan: positions of items, characters of documents, numbers of memory entries. */
const PlanChoice = z.looseObject({
  pinned: RangeList.optional(),
  items: RangeList.optional(),
  listed: RangeList.optional(),
  /** In order of position. Null: the whole text. No ranges: only its name. */
  documents: z
    .array(z.looseObject({ seq: Seq, ranges: z.array(z.tuple([Count, Count])).nullable() }))
    .optional(),
  /** Of each `memory.carried`, the entries that are shown: 1, 2, 3…; and how many more hold. */
  memory: z.array(z.looseObject({ seq: Seq, shown: RangeList, left: Count.optional() })).optional(),
});

/** A node of the tree of a compaction. */
const Node = z.looseObject({
  id: Word,
  fromSeq: Seq,
  toSeq: Seq,
  title: z.string(),
  summary: z.string(),
  children: z.array(z.looseObject({})).optional(),
});

export const turnEvents = {
  "turn.started": bare({
    meaning: "A turn begins and consumes these inputs; they enter the transcript here.",
    body: z.looseObject({ inputs: Taken }),
    summary: ({ inputs }) => `Turn started with ${plural(inputs.length, "input")}`,
    sample: { body: { inputs: [[2, 1]] } },
  }),
  "turn.ended": bare({
    meaning: "The turn ended; the hash is what the fold must give for the mind at this position.",
    body: z.looseObject({
      outcome: z.enum(["completed", "interrupted", "cancelled", "failed", "refused", "length", "suspended"]),
      steps: Count,
      mindForm: Count,
      mindHash: Sha256,
    }),
    summary: ({ outcome, steps }) => `Turn ended: ${outcome} after ${plural(steps, "step")}`,
    sample: { body: { outcome: "completed", steps: 1, mindForm: 1, mindHash: sha } },
  }),
  "input.received": event({
    meaning: "An input is queued for the session, from a person, a trigger or a program.",
    erased: "There was an input here; its text is erased.",
    body: z.looseObject({
      /** Its number in the inbox: 1, 2, 3… */
      input: Seq,
      /** Absent: a user. */
      from: z.enum(["user", "trigger", "system"]).optional(),
      /** `queue`: for the next turn. `steer`: for the next step of the turn in progress. */
      mode: z.enum(["queue", "steer"]).optional(),
      /** Its subject, if given. */
      topic: Key.optional(),
    }),
    content: Blocks,
    summary: ({ from, mode, topic }, content) =>
      (mode === "steer" ? "Steering input" : "Input") +
      (from === undefined || from === "user" ? "" : ` from the ${from}`) +
      `${onTopic(topic)}${blocksText(content)}`,
    sample: { body: { input: 1, from: "trigger", mode: "steer" }, content: blocks },
  }),
  "context.planned": event({
    meaning: "What the next contexts show of items, memory and documents; it holds until the next boundary.",
    erased: "The context was planned; what was chosen is erased, so its contexts can no longer be rebuilt.",
    body: z.looseObject({
      renderer: Count,
      windowTokens: Count,
      /** In order. `share` of the window, `room` with what earlier tiers left over, `used` of it. */
      tiers: z
        .array(z.looseObject({ tier: Word, shareTokens: Count, roomTokens: Count, usedTokens: Count }))
        .max(16),
      /** Items shown in full, pinned ones with them; shown by key; neither. */
      shown: Count,
      listed: Count.optional(),
      left: Count.optional(),
      /** Items recorded up to here stand in the plan's tiers, and not in the transcript. */
      itemsToSeq: Seq.optional(),
    }),
    content: PlanChoice,
    summary: ({ windowTokens, shown, listed = 0, left = 0 }) =>
      `Context planned for ${compact(windowTokens)} tokens: ${plural(shown, "item")} in full` +
      (listed + left === 0 ? "" : `, ${count(listed)} by key`) +
      (left === 0 ? "" : `, ${count(left)} more not listed`),
    sample: {
      body: {
        renderer: 2,
        windowTokens: 200_000,
        tiers: [{ tier: "items", shareTokens: 24_000, roomTokens: 24_000, usedTokens: 40 }],
        shown: 1,
        listed: 1,
        left: 1,
        itemsToSeq: 6,
      },
      content: {
        pinned: [[3, 3]],
        items: [[4, 5]],
        listed: [[6, 6]],
        documents: [{ seq: 2, ranges: [[0, 9]] }],
        memory: [{ seq: 7, shown: [[1, 1]] }],
      },
    },
  }),
  "context.retrieved": bare({
    meaning: "Parts of the log that these inputs are about were brought into the context, right before them.",
    body: z.looseObject({
      inputs: z.array(Seq).max(limit.takenMax),
      entries: z
        .array(
          z.looseObject({
            /** `item`, `section` of a document, `turn` from before a compaction, `memory`. */
            kind: Word,
            seq: Seq,
            /** Characters of the text at the position. Absent: all. */
            range: z.tuple([Count, Count]).optional(),
            /** Of `memory`: the entry of the `memory.carried` at the position, 1, 2, 3… */
            number: Seq.optional(),
            /** Of the text that the context shows. */
            digest: Sha256,
            /** 0 to 1: the share of the inputs that it is about. */
            score: z.number().min(0).max(1),
            /** `words` in common, or `meaning`, or `both`. */
            why: Word,
          }),
        )
        .max(limit.retrievedMax),
      /** `bm25`, or `hybrid` with an embedding model. */
      ranker: Word,
      /** What was missing: the search index was behind, the embedding model failed. */
      note: Word.optional(),
    }),
    summary: ({ entries, ranker, note }) =>
      `Brought in ${plural(entries.length, "part")} (${ranker}): ` +
      entries.map(({ kind, seq, score }) => `${kind} ${seq}, ${score.toFixed(2)}`).join("; ") +
      (note === undefined ? "" : ` (${note})`),
    sample: {
      body: {
        inputs: [9],
        entries: [{ kind: "section", seq: 2, range: [0, 9], digest: sha, score: 0.5, why: "words" }],
        ranker: "bm25",
        note: "search-behind",
      },
    },
  }),
  "model.requested": event({
    // A program without executors would take the rendered context for what was sent. It refuses to run
    // version 2.
    v: 2,
    written: (_, body) => ((body as { outside?: unknown }).outside === undefined ? 1 : 2),
    meaning: "The context with this digest is about to be sent to a model; its maximum cost is reserved.",
    erased: "The request was made; its settings are erased, so this context can no longer be rebuilt.",
    body: z.looseObject({
      model: ModelName,
      /**
       * Absent: a step of the turn. `compaction`: a request for a summary of the transcript up to `toSeq`.
       */
      purpose: z.enum(["step", "compaction"]).optional(),
      toSeq: Seq.optional(),
      renderer: Count,
      context: Sha256,
      parts: Count,
      /** How `context` was made of the parts. Absent: SHA-256 of their JSON. 2: a chain, see context.ts. */
      digestForm: Count.optional(),
      /** Inputs that this step consumes. */
      inputs: Taken,
      attempt: Count,
      reserved: Amounts,
      estimatedTokens: Count.optional(),
      /** The output limit: of the model, or of the remaining budget. */
      outputTokensMax: Count.optional(),
      /**
       * Version 2: another agent runs the turn and keeps its own context. The digest is of what this log
       * renders, not of what the agent's model was sent; `prompt` is what the agent was sent.
       */
      outside: z.boolean().optional(),
    }),
    content: z.looseObject({ settings: Json, prompt: z.string().optional() }).optional(),
    summary: ({ model, purpose, parts, estimatedTokens, attempt, outside }) =>
      `Request to ${model}${purpose === "compaction" ? " for a summary" : ""}: ` +
      (outside === true ? "context kept outside" : plural(parts, "part")) +
      ifGiven(estimatedTokens, (many) => `, about ${compact(many)} tokens`) +
      (attempt > 1 ? `, attempt ${attempt}` : ""),
    sample: {
      body: {
        model: "acme/large-2",
        renderer: 1,
        context: sha,
        parts: 4,
        attempt: 1,
        inputs: [[3, 2]],
        reserved: amounts,
        estimatedTokens: 120,
        outputTokensMax: 4_096,
        purpose: "step",
        toSeq: 2,
      },
      content: { settings: { temperature: 0 }, prompt: "Summarize." },
    },
  }),
  "model.responded": event({
    meaning: "The model answered; usage and cost are final.",
    erased: "The model answered; its text is erased, its cost is not.",
    body: z.looseObject({
      model: ModelName,
      finish: z.enum(["stop", "tool-calls", "length", "refusal", "content-filter", "other"]),
      usage: Usage,
      costNanoUsd: NanoUsd.nullable(),
      /** The hash of the request body as sent, as evidence. */
      sent: Sha256.optional(),
      ms: Millis.optional(),
    }),
    content: Blocks,
    summary: ({ model, finish, usage, costNanoUsd }, content) =>
      `Response from ${model}${finish === "stop" || finish === "tool-calls" ? "" : ` (${finish})`}, ` +
      `${usageText(usage, costNanoUsd)}${blocksText(content)}`,
    sample: {
      body: { model: "acme/large-2", finish: "tool-calls", usage, costNanoUsd: 1_500, sent: sha, ms: 800 },
      content: blocks,
    },
  }),
  "model.failed": event({
    meaning: "The model call failed; its cost, if any, is counted.",
    erased: "The call failed in this way; the provider's message is erased.",
    body: z.looseObject({
      model: ModelName,
      error: Word,
      retryable: z.boolean(),
      /** As reported by the provider, or counted by Skein from the stream. */
      usage: Usage.optional(),
      /** Null: the price is unknown, or the call was lost. */
      costNanoUsd: NanoUsd.nullable(),
      /** The upper bound of unconfirmed usage. Absent up to 0.4: then with a null cost, the reservation. */
      unconfirmed: Amounts.optional(),
      /** The call was given up as lost, and this record has its cost: this much no longer counts. */
      released: Amounts.optional(),
      /** Characters of `partial`; absent if there was none. */
      partialChars: Count.optional(),
    }),
    /** `partial`: the text streamed before the call ended. */
    content: z.looseObject({ message: z.string(), partial: z.string().optional() }).optional(),
    summary: (body, content) => modelFailure(body, content),
    sample: {
      body: { model: "acme/large-2", error: "overloaded", retryable: true, usage, costNanoUsd: 40 },
      content: { message: "Overloaded, try later." },
    },
  }),
  "zone.crossed": bare({
    meaning: "The context entered another zone, or is in its zone for other reasons than before.",
    body: z.looseObject({
      zone: z.enum(["smart", "strained", "full"]),
      tokens: Count,
      windowTokens: Count,
      /**
       * The thresholds that caused it: `share` of the context window, `tokens`, `turns`, `age`; and signals:
       * `repeated-failure`, `reread`, `contradiction`, `drift`, `latency`. Since 0.5.
       */
      by: z.array(Word).max(16).optional(),
      /** Since the opening or the last compaction. */
      turns: Count.optional(),
      ageMs: Millis.optional(),
    }),
    summary: (body) =>
      `Context ${body.zone === "smart" ? "OK" : body.zone}: ${compact(body.tokens)} of ` +
      `${compact(body.windowTokens)} tokens${zoneReasons(body)
        .map((one) => `; ${one}`)
        .join("")}`,
    sample: { body: { zone: "strained", tokens: 60_000, windowTokens: 100_000 } },
  }),
  "zone.acted": event({
    meaning: "What the agent's policy wants in this zone was done; `cause` is the crossing.",
    erased: "Something was done about the zone of the context; its text is erased.",
    body: z.looseObject({
      /** `tell-person`, `tell-model`, `compress`, `rollover`, `suspend`. */
      action: Word,
      zone: z.enum(["strained", "full"]),
      /** The causes at that time. */
      by: z.array(Word).max(16).optional(),
      /** Absent: done. `nothing`: there was nothing to do. `refused`: it cannot be; the text says why. */
      outcome: Word.optional(),
    }),
    /** The text for the model; for a person, the causes in words. */
    content: z.looseObject({ text: z.string() }).optional(),
    summary: ({ action, zone, by = [], outcome }) =>
      `Context ${zone}${by.length === 0 ? "" : ` (${by.join(", ")})`}: ${action}` +
      ifGiven(outcome, (word) => `, ${word}`),
    sample: {
      body: { action: "tell-model", zone: "strained", by: ["tokens"], outcome: "nothing" },
      content: { text: "the context is strained" },
    },
  }),
  "overlay.lifted": event({
    meaning: "A compaction is undone: the context shows its range again, as it was before.",
    erased: "A compaction was undone here; the reason is erased.",
    body: z.looseObject({
      /** The position of its `transcript.compacted`. */
      overlay: Seq,
    }),
    content: z.looseObject({ reason: z.string() }).optional(),
    summary: ({ overlay }, content) => `Compaction at ${overlay} undone${after(content?.reason)}`,
    sample: { body: { overlay: 1 }, content: { reason: "The new model has room." } },
  }),
  "transcript.compacted": event({
    meaning: "A range of the transcript is replaced in the context; the log keeps it.",
    erased: "A note that the summary was erased replaces the range.",
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
      /** The number of nodes of the tree, and of values that the summary leaves out. Since 0.5. */
      nodes: Count.optional(),
      missing: Count.optional(),
    }),
    content: z
      .looseObject({
        summary: z.string().optional(),
        pruned: z.array(Seq).optional(),
        /** The tree of the range: turns, in stages, in days. */
        nodes: z.array(Node).optional(),
        /** What was said in the range and is neither in the summary nor an item. */
        missing: z.array(z.looseObject({ kind: Word, text: z.string() })).optional(),
      })
      .optional(),
    summary: ({ fromSeq, toSeq, strategy, tokensBefore, tokensAfter, missing }) =>
      `Compacted ${fromSeq}–${toSeq} (${strategy}): ` +
      `${compact(tokensBefore)} to ${compact(tokensAfter)} tokens` +
      ifGiven(missing, (many) => `; the summary leaves out ${plural(many, "value")}`),
    sample: {
      body: {
        fromSeq: 1,
        toSeq: 1,
        strategy: "summarize",
        model: "acme/small",
        usage,
        costNanoUsd: 20,
        tokensBefore: 900,
        tokensAfter: 90,
        items: [[1, 1]],
        nodes: 1,
        missing: 1,
      },
      content: {
        summary: "A run was computed.",
        pruned: [1],
        nodes: [{ id: "t1", fromSeq: 1, toSeq: 1, title: "Compute a run", summary: "It is computed." }],
        missing: [{ kind: "number", text: "in 4.1 percent" }],
      },
    },
  }),
} satisfies Record<string, CatalogEntry>;

/** The summary of `model.failed`; with the number of the next attempt where it is known. */
export function modelFailure(
  { error, retryable, partialChars }: ModelFailure,
  content: { readonly message: string } | undefined,
  next?: { readonly attempt: number; readonly attemptsMax: number },
): string {
  const kept = partialChars === undefined ? "" : `, ${count(partialChars)} characters kept`;
  if (error === "interrupted") return `Model call interrupted${kept}${after(content?.message)}`;
  const said = lineText(content?.message ?? "").replace(/[.\s]$/, "");
  const cause = said === "" ? error : `${said} (${error})`;
  const number = next === undefined ? "" : ` (${next.attempt} of ${next.attemptsMax})`;
  const isRetried = retryable && (next === undefined || next.attempt <= next.attemptsMax);
  return `Provider error: ${cause}${kept}${isRetried ? `. Retrying${number}` : ""}`;
}

interface ModelFailure {
  readonly error: string;
  readonly retryable: boolean;
  readonly partialChars?: number | undefined;
}
