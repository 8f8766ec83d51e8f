/** Calls on accept checks: what must pass before a session can be closed as completed. */
import * as z from "zod";
import { checkKinds, checkStatuses } from "../core/check/check.ts";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change } from "./operation.ts";

const { AppendResult, Count, Flag, MaybeText, SessionId, Text } = answer;
const group = "Lifecycle";

export const sessionChecks = {
  "session.check": change("session", "check", {
    title: "Run the accept checks",
    words: "accept verify proof done tests",
    local: { signal: "client" },
    scope: "operate",
    summary:
      "Runs the accept checks that have not run since the last turn, and reports all; or records a " +
      "person's verdict. The session is completed only when all have passed.",
    params: () => ({
      only: z
        .array(field.CheckName)
        .min(1)
        .max(limit.acceptsMax)
        .describe("only this check, by name")
        .exactOptional(),
      again: z.boolean().describe("also those that have run since the last turn").exactOptional(),
      commit: z
        .string()
        .regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/, "expected the full id of a commit")
        .describe("the commit that the bound directory must be at, without changes")
        .exactOptional(),
      pass: field.CheckName.describe("a person's verdict: this check passed").exactOptional(),
      fail: field.CheckName.describe("a person's verdict: this check failed").exactOptional(),
      because: field.because,
    }),
    answer: () =>
      z.looseObject({
        passed: Flag,
        seq: Count,
        checks: z.array(
          z.looseObject({
            check: Text,
            kind: z.enum(checkKinds),
            status: z.enum([...checkStatuses, "waiting"]),
            text: MaybeText,
            tries: Count,
            seq: Count.nullable(),
            at: z.int().nullable(),
            ran: Flag,
            reason: MaybeText,
            output: MaybeText,
            exitCode: z.int().optional(),
            score: z.number().optional(),
            ms: Count.optional(),
            commit: Text.optional(),
            by: SessionId.optional(),
          }),
        ),
      }),
    verb: {
      group,
      line: "Run the accept checks of a session, or decide one as a person.",
      flags: {
        only: { value: "NAME" },
        pass: { value: "NAME" },
        fail: { value: "NAME" },
        commit: { value: "ID" },
      },
      about: [
        "A check that has run since the last turn does not run again, unless it could not run. Commands " +
          "run in the bound shell, or else in a sandbox in the bound directory, and pass with exit code 0.",
        "The exit code is 0 when all checks have passed, else 1.",
      ],
      examples: [
        "skein check 4x8kz1  # run what has not run since the last turn",
        'skein check 4x8kz1 --pass looks-right --because "seen it"  # a person decides',
        "skein check 4x8kz1 --only tests --again  # one of them, once more",
      ],
    },
  }),
  "session.explore": change("session", "explore", {
    title: "Explore alternatives",
    words: "try compare what if side quest branch fork",
    local: { signal: "client" },
    scope: "operate",
    summary:
      "Tries several ways to go on: each in a fork that runs, scored by checks and compared. With merge " +
      "what the winner learned comes back. The same call again continues the same exploration.",
    params: () => ({
      alternatives: z
        .array(field.Objective)
        .min(2)
        .max(limit.alternativesMax)
        .describe("what each alternative is to do"),
      judge: field
        .Checks()
        .describe("what scores them, as accept checks; by default those of the session")
        .exactOptional(),
      budget: field
        .Budget()
        .describe("of each alternative; by default an equal share of what is left to the session")
        .exactOptional(),
      files: field.Path.describe(
        "a directory, below which each gets its own copy of the files",
      ).exactOptional(),
      atSeq: field.Position.describe("where they begin; by default the last position").exactOptional(),
      merge: z
        .boolean()
        .describe("merge what the winner learned, if it passed all checks and nothing conflicts")
        .exactOptional(),
      name: field.Name.describe("tells explorations of the same alternatives apart").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        exploration: Text,
        atSeq: Count,
        alternatives: z.array(
          z.looseObject({
            alternative: Count,
            objective: Text,
            session: SessionId,
            status: z.enum(["done", "blocked", "failed"]),
            why: MaybeText,
            score: z.number().nullable(),
            passed: Flag.nullable(),
            checks: z.array(
              z.looseObject({
                check: Text,
                kind: z.enum(checkKinds),
                status: z.enum([...checkStatuses, "waiting"]),
                reason: MaybeText,
                score: z.number().optional(),
              }),
            ),
            nanoUsd: Count,
            steps: Count,
            directory: MaybeText,
          }),
        ),
        winner: SessionId.nullable(),
        merged: z.looseObject({ written: Count.nullable(), conflicts: z.array(Text) }).nullable(),
      }),
    verb: {
      group: "Branches",
      line: "Try several ways to go on, each in a fork that runs, and compare them.",
      flags: {
        alternatives: { name: "try", type: "list", value: "OBJECTIVE" },
        judge: { type: "list", value: "CHECK" },
        files: { value: "DIR" },
        atSeq: "at",
      },
      about: [
        "CHECK is as for accept: a command, a file, a review or a person. A fork's score is the mean of " +
          "its checks; a review counts as its score. The highest score wins, of equals the cheaper one.",
        "Without --files all alternatives work on the same files. All forks stay: read, diff or merge any " +
          "of them. After a crash the same command continues with the same forks.",
      ],
      examples: [
        'skein explore 4x8kz1 --try "Use a queue" --try "Use a lock" --judge "command: make" --files ../t',
        'skein explore 4x8kz1 --try "Ask Ana" --try "Guess" --judge "review: Is it right?" --usd 1 --merge',
      ],
    },
  }),
  "session.setChecks": change("session", "setChecks", {
    title: "Set the accept checks",
    words: "accept proof done",
    scope: "operate",
    asks: true,
    summary:
      "Sets what must pass before the session can be closed as completed. No agent, tool or session can do " +
      "this.",
    args: ["checks"],
    params: () => ({
      checks: field.Checks().describe("the checks; they replace those before"),
      reason: field.reason,
    }),
    answer: AppendResult,
    verb: {
      name: "accept",
      group,
      line: "Set what must pass before a session can be closed as completed.",
      args: [],
      flags: { checks: { name: "check", type: "list", value: "CHECK" } },
      done: "checks set",
      about: [
        'CHECK is "command: LINE", "file: PATH", "file: PATH contains TEXT", "review: RUBRIC" or "person: ' +
          'QUESTION", with options in parentheses: command (NAME, within 5m, in BINDING), review (NAME, at ' +
          "least 0.9, by AGENT). Without any, the session has no checks.",
      ],
      examples: [
        'skein accept 4x8kz1 --check "command (tests): npm test" --check "file: CHANGELOG.md contains 0.5"',
        "skein accept 4x8kz1  # none from now on",
      ],
    },
  }),
};
