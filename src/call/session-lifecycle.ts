/** Calls that move a session through its lifecycle. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, type Operation, type VerbDescription } from "./operation.ts";

const { AppendResult } = answer;
const { reason } = field;

type Plain = Pick<Operation, "title" | "words" | "summary"> & {
  readonly verb: Pick<VerbDescription, "line" | "about" | "done"> & Partial<VerbDescription>;
  /** An example of a reason. */
  readonly why: string;
};
/** A change that takes a reason and nothing else. */
const plain = (call: string, { verb, why, ...rest }: Plain) =>
  change("session", call, {
    ...rest,
    params: () => ({ reason }),
    answer: AppendResult,
    verb: {
      group: "Lifecycle",
      ...verb,
      examples: [...(verb.examples ?? []), `skein ${call} 4x8kz1 --reason "${why}"  # with the reason`],
    },
  });

export const sessionLifecycle = {
  "session.activate": plain("activate", {
    title: "Activate",
    words: "resume continue unpause",
    summary:
      "Resumes a suspended or sleeping session; an imported one without a review needs the scope " +
      "operate.",
    verb: { line: "Resume a suspended or sleeping session.", done: "activated" },
    why: "the rates are in",
  }),
  "session.suspend": plain("suspend", {
    title: "Suspend",
    words: "pause stop",
    summary: "Suspends it, with a reason.",
    verb: { line: "Suspend a session until you activate it.", done: "suspended" },
    why: "waiting for the rates",
  }),
  "session.interrupt": plain("interrupt", {
    title: "Interrupt",
    words: "stop abort",
    summary: "Asks that the turn in progress end, in whatever process it runs.",
    verb: {
      group: "Turns",
      line: "End the turn that is in progress; the session stays open.",
      about: [
        "The process that runs the session gets it at once, also in the middle of an answer or a tool " +
          "call: the tool is stopped with all it has started. Calls that had begun and are not known to be " +
          "harmless are settled as unknown, the others as skipped, and the model sees both in the " +
          "next turn.",
      ],
      done: "interrupted",
      examples: ["skein interrupt 4x8kz1  # from any terminal"],
    },
    why: "wrong file",
  }),
  "session.reopen": plain("reopen", {
    title: "Reopen",
    summary: "Opens a closed or archived session again.",
    verb: { line: "Open a closed or archived session again.", done: "reopened" },
    why: "the bug is back",
  }),
  "session.archive": plain("archive", {
    title: "Archive",
    summary: "Makes a closed session read-only, and packs all of it.",
    verb: {
      line: "Make a closed session read-only, for audit, and pack all of it.",
      about: ["It is still listed, read, searched and forked; reopen makes it an open session again."],
      done: "archived",
    },
    why: "year's end",
  }),
  "session.cancel": change("session", "cancel", {
    title: "Cancel",
    warning: "It ends as cancelled.",
    words: "kill abort",
    summary: "Ends it as cancelled; with tree, also the sessions that it made itself.",
    params: () => ({
      reason,
      tree: z
        .boolean()
        .describe("also the sessions that it opened or forked itself, the deepest first")
        .exactOptional(),
    }),
    answer: () => AppendResult().partial({ seq: true, headSeq: true, duplicate: true }),
    verb: {
      group: "Lifecycle",
      line: "End a session, whatever it is doing; its outcome is cancelled.",
      done: "cancelled",
      about: [
        'A turn in progress ends as by "skein interrupt", in whatever process it runs, and no further ' +
          'input is processed. What the session knows stays; "skein reopen" opens it again.',
        "The rest of a budget that another session gave it goes back to that one.",
      ],
      examples: [
        "skein cancel 4x8kz1  # also while another process runs it",
        "skein cancel 4x8kz1 --tree  # with all sessions below it",
        'skein cancel 4x8kz1 --reason "no longer needed"  # with the reason',
      ],
    },
  }),
  "session.close": change("session", "close", {
    title: "Close",
    words: "end finish complete",
    local: { expect: "client" },
    summary: "Ends it: completed, failed or expired.",
    params: () => ({
      reason,
      outcome: z
        .enum(["completed", "failed", "expired"])
        .describe("the outcome; by default completed")
        .exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group: "Lifecycle",
      line: "End a session; it is kept for audit and can be reopened.",
      done: "closed",
      examples: [
        "skein close 4x8kz1  # it is done",
        'skein close 4x8kz1 --outcome failed --reason "no access"  # it is not, but over',
      ],
    },
  }),
  "session.sleep": change("session", "sleep", {
    title: "Sleep",
    asks: true,
    summary: "Puts it to sleep until a time, until one of its triggers fires, or until it is woken.",
    params: () => ({
      reason,
      untilMs: field.Moment.describe("wake it at this moment").exactOptional(),
      triggers: z
        .array(field.Key)
        .max(limit.triggersMax)
        .describe("only this trigger wakes it, and input from a person")
        .exactOptional(),
    }),
    answer: AppendResult,
    verb: {
      group: "Lifecycle",
      line: "Put a session to sleep until a time, a trigger, a message or you wake it.",
      flags: { triggers: { value: "NAME" }, untilMs: { type: "coming" } },
      done: "sleeping",
      about: [
        "An input from a person always wakes it. So does a message; with --trigger only if one of these " +
          "is a message trigger. At its time a worker, or else the next run, wakes it and tells the " +
          'model; "skein run ID --wait" waits for that time.',
      ],
      examples: [
        "skein sleep 4x8kz1 --until 2h  # for two hours; the same as --for 2h",
        "skein sleep 4x8kz1 --until 2026-12-01T09:00:00Z  # until a moment",
      ],
    },
  }),
};
