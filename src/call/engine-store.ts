/** Calls of an engine on all logs of the store. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { Count, Text } = answer;
const Moment = z.int().meta({ format: "unix-ms" });
const group = "The whole store";
const limitTo = (max: number, usual = "") =>
  z.int().min(1).max(max).describe(`at most this many${usual}`).exactOptional();

export const engineStore = {
  "engine.feed": read("engine", "feed", {
    title: "Read the feed of all logs",
    asks: true,
    remote: ["family", "follow"],
    summary: "Events of all logs, at least once, in order within each; as a stream also of a family.",
    params: () => ({
      after: z.string().max(1_000).describe("the position of the feed after which it begins").exactOptional(),
      limit: limitTo(limit.pageRecordsMax),
      family: field.SessionName.describe("only events of this session's family").exactOptional(),
      follow: z.boolean().describe("continue with events that are appended later").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        events: z.array(answer.Event()),
        position: Text,
        /** Present after a rollback of the store: the events start there; null is the beginning. */
        rolledBackTo: Text.nullable().exactOptional(),
      }),
    streams: true,
  }),
  "engine.search": read("engine", "search", {
    title: "Search over everything",
    local: { progress: "client" },
    summary: "Full-text search over everything that was said.",
    args: ["text"],
    params: () => ({
      text: z
        .string()
        .refine((text) => /[\p{L}\p{N}]/u.test(text), "expected at least one letter or digit")
        .describe("the words; word* matches words that begin so"),
      session: field.SessionName.describe("only in this session").exactOptional(),
      project: field.SessionName.describe("only in this project and its sessions").exactOptional(),
      limit: limitTo(limit.searchMax, "; by default 20"),
    }),
    answer: () => z.array(answer.Hit()),
    verb: {
      group,
      line: "Find events by the words in them, the latest first.",
      flags: {
        text: { name: "WORDS", type: "words" },
        session: { value: "ID" },
        project: { value: "ID" },
        limit: { short: "n", value: "N" },
      },
      about: [
        "An event matches when it holds every word; word* matches words that begin so. MIND says whether " +
          "the session still knows it: live, rewound (away), or compacted (in the context). Definitions of " +
          "tools are not searched.",
      ],
      examples: [
        "skein search base rate  # in all sessions",
        'skein search "migrat*" --session 4x8kz1  # beginnings of words, in one session',
      ],
    },
  }),
  "engine.affected": read("engine", "affected", {
    title: "Show who depends on a path, commit or table",
    words: "dependencies impact stale",
    scope: "operate",
    local: { progress: "client" },
    summary:
      "The sessions that loaded, read or queried something: a path with all below it, the files that a " +
      "commit changed, or a table. It looks at files of the machine.",
    params: () => ({
      path: field.Path.describe("a file or a directory").exactOptional(),
      commit: z.string().min(1).max(256).describe("a commit of a Git repository").exactOptional(),
      repository: field.Path.describe("its directory; by default the current one").exactOptional(),
      table: z.string().min(1).max(256).describe("a table of a bound database").exactOptional(),
    }),
    answer: () =>
      z.array(
        z.looseObject({
          session: answer.SessionId,
          kind: answer.Text,
          source: answer.Text,
          digest: answer.MaybeText,
          seq: answer.Count,
          at: field.Moment,
          now: answer.Text,
        }),
      ),
    verb: {
      group,
      line: "Show which sessions depend on a path, a commit or a table.",
      args: ["path?"],
      about: [
        "PATH covers everything below it. STALE means that the file has changed since the session read it. " +
          "Records from before this version are found after skein rebuild.",
      ],
      examples: [
        "skein affected rates.json  # by a file",
        "skein affected --commit HEAD --repository ~/api  # by what a commit changed",
        "skein affected --table employees  # by a table",
      ],
    },
  }),
  "engine.cost": read("engine", "cost", {
    title: "Show what models cost",
    summary: "The cost of model calls, by session, agent, model, day, user or label:KEY.",
    params: () => ({
      by: Text.describe("session, agent, model, day, user or label:KEY; by default session").exactOptional(),
      session: field.SessionName.describe("only of this session").exactOptional(),
      family: z
        .boolean()
        .describe("of the session with its forks, children, successors and those it comes from")
        .exactOptional(),
      project: field.SessionName.describe("only of the sessions of this project").exactOptional(),
      since: Moment.describe("only from this moment on").exactOptional(),
      until: Moment.describe("only before this moment").exactOptional(),
      daily: z.boolean().describe("a row for each day of each group").exactOptional(),
    }),
    answer: () => z.array(answer.CostRow()),
    verb: {
      group: "Resources and limits",
      line: "Show what models have cost: by session, agent, model, day, user, label or tenant.",
      args: ["session?"],
      flags: {
        session: "ID",
        by: {
          value: "GROUP",
          what: "session, agent, model, day, user, label:KEY or tenant; by default session, of an ID model",
        },
      },
      about: [
        "Answers, failed calls, compactions and handoffs by a model count. An unknown price is shown as " +
          "unknown, never as zero. Amounts that no provider confirmed are shown beside it as an upper " +
          "bound, which budgets count: open calls, calls lost in a crash, and hidden reasoning of " +
          "interrupted calls.",
        "--by tenant needs a store in PostgreSQL, and a role that is not restricted to one tenant.",
      ],
      examples: [
        "skein cost  # by session, the most expensive first",
        "skein cost --by day --since 2026-11-01  # a month",
        "skein cost --by label:team  # by a label of the sessions",
        "skein cost 4x8kz1 --by model --json  # one session, for programs",
        "skein cost 4x8kz1 --family  # a session with its forks, children and successors",
      ],
    },
  }),
  "engine.query": change("engine", "query", {
    title: "Query in SQL",
    words: "select sql",
    local: { progress: "client", signal: "client" },
    summary: "One read-only SELECT over the documented views. Changes nothing.",
    scope: "read",
    args: ["sql"],
    params: () => ({ sql: z.string().min(1).max(limit.queryCharsMax).describe("a SELECT over the views") }),
    answer: () => z.looseObject({ columns: z.array(Text), rows: z.array(z.array(z.unknown())) }),
    verb: {
      group,
      line: "Run one read-only SELECT over the views of the store.",
      flags: { sql: { type: "words" } },
      about: [
        "The views are sessions, events, tool_calls, items, decisions and costs; docs/views.md describes " +
          "them. Without SQL, or with -, it is read from standard input.",
      ],
      examples: [
        "skein query \"SELECT session, key, value FROM items WHERE kind = 'fact'\"  # every fact",
        'skein query "SELECT key, decision, because FROM decisions" --json  # an object a row',
        'skein query "SELECT type, count(*) AS events FROM events GROUP BY type"  # events by type',
      ],
    },
  }),
  "engine.verify": read("engine", "verify", {
    title: "Verify every log",
    local: { progress: "client" },
    summary:
      "Verifies every log of the store, against the listed heads too, and the store itself; with anchor, " +
      "also that the workspace's log holds the anchored record.",
    params: () => ({
      anchor: z
        .looseObject({ seq: field.Seq, hash: answer.Sha256 })
        .describe("an anchor kept outside the store: finds a store rolled back")
        .exactOptional(),
    }),
    answer: answer.VerifyReport,
  }),
  "engine.anchor": change("engine", "anchor", {
    title: "Anchor the heads of all logs",
    asks: true,
    local: { allowPrivate: "engine" },
    summary:
      "Lists the heads of all logs and returns the root, to keep outside the store; with url, posts it.",
    scope: "operate",
    params: () => ({
      url: z.string().max(limit.hookUrlCharsMax).describe("a URL that it is posted to").exactOptional(),
    }),
    answer: answer.Anchor,
  }),
  "engine.acceptAnchor": change("engine", "acceptAnchor", {
    title: "Accept the logs as they are",
    warning: "Missing records are no longer reported.",
    summary: "Accepts the logs as they are, after an intended restore: verify no longer reports them.",
    scope: "admin",
    params: () => ({
      reason: field.Reason.regex(/\S/, "expected a text, such as: restored the backup of Monday").describe(
        "why records are missing; it is kept in the log",
      ),
      anchor: z
        .looseObject({ seq: field.Seq, hash: answer.Sha256 })
        .describe("an anchor that the store no longer reaches")
        .exactOptional(),
    }),
    answer: () => z.looseObject({ logs: z.array(Text), anchor: answer.Anchor() }),
  }),
  "engine.scan": read("engine", "scan", {
    title: "Scan for secrets",
    local: { progress: "client" },
    summary: "Finds secrets that are already stored, in one session or all logs. Never returns a value.",
    params: () => ({
      session: field.SessionName.describe("only this session; by default all logs").exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        sessions: Count,
        records: Count,
        findings: z.array(z.looseObject({ seq: Count, kind: Text })),
        more: Count,
      }),
    verb: {
      group,
      line: "Find secrets that got into the store earlier.",
      args: ["session?"],
      flags: { session: "ID" },
      about: [
        "Looks for values that are registered as secret, and for text that looks like one, in everything " +
          "that was said and in text files that were kept. It only reads, never shows a value, says how to " +
          "erase each finding, and exits with 1 when there is any. docs/secrets.md says what is registered.",
      ],
      examples: [
        "skein scan  # every session of the store",
        "skein scan 4x8kz1  # one session, with what it shares with its parents",
        "skein scan --json  # for a program, one object",
      ],
    },
  }),
  "engine.rebuild": change("engine", "rebuild", {
    title: "Rebuild everything derived",
    warning: "Lists and search are incomplete while it runs.",
    local: { progress: "client" },
    summary: "Deletes everything derived and makes it again from the logs.",
    scope: "operate",
    answer: () => z.looseObject({ sessions: Count, records: Count, snapshots: Count }),
    verb: {
      group,
      line: "Make index, snapshots, search and items again from the logs.",
      about: [
        "Snapshots, search and items are deleted first; the logs are not touched. It is never needed in " +
          "normal use; it shows that the log is the only truth.",
      ],
      examples: ["skein rebuild  # of the whole store"],
    },
  }),
  "engine.workers": read("engine", "workers", {
    title: "List the workers",
    summary: "Workers of this store with a recent heartbeat, in this process or in others.",
    answer: () => z.array(z.looseObject({ name: Text, sinceMs: z.number(), untilMs: z.number() })),
    verb: {
      group,
      line: "List the workers that run sessions of this store, on this machine and others.",
      about: [
        "A worker sends a heartbeat every few seconds. One without a heartbeat is gone: other workers take " +
          "over its sessions. It is shown for an hour.",
      ],
      examples: [
        "skein workers  # the workers, their sessions and their uptime",
        "skein workers --json | jq -r .name  # their names",
      ],
    },
  }),
  "engine.stats": read("engine", "stats", {
    title: "Count what there is",
    words: "statistics size",
    summary:
      "Counts sessions, records and bytes; with imported, sums over the sessions of other tools, by tool, " +
      "project, model and week.",
    params: () => ({
      imported: z
        .boolean()
        .describe("also sessions, tokens, cost and hours of imported sessions")
        .exactOptional(),
    }),
    answer: () =>
      z.looseObject({
        driver: Text,
        version: Text,
        sessions: Count,
        records: Count,
        imported: answer.ImportedStats().exactOptional(),
      }),
    verb: {
      group,
      line: "Count sessions, records and bytes of the store.",
      about: [
        "bytesPerContentByte is what the store takes on disk for each byte that was said. On PostgreSQL " +
          "the size is that of all tenants together, so neither it nor bytesPerRecord is known.",
        "With --imported: sessions, tokens, cost and hours of the sessions of other tools, by tool, " +
          "project, model and week. Nothing of it was spent here. Hours count the time between one " +
          "record and the next, without pauses of more than 15 minutes.",
      ],
      examples: [
        "skein stats  # sizes and counts",
        "skein stats --imported  # what other tools did, and what it cost",
        "skein stats --json | jq .records  # for programs",
      ],
    },
  }),
};
