/** Calls of an engine on all logs of the store. */
import * as z from "zod";
import { limit } from "../core/limit.ts";
import * as answer from "./answer.ts";
import * as field from "./field.ts";
import { change, read } from "./operation.ts";

const { Count, Text } = answer;
const limitTo = (max: number) => z.int().min(1).max(max).exactOptional();

export const engineStore = {
  "engine.feed": read("engine", "feed", {
    title: "Read the feed of all logs",
    asks: true,
    summary:
      "Events of all logs, at least once, in order within each; as a stream on and on, also of a family.",
    params: {
      after: z.string().max(1_000).exactOptional(),
      limit: limitTo(limit.pageRecordsMax),
      family: field.SessionName.exactOptional(),
      follow: z.boolean().exactOptional(),
    },
    answer: z.looseObject({
      events: z.array(answer.Event),
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
    params: {
      text: z.string(),
      session: field.SessionName.exactOptional(),
      limit: limitTo(limit.searchMax),
    },
    answer: z.array(answer.Hit),
  }),
  "engine.cost": read("engine", "cost", {
    title: "Show what models cost",
    summary: "What model calls have cost, by session, agent, model, day, user or label:KEY.",
    params: {
      by: Text.exactOptional(),
      session: field.SessionName.exactOptional(),
      family: z.boolean().exactOptional(),
      since: z.int().exactOptional(),
      until: z.int().exactOptional(),
      daily: z.boolean().exactOptional(),
    },
    answer: z.array(answer.CostRow),
  }),
  "engine.query": change("engine", "query", {
    title: "Query in SQL",
    words: "select sql",
    local: { progress: "client", signal: "client" },
    summary: "One read-only SELECT over the documented views. Changes nothing.",
    scope: "read",
    args: ["sql"],
    params: { sql: z.string().min(1).max(limit.queryCharsMax) },
    answer: z.looseObject({ columns: z.array(Text), rows: z.array(z.array(z.unknown())) }),
  }),
  "engine.verify": read("engine", "verify", {
    title: "Verify every log",
    local: { progress: "client" },
    summary:
      "Verifies every log of the store, against the listed heads too, and the store itself; with anchor, " +
      "also that the workspace's log holds the anchored record.",
    params: {
      anchor: z.looseObject({ seq: field.Seq, hash: answer.Sha256 }).exactOptional(),
    },
    answer: answer.VerifyReport,
  }),
  "engine.anchor": change("engine", "anchor", {
    title: "Anchor the heads of all logs",
    asks: true,
    local: { allowPrivate: "engine" },
    summary:
      "Lists the heads of all logs and gives the root, to be kept outside the store; with url, posts it.",
    scope: "operate",
    params: { url: z.string().max(limit.hookUrlCharsMax).exactOptional() },
    answer: answer.Anchor,
  }),
  "engine.acceptAnchor": change("engine", "acceptAnchor", {
    title: "Accept the logs as they are",
    warning: "Records that are missing are reported no more.",
    summary: "Accepts the logs as they are, after a restore that was meant: verify reports them no more.",
    scope: "admin",
    params: {
      reason: field.Reason.min(1),
      anchor: z.looseObject({ seq: field.Seq, hash: answer.Sha256 }).exactOptional(),
    },
    answer: z.looseObject({ logs: z.array(Text), anchor: answer.Anchor }),
  }),
  "engine.scan": read("engine", "scan", {
    title: "Scan for secrets",
    local: { progress: "client" },
    summary: "Finds secrets that got in earlier, in one session or all logs. Never gives a value.",
    params: { session: field.SessionName.exactOptional() },
    answer: z.looseObject({
      sessions: Count,
      records: Count,
      findings: z.array(z.looseObject({ seq: Count, kind: Text })),
      more: Count,
    }),
  }),
  "engine.rebuild": change("engine", "rebuild", {
    title: "Rebuild everything derived",
    warning: "Lists and search are incomplete while it is at work.",
    local: { progress: "client" },
    summary: "Forgets everything derived and makes it again from the logs.",
    scope: "operate",
    answer: z.looseObject({ sessions: Count, records: Count, snapshots: Count }),
  }),
  "engine.workers": read("engine", "workers", {
    title: "List the workers",
    summary: "Workers of this store that were heard of lately, in this process or in others.",
    answer: z.array(z.looseObject({ name: Text, sinceMs: z.number(), untilMs: z.number() })),
  }),
  "engine.stats": read("engine", "stats", {
    title: "Count what there is",
    words: "statistics size",
    summary: "Counts what there is.",
    answer: z.looseObject({ driver: Text, version: Text, sessions: Count, records: Count }),
  }),
};
