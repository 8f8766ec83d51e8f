/** The calls that read one session, as operations. */
import * as z from "zod";
import { once } from "../core/cache.ts";
import { partKinds } from "../core/context/source.ts";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { read } from "./operation.ts";

const { Count, Flag, SessionId, Text } = answer;
const atSeq = field.Place.describe(
  "at this position, checkpoint or time with a zone; by default the last position",
).exactOptional();
/** The command line finds the position itself, and shows it. */
const at = { name: "at", type: "position" } as const;
const Place = once(() => z.looseObject({ session: SessionId, seq: Count }));

export const sessionReads = {
  "session.state": read("session", "state", {
    title: "Read the state",
    summary: "The state now, or at an earlier position, with its contents.",
    params: () => ({ atSeq }),
    answer: answer.StateView,
    verb: {
      group: "Input and knowledge",
      line: "Show the state of a session, now or as it was.",
      flags: { atSeq: at },
      examples: [
        "skein state 4x8kz1  # as it is now",
        "skein state 4x8kz1 --at 12 --json  # as it was at 12, for programs",
        "skein state 4x8kz1 --at before-run  # as it was at a checkpoint",
      ],
    },
  }),
  "session.fold": read("session", "fold", {
    title: "Read the state without contents",
    summary: "The state as the log gives it: names and positions, no contents. Maps are lists of entries.",
    params: () => ({ atSeq }),
    answer: () => z.looseObject({ seq: Count, mind: z.looseObject({}), standing: z.looseObject({}) }),
  }),
  "session.deps": read("session", "deps", {
    title: "Show what it depends on",
    words: "dependencies stale sources files",
    also: [{ scope: "operate", what: "running its queries again", when: ({ queries }) => queries === true }],
    summary:
      "Everything the session loaded, read or queried, with its digest, range and position, and whether it " +
      "has changed since. With queries, which needs the scope operate, its queries run again.",
    params: () => ({
      atSeq,
      queries: z.boolean().describe("run its queries again to compare their results").exactOptional(),
    }),
    answer: () =>
      z.array(
        z.looseObject({
          kind: z.enum(["document", "file", "query", "resource", "memory", "session"]),
          source: Text,
          digest: answer.MaybeText,
          seq: Count,
          at: field.Moment,
          ranges: z.array(z.tuple([z.int(), z.int()])),
          reads: Count,
          binding: answer.MaybeText,
          tables: z.array(Text),
          now: z.enum(["same", "changed", "missing", "follows", "unknown"]),
        }),
      ),
    verb: {
      group: "Input and knowledge",
      line: "Show what a session loaded, read or queried, and what is stale.",
      flags: { atSeq: at, queries: null },
      about: [
        "STALE means that a source differs from what the session last read of it, or is gone. Files are " +
          "read and queries run again, read-only, to tell. The exit code is 0 also with stale sources.",
      ],
      examples: [
        "skein deps 4x8kz1  # files, queries, documents, memory and other sessions",
        "skein deps 4x8kz1 --at before-run --json  # as of a checkpoint, for programs",
      ],
    },
  }),
  "session.items": read("session", "items", {
    title: "Read the items",
    summary: "The items, with values.",
    params: () => ({ atSeq }),
    answer: () => z.array(answer.Item()),
  }),
  "session.load": read("session", "load", {
    title: "Load a checkpoint or position",
    summary:
      "The position of a checkpoint, or the last one until a time: to read at, fork from or rewind to.",
    args: ["place"],
    params: () => ({
      place: field.Place.describe(
        "the position, the name of a checkpoint, or a time with a zone, such as 2026-11-16T09:00Z, or -2h",
      ),
    }),
    answer: () => z.looseObject({ session: SessionId, seq: Count }),
    verb: {
      group: "Branches",
      line: "Show a session at a checkpoint, position or time, and how to continue from there.",
      flags: { place: "NAME|SEQ|TIME" },
      about: [
        "It changes nothing. Fork to try something else from there and keep what came later; rewind to go " +
          "back.",
      ],
      examples: [
        "skein load 4x8kz1 before-run  # at a checkpoint",
        "skein load 4x8kz1 12  # at a position",
        "skein load 4x8kz1 2026-11-16T09:00  # as it was then",
      ],
    },
  }),
  "session.head": read("session", "head", {
    title: "Read the head",
    summary: "Position and hash of the last record. Note it elsewhere, and pass it to verify later.",
    answer: () => z.looseObject({ seq: Count, hash: answer.Sha256, at: Count }),
  }),
  "session.events": read("session", "events", {
    title: "Show the log",
    local: { signal: "client" },
    remote: ["after", "deltas"],
    inProcess: {
      since: (value) => value instanceof Date,
      until: (value) => value instanceof Date,
      // A page has a limit; what the library reads has none.
      limit: (value) => Number.isInteger(value) && Number(value) >= 0,
    },
    summary:
      "Events by position or time. A page; or a stream, which continues with later events. In a " +
      "page, next is where the next one starts: its fromSeq, or in reverse its toSeq.",
    params: () => ({
      fromSeq: field.Seq.describe("the first position").exactOptional(),
      toSeq: field.Seq.describe("the last position").exactOptional(),
      after: z
        .string()
        .regex(/^\d{1,15}(\.[0-9a-f]{16})?$/)
        .describe("the position before the first one, or the id of the last event of a stream")
        .exactOptional(),
      since: z.number().describe("only from this moment on, in milliseconds since 1970").exactOptional(),
      until: z.number().describe("only before this moment, in milliseconds since 1970").exactOptional(),
      types: z
        .array(z.string().max(100))
        .max(200)
        .describe("only events of these types; turn.* matches all that begin so")
        .exactOptional(),
      reverse: z.boolean().describe("the last events first").exactOptional(),
      limit: z.int().min(1).max(limit.pageRecordsMax).describe("at most this many events").exactOptional(),
      follow: z.boolean().describe("continue with events that are appended later").exactOptional(),
      deltas: z.boolean().describe("whether a stream has deltas of answers; by default true").exactOptional(),
    }),
    answer: () => z.looseObject({ events: z.array(answer.Event()), next: Count.nullable() }),
    streams: true,
  }),
  "session.records": read("session", "records", {
    title: "Get the records as they are stored",
    summary: "The records exactly as they are stored, one a line, from the first to the current last.",
    gives: "bytes",
  }),
  "session.verify": read("session", "verify", {
    title: "Verify the session",
    summary: "Hashes everything again and compares it with the chain, and with a head noted earlier.",
    params: () => ({
      head: z
        .strictObject({ seq: field.Seq, hash: answer.Sha256, at: Count.exactOptional() })
        .describe("a head noted earlier: finds a missing tail, too")
        .exactOptional(),
      own: z.boolean().describe("only its own records, without those it shares").exactOptional(),
    }),
    answer: answer.VerifyReport,
  }),
  "session.lineage": read("session", "lineage", {
    title: "Show what was forked from what",
    summary: "The family of this session: forks, children, successors, and what was merged.",
    answer: answer.Lineage,
    verb: {
      group: "Branches",
      line: "Show the family of a session: forks, children, successors, and what was merged.",
      about: [
        "The tree begins with the session that all others come from. Each line says how a session comes " +
          "from the one above it and at which position (fork; child: a session that it opened; successor: " +
          "a session opened by rollover, clear or open --from), its status, and what was merged into it, " +
          "as ID@SEQ.",
      ],
      examples: [
        "skein lineage 4x8kz1  # the whole family, whichever of it is named",
        "skein lineage 4x8kz1 --json | jq '.nodes[].session'  # all ids, parents first",
        "skein lineage 4x8kz1 --json | jq '.nodes[] | select(.relation == \"child\")'  # only children",
      ],
    },
  }),
  "session.diff": read("session", "diff", {
    title: "Diff two positions",
    summary:
      "What differs between two positions of it, or from another session; by default to its current state.",
    args: ["from", "to"],
    params: () => ({
      from: field.DiffPlace().describe("a position, a checkpoint, or a place in another session"),
      to: field.DiffPlace().describe("the same; by default the session as it is now").exactOptional(),
      only: z
        .array(z.enum(["state", "items", "transcript", "context", "files"]))
        .describe("what to compare; by default all but context and files")
        .exactOptional(),
    }),
    answer: () => z.looseObject({ from: Place(), to: Place(), common: Place().nullable() }),
  }),
  "session.context": read("session", "context", {
    title: "Show the context",
    words: "explain window prompt",
    summary: "What the model was sent by the request at a position, or would be sent next, and why.",
    params: () => ({
      atSeq,
      uncompacted: z.boolean().describe("everything, as if nothing had been compacted").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        parts: z.array(z.looseObject({})),
        reasons: z.array(z.looseObject({ kind: z.enum(partKinds), why: Text, tokens: Count })),
        tiers: z.array(
          z.looseObject({
            tier: Text,
            shareTokens: Count.nullable(),
            flowedTokens: Count.nullable(),
            usedTokens: Count,
            leftOut: z.array(z.looseObject({ name: Text, seq: Count, why: Text })),
          }),
        ),
        digest: Text,
        renderer: Count,
        model: Text,
        requestSeq: Count.nullable(),
        matches: Flag.nullable(),
        tokens: Count,
        windowTokens: Count.nullable(),
        zones: z.looseObject({ strainedTokens: Count.nullable(), fullTokens: Count.nullable() }),
      }),
    verb: {
      group: "Context",
      line: "Show what the model was sent at a position, or would be sent next.",
      flags: { atSeq: at },
      about: [
        "At the position of a request (model.requested) it is exactly what was sent, rebuilt from the log " +
          "and checked against its digest; elsewhere what the next request would send. --json gives the " +
          'parts as they are, with their reasons. "skein explain" says why each part is there.',
      ],
      examples: [
        "skein context 4x8kz1  # what would be sent next",
        "skein context 4x8kz1@12  # what was sent at 12",
        "skein context 4x8kz1 --uncompacted --json  # everything, for programs",
      ],
    },
  }),
  "session.stages": read("session", "stages", {
    title: "Show the parts of what was compacted",
    words: "compaction tree turns days summary missing",
    summary:
      "The parts of what compactions replaced: turns, in stages, in days, and earlier compactions; and " +
      "what the summary leaves out. With node, the parts of one of them.",
    args: ["node"],
    params: () => ({
      node: z.string().min(2).max(20).describe("the id of a part, such as s12").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        node: z.looseObject({ id: Text, fromSeq: Count, toSeq: Count }).nullable(),
        compactedSeq: Count.nullable(),
        stages: z.array(z.looseObject({ id: Text, fromSeq: Count, toSeq: Count, title: Text })),
        missing: z.array(z.looseObject({ kind: Text, text: Text })),
      }),
    verb: {
      group: "Context",
      line: "Show the parts of what a session's compactions replaced.",
      about: [
        "Each compaction keeps a tree of its range: turns, in stages, in days; the tree of the compaction " +
          "before is a part too. NODE opens a part. The ids are those that a model opens with recall. " +
          "Below the tree: what the summary leaves out and no item held at that time.",
      ],
      examples: [
        "skein stages 4x8kz1  # the newest compaction",
        "skein stages 4x8kz1 s12  # the turns of a stage",
      ],
    },
  }),
  "session.exportTranscript": read("session", "exportTranscript", {
    title: "Export the conversation for another tool",
    asks: true,
    summary:
      "The conversation on the session's current path as a file of another tool, or as plain messages. " +
      "left lists what the format cannot express.",
    path: "/v1/sessions/{id}/transcript",
    params: () => ({
      format: z.enum(field.exportFormats).describe("the tool, or the API of the messages"),
      cwd: field.Path.describe("its working directory; by default that of the session").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        session: SessionId,
        format: Text,
        sessionId: answer.MaybeText,
        cwd: answer.MaybeText,
        path: Text,
        text: Text,
        left: z.array(Text),
        entries: Count,
      }),
  }),
  "session.tools": read("session", "tools", {
    title: "Read which tools the model is offered",
    summary: "The tools that the model is offered, and the decision of the rules without arguments.",
    answer: () => z.array(z.looseObject({ name: Text, description: Text, effect: Text, rule: Text })),
    verb: {
      group: "Resources and limits",
      line: "List the tools that a session's model is offered, with effect and permission.",
      about: [
        "The effect says what a crash in the middle means: a read or idempotent call runs again; an " +
          "unsafe one does not, unless the tool's probe says that it had no effect, and without a probe " +
          "its outcome is unknown; a session call is one append with its result. " +
          "The rule applies to a call whatever its arguments; rules with a pattern come on top.",
        "Bound servers are started for this, and stopped again.",
      ],
      examples: [
        "skein tools 4x8kz1  # its own, and those of its bindings",
        "skein tools 4x8kz1 --json | jq -r .name  # the names",
      ],
    },
  }),
  "session.contracts": read("session", "contracts", {
    title: "Read the contracts",
    summary: "Its message contracts, by topic.",
    answer: () => z.array(z.looseObject({ topic: Text, schema: z.unknown().optional(), seq: Count })),
  }),
  "session.triggers": read("session", "triggers", {
    title: "Read the triggers",
    summary: "Its triggers, by name.",
    answer: () => z.array(z.looseObject({ name: Text, kind: Text, spec: z.looseObject({}).nullable() })),
  }),
};
