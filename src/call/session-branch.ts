/** Calls that name positions of a session, and that make other sessions from them. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, isStore } from "./operation.ts";

const { Count, Flag, SessionId, Text, AppendResult } = answer;
const { reason, dryRun } = field;
const group = "Branches";
const AgentWord = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}(@\d{1,9})?$/, "expected an agent's name, such as coder or coder@2");

export const sessionBranches = {
  "session.save": change("session", "save", {
    title: "Save a checkpoint",
    words: "bookmark",
    summary: "Gives a position a name; by default the last one.",
    args: ["name"],
    params: () => ({
      name: field.Key.describe("the checkpoint's name"),
      atSeq: field.Position.describe("the position; by default the last one").exactOptional(),
      note: z.string().max(limit.reasonCharsMax).describe("its purpose").exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group,
      line: "Give a position a name, to load, fork or rewind from.",
      flags: { atSeq: "at" },
      done: "saved",
      examples: [
        "skein save 4x8kz1 before-run  # where it stands now",
        'skein save 4x8kz1 good --at 12 --note "tests were green"  # an earlier position',
      ],
    },
  }),
  "session.fork": change("session", "fork", {
    title: "Fork",
    words: "branch copy",
    also: [
      {
        scope: "operate",
        what: "a copy of files of the machine",
        when: (given) => given.files !== undefined,
      },
    ],
    summary:
      "Makes a session that shares this one's records up to a position, by default the last one. With " +
      "files, which needs the scope operate, it gets a copy of them.",
    params: () => ({
      atSeq: field.Place.describe(
        "the position, checkpoint or time with a zone; by default the last position",
      ).exactOptional(),
      objective: field.Objective.describe("the fork's objective; by default the parent's").exactOptional(),
      name: field.Name.describe("a short name for lists").exactOptional(),
      agent: AgentWord.describe("the fork's agent, such as coder or coder@2").exactOptional(),
      model: field.ModelName.describe("the fork's model; by default the parent's").exactOptional(),
      instructions: field.Instructions.describe(
        "the fork's own instructions, in place of the parent's",
      ).exactOptional(),
      ...field.modelSettings(),
      budget: field
        .Budget()
        .describe("what the fork may use at most; by default what was left of its parent's at that position")
        .exactOptional(),
      labels: field.Labels.describe("a label").exactOptional(),
      files: field.Path.describe("a new directory, for its files as they were then").exactOptional(),
      memory: z
        .boolean()
        .describe("false: it gets no further memory, neither for a new objective nor later; by default true")
        .exactOptional(),
    }),
    answer: answer.SessionRef,
    verb: {
      group,
      line: "Make a new session that shares everything up to a position; nothing is copied.",
      flags: { atSeq: { name: "at", type: "position" }, files: { value: "DIR" }, memory: null },
      about: [
        "Without a budget the fork gets what was left of its parent's at that position.",
        "Without --files it works on the same files as its parent. With it, what is bound for writing is " +
          "copied to DIR, with files that tools changed since as they were, and the fork is bound to DIR.",
        "Another agent brings nothing that the parent may not do: see skein help amend.",
      ],
      examples: [
        "skein fork 4x8kz1 --at 12  # from position 12; prints the fork's id",
        "B=$(skein fork 4x8kz1)  # for scripts",
        'skein fork 4x8kz1 --at before-run --objective "What if the rate rises?"  # another question',
        "skein fork 4x8kz1 --at 12 --files ../try-two  # with a copy of its files",
        "skein fork 4x8kz1 --agent reviewer --model offline/offline  # by another agent and model",
      ],
    },
  }),
  "session.amend": change("session", "amend", {
    title: "Amend: change objective, instructions, agent or settings",
    words: "edit update objective instructions constraints agent temperature",
    asks: true,
    summary:
      "Changes objective, instructions, constraints, agent, model or model settings from here on. Nothing " +
      "is allowed that was not before. The context shows it as superseding the old until its next boundary.",
    params: () => ({
      objective: field.Objective.describe("the new objective").exactOptional(),
      instructions: field.Instructions.describe(
        "the session's own instructions, besides the agent's; empty: none",
      ).exactOptional(),
      constraints: z
        .array(z.string())
        .max(1_000)
        .describe("rules that the session must keep to, in place of those before")
        .exactOptional(),
      agent: AgentWord.describe("another agent, such as coder or coder@2").exactOptional(),
      model: field.ModelName.describe("another model, as provider/model").exactOptional(),
      ...field.modelSettings(),
      because: field.Reason.describe("why; the model sees it, and the log keeps it"),
    }),
    answer: AppendResult,
    verb: {
      group: "Lifecycle",
      line: "Change objective, instructions, constraints, agent or settings of a session.",
      flags: { constraints: { name: "constraint", type: "list", value: "TEXT" } },
      done: "amended",
      about: [
        "The model is shown the change where it was made, as superseding the old; the context begins with " +
          "the new from its next boundary on (a compaction, a rewind, another model). The log keeps both.",
        "Another agent brings its instructions, and its model if the session had that of the agent before. " +
          "It brings nothing that allows more: what the agent before denied or asked about stays so, of " +
          "tools only those that both have are offered, and its bindings and budget are not taken.",
        'An empty --instructions "" or --constraint "" removes them.',
      ],
      examples: [
        'skein amend 4x8kz1 --objective "December payroll run" --because "the month has changed"',
        'skein amend 4x8kz1 --agent payroll@3 --because "version 3 rounds correctly"',
        'skein amend 4x8kz1 --constraint "never pay twice" --reasoning high --because "an audit"',
      ],
    },
  }),
  "session.rewind": change("session", "rewind", {
    title: "Rewind",
    warning: "It forgets what came after that position; the log keeps it.",
    words: "undo back",
    also: [
      { scope: "read", what: "putting files back, which names them,", when: ({ files }) => files === true },
    ],
    summary:
      "Continues from an earlier position. Later records stay in the log. With files, " +
      "which also needs the scope read, it restores them.",
    args: ["place"],
    params: () => ({
      place: field.Place.describe("the position, the name of a checkpoint, or a time with a zone"),
      requeue: z.boolean().describe("queue inputs again that were processed since").exactOptional(),
      reason,
      files: z
        .boolean()
        .describe("also undo what its tools did to files since; all of it or nothing")
        .exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group,
      line: "Continue from an earlier position; later records stay in the log.",
      args: [],
      flags: { place: "to" },
      done: "rewound to {place}",
      about: [
        "What the session knows goes back: items, scratch, transcript. Labels, budget, use " +
          "and checkpoints stay. You can undo a rewind: rewind to a position that it left out.",
        "With --files the files that its tools changed below bound directories are put back as they were. " +
          "If another program has changed one since, it is shown, and nothing is done.",
      ],
      examples: [
        "skein rewind 4x8kz1 --to 12  # to a position",
        "skein rewind 4x8kz1 --to 12 --files  # with its files",
        'skein rewind 4x8kz1 --to before-run --reason "wrong rates"  # to a checkpoint',
      ],
    },
  }),
  "session.clear": change("session", "clear", {
    title: "Clear: close it and open the next",
    asks: true,
    summary:
      "Closes the session and opens the next, with the same agent, objective, bindings, triggers and " +
      "files, and with the rest of the budget. The result lists what carried over and what did not.",
    params: () => ({
      objective: field.Objective.describe("the next one's objective; by default the same").exactOptional(),
      name: field.Name.describe("a short name for the next one").exactOptional(),
      reason,
      handoff: z.boolean().describe("start the next one with the handoff of this one").exactOptional(),
    }),
    answer: answer.Successor,
    verb: {
      group,
      line: "Close a session and open the next with the same agent, objective, bindings and triggers.",
      about: [
        "Agent, model, bindings, permissions, labels, triggers, initial files and what is left of the " +
          "budget go over in one append: a trigger fires for the next session from then on, and no more " +
          "for this one. What does not go over is listed.",
      ],
      examples: [
        "skein clear 4x8kz1  # a fresh start; the old session stays, closed",
        "skein clear 4x8kz1 --handoff  # the next session carries on the work",
      ],
    },
  }),
  "session.rollover": change("session", "rollover", {
    title: "Rollover: go on as a new session",
    asks: true,
    summary:
      "Hands off, closes the session and opens the next in one append. Triggers, the rest of the budget, " +
      "bindings, rules, queued input, contracts, holds, open requests, pinned items and children go over. " +
      "What is sent to the old id arrives at the new session. Refused with conflict while a call is open.",
    params: () => ({
      because: field.Reason.describe("why").exactOptional(),
      objective: field.Objective.describe("the next one's objective; by default the same").exactOptional(),
      name: field.Name.describe("the next one's name; by default the same").exactOptional(),
    }),
    answer: answer.Successor,
    verb: {
      group,
      line: "Go on with the work of a session in a new one; the old id leads to it.",
      about: [
        "The next session begins with the handoff and what others expect of this one: its triggers, queue, " +
          "budget, rules, contracts and open requests. Inputs, messages and webhooks for the old id arrive " +
          "there, through any number of rollovers. What does not go over is listed.",
      ],
      examples: [
        "skein rollover 4x8kz1  # the next session begins with its handoff",
        'skein rollover 4x8kz1 --because "the context is full"  # with a reason, which the log keeps',
      ],
    },
  }),
  "session.split": change("session", "split", {
    title: "Split off another task",
    words: "drift task new separate",
    summary:
      "Opens a session for another task that came up in this one, with the same agent, bindings and rules, " +
      "and chosen items, documents and inputs. This session stays as it is.",
    params: () => ({
      objective: field.Objective.describe(
        "the task of the new session; by default the first of the inputs",
      ).exactOptional(),
      name: field.Name.describe("a short name for lists").exactOptional(),
      items: z
        .array(z.string().min(1).max(200))
        .max(limit.splitItemsMax)
        .describe(
          "an item that goes along; by default pinned items, constraints, preferences, and later ones",
        )
        .exactOptional(),
      inputs: z
        .array(field.Seq)
        .max(limit.splitInputsMax)
        .describe("the position of an input that goes along; by default the last three, where it drifted")
        .exactOptional(),
      documents: z
        .array(field.Path)
        .max(limit.splitItemsMax)
        .describe("an initial document that goes along, by its path; by default all")
        .exactOptional(),
      because: field.Reason.describe("why").exactOptional(),
    }),
    answer: answer.SessionRef,
    verb: {
      group,
      line: "Give another task that came up in a session one of its own.",
      args: ["objective?"],
      flags: {
        items: { value: "KIND/KEY" },
        inputs: { name: "input", value: "SEQ" },
        documents: { value: "PATH" },
      },
      about: [
        "The new session has the same agent, model, bindings and rules, and at most what is left of the " +
          "budget. It starts with the items, and with the inputs as documents: nothing of them runs again. " +
          "Both logs name the other session; this one stays as it is.",
      ],
      examples: [
        'skein split 4x8kz1 "Plan the offsite"  # after "the last inputs look like another task"',
        'skein split 4x8kz1 "Plan the offsite" --item decision/city --input 41  # what goes along',
      ],
    },
  }),
  "session.merge": change("session", "merge", {
    title: "Merge another session into it",
    // A function, or answers: each is validated against its conflict, which says more than the schema.
    inProcess: {
      resolve: (value) => (typeof value === "object" && value !== null) || typeof value === "function",
    },
    also: [{ scope: "read", what: "a merge, which tells what comes in," }],
    summary:
      "Merges what another session learned, and returns it, so it also needs the scope read. Until " +
      "all conflicts are resolved nothing changes.",
    params: () => ({
      from: field.SessionName.describe("the session to merge"),
      toSeq: field.Position.describe("up to this position of it; by default the last one").exactOptional(),
      resolve: z
        .record(z.string(), field.MergeAnswer())
        .describe("the resolution of each conflict, by its name")
        .exactOptional(),
      dryRun,
      summary: z
        .string()
        .describe("the text on the other's work; by default its objective and last answers")
        .exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        ok: Flag,
        from: SessionId,
        conflicts: z.array(z.looseObject({ name: Text })),
        possible: z.array(answer.PossibleConflict()).optional(),
        written: Count.nullable(),
      }),
    verb: {
      group: group,
      line: "Merge what another session learned; conflicts are shown and resolved by name.",
      args: ["from"],
      flags: {
        toSeq: null,
        resolve: null,
        dryRun: { what: "show the result, and change nothing" },
        summary: { what: "the summary of FROM for ID; by default its last answers" },
      },
      about: [
        "ID gets the facts, decisions, tasks and artifacts that FROM has changed since their common " +
          "base: the fork point, or their last merge. What both changed to different values is a " +
          "conflict; until each is resolved nothing changes, and the exit code is 1.",
        "ours keeps what ID has, theirs takes what FROM has, both keeps theirs beside it as KEY (from " +
          "…). Values are copied with their origin, and ID gets one summary of them. Merging again brings " +
          "only what is new. FROM@SEQ merges up to that position, as in a report you reviewed.",
      ],
      examples: [
        "skein merge 4x8kz1 9m2c7q --dry-run  # what would come in",
        "skein merge 4x8kz1 9m2c7q  # merges, unless there is a conflict",
        "skein merge 4x8kz1 9m2c7q@40  # and not what it learned after 40",
        'skein merge 4x8kz1 9m2c7q --resolve fact/base-rate=theirs --because "it is newer"  ' +
          "# with a conflict resolved, and why",
        "skein merge 4x8kz1 9m2c7q --value fact/base-rate=4.2  # neither of the two",
      ],
    },
  }),
  "session.migrate": change("session", "migrate", {
    title: "Migrate to another model or store",
    inProcess: { to: isStore },
    asks: true,
    also: [{ scope: "admin", what: "moving a session to another store", when: ({ to }) => to !== undefined }],
    summary:
      "Continues with another model; or in another store, which needs the scope admin " +
      "and a server that opens other stores.",
    params: () => ({
      model: field.ModelName.describe("the other model, as provider/model").exactOptional(),
      to: field.Path.describe("the other store: a path or a URL").exactOptional(),
    }),
    answer: () => z.looseObject({ session: SessionId, seq: Count }),
  }),
  "session.replay": change("session", "replay", {
    title: "Replay",
    asks: true,
    also: [{ scope: "write", what: "running turns again", when: ({ from }) => from !== undefined }],
    local: { progress: "client", signal: "client", score: "engine" },
    summary:
      "Recomputes every hash that the log states of itself; or runs turns again in a fork, which needs " +
      "the scope write, and compares.",
    scope: "read",
    params: () => ({
      from: field.Place.describe("run the turns after this position or checkpoint again").exactOptional(),
      model: field.ModelName.describe("the model of the run; by default the session's").exactOptional(),
      instructions: field.Instructions.describe("other instructions for the run").exactOptional(),
      tools: z
        .enum(["recorded", "live"])
        .describe("results of tools: recorded ones, or by calling the tools; by default recorded")
        .exactOptional(),
      name: field.Name.describe("a name for the fork").exactOptional(),
      budget: field.Budget().describe("the limits of the run").exactOptional(),
    }),
    answer: () => z.looseObject({ session: SessionId }),
    verb: {
      group: group,
      line: "Compute every state and context again; or run turns again in a fork, and compare.",
      flags: {
        from: { type: "position", what: "run again from here; the same as ID@SEQ" },
        model: { value: "PROVIDER/MODEL", what: "with another model" },
        instructions: { what: "with these in place of the agent's" },
        tools: { what: "live: unrecorded calls run if they only read; by default recorded" },
        name: { what: "a short name of the fork, for lists" },
      },
      about: [
        "Without a position the log is folded again from its first record; the hash of what the session " +
          "knew at the end of each turn, and the digest of each context, must equal the recorded ones. It " +
          "only reads, and exits with 1 on a mismatch.",
        "With a position every turn that ended after it runs again, in a fork made just before the first " +
          "of them. The fork gets the same inputs in the same order. Tool calls that the " +
          "original also made get its recorded results; others are an error, and nothing outside is " +
          "touched. It exits with 7 when it stopped before the end.",
      ],
      examples: [
        "skein replay 4x8kz1  # check every turn and every request",
        "skein replay 4x8kz1 --from 12  # run again from 12",
        'skein replay 4x8kz1@12 --model offline/offline --instructions "Be brief." --save x.html  ' +
          "# otherwise, and side by side on a page",
      ],
    },
  }),
};
