/** Calls of an engine on whole sessions. */
import * as z from "zod";
import { statuses } from "../core/session/lifecycle.ts";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, isStore, read } from "./operation.ts";

const { Count, Flag, MaybeText, SessionId } = answer;
const { dryRun } = field;

export const engineSessions = {
  "engine.open": change("engine", "open", {
    title: "New session",
    summary:
      "Begins a session, with its objective and what it starts with. These options need the scope operate: " +
      "bind (except of tools), files, rules that allow, triggers that watch files, accept.",
    path: "/v1/sessions",
    params: field.openFields,
    answer: answer.Successor,
  }),
  "engine.sessions": read("engine", "sessions", {
    title: "List the sessions",
    words: "ps top processes",
    summary: "Lists sessions with their status, the most recently active first, in pages.",
    params: () => ({
      agent: field.AgentName.describe("only sessions of this agent").exactOptional(),
      status: z.array(z.enum(statuses)).min(1).describe("only sessions of these statuses").exactOptional(),
      labels: z.record(z.string(), z.string()).describe("only sessions with these labels").exactOptional(),
      text: z
        .string()
        .max(limit.nameCharsMax)
        .describe("only sessions whose name or objective holds this text")
        .exactOptional(),
      project: field.SessionName.describe("only sessions of this project").exactOptional(),
      activeSince: z.int().describe("only with activity since, in milliseconds since 1970").exactOptional(),
      activeBefore: z
        .int()
        .describe("only without activity since, in milliseconds since 1970")
        .exactOptional(),
      limit: z.int().min(1).max(limit.listMax).describe("at most this many in a page").exactOptional(),
      cursor: z.string().max(1_000).describe("the cursor of the page before").exactOptional(),
    }),
    answer: () => z.looseObject({ rows: z.array(answer.SessionRow()), cursor: MaybeText }),
  }),
  "engine.session": read("engine", "session", {
    title: "Show the session",
    summary: "Shows a session: its status, what it knows, its origin, and the last events.",
    path: "/v1/sessions/{id}",
    answer: () =>
      answer.StateView().extend({
        id: SessionId,
        copy: Flag,
        movedTo: MaybeText,
        head: z.looseObject({ seq: Count, hash: answer.Sha256 }),
        forks: z.array(z.looseObject({ session: SessionId, seq: Count })),
        events: z.array(answer.Event()),
      }),
  }),
  "engine.delete": change("engine", "delete", {
    title: "Delete the session",
    warning: "Its contents are deleted for good.",
    summary: "Deletes a session for good. Forks keep what they share with it.",
    method: "DELETE",
    path: "/v1/sessions/{id}",
    scope: "admin",
    params: () => ({ reason: field.reason }),
    verb: {
      group: "Sessions",
      line: "Delete a session for good; its forks keep what they share with it.",
      about: [
        "Only its id, its last position and the hash there remain, in the log of the workspace. To keep a " +
          "session that is done, close and archive it instead.",
      ],
      examples: ['skein delete 4x8kz1 --yes --reason "asked for by the user"  # it cannot be undone'],
    },
  }),
  "engine.lineage": read("engine", "lineage", {
    title: "Show the family",
    summary: "The family of a session: forks, children, successors, and what was merged.",
    args: ["session"],
    params: () => ({ session: field.SessionName.describe("any session of the family") }),
    answer: answer.Lineage,
  }),
  "engine.export": change("engine", "export", {
    title: "Export the session to a bundle",
    also: [{ scope: "admin", what: "moving a session away", when: ({ move }) => move === true }],
    local: { sign: "engine" },
    summary: "Writes a session to a bundle. With move, which needs the scope admin, it leaves this store.",
    path: "/v1/sessions/{id}/export",
    scope: "read",
    params: () => ({
      withForks: z.boolean().describe("also its forks, and theirs").exactOptional(),
      move: z.boolean().describe("move it: it becomes read-only in this store").exactOptional(),
      to: z.string().max(64).describe("with move: the id of the destination workspace").exactOptional(),
    }),
    gives: "bytes",
  }),
  "engine.import": change("engine", "import", {
    title: "Import a bundle",
    summary:
      "Imports a bundle. Nothing of it is visible before all of it is verified. A session that moves here " +
      "without the signature of a trusted key arrives suspended; review lists what it would act with.",
    scope: "operate",
    takes: "bytes",
    params: () => ({
      signedBy: z
        .array(z.string().max(100))
        .max(100)
        .describe("public keys: a bundle that none of them signed is refused")
        .exactOptional(),
      trusted: z
        .array(z.string().max(100))
        .max(100)
        .describe("public keys: a session that one of them signed is not suspended")
        .exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        session: SessionId,
        project: answer.ProjectId.nullable(),
        as: z.enum(["own", "copy"]),
        sessions: z.array(SessionId),
        records: Count,
        blobs: Count,
        already: Flag,
        signedBy: MaybeText,
        trusted: Flag,
        suspended: Flag,
        review: z.array(
          z.looseObject({
            session: SessionId,
            bindings: z.array(z.looseObject({ name: z.string(), kind: z.string(), mode: z.string() })),
            rules: z.array(z.looseObject({ name: z.string(), tool: z.string(), rule: z.string() })),
            triggers: z.array(z.looseObject({ name: z.string(), kind: z.string() })),
            input: z.array(z.looseObject({ seq: Count, type: z.string(), text: z.string() })),
            waiting: Count,
            calls: z.array(z.looseObject({ tool: z.string(), phase: z.string() })),
          }),
        ),
        warning: MaybeText,
      }),
  }),
  "engine.migrate": change("engine", "migrate", {
    title: "Migrate all sessions to another store",
    warning: "They leave this store.",
    local: { progress: "client", signal: "client" },
    inProcess: { to: isStore },
    summary:
      "Moves every session to another store, with the workspace's data. It needs a server that opens " +
      "other stores.",
    scope: "admin",
    params: () => ({
      to: field.Path.describe("the other store: a path or a URL"),
      dryRun,
      waitMs: field.Span.describe("how long to wait for running sessions").exactOptional(),
    }),
    answer: () => z.looseObject({ dryRun: Flag, moved: Count, copied: Count, records: Count }),
  }),
  "engine.send": change("engine", "send", {
    title: "Send a message to a session",
    keyed: true,
    summary: "Puts a person's message into a session's inbox, validated against its contract for the topic.",
    args: ["to", "message"],
    params: () => ({
      to: field.SessionName.describe("the receiver"),
      message: field.Value.describe("the message: a text or any JSON"),
      topic: field.Key.describe("the subject; the receiver may have a contract for it").exactOptional(),
    }),
    answer: answer.AppendResult,
  }),
  "engine.deliver": change("engine", "deliver", {
    title: "Deliver messages to other stores",
    local: { progress: "client" },
    summary: "Delivers waiting messages to other stores, and ends requests past their deadline.",
    scope: "operate",
    answer: () => z.looseObject({ sessions: Count, delivered: Count, refused: Count, overdue: Count }),
    verb: {
      group: "Turns",
      line: "Deliver waiting messages to other stores, and end requests that are overdue.",
      about: [
        "A message to another store waits in its sender's outbox until it is known to be there: the store " +
          "was unavailable, the receiver's inbox was full, or a process died on the way. It is received " +
          "once, however often this runs and wherever it stops. Those of one pair go in order.",
        "A message that is refused for good is written to the sender's log, and the sender sees it; so is " +
          "a request without a reply in time. Messages that still wait are listed with the reason.",
      ],
      examples: [
        "skein deliver  # all that waits in this store",
        "skein deliver --json | jq .waiting  # what could not be delivered, and why",
      ],
    },
  }),
  "engine.putBlob": change("engine", "putBlob", {
    title: "Keep the bytes of a file",
    summary:
      "Stores the bytes of an image or file, and returns the hash by which a block of an input names them.",
    takes: "bytes",
    answer: () => z.looseObject({ hash: answer.Sha256 }),
  }),
  "engine.blob": read("engine", "blob", {
    title: "Get the bytes of a hash",
    summary: "The bytes stored under a hash: an image, a file, or a large content.",
    args: ["hash"],
    params: () => ({ hash: answer.Sha256.describe("the hash of the bytes") }),
    gives: "bytes",
  }),
};
