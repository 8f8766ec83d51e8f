/**
 * The tests that run on both stores, by one table: each of these files runs once as it is, and once more on
 * PostgreSQL, or it says here why not.
 */
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { longOnly } from "../slice.ts";
import { closeLeft, databaseVariable, standOn } from "../kind.ts";
import { noPostgres, sharedDatabase } from "./place.ts";

/** Which of the files `again-….test.ts` has it; they take about the same time. */
export const groups = [1, 2, 3, 4] as const;
type Group = (typeof groups)[number];

const ofCore = "is about what core makes of a log, whatever the store";
const generated = "generates hundreds of cases of what core makes of a log, whatever the store";
const ofModels = "is about models and contexts: many turns, and few ways into the store";
const ofFiles = "is about files and programs, and hardly touches the store";
const ofSqlite = "is about the files of an embedded store";
const ownStore = "makes stores of its own, which lose or change what they are told";
const atLength = "fills memory up to its limits; what it does to the store is in memory.test.ts";
const slice = "kills processes at length; crash.test.ts does it in short";
const ofWords = "is about words and texts, and opens no store";
const ofVerbs = "is about what a verb takes and prints; what it does to the store is in test/runtime";

/**
 * Run on PostgreSQL by `npm run test:long` only. The conformance suite and test/store/postgres send 281 of
 * the 308 statements that all of these tests send, and the other files of the table send the other 27 (seen
 * by recording the statements of each).
 */
const longFiles: ReadonlySet<string> = new Set([
  "runtime/agents.test.ts",
  "runtime/bad-input.test.ts",
  "runtime/children.test.ts",
  "runtime/clear.test.ts",
  "runtime/depend.test.ts",
  "runtime/diff.test.ts",
  "runtime/erase.test.ts",
  "runtime/handoff-inherit.test.ts",
  "runtime/handoff.test.ts",
  "runtime/hold.test.ts",
  "runtime/lineage.test.ts",
  "runtime/memory.test.ts",
  "runtime/merge-shown.test.ts",
  "runtime/merge.test.ts",
  "runtime/message-away.test.ts",
  "runtime/message-turn.test.ts",
  "runtime/message.test.ts",
  "runtime/move.test.ts",
  "runtime/newer.test.ts",
  "runtime/policies.test.ts",
  "runtime/retain.test.ts",
  "runtime/tokens.test.ts",
  "runtime/trigger-race.test.ts",
  "runtime/turn/large-result.test.ts",
  "runtime/turn/loop.test.ts",
  "runtime/work-order.test.ts",
  "cli/depend.test.ts",
  "cli/work.test.ts",
]);

/** Paths within test. */
export const table: Readonly<Record<string, Group | string>> = {
  "runtime/agent-file.test.ts": ofFiles,
  "runtime/agents.test.ts": 1,
  "runtime/anchor.test.ts": "has PostgreSQL in itself, beside SQLite",
  "runtime/asked.test.ts": "is about one call, whatever the store",
  "runtime/bad-input.test.ts": 2,
  "runtime/blob.test.ts": 2,
  "runtime/bootstrap.test.ts": ofFiles,
  "runtime/bundle.test.ts": "takes long, and brings sessions in as move.test.ts does",
  "runtime/canary.test.ts": ofSqlite,
  "runtime/children.test.ts": 3,
  "runtime/clear.test.ts": 3,
  "runtime/clock-check.test.ts": "has PostgreSQL in itself, beside SQLite",
  "runtime/compaction-chance.test.ts": ofModels,
  "runtime/compaction-midway.test.ts": ofModels,
  "runtime/compaction.test.ts": ofModels,
  "runtime/context-reader.test.ts": generated,
  "runtime/context-view.test.ts": ofModels,
  "runtime/cost-surfaces.test.ts": 4,
  "runtime/cost.test.ts": generated,
  "runtime/depend.test.ts": 1,
  "runtime/diff.test.ts": 2,
  "runtime/erase-copies.test.ts": 3,
  "runtime/erase-dying.test.ts": ownStore,
  "runtime/erase.test.ts": 4,
  "runtime/events.test.ts": 1,
  "runtime/file-keeping.test.ts": ofFiles,
  "runtime/files.test.ts": ofFiles,
  "runtime/foreign-transcript.test.ts": 2,
  "runtime/gone.test.ts": ofFiles,
  "runtime/govern/rules.test.ts": "is about rules, and opens no store",
  "runtime/handoff-inherit.test.ts": 1,
  "runtime/handoff.test.ts": 2,
  "runtime/hardening.test.ts": ofSqlite,
  "runtime/heartbeat.test.ts": ofFiles,
  "runtime/history-family.test.ts": 3,
  "runtime/history-import.test.ts": 3,
  "runtime/history-redaction.test.ts": ofSqlite,
  "runtime/history.test.ts": generated,
  "runtime/hold.test.ts": 4,
  "runtime/hostile-bundle.test.ts": generated,
  "runtime/imported-stats.test.ts": 3,
  "runtime/import-review.test.ts": "takes long, and brings sessions in as move.test.ts does",
  "runtime/keeper.test.ts": "is about what is heard of a log, and opens no store",
  "runtime/key.test.ts": 1,
  "runtime/lease.test.ts": 2,
  "runtime/line.test.ts": "is about the order of work, and opens no store",
  "runtime/lineage.test.ts": 3,
  "runtime/lost-answer-outcome.test.ts": ownStore,
  "runtime/redact-blob.test.ts": ofCore,
  "runtime/redact.test.ts": ofWords,
  "runtime/seal.test.ts": ofCore,
  "runtime/lost-answer.test.ts": ownStore,
  "runtime/lost-tail.test.ts": ownStore,
  "runtime/memory-lasting.test.ts": atLength,
  "runtime/memory.test.ts": 1,
  "runtime/merge-erased.test.ts": ofSqlite,
  "runtime/merge-law.test.ts": generated,
  "runtime/merge-shown.test.ts": 2,
  "runtime/merge.test.ts": 2,
  "runtime/message-away.test.ts": 3,
  "runtime/message-restored.test.ts": ownStore,
  "runtime/message-turn.test.ts": 4,
  "runtime/message.test.ts": 1,
  "runtime/move-all.test.ts": "moves between a file and PostgreSQL as it is",
  "runtime/move-model.test.ts": ofModels,
  "runtime/move.test.ts": 3,
  "runtime/newer.test.ts": 4,
  "runtime/open-key.test.ts": 1,
  "runtime/policies.test.ts": 1,
  "runtime/query-line.test.ts": "is about the order of queries, and opens no store",
  "runtime/rebuild.test.ts": 2,
  "runtime/replay-check.test.ts": ofCore,
  "runtime/replay-edge.test.ts": ofModels,
  "runtime/replay.test.ts": ofModels,
  "runtime/retain-kill.test.ts": "takes long; what retention does to the store is in retain.test.ts",
  "runtime/retain.test.ts": 3,
  "runtime/score.test.ts": 4,
  "runtime/search.test.ts": 1,
  "runtime/secret-doors.test.ts": ofSqlite,
  "runtime/secret.test.ts": ofCore,
  "runtime/session.test.ts": 2,
  "runtime/signed-bundle.test.ts": generated,
  "runtime/standing.test.ts": 2,
  "runtime/state-reader.test.ts": 3,
  "runtime/store-clock.test.ts": ownStore,
  "runtime/tickets-kill.test.ts": ofFiles,
  "runtime/tickets-worktree.test.ts": ofFiles,
  "runtime/tickets.test.ts": ofFiles,
  "runtime/tokenizer.test.ts": ofWords,
  "runtime/tokens.test.ts": 4,
  "runtime/trigger-race.test.ts": 3,
  "runtime/trigger-times.test.ts": ofWords,
  "runtime/trigger.test.ts": 2,
  "runtime/log/writer.test.ts": ownStore,
  "runtime/trigger/folder-tree.test.ts": ofFiles,
  "runtime/turn/ask-calls.test.ts": ofModels,
  "runtime/turn/broken-call.test.ts": ofModels,
  "runtime/turn/large-result.test.ts": 2,
  "runtime/turn/loop.test.ts": 3,
  "runtime/turn/odd-usage.test.ts": ofModels,
  "runtime/turn/permission.test.ts": ofSqlite,
  "runtime/turn/strange.test.ts": ofModels,
  "runtime/turn/tool-ledger.test.ts": ofModels,
  "runtime/turn/tools-changed.test.ts": ofModels,
  "runtime/turn/turn.test.ts": 4,
  "runtime/verify.test.ts": 1,
  "runtime/work-file.test.ts": ofFiles,
  "runtime/work-git.test.ts": ofFiles,
  "runtime/work-order.test.ts": 4,
  "runtime/work.test.ts": 2,
  "crash/deleted.test.ts": 4,
  "crash/durability.test.ts": ofSqlite,
  "crash/erase-kill.test.ts": ofSqlite,
  "crash/fault.test.ts": ofSqlite,
  "crash/import-kill.test.ts": ofSqlite,
  "crash/kill.test.ts": "kill.ts in test/postgres kills writers there, and the server too",
  "crash/message-kill.test.ts": slice,
  "crash/pack-kill.test.ts": ofSqlite,
  "crash/power.test.ts": ofSqlite,
  "crash/scrub-kill.test.ts": ofSqlite,
  "crash/turn-kill.test.ts": slice,
  "crash/turn-live.test.ts": slice,
  "crash/turn.test.ts": slice,
  "crash/work-kill.test.ts": slice,
  "cli/approval-text.test.ts": ofVerbs,
  "cli/args.test.ts": ofWords,
  "cli/bad-input.test.ts": ofSqlite,
  "cli/branch-verb.test.ts": ofVerbs,
  "cli/anchor.test.ts": ofVerbs,
  "cli/bundle.test.ts": ofVerbs,
  "cli/console-files.test.ts": ofFiles,
  "cli/depend.test.ts": 1,
  "cli/erase.test.ts": ofVerbs,
  "cli/export-file.test.ts": ofFiles,
  "cli/export-transcript.test.ts": ofVerbs,
  "cli/convert.test.ts": ofVerbs,
  "cli/files-verb.test.ts": ofFiles,
  "cli/handoff.test.ts": ofVerbs,
  "cli/help.test.ts": ofWords,
  "cli/hooks.test.ts": "is about the server, whatever the store",
  "cli/import-transcripts.test.ts": ofVerbs,
  "cli/interrupted-text.test.ts": ofVerbs,
  "cli/interrupted.test.ts": ofVerbs,
  "cli/markdown-escape.test.ts": ofWords,
  "cli/memory.test.ts": ofVerbs,
  "cli/message.test.ts": ofVerbs,
  "cli/migrate-all.test.ts":
    "moves between files; runtime/move-all.test.ts has the move to PostgreSQL and back",
  "cli/model-trouble.test.ts": ofVerbs,
  "cli/postgres.test.ts": "is about PostgreSQL already",
  "cli/process.test.ts": ofVerbs,
  "cli/replay-verb.test.ts": ofVerbs,
  "cli/retain.test.ts": ofVerbs,
  "cli/serve.test.ts": "is about the server, whatever the store",
  "cli/scan.test.ts": ofVerbs,
  "cli/talk.test.ts": ofVerbs,
  "cli/text.test.ts": ofWords,
  "cli/tickets.test.ts": ofVerbs,
  "cli/tokens.test.ts": "is about the server, whatever the store",
  "cli/trigger.test.ts": ofVerbs,
  "cli/turn-verb.test.ts": ofVerbs,
  "cli/turn.test.ts": ofVerbs,
  "cli/verb.test.ts": ofVerbs,
  "cli/watch-transcripts.test.ts": "is about files and a process, whatever the store",
  "cli/work.test.ts": 3,
};

/** Tells this process, and those it starts, where to put their stores; gives why they cannot. */
export async function standOnPostgres(): Promise<string | false> {
  const missing = await noPostgres();
  if (missing !== false) return missing;
  process.env[databaseVariable] = await sharedDatabase();
  standOn("postgres");
  return false;
}

/** All of a group, each file as a suite of its name. */
export const runAgain = (group: Group): Promise<void> =>
  runFiles(Object.keys(table).filter((file) => table[file] === group));

async function runFiles(files: readonly string[]): Promise<void> {
  const skip = await standOnPostgres();
  if (skip !== false) return void test("the same tests on PostgreSQL", { skip });
  for (const file of files)
    describe(`${file}, on PostgreSQL`, { skip: longFiles.has(file) && longOnly }, async () => {
      after(closeLeft);
      await import(join(import.meta.dirname, "..", file));
    });
}
