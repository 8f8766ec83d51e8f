/** Calls of an engine on the approval queue of memory. */
import * as z from "zod";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { because } = field;
const proposal = field.Seq.describe("the number of the entry, from the list of those that wait");
const gives = { scope: "read", what: "deciding, which gives the entry," } as const;

const Entry = () =>
  z.looseObject({ scope: field.Scope, kind: z.string(), key: z.string(), seq: answer.Count });

export const engineMemory = {
  "engine.pendingMemory": read("engine", "pendingMemory", {
    title: "Show the memory that waits for approval",
    words: "queue review proposals planted",
    summary:
      "Memory entries that wait for approval, the oldest first: each with its origin, and with the outside " +
      "content that its turn took in.",
    params: () => ({
      after: field.Seq.describe("after this entry, from the page before").exactOptional(),
      limit: z.int().min(1).max(200).describe("at most this many; by default 50").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        proposals: z.array(answer.PendingMemory()),
        total: answer.Count,
        full: answer.Flag,
        after: answer.Count.nullable(),
      }),
    verb: { name: "memory pending" },
  }),
  "engine.reviewMemory": read("engine", "reviewMemory", {
    title: "Review the memory",
    words: "duplicates contradictions conflicts consolidate",
    summary:
      "Memory entries that say the same or contradict each other, also under other keys, for a person to " +
      "settle. Changes nothing.",
    answer: () =>
      z.looseObject({
        findings: z.array(
          z.looseObject({
            finding: z.enum(["duplicate", "contradiction"]),
            about: z.string(),
            entries: z.array(answer.MemoryEntry()),
          }),
        ),
        more: answer.Count,
      }),
    verb: { name: "memory review" },
  }),
  "engine.consolidateMemory": change("engine", "consolidateMemory", {
    title: "Consolidate the memory",
    words: "duplicates contradictions merge expire clean",
    scope: "operate",
    also: [gives],
    summary:
      "Merges memory entries that say the same, expires those that their own session has replaced, and " +
      "marks contradictions for a person. Without apply it only reports. With everyMs workers do it.",
    params: () => ({
      apply: z.boolean().describe("do it; by default it only reports what it would do").exactOptional(),
      everyMs: field.Span.describe(
        "let workers do it this often, an hour or more; 0 turns it off",
      ).exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        applied: answer.Flag,
        forgotten: z.array(
          z.looseObject({ why: z.enum(["duplicate", "superseded"]), entry: Entry(), into: Entry() }),
        ),
        disputed: z.array(z.looseObject({ about: z.string(), entries: z.array(Entry()) })),
        more: answer.Count,
        everyMs: answer.Count.nullable(),
      }),
    verb: { name: "memory consolidate" },
  }),
  "engine.memoryCarriers": read("engine", "memoryCarriers", {
    title: "Show the sessions that carry a memory entry",
    words: "who has knows read remembered",
    summary:
      "The sessions that carry a memory entry, the most recently active first, and whether with its " +
      "current value. A page looks at up to 200 sessions.",
    params: () => ({
      scope: field.Scope.describe("the memory of an agent, of a user, or of the workspace"),
      owner: z.string().max(100).describe("the agent or user whose memory it is").exactOptional(),
      kind: field.ItemKind.describe("the kind of item"),
      key: field.Key.describe("the item's key"),
      cursor: z.string().max(1_000).describe("the cursor of the page before").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        carriers: z.array(
          z.looseObject({
            session: answer.SessionId,
            name: answer.MaybeText,
            seq: answer.Count,
            current: answer.Flag,
          }),
        ),
        looked: answer.Count,
        cursor: answer.MaybeText,
      }),
    verb: { name: "memory carriers", args: ["kind", "key"], flags: { owner: null } },
  }),
  "engine.approveMemory": change("engine", "approveMemory", {
    title: "Approve a memory entry",
    scope: "operate",
    also: [gives],
    summary:
      "Approves a memory entry that waits, and returns it: later sessions start with it. The record names " +
      "who approved it, and why.",
    args: ["proposal"],
    params: () => ({ proposal, because }),
    answer: answer.MemoryEntry,
    verb: { name: "memory approve" },
  }),
  "engine.rejectMemory": change("engine", "rejectMemory", {
    title: "Reject a memory entry",
    warning: "It is not proposed again.",
    scope: "operate",
    also: [gives],
    summary: "Rejects a memory entry that waits, and returns it. It is not proposed again.",
    args: ["proposal"],
    params: () => ({ proposal, because }),
    answer: answer.MemoryEntry,
    verb: { name: "memory reject" },
  }),
};
