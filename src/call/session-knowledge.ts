/** Calls that keep what a session knows: items, scratch, scores, and the size of its context. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change } from "./operation.ts";
import { itemKinds } from "../core/item/kind.ts";

const { Count, Flag, MaybeText, Text, AppendResult } = answer;
const { because } = field;
const kind = field.ItemKind.describe("the kind of item");
const key = field.Key.describe("the item's key");
const group = "Input and knowledge";

export const sessionKnowledge = {
  "session.record": change("session", "record", {
    title: "Record an item",
    keyed: true,
    summary: "Sets an item: a fact, decision, task or other kind that outlives every compaction.",
    args: ["kind", "key", "value"],
    params: () => ({
      kind,
      key,
      value: field.Value.describe("any JSON"),
      because,
      status: field.ItemStatus.describe(
        "of a task: open, done, dropped; of a hypothesis: open, supported, rejected; of a decision: rejected",
      ).exactOptional(),
      confidence: z
        .number()
        .min(0)
        .max(1)
        .describe("of a hypothesis or a finding, from 0 to 1")
        .exactOptional(),
      evidence: field.Evidence.describe(
        "what speaks for a hypothesis or a finding: texts, or pointers such as 4x8kz1@12",
      ).exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group,
      line: "Record a fact, decision, task or other item that outlives every compaction.",
      done: "recorded",
      about: [
        `KIND is ${itemKinds.join(", ")}, or one that the session's agent declares. ` +
          "VALUE is taken as JSON if it is valid JSON, or else as text; without VALUE, or with -, it is " +
          "read from standard input. Recording under a KEY again replaces the value.",
      ],
      examples: [
        "skein record 4x8kz1 fact base-rate 4.1  # a number",
        'skein record 4x8kz1 decision use-wal yes --because "readers do not block"  ' +
          "# a decision with its reason",
        'skein record 4x8kz1 task migrate "Move the tables" --status done  # a task that is done',
        'skein record 4x8kz1 decision big-bang "Rewrite at once" --status rejected --because "too risky"  ' +
          "# an idea that was turned down",
        'skein record 4x8kz1 hypothesis cache-miss "The cache is cold" --confidence 0.6  # not certain yet',
        "skein record 4x8kz1 artifact zip-code 01234 --text  # a text that looks like a number",
      ],
    },
  }),
  "session.retract": change("session", "retract", {
    title: "Retract an item",
    warning: "The session no longer has it.",
    summary: "Retracts an item.",
    args: ["kind", "key"],
    params: () => ({ kind, key, because }),
    answer: AppendResult,
    verb: {
      group,
      line: "Retract an item.",
      done: "retracted",
      examples: [
        `skein retract 4x8kz1 fact base-rate --because "it was last year's"  # the log still has it`,
      ],
    },
  }),
  "session.pin": change("session", "pin", {
    title: "Pin an item",
    keyed: true,
    words: "keep always show",
    summary:
      "Pins an item: every context shows it in full. Refused if the pinned items do not fit their share.",
    args: ["kind", "key"],
    params: () => ({ kind, key, because }),
    answer: AppendResult,
    verb: {
      group: "Context",
      line: "Pin an item, so that every context shows it in full.",
      done: "pinned",
      about: [
        "The next request shows it, and each context after a compaction begins with it. Pinned items have " +
          "a share of the model's window; an item that does not fit is refused with its size.",
      ],
      examples: [
        'skein pin 4x8kz1 decision never-delete --because "it is the production database"  # in full, always',
      ],
    },
  }),
  "session.unpin": change("session", "unpin", {
    title: "Unpin an item",
    keyed: true,
    summary: "Unpins an item. It stays recorded.",
    args: ["kind", "key"],
    params: () => ({ kind, key, because }),
    answer: AppendResult,
    verb: {
      group: "Context",
      line: "Unpin an item; it stays recorded.",
      done: "unpinned",
      examples: ["skein unpin 4x8kz1 decision never-delete  # it is ranked like other items again"],
    },
  }),
  "session.promote": change("session", "promote", {
    title: "Promote an item to memory",
    also: [
      { scope: "read", what: "promoting, which gives the item," },
      { scope: "operate", what: "approving", when: ({ approve }) => approve === true },
      { scope: "operate", what: "promoting for all sessions", when: ({ scope }) => scope === "workspace" },
    ],
    summary:
      "Promotes an item to memory, for later sessions of the agent, the user or the workspace. Returns it: " +
      "it also needs the scope read. An item of a turn that took in outside content waits for approval, " +
      "unless approve is set. That and the scope workspace need the scope operate.",
    args: ["kind", "key"],
    params: () => ({
      kind,
      key,
      scope: field.Scope.describe("for later sessions of the agent, the user or all"),
      because,
      approve: z.boolean().describe("approve it at once, wherever it comes from").exactOptional(),
    }),
    answer: answer.MemoryEntry,
    verb: { name: "memory promote" },
  }),
  "session.scratch": change("session", "scratch", {
    title: "Set a scratch key",
    summary: "Sets a key of working memory, which rewinds with the session. Without a value it is removed.",
    args: ["key", "value"],
    params: () => ({
      key: field.Key.describe("the key"),
      value: field.Value.describe("any JSON; without it the key is removed").exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group,
      line: "Set a key of the working memory, which rewinds with the session.",
      about: [
        "VALUE is taken as JSON if it is valid JSON, or else as text; without it, or with -, it is read " +
          "from standard input.",
      ],
      examples: [
        `skein scratch 4x8kz1 plan '["read","write"]'  # set it`,
        "skein scratch 4x8kz1 plan --remove  # remove it",
      ],
    },
  }),
  "session.compress": change("session", "compress", {
    title: "Compress the context",
    words: "compact summarize",
    summary: "Makes the context smaller by a compaction. The transcript stays in the log.",
    params: () => ({
      strategy: z
        .enum(["prune", "summarize", "extract"])
        .describe("by default the agent's, or else extract")
        .exactOptional(),
      instructions: field.Instructions.describe("instructions for the summary").exactOptional(),
    }),
    answer: () => z.looseObject({ compacted: Flag, seq: Count }),
    verb: {
      group: "Context",
      line: "Make a session's context smaller; the transcript stays in the log.",
      about: [
        "prune leaves out old output of tools. summarize has a model replace the older transcript by a " +
          "summary. extract, the default, has it list facts, decisions and open tasks first, which are " +
          "recorded as items. Items, pending work and unanswered input always stay. " +
          '"skein context ID --uncompacted" still shows everything.',
      ],
      examples: [
        "skein compress 4x8kz1  # with the strategy of its agent",
        "skein compress 4x8kz1 --strategy prune  # without a model",
        'skein compress 4x8kz1 --strategy extract --instructions "Keep all rates."  # with instructions',
      ],
    },
  }),
  "session.uncompress": change("session", "uncompress", {
    title: "Undo a compaction",
    words: "lift overlay expand decompress",
    summary:
      "Undoes a compaction: the context shows its range again. Refused if the model could not hold the " +
      "longer context.",
    params: () => ({
      overlay: field.Position.describe(
        "the position of the compaction; by default the newest one in the context",
      ).exactOptional(),
      reason: field.Reason.describe("why").exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group: "Context",
      line: "Undo a compaction: the context shows its range again.",
      flags: { overlay: "at", reason: "reason" },
      done: "uncompressed",
      about: [
        "Nothing is rewound: what was said since stays. A compaction before that one holds again. It is " +
          "refused if the context would reach the share at which it is compacted (80 % by default); " +
          "migrate to a model with a larger window first.",
      ],
      examples: [
        "skein uncompress 4x8kz1  # the newest compaction",
        "skein uncompress 4x8kz1 --at 120  # the one at 120",
      ],
    },
  }),
  "session.handoff": change("session", "handoff", {
    title: "Write a handoff",
    also: [{ scope: "read", what: "a handoff, which tells what the session did," }],
    summary:
      "The document for the next session, which also needs the scope read. The same one is returned " +
      "until the session has new content.",
    params: () => ({
      model: z
        .union([z.literal(true), field.ModelName])
        .describe("a model that writes an introduction; true: the session's")
        .exactOptional(),
      tokensMax: z
        .int()
        .min(1)
        .max(limit.handoffTokensMax)
        .describe("at most this many tokens; by default 4,000")
        .exactOptional(),
      write: z.boolean().describe("whether the log keeps it; by default true").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        text: Text,
        seq: Count.nullable(),
        tokens: Count,
        toSeq: Count,
        model: MaybeText,
      }),
    verb: {
      group: "Branches",
      line: "Write what a session leaves for the next: decisions, open tasks, files, what failed.",
      flags: {
        model: null,
        tokensMax: "tokens",
        write: { name: "dry-run", is: false, what: "only show it, and keep nothing in the log" },
      },
      about: [
        "It is made from the log alone: objective, progress, decisions with their reasons, facts, open " +
          "tasks, files touched, failed attempts, and next steps, each with its position. The session's " +
          "log keeps it; the same one is returned until the session has new content.",
        "With --prose or --model a model writes a few sentences in front of the lists, which stay as they " +
          "are. The session pays for it.",
        '"skein open --from ID" opens the next session with it, and "skein clear ID --handoff" closes this ' +
          "one in the same step; in a chat /handoff does so.",
      ],
      examples: [
        "skein handoff 4x8kz1  # as Markdown",
        "skein handoff 4x8kz1 --out HANDOFF.md  # into a file",
        "skein handoff 4x8kz1 --prose  # with a few sentences by its model",
      ],
    },
  }),
  "session.score": change("session", "score", {
    title: "Score it",
    summary: "Scores the session, or a position of it. The last score of each name counts.",
    args: ["name", "value"],
    params: () => ({
      name: field.Key.describe("the score's name"),
      value: z.number().describe("the score"),
      seq: field.Position.describe(
        "the position that is judged; by default the whole session",
      ).exactOptional(),
      because,
    }),
    answer: AppendResult,
    verb: {
      group,
      line: "Score a session, or a position of it.",
      flags: { seq: "at" },
      done: "scored",
      about: [
        'Of each NAME the last score counts; earlier ones stay in the log. "skein state ID" shows them, ' +
          "and a closed session can still be scored.",
      ],
      examples: [
        'skein score 4x8kz1 accuracy 0.8 --because "8 of 10 right"  # the whole session',
        "skein score 4x8kz1@12 tone -1  # what happened at 12",
      ],
    },
  }),
};
