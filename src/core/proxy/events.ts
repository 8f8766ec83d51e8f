/** Events of model calls that another program makes through the recording proxy. */
import { after, ifGiven, usageText } from "../summary-text.ts";
import { bytes, plural } from "../text/number-format.ts";
import { amounts, sha, usage } from "../sample.ts";
import { type CatalogEntry, event } from "../catalog-entry.ts";
import { Amounts, Count, Json, Millis, ModelName, NanoUsd, Sha256, Usage, Word } from "../schema.ts";
import * as z from "zod";

const Status = z.int().min(100).max(599);

export const proxyEvents = {
  "proxy.requested": event({
    meaning: "Another program's model call is about to be forwarded; its maximum cost is reserved.",
    erased: "A model call was forwarded; its settings are gone.",
    body: z.looseObject({
      provider: Word,
      model: ModelName,
      /** The path of the API, without its query. */
      path: z.string().max(300),
      /** Messages of the request, and how many of them the log had before. */
      messages: Count,
      known: Count,
      /**
       * Digest of the conversation up to the last message: the next request of it continues here. Like
       * `settings` it is keyed with the caller's token, so that what was erased cannot be guessed from it.
       */
      chain: Sha256,
      /** The length of the body. */
      bytes: Count,
      /** Digest of all but the messages: system prompt, tools, parameters. In the content when it changed. */
      settings: Sha256,
      reserved: Amounts,
      estimatedTokens: Count.optional(),
    }),
    /** `sent`: the digest of the body as it was forwarded. */
    content: z.looseObject({ sent: Sha256, settings: Json.optional() }),
    summary: ({ model, messages, known, bytes: size }) =>
      `Forwarded request to ${model}: ${plural(messages - known, "new message")} of ${messages}, ` +
      bytes(size),
    sample: {
      body: {
        provider: "anthropic",
        model: "anthropic/claude-1",
        path: "/v1/messages",
        messages: 3,
        known: 2,
        chain: sha,
        bytes: 2_048,
        settings: sha,
        reserved: amounts,
        estimatedTokens: 512,
      },
      content: { sent: sha, settings: { system: "You are terse.", max_tokens: 1_024 } },
    },
  }),
  "proxy.responded": event({
    meaning: "The provider answered a forwarded call; usage and cost are final.",
    erased: "The provider answered a forwarded call; what it said is gone, its cost is not.",
    body: z.looseObject({
      model: ModelName,
      status: Status,
      finish: z
        .string()
        .regex(/^[A-Za-z0-9_.:-]{1,60}$/)
        .optional(),
      usage: Usage,
      costNanoUsd: NanoUsd.nullable(),
      /** The upper bound of reasoning that the provider bills, did not show and did not count. */
      unconfirmed: Amounts.optional(),
      /** The length of the response body. */
      bytes: Count,
      ms: Millis,
      /** Until the first byte of the response. */
      firstByteMs: Millis.optional(),
    }),
    /** The digest of the response body as it was passed on; tool calls that the answer requests. */
    content: z.looseObject({ received: Sha256, calls: z.array(Json).optional() }),
    summary: ({ model, status, finish, usage: used, costNanoUsd }) =>
      `Response from ${model} passed on (${finish ?? status}), ${usageText(used, costNanoUsd)}`,
    sample: {
      body: {
        model: "anthropic/claude-1",
        status: 200,
        finish: "end_turn",
        usage,
        costNanoUsd: 1_500,
        bytes: 512,
        ms: 800,
        firstByteMs: 300,
      },
      content: { received: sha, calls: [{ id: "toolu_1", name: "Bash", input: { command: "ls" } }] },
    },
  }),
  "proxy.failed": event({
    meaning: "A forwarded call failed or was cut off; its cost, if any, is counted.",
    erased: "A forwarded call failed in this way; the message is gone.",
    body: z.looseObject({
      model: ModelName,
      error: Word,
      /** The provider's status; absent when there was no response. */
      status: Status.optional(),
      usage: Usage.optional(),
      costNanoUsd: NanoUsd.nullable(),
      /** The upper bound of unconfirmed usage. */
      unconfirmed: Amounts.optional(),
      ms: Millis.optional(),
    }),
    content: z.looseObject({ message: z.string() }).optional(),
    summary: ({ model, error, status }, content) =>
      `Forwarded call of ${model} failed: ${error}` +
      ifGiven(status, (code) => ` (${code})`) +
      after(content?.message),
    sample: {
      body: {
        model: "anthropic/claude-1",
        error: "rate-limited",
        status: 429,
        usage,
        costNanoUsd: 40,
        unconfirmed: amounts,
        ms: 20,
      },
      content: { message: "Overloaded" },
    },
  }),
} satisfies Record<string, CatalogEntry>;
