/** Calls that give a session input, run it, and exchange messages. */
import * as z from "zod";
import { once } from "../core/cache.ts";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change } from "./operation.ts";

const { Count, Flag, SessionId, Text, AppendResult } = answer;
const { reason } = field;
const text = once(() => field.Input().describe("a text, or blocks of text, images and files"));
const mode = field.Mode.describe("queue: for the next turn; steer: for the turn in progress").exactOptional();

export const sessionInput = {
  "session.append": change("session", "append", {
    title: "Append records",
    local: { expect: "client", verbatim: "engine" },
    keyed: true,
    summary: "Puts input, or records of another program, into the log. A text is an input.",
    args: ["records"],
    params: () => ({
      records: z
        .union([
          z.string(),
          field.AppendRecord(),
          z.array(field.AppendRecord()).min(1).max(limit.appendRecordsMax),
        ])
        .describe("a text, a record, or a list of records that are written together"),
    }),
    answer: AppendResult,
  }),
  "session.input": change("session", "input", {
    title: "Input for the next turn",
    keyed: true,
    summary: "Puts an input into the inbox, for the next turn, or to steer the one in progress.",
    args: ["input"],
    params: () => ({ input: text(), mode }),
    answer: AppendResult,
    verb: {
      group: "Turns",
      line: "Put an input into a session's inbox: for its next turn, or to steer the one in progress.",
      flags: {
        input: { name: "TEXT", type: "words" },
        mode: {
          name: "steer",
          is: "steer",
          what: "for the next step of the turn in progress, not for the next turn",
        },
      },
      about: [
        "It runs nothing: the process that runs the session takes the input, now or later. " +
          "Several words are one text; without TEXT, or with a dash, it is standard input.",
      ],
      examples: [
        'skein input 4x8kz1 "Then do the same for December."  # for the next turn',
        'skein input 4x8kz1 --steer "Not that file: rates.json."  # while it works',
      ],
    },
  }),
  "session.ask": change("session", "ask", {
    title: "Ask something",
    local: { signal: "client" },
    keyed: true,
    summary:
      "Sends it an input and runs it: events and deltas as they come, and at the end why the run ended. " +
      "Disconnecting cancels nothing.",
    args: ["input"],
    params: () => ({ input: text(), mode }),
    gives: "stream",
    answer: answer.SessionUpdate,
  }),
  "session.run": change("session", "run", {
    title: "Run it until it is idle",
    local: { signal: "client", holder: "engine", leaseMs: "engine" },
    summary: "Runs it until it is idle or suspended.",
    answer: answer.RunResult,
  }),
  "session.watch": change("session", "watch", {
    title: "Watch a run",
    local: { signal: "client", holder: "engine", leaseMs: "engine" },
    also: [{ scope: "read", what: "watching" }],
    summary:
      "Runs it, and streams updates, which also needs the scope read, and at the end why the run ended.",
    gives: "stream",
    answer: answer.SessionUpdate,
  }),
  "session.answer": change("session", "answer", {
    title: "Answer calls that wait",
    asks: true,
    // A token with `write` alone directs a session; approving a call that a rule asks about needs more.
    also: [{ scope: "operate", what: "allowing a call", when: ({ allow }) => allow }],
    summary:
      "Allows waiting calls, which needs the scope operate, denies them, or says how one ended. With " +
      "remember, every call of their tools is allowed in this session, or the same commands always.",
    params: () => ({
      allow: z.boolean().describe("true allows the calls, false denies them"),
      calls: z
        .array(z.string().max(128))
        .max(limit.callsMax)
        .describe("only these calls, by id; by default all that wait")
        .exactOptional(),
      reason,
      text: z.string().describe("a text for the model, such as how an unknown call ended").exactOptional(),
      remember: z
        .enum(["session", "always"])
        .describe("allow further calls of the tool in this session, or the same command always")
        .exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group: "Turns",
      line: "See what a suspended session waits for, and answer it: allow or deny tool calls.",
      args: ["allow?"],
      flags: {
        allow: { name: "VERDICT", type: "text" },
        calls: { value: "CALL", what: "only this call; by default all waiting ones" },
        reason: { what: "the reason; the log keeps it, and the model gets that of a denial" },
        text: { what: "a message to the model with it" },
        remember: {
          value: "session|always",
          what: "also allow every call of the tool in this session, or exactly this command in every session",
        },
      },
      about: [
        "VERDICT is allow or deny; without it, and without --text, it shows what the session waits for. " +
          "After an unknown outcome, or an error, --text says what you found, and the session may " +
          'continue. It runs nothing: "skein run ID" continues.',
      ],
      examples: [
        "skein answer 4x8kz1  # what it waits for",
        "skein answer 4x8kz1 allow  # all calls that wait",
        "skein answer 4x8kz1 allow --remember always  # and the same commands from now on",
        'skein answer 4x8kz1 deny --call call-2 --reason "not on Fridays"  # one of them',
        'skein answer 4x8kz1 --text "The mail went out."  # after an unknown outcome',
      ],
    },
  }),
  "session.settle": change("session", "settle", {
    title: "Settle an external call",
    keyed: true,
    summary:
      "Brings the outcome of an external tool call, exactly once. The same outcome again changes nothing; " +
      "a result after the deadline, an interrupt or a rewind is kept as evidence.",
    scope: "settle",
    args: ["call"],
    params: () => ({
      call: z.string().min(1).max(128).describe("the id of the call, from tool.requested or the state"),
      status: z
        .enum(["ok", "error"])
        .describe("error: the model gets the output as an error; by default ok")
        .exactOptional(),
      output: field.Value.describe("the result for the model: a text or any JSON").exactOptional(),
    }),
    answer: () => AppendResult().extend({ late: Flag }),
    verb: {
      group: "Turns",
      line: "Settle an external tool call: send its result, by the call's id.",
      flags: {
        call: { name: "CALL", type: "text" },
        output: { type: "file", value: "FILE", what: "the result, as JSON; a dash for standard input" },
      },
      about: [
        "A session that waits for an external call continues once all of its calls are settled: a worker " +
          'runs it, or "skein run ID".',
      ],
      examples: [
        "skein settle 4x8kz1 call-1-at12 --output result.json  # the tool returned this",
        "skein settle 4x8kz1 call-1-at12 --status error --output -  # it failed",
      ],
    },
  }),
  "session.send": change("session", "send", {
    title: "Send a message from this session",
    also: [{ scope: "operate", what: "a message to another store", when: ({ at }) => at !== undefined }],
    keyed: true,
    summary:
      "Sends a message to another session's inbox, exactly once. A reply goes to the requester. One to " +
      "another store, by at, needs the scope operate and a server that opens other stores.",
    args: ["to", "message"],
    params: () => ({
      to: field.SessionName.nullable().describe(
        "the receiver; null, with replyTo: the sender of the request",
      ),
      message: field.Value.describe("the message: a text or any JSON"),
      topic: field.Key.describe("the subject; the receiver may have a contract for it").exactOptional(),
      replyTo: z.string().max(100).describe("the id of the request that this answers").exactOptional(),
      withinMs: field.Span.min(1)
        .describe("makes it a request with this timeout for the reply")
        .exactOptional(),
      deadlineMs: field.Moment.min(1)
        .describe("makes it a request with this deadline for the reply")
        .exactOptional(),
      at: field.Path.describe("the receiver's store, if it is another one").exactOptional(),
    }),
    answer: () => z.looseObject({ message: Text, to: SessionId, seq: Count, delivered: Flag }),
  }),
  "session.contract": change("session", "contract", {
    title: "Declare a contract",
    summary: "Declares a JSON Schema for messages on a topic. True accepts anything again.",
    args: ["topic", "schema"],
    params: () => ({
      topic: field.Key.describe("the topic"),
      schema: z
        .union([z.boolean(), z.looseObject({})])
        .describe("a JSON Schema that messages on the topic must match; true accepts any"),
    }),
    answer: AppendResult,
    verb: {
      group: "Turns",
      line: "Declare or show the form of the messages that a session accepts.",
      args: ["topic?"],
      flags: { schema: { type: "file" } },
      about: [
        "With --schema messages on the topic are validated from now on: a sender whose message does not " +
          "match gets an error, and nothing is written. A message is a text; it matches if its JSON does, " +
          "or the text itself. Messages on other topics, or on none, pass. The schema true accepts " +
          "anything.",
        "FILE may be a dash, for standard input. Without --schema it shows the contract for TOPIC, or all.",
      ],
      examples: [
        "skein contract 4x8kz1 rates --schema rates.schema.json  # declare",
        "skein contract 4x8kz1 rates  # show the schema",
        "skein contract 4x8kz1  # list the topics",
      ],
    },
  }),
};
