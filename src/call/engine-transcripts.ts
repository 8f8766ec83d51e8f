/** Calls on the sessions of other tools: found on the server's machine, or sent to it. */
import * as z from "zod";
import * as answer from "./answer.ts";
import { change, read } from "./operation.ts";

const { Count, Text, SessionId } = answer;
const Moment = z.int().meta({ format: "unix-ms" });
const Tool = z.string().min(1).max(40);
const Key = z.string().regex(/^[0-9a-f]{32}$/, "expected a key from findTranscripts");

const Imported = () =>
  z.looseObject({
    key: Text,
    session: SessionId.nullable(),
    status: z.enum([
      "new",
      "grown",
      "same",
      "rewritten",
      "continued",
      "exported",
      "failed",
      "excluded",
      "found",
    ]),
    /** The session that the file was exported from. */
    origin: SessionId.nullable(),
    reason: Text.nullable(),
    tool: Text,
    title: Text.nullable(),
    entries: Count,
    added: Count,
    branches: z.array(SessionId),
    /** Null when this import did not read all of the source. */
    redacted: Count.nullable(),
    redactedKinds: z.record(z.string(), Count),
    unknown: Count,
    damaged: Count,
    tooLarge: Count,
  });

export const engineTranscripts = {
  "engine.findTranscripts": read("engine", "findTranscripts", {
    title: "Find sessions of other tools",
    words: "claude code codex opencode pi gemini history",
    summary:
      "The sessions of other tools on the server's machine, the newest first, with counts by tool. Only " +
      "where the operator allows it, or the server is for this machine alone.",
    scope: "operate",
    params: () => ({
      tool: Tool.describe("only of this tool").exactOptional(),
      project: z.string().max(1_000).describe("only with this in the working directory").exactOptional(),
      text: z.string().max(1_000).describe("only with this in the title or project").exactOptional(),
      since: Moment.describe("only those that changed since").exactOptional(),
      limit: z.int().min(1).max(1_000).describe("at most this many; by default 500").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        tools: z.array(
          z.looseObject({
            tool: Text,
            title: Text,
            sessions: Count,
            bytes: Count,
            oldestAt: z.number(),
            newestAt: z.number(),
          }),
        ),
        sessions: z.array(
          z.looseObject({
            key: Text,
            tool: Text,
            sourceId: Text,
            title: Text.nullable(),
            project: Text.nullable(),
            bytes: Count,
            modifiedAt: z.number(),
          }),
        ),
        more: Count,
        failed: z.array(z.looseObject({ tool: Text, title: Text, reason: Text })),
      }),
  }),
  "engine.previewTranscript": read("engine", "previewTranscript", {
    title: "Preview a session of another tool",
    summary: "The first messages of a session of another tool, by the key that findTranscripts gave.",
    scope: "operate",
    args: ["key"],
    params: () => ({ key: Key.describe("from findTranscripts") }),
    answer: () =>
      z.looseObject({
        tool: Text,
        title: Text.nullable(),
        project: Text.nullable(),
        gitBranch: Text.nullable(),
        startedAt: z.number().nullable(),
        modifiedAt: z.number(),
        bytes: Count,
        /** False when there is more than is shown. */
        isWhole: z.boolean(),
        entries: z.array(
          z.looseObject({
            kind: z.enum(["input", "answer", "compaction"]),
            at: z.number().nullable(),
            text: Text.nullable(),
            from: z.enum(["user", "context"]).exactOptional(),
            model: Text.nullable().exactOptional(),
            calls: z.array(z.looseObject({ name: Text.nullable(), status: Text })).exactOptional(),
          }),
        ),
      }),
  }),
  "engine.importTranscripts": change("engine", "importTranscripts", {
    title: "Import sessions of other tools",
    summary:
      "Imports sessions of other tools by their keys, with their subagents. They arrive suspended; " +
      "importing again adds only what is new.",
    scope: "operate",
    args: ["keys"],
    params: () => ({
      keys: z.array(Key).min(1).max(100).describe("from findTranscripts"),
      again: z.boolean().describe("import rewritten or continued sessions as separate ones").exactOptional(),
    }),
    answer: () => z.array(Imported()),
  }),
  "engine.uploadTranscript": change("engine", "uploadTranscript", {
    title: "Upload a session of another tool",
    summary: "Imports the sessions in one file of another tool that is sent here, at most 256 MiB.",
    takes: "bytes",
    params: () => ({
      tool: Tool.describe("the tool; by default it is detected").exactOptional(),
      name: z
        .string()
        .min(1)
        .max(500)
        .describe("the name of the file, which ends with .jsonl, .json or .zip")
        .exactOptional(),
    }),
    answer: () => z.array(Imported()),
  }),
};
