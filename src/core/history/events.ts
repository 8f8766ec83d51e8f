/**
 * Events of conversations that another tool had. `at` is when Skein wrote the record; `atMs` is when the
 * other tool says it happened, which may be missing, repeat or go back.
 */
import { blocksText, ifGiven, usageText, valueText } from "../summary-text.ts";
import { bytes, plural } from "../text/number-format.ts";
import { blocks, sha, usage } from "../sample.ts";
import { type CatalogEntry, event } from "../catalog-entry.ts";
import {
  Blocks,
  ContentBlock,
  Count,
  Json,
  Millis,
  NanoUsd,
  Sha256,
  ToolName,
  Usage,
  Word,
} from "../schema.ts";
import * as z from "zod";

/** Model names of other tools follow no rule: characters that a name here cannot have become "-". */
const ForeignModel = z.string().regex(/^[A-Za-z0-9_.:@/-]{1,200}$/);

/** Bytes of the source that an event was read from: first, and one past the last. */
const SourceBytes = z.tuple([Count, Count]);

export const historyEvents = {
  "source.imported": event({
    meaning: "The conversation of another tool was read up to here; its original is kept beside.",
    erased: "The transcript of this tool was read up to here; the original and where it lay are gone.",
    body: z.looseObject({
      tool: Word,
      /** Entries imported so far, and a chained digest of their ids: the same source continues here. */
      entries: Count,
      ids: Sha256,
      /** The last append of an import has the rest. SHA-256 of the source as read. */
      bytes: Count.optional(),
      digest: Sha256.optional(),
      records: Count.optional(),
      /** Records of a kind that the reader does not know. They are in the original. */
      unknown: Count.optional(),
      /** Pieces that do not parse. They are in the original. */
      damaged: Count.optional(),
      /** Tokens that belong to no answer, such as those of a title, since this was last recorded. */
      usage: Usage.optional(),
      costNanoUsd: NanoUsd.nullable().optional(),
      /** Secrets removed from the source on the way in. */
      redacted: Count.optional(),
      /** Kept as it is, secrets included, because a person asked for it. */
      verbatim: z.boolean().optional(),
    }),
    content: z.looseObject({
      /** The id and path that the tool gave the session. */
      sourceId: z.string(),
      file: z.string().optional(),
      toolVersion: z.string().optional(),
      cwd: z.string().optional(),
      gitBranch: z.string().optional(),
      gitCommit: z.string().optional(),
      gitRemote: z.string().optional(),
      /** The original without its secrets, in pieces. */
      blocks: z.array(ContentBlock).optional(),
      report: Json.optional(),
      /** Digests of the texts read so far: the chain before the last entry, that entry, and its beginning. */
      texts: z.looseObject({ before: Sha256, last: Sha256, text: Sha256, chars: Count }).optional(),
      /** Where secrets were: bytes of the source, and the kind or the registered name. The first 1,000. */
      redactions: z
        .array(z.looseObject({ file: z.string().optional(), from: Count, to: Count, kind: z.string() }))
        .optional(),
    }),
    summary: ({ tool, entries, bytes: size, unknown = 0, damaged = 0, redacted = 0, verbatim }, content) =>
      `Imported from ${tool}: ${plural(entries, "entry", "entries")}` +
      ifGiven(size, (many) => ` of ${bytes(many)}`) +
      (unknown === 0 ? "" : `, ${plural(unknown, "record")} of unknown kinds`) +
      (damaged === 0 ? "" : `, ${plural(damaged, "damaged record")}`) +
      (redacted === 0 ? "" : `, ${plural(redacted, "secret")} redacted`) +
      (verbatim === true ? ", verbatim" : "") +
      ifGiven(content?.cwd, (cwd) => `: ${valueText(cwd)}`),
    sample: {
      body: {
        tool: "claude-code",
        entries: 3,
        ids: sha,
        bytes: 2_048,
        digest: sha,
        records: 9,
        unknown: 1,
        damaged: 1,
        usage,
        costNanoUsd: 1_500,
        redacted: 1,
        verbatim: true,
      },
      content: {
        sourceId: "ae4a77f8-aedd-4bc1-888f-c94edc91af04",
        file: "projects/payroll/ae4a77f8.jsonl",
        toolVersion: "2.1.39",
        cwd: "/home/ann/payroll",
        gitBranch: "main",
        gitCommit: "0f0f0f0",
        gitRemote: "git@example.org:ann/payroll.git",
        blocks: [{ type: "file", blob: sha, mediaType: "application/jsonl" }],
        report: { gaps: 0 },
        redactions: [{ file: "projects/payroll/ae4a77f8.jsonl", from: 512, to: 620, kind: "github-token" }],
      },
    },
  }),
  "input.imported": event({
    meaning: "A person, or the tool on its own, said this to the model in another tool.",
    erased: "Something was said here in another tool; the words are gone.",
    body: z.looseObject({
      /** `context`: given by the tool, not by a person. */
      from: z.enum(["user", "context"]),
      atMs: Millis.optional(),
      source: SourceBytes.optional(),
    }),
    content: Blocks.extend({ id: z.string().optional() }),
    summary: ({ from }, content) =>
      `${from === "user" ? "Input" : "Context"} in another tool${blocksText(content)}`,
    sample: {
      body: { from: "user", atMs: 1_800_000_000_000, source: [0, 512] },
      content: { ...blocks, id: "b1b2" },
    },
  }),
  "answer.imported": event({
    meaning: "A model answered in another tool. Its tokens and cost count as imported, never as spent here.",
    erased: "A model answered in another tool; what it said is gone, its tokens are not.",
    body: z.looseObject({
      model: ForeignModel.optional(),
      atMs: Millis.optional(),
      usage: Usage.optional(),
      /** As the tool stored it, or by the price list at import. Null: the price is unknown. */
      costNanoUsd: NanoUsd.nullable().optional(),
      interrupted: z.boolean().optional(),
      /** The tool added this to the answer before it after that was imported. It is not a separate call. */
      continues: z.boolean().optional(),
      /** Another imported session has the same answer, and its tokens count there. */
      copied: z.boolean().optional(),
      source: SourceBytes.optional(),
    }),
    content: Blocks.extend({
      id: z.string().optional(),
      /** The id that the provider gave the answer: the same in every file that holds it. */
      messageId: z.string().optional(),
      /** Where it gave none: the same in every fork of the source. */
      copyId: z.string().optional(),
      error: z.string().optional(),
    }),
    summary: ({ model, usage: used, costNanoUsd, interrupted, copied }, content) =>
      `Answer of ${model ?? "a model"} in another tool` +
      (interrupted === true ? " (interrupted)" : "") +
      (copied === true ? " (copied)" : "") +
      ifGiven(used, (tokens) => `, ${usageText(tokens, costNanoUsd ?? null)}`) +
      blocksText(content),
    sample: {
      body: {
        model: "acme/large-2",
        atMs: 1_800_000_000_000,
        usage,
        costNanoUsd: 1_500,
        interrupted: true,
        continues: true,
        copied: true,
        source: [512, 1_024],
      },
      content: { ...blocks, id: "b1b3", messageId: "msg_1", error: "Overloaded" },
    },
  }),
  "call.imported": event({
    meaning: "The last answer called this tool in another tool, with this outcome. It is never run here.",
    erased: "A tool was called in another tool; arguments and output are gone.",
    body: z.looseObject({
      tool: ToolName,
      /** `unknown`: the transcript holds no outcome. */
      status: z.enum(["ok", "error", "unknown"]),
      atMs: Millis.optional(),
      source: SourceBytes.optional(),
    }),
    content: z.looseObject({
      /** The id and the name that the tool gave the call. */
      id: z.string().optional(),
      name: z.string().optional(),
      input: Json.optional(),
      output: Json.optional(),
      blocks: z.array(ContentBlock).optional(),
      /** What the tool stored for its display. */
      structured: Json.optional(),
    }),
    summary: ({ tool, status }, content) =>
      `Call of ${tool} in another tool: ${status}` +
      ifGiven(content?.input, (input) => ` ${valueText(input)}`),
    sample: {
      body: { tool: "Bash", status: "ok", atMs: 1_800_000_000_000, source: [1_024, 1_100] },
      content: {
        id: "toolu_1",
        name: "Bash",
        input: { command: "ls" },
        output: "rates.json",
        blocks: [{ type: "image", blob: sha, mediaType: "image/png" }],
        structured: { stdout: "rates.json" },
      },
    },
  }),
} satisfies Record<string, CatalogEntry>;
