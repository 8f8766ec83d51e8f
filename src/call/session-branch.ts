/** Calls that name positions of a session, and that make other sessions from them. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change } from "./operation.ts";

const { Count, Flag, SessionId, Text, Written } = answer;
const reason = field.Reason.describe("why; it is kept in the log").exactOptional();
const dryRun = z.boolean().exactOptional();

export const sessionBranches = {
  "session.save": change("session", "save", {
    title: "Save a checkpoint",
    words: "bookmark",
    summary: "Gives a position a name; by default the last one.",
    args: ["name"],
    params: {
      name: field.Key,
      atSeq: field.Seq.describe("the position; by default the last one").exactOptional(),
      note: z.string().max(limit.reasonCharsMax).describe("its purpose").exactOptional(),
    },
    answer: Written,
    verb: {
      group: "Where it goes on from",
      line: "Give a position a name, to load, fork or rewind from.",
      names: { atSeq: "at" },
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
    title: "Rewind",
    warning: "What came after that position is no longer in its mind; the log keeps it.",
    words: "undo back",
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
    title: "Clear: close it and open the next",
    asks: true,
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
    title: "Merge another session into it",
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
    title: "Migrate to another model or store",
    asks: true,
    also: [{ scope: "admin", what: "moving a session to another store", when: ({ to }) => to !== undefined }],
    summary:
      "Goes on with another model; or in another store, which takes the scope admin " +
      "and a server that opens other stores.",
    params: { model: field.ModelName.exactOptional(), to: field.Path.exactOptional() },
    answer: z.looseObject({ session: SessionId, seq: Count }),
  }),
  "session.replay": change("session", "replay", {
    title: "Replay",
    asks: true,
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
