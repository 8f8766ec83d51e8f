/** Calls that give a session input, and that keep what it knows. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change } from "./operation.ts";

const { Count, Flag, MaybeText, SessionId, Text, Written } = answer;
const reason = field.Reason.describe("why; it is kept in the log").exactOptional();
const because = field.Because.describe("why: the rationale").exactOptional();

const input = {
  "session.append": change("session", "append", {
    title: "Append records",
    local: { expect: "client" },
    keyed: true,
    summary: "Puts input, or records of another program, into the log. A text is an input.",
    args: ["records"],
    params: {
      records: z.union([
        z.string(),
        field.AppendRecord,
        z.array(field.AppendRecord).min(1).max(limit.appendRecordsMax),
      ]),
    },
    answer: Written,
  }),
  "session.input": change("session", "input", {
    title: "Input for the next turn",
    keyed: true,
    summary: "Puts an input into the inbox, for the next turn, or to steer the one in progress.",
    args: ["input"],
    params: { input: field.Input, mode: field.Mode.exactOptional() },
    answer: Written,
  }),
  "session.ask": change("session", "ask", {
    title: "Ask something",
    local: { signal: "client" },
    keyed: true,
    summary:
      "Gives it an input and runs it: events and deltas as they come, and at the end why the run ended. " +
      "Breaking off cancels nothing.",
    args: ["input"],
    params: { input: field.Input, mode: field.Mode.exactOptional() },
    gives: "stream",
    answer: answer.Heard,
  }),
  "session.run": change("session", "run", {
    title: "Run it until it is idle",
    local: { signal: "client", holder: "engine", leaseMs: "engine" },
    summary: "Runs it until it is idle or stands still.",
    answer: answer.Ran,
  }),
  "session.watch": change("session", "watch", {
    title: "Watch a run",
    local: { signal: "client", holder: "engine", leaseMs: "engine" },
    also: [{ scope: "read", what: "watching" }],
    summary:
      "Runs it, and tells what happens from now on, which takes the scope read besides, and at the end why " +
      "the run ended.",
    gives: "stream",
    answer: answer.Heard,
  }),
  "session.answer": change("session", "answer", {
    title: "Answer calls that wait",
    asks: true,
    // A token that may only write directs a session; to approve a call that a rule holds back takes more.
    also: [{ scope: "operate", what: "allowing a call", when: ({ allow }) => allow }],
    summary:
      "Allows calls that wait, which takes the scope operate, denies them, or says how one ended. With " +
      "remember, every call of their tools is allowed in this session, or the same commands always.",
    params: {
      allow: z.boolean(),
      calls: z.array(z.string().max(128)).max(limit.callsMax).exactOptional(),
      reason,
      text: z.string().exactOptional(),
      remember: z.enum(["session", "always"]).exactOptional(),
    },
    answer: Written,
  }),
  "session.send": change("session", "send", {
    title: "Send a message from this session",
    also: [{ scope: "operate", what: "a message to another store", when: ({ at }) => at !== undefined }],
    keyed: true,
    summary:
      "Sends a message to another session's inbox, once in effect. A reply goes to whoever asked. One to " +
      "another store, by at, takes the scope operate and a server that opens other stores.",
    args: ["to", "message"],
    params: {
      to: field.SessionName.nullable(),
      message: field.Value,
      topic: field.Key.exactOptional(),
      replyTo: z.string().max(100).exactOptional(),
      withinMs: field.Millis.exactOptional(),
      deadlineMs: field.Millis.exactOptional(),
      at: field.Path.exactOptional(),
    },
    answer: z.looseObject({ message: Text, to: SessionId, seq: Count, delivered: Flag }),
  }),
  "session.contract": change("session", "contract", {
    title: "Declare a contract",
    summary: "Declares what messages on a topic must look like, by a JSON Schema. True takes anything again.",
    args: ["topic", "schema"],
    params: { topic: field.Key, schema: z.union([z.boolean(), z.looseObject({})]) },
    answer: Written,
  }),
};

const knowledge = {
  "session.record": change("session", "record", {
    title: "Record an item",
    keyed: true,
    summary: "Sets an item: a fact, decision, task or artifact that is to outlive every compaction.",
    args: ["kind", "key", "value"],
    params: {
      kind: field.ItemKind,
      key: field.Key,
      value: field.Value,
      because,
      status: field.TaskStatus.describe("of a task; by default open").exactOptional(),
    },
    answer: Written,
    verb: {
      group: "What it is told and what it knows",
      line: "Record a fact, decision, task or artifact that is to outlive every compaction.",
      done: "recorded",
      about: [
        `KIND is ${field.ItemKind.options.join(", ")}. VALUE is taken as JSON if it is valid JSON, or else ` +
          "as text; without VALUE, or with -, it is read from standard input. Recording under a KEY again " +
          "replaces the value.",
      ],
      examples: [
        "skein record 4x8kz1 fact base-rate 4.1  # a number",
        'skein record 4x8kz1 decision use-wal yes --because "readers do not block"  ' +
          "# a decision with its reason",
        'skein record 4x8kz1 task migrate "Move the tables" --status done  # a task that is done',
        "skein record 4x8kz1 artifact zip-code 01234 --text  # a text that looks like a number",
      ],
    },
  }),
  "session.retract": change("session", "retract", {
    title: "Retract an item",
    warning: "It is no longer among what the session knows.",
    summary: "Takes an item away.",
    args: ["kind", "key"],
    params: { kind: field.ItemKind, key: field.Key, because },
    answer: Written,
    verb: {
      group: "What it is told and what it knows",
      line: "Say that an item no longer holds.",
      done: "retracted",
      examples: [
        `skein retract 4x8kz1 fact base-rate --because "it was last year's"  # the log still has it`,
      ],
    },
  }),
  "session.promote": change("session", "promote", {
    title: "Promote an item to memory",
    also: [{ scope: "read", what: "promoting, which gives the item," }],
    summary:
      "Puts an item into memory, for later sessions of the agent, the user or the workspace, and gives it: " +
      "it takes the scope read besides.",
    args: ["kind", "key"],
    params: { kind: field.ItemKind, key: field.Key, scope: field.Scope, because },
    answer: answer.MemoryEntry,
  }),
  "session.scratch": change("session", "scratch", {
    title: "Set a scratch key",
    summary: "Sets a key of working memory, which rewinds with the session. Without a value it is removed.",
    args: ["key", "value"],
    params: { key: field.Key, value: field.Value.exactOptional() },
    answer: Written,
  }),
  "session.compress": change("session", "compress", {
    title: "Compress the context",
    words: "compact summarize",
    summary: "Makes the context smaller by a compaction. The transcript stays in the log.",
    params: {
      strategy: z.enum(["prune", "summarize", "extract"]).exactOptional(),
      instructions: field.Instructions.exactOptional(),
    },
    answer: z.looseObject({ compacted: Flag, seq: Count }),
  }),
  "session.handoff": change("session", "handoff", {
    title: "Write a handoff",
    also: [{ scope: "read", what: "a handoff, which tells what the session did," }],
    summary:
      "The document for the next session, which takes the scope read besides. One since which nothing was " +
      "said is given again as it is.",
    params: {
      model: z.union([z.literal(true), field.ModelName]).exactOptional(),
      tokensMax: z.int().min(1).max(limit.handoffTokensMax).exactOptional(),
      write: z.boolean().exactOptional(),
    },
    answer: z.looseObject({
      text: Text,
      seq: Count.nullable(),
      tokens: Count,
      toSeq: Count,
      model: MaybeText,
    }),
  }),
  "session.score": change("session", "score", {
    title: "Score it",
    summary: "Judges the session, or a position of it, by a number. Of each name the last score counts.",
    args: ["name", "value"],
    params: { name: field.Key, value: z.number(), seq: field.Seq.exactOptional(), because },
    answer: Written,
  }),
};

export const sessionInput = { ...input, ...knowledge };
