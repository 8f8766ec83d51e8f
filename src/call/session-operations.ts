/** The calls that change one session, as operations. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change } from "./operation.ts";

const { Count, Flag, MaybeText, SessionId, Text, Written } = answer;
const reason = field.Reason.exactOptional();
const because = field.Because.exactOptional();
const dryRun = z.boolean().exactOptional();
const RangeOf = z.tuple([field.Seq, field.Seq]);

/** A change that takes a reason and nothing else. */
const plain = (call: string, summary: string) =>
  change("session", call, { summary, params: { reason }, answer: Written });
/** A change that takes a name and nothing else. */
const named = (call: string, summary: string) =>
  change("session", call, { summary, args: ["name"], params: { name: field.Key }, answer: Written });

const input = {
  "session.append": change("session", "append", {
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
    keyed: true,
    summary: "Puts an input into the inbox, for the next turn, or to steer the one in progress.",
    args: ["input"],
    params: { input: field.Input, mode: field.Mode.exactOptional() },
    answer: Written,
  }),
  "session.ask": change("session", "ask", {
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
    local: { signal: "client", holder: "engine", leaseMs: "engine" },
    summary: "Runs it until it is idle or stands still.",
    answer: answer.Ran,
  }),
  "session.watch": change("session", "watch", {
    local: { signal: "client", holder: "engine", leaseMs: "engine" },
    also: [{ scope: "read", what: "watching" }],
    summary:
      "Runs it, and tells what happens from now on, which takes the scope read besides, and at the end why " +
      "the run ended.",
    gives: "stream",
    answer: answer.Heard,
  }),
  "session.answer": change("session", "answer", {
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
    summary: "Declares what messages on a topic must look like, by a JSON Schema. True takes anything again.",
    args: ["topic", "schema"],
    params: { topic: field.Key, schema: z.union([z.boolean(), z.looseObject({})]) },
    answer: Written,
  }),
};

const knowledge = {
  "session.record": change("session", "record", {
    keyed: true,
    summary: "Sets an item: a fact, decision, task or artifact that is to outlive every compaction.",
    args: ["kind", "key", "value"],
    params: {
      kind: field.ItemKind,
      key: field.Key,
      value: field.Value,
      because,
      status: field.TaskStatus.exactOptional(),
    },
    answer: Written,
  }),
  "session.retract": change("session", "retract", {
    summary: "Takes an item away.",
    args: ["kind", "key"],
    params: { kind: field.ItemKind, key: field.Key, because },
    answer: Written,
  }),
  "session.promote": change("session", "promote", {
    also: [{ scope: "read", what: "promoting, which gives the item," }],
    summary:
      "Puts an item into memory, for later sessions of the agent, the user or the workspace, and gives it: " +
      "it takes the scope read besides.",
    args: ["kind", "key"],
    params: { kind: field.ItemKind, key: field.Key, scope: field.Scope, because },
    answer: answer.MemoryEntry,
  }),
  "session.scratch": change("session", "scratch", {
    summary: "Sets a key of working memory, which rewinds with the session. Without a value it is removed.",
    args: ["key", "value"],
    params: { key: field.Key, value: field.Value.exactOptional() },
    answer: Written,
  }),
  "session.compress": change("session", "compress", {
    summary: "Makes the context smaller by a compaction. The transcript stays in the log.",
    params: {
      strategy: z.enum(["prune", "summarize", "extract"]).exactOptional(),
      instructions: field.Instructions.exactOptional(),
    },
    answer: z.looseObject({ compacted: Flag, seq: Count }),
  }),
  "session.handoff": change("session", "handoff", {
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
    summary: "Judges the session, or a position of it, by a number. Of each name the last score counts.",
    args: ["name", "value"],
    params: { name: field.Key, value: z.number(), seq: field.Seq.exactOptional(), because },
    answer: Written,
  }),
};

const branches = {
  "session.save": change("session", "save", {
    summary: "Gives a position a name; by default the last one.",
    args: ["name"],
    params: {
      name: field.Key,
      atSeq: field.Seq.exactOptional(),
      note: z.string().max(limit.reasonCharsMax).exactOptional(),
    },
    answer: Written,
  }),
  "session.fork": change("session", "fork", {
    also: [
      {
        scope: "operate",
        what: "a copy of files of the machine",
        when: (given) => given.files !== undefined,
      },
    ],
    summary:
      "Makes a session that shares this one's records up to a position, by default the last one. With " +
      "files, which takes the scope operate, it gets a copy of them.",
    params: {
      atSeq: field.Seq.exactOptional(),
      objective: field.Objective.exactOptional(),
      name: field.Name.exactOptional(),
      budget: field.Budget.exactOptional(),
      labels: field.Labels.exactOptional(),
      files: field.Path.exactOptional(),
      memory: z.boolean().exactOptional(),
    },
    answer: answer.Made,
  }),
  "session.rewind": change("session", "rewind", {
    also: [
      { scope: "read", what: "putting files back, which names them,", when: ({ files }) => files === true },
    ],
    summary:
      "Goes on with the mind of an earlier position. What was appended since stays in the log. With files, " +
      "which takes the scope read besides, they are put back as they were.",
    args: ["place"],
    params: {
      place: field.Place,
      requeue: z.boolean().exactOptional(),
      reason,
      files: z.boolean().exactOptional(),
    },
    answer: Written,
  }),
  "session.clear": change("session", "clear", {
    summary:
      "Closes the session and opens the next, with the same agent, objective, bindings, triggers and " +
      "files, and with what is left of the budget. The answer lists what came along and what did not.",
    params: {
      objective: field.Objective.exactOptional(),
      name: field.Name.exactOptional(),
      reason,
      handoff: z.boolean().exactOptional(),
    },
    answer: answer.MadeFrom,
  }),
  "session.merge": change("session", "merge", {
    also: [{ scope: "read", what: "a merge, which tells what comes in," }],
    summary:
      "Brings in what another session learned, and tells what, so it takes the scope read besides. Until " +
      "all conflicts are resolved nothing changes.",
    params: {
      from: field.SessionName,
      toSeq: field.Seq.exactOptional(),
      resolve: z.record(z.string(), field.MergeAnswer).exactOptional(),
      dryRun,
      summary: z.string().exactOptional(),
    },
    answer: z.looseObject({
      ok: Flag,
      from: SessionId,
      conflicts: z.array(z.looseObject({ name: Text })),
      written: Count.nullable(),
    }),
  }),
  "session.migrate": change("session", "migrate", {
    also: [{ scope: "admin", what: "moving a session to another store", when: ({ to }) => to !== undefined }],
    summary:
      "Goes on with another model; or in another store, which takes the scope admin " +
      "and a server that opens other stores.",
    params: { model: field.ModelName.exactOptional(), to: field.Path.exactOptional() },
    answer: z.looseObject({ session: SessionId, seq: Count }),
  }),
  "session.replay": change("session", "replay", {
    also: [{ scope: "write", what: "running turns again", when: ({ from }) => from !== undefined }],
    local: { progress: "client", signal: "client", score: "engine" },
    summary:
      "Computes every hash again that the log says of itself; or runs turns again in a fork, which takes " +
      "the scope write, and compares.",
    scope: "read",
    params: {
      from: field.Place.exactOptional(),
      model: field.ModelName.exactOptional(),
      instructions: field.Instructions.exactOptional(),
      tools: z.enum(["recorded", "live"]).exactOptional(),
      name: field.Name.exactOptional(),
      budget: field.Budget.exactOptional(),
    },
    answer: z.looseObject({ session: SessionId }),
  }),
};

const lifecycle = {
  "session.activate": plain(
    "activate",
    "Lets a suspended or sleeping session go on; one that was imported and not reviewed takes the scope " +
      "operate.",
  ),
  "session.suspend": plain("suspend", "Makes it stand still, with a reason."),
  "session.interrupt": plain("interrupt", "Asks that the turn in progress end, in whatever process it runs."),
  "session.reopen": plain("reopen", "Opens a closed or archived session again."),
  "session.archive": plain("archive", "Makes a closed session read-only, and packs all of it."),
  "session.cancel": change("session", "cancel", {
    summary: "Ends it as cancelled; with tree, also the sessions that it made itself.",
    params: { reason, tree: z.boolean().exactOptional() },
    answer: Written.partial({ seq: true, headSeq: true, duplicate: true }),
  }),
  "session.close": change("session", "close", {
    summary: "Ends it: completed, failed or expired.",
    params: { reason, outcome: z.enum(["completed", "failed", "expired"]).exactOptional() },
    answer: Written,
  }),
  "session.sleep": change("session", "sleep", {
    summary: "Lets it wait, until a time, until one of its triggers fires, or until somebody wakes it.",
    params: {
      reason,
      untilMs: field.Millis.exactOptional(),
      triggers: z.array(field.Key).max(limit.triggersMax).exactOptional(),
    },
    answer: Written,
  }),
};

const standing = {
  "session.rename": change("session", "rename", {
    summary: "Gives it a name.",
    args: ["name"],
    params: { name: field.Name },
    answer: Written,
  }),
  "session.label": change("session", "label", {
    summary: "Sets and removes labels.",
    args: ["set"],
    params: { set: field.Labels, remove: z.array(z.string()).max(limit.labelsMax).exactOptional() },
    answer: Written,
  }),
  "session.prioritize": change("session", "prioritize", {
    summary: "Sets how urgent it is: 0 is the most urgent, 9 the least.",
    args: ["priority"],
    params: { priority: z.int().min(0).max(limit.priorityMax) },
    answer: Written,
  }),
  "session.bind": change("session", "bind", {
    summary: "Says that it may use a resource; any but a tool takes the scope operate.",
    params: field.bindingFields,
    answer: Written,
  }),
  "session.unbind": named("unbind", "Takes a binding away."),
  "session.grant": change("session", "grant", {
    summary: "Says what becomes of calls of a tool; a rule but ask and deny takes the scope operate.",
    params: field.permissionFields,
    answer: Written,
  }),
  "session.budget": change("session", "budget", {
    summary: "Says how much it may use. What is not named is unlimited.",
    args: ["limits"],
    params: { limits: field.Budget, reason },
    answer: Written,
  }),
  "session.trigger": change("session", "trigger", {
    summary: "Sets something that wakes it. Of a webhook it gives the token, which is shown this once.",
    scope: "operate",
    args: ["name", "spec"],
    params: { name: field.Key, spec: field.Trigger, missed: field.Missed.exactOptional() },
    answer: Written.extend({ token: Text.optional() }),
  }),
  "session.untrigger": change("session", "untrigger", {
    summary: "Takes a trigger away.",
    scope: "operate",
    args: ["name"],
    params: { name: field.Key },
    answer: Written,
  }),
  "session.fire": change("session", "fire", {
    summary: "Fires a trigger by hand: the session is told, and woken if it sleeps.",
    args: ["name"],
    params: { name: field.Key, text: z.string().exactOptional() },
    answer: Written,
  }),
  "session.hold": change("session", "hold", {
    summary: "Keeps all of it from being erased or deleted, until the hold of this name is lifted.",
    args: ["name"],
    params: { name: field.Key, reason },
    answer: Written,
  }),
  "session.lift": change("session", "lift", {
    summary: "Lifts a hold.",
    args: ["name"],
    params: { name: field.Key, reason },
    answer: Written,
  }),
  "session.erase": change("session", "erase", {
    local: { progress: "client" },
    summary: "Takes contents away for good, from every session that shares them.",
    scope: "admin",
    params: {
      ranges: z.array(RangeOf).max(10_000).exactOptional(),
      match: z.string().min(1).exactOptional(),
      copies: z.boolean().exactOptional(),
      reason,
      dryRun,
    },
    answer: z.looseObject({
      session: SessionId,
      dryRun: Flag,
      ranges: z.array(z.array(z.number())),
      records: Count,
      bytes: Count,
      already: Count,
      scrubbed: Flag,
    }),
  }),
};

export const sessionChanges = { ...input, ...knowledge, ...branches, ...lifecycle, ...standing };
