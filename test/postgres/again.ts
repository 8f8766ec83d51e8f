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
  "runtime/workspace/agents.test.ts",
  "runtime/engine/bad-input.test.ts",
  "runtime/branch/children.test.ts",
  "runtime/branch/clear.test.ts",
  "runtime/trigger/depend.test.ts",
  "runtime/branch/diff.test.ts",
  "runtime/govern/erase.test.ts",
  "runtime/branch/handoff-inherit.test.ts",
  "runtime/branch/handoff.test.ts",
  "runtime/govern/hold.test.ts",
  "runtime/read/lineage.test.ts",
  "runtime/workspace/memory.test.ts",
  "runtime/branch/merge-shown.test.ts",
  "runtime/branch/merge.test.ts",
  "runtime/message/message-away.test.ts",
  "runtime/message/message-turn.test.ts",
  "runtime/message/message.test.ts",
  "runtime/transfer/move.test.ts",
  "runtime/log/newer.test.ts",
  "runtime/workspace/policies.test.ts",
  "runtime/govern/retain.test.ts",
  "runtime/workspace/tokens.test.ts",
  "runtime/trigger/trigger-race.test.ts",
  "runtime/turn/large-result.test.ts",
  "runtime/turn/loop.test.ts",
  "runtime/worker/worker-order.test.ts",
  "crash/external-kill.test.ts",
  "crash/memory-kill.test.ts",
  "crash/rollover-kill.test.ts",
  "crash/explore-kill.test.ts",
  "crash/control-kill.test.ts",
  "cli/depend.test.ts",
  "cli/work.test.ts",
]);

/** Paths within test. */
export const table: Readonly<Record<string, Group | string>> = {
  "runtime/workspace/agent-file.test.ts": ofFiles,
  "runtime/workspace/agents.test.ts": 1,
  "runtime/govern/anchor.test.ts": "has PostgreSQL in itself, beside SQLite",
  "runtime/log/request-scope.test.ts": "is about one call, whatever the store",
  "runtime/engine/bad-input.test.ts": 2,
  "runtime/read/blob.test.ts": 2,
  "runtime/branch/bootstrap.test.ts": ofFiles,
  "runtime/transfer/bundle.test.ts": "takes long, and brings sessions in as move.test.ts does",
  "runtime/govern/canary.test.ts": ofSqlite,
  "runtime/check/checks.test.ts": 2,
  "runtime/check/explore.test.ts": 2,
  "runtime/branch/children.test.ts": 3,
  "runtime/branch/clear.test.ts": 3,
  "runtime/branch/amend.test.ts": 1,
  "runtime/depend/dependencies.test.ts": 2,
  "runtime/trigger/react.test.ts": 3,
  "runtime/branch/rollover.test.ts": 4,
  "runtime/branch/split.test.ts": 3,
  "runtime/govern/clock-check.test.ts": "has PostgreSQL in itself, beside SQLite",
  "runtime/turn/compaction-chance.test.ts": ofModels,
  "runtime/turn/compaction-midway.test.ts": ofModels,
  "runtime/turn/compaction.test.ts": ofModels,
  "runtime/context/context-reader.test.ts": generated,
  "runtime/context/context-view.test.ts": ofModels,
  "runtime/context/pin.test.ts": 4,
  "runtime/context/account.test.ts": generated,
  "runtime/turn/uncompress.test.ts": ofModels,
  "runtime/turn/zone.test.ts": ofModels,
  "runtime/turn/control-tools.test.ts": 3,
  "runtime/turn/zone-rollover.test.ts": 4,
  "runtime/turn/zone-signals.test.ts": ofModels,
  "runtime/context/grow.test.ts": ofModels,
  "runtime/context/retrieve.test.ts": 2,
  "runtime/context/vectors.test.ts": ofModels,
  "runtime/read/cost-surfaces.test.ts": 4,
  "runtime/read/cost.test.ts": generated,
  "runtime/trigger/depend.test.ts": 1,
  "runtime/branch/deleted-key.test.ts": 1,
  "runtime/branch/diff.test.ts": 2,
  "runtime/govern/erase-copies.test.ts": 3,
  "runtime/govern/erase-dying.test.ts": ownStore,
  "runtime/govern/erase.test.ts": 4,
  "runtime/read/events.test.ts": 1,
  "runtime/turn/file-keeping.test.ts": ofFiles,
  "runtime/turn/files.test.ts": ofFiles,
  "runtime/transfer/foreign-transcript.test.ts": 2,
  "runtime/turn/ended-holder.test.ts": ofFiles,
  "runtime/govern/rules.test.ts": "is about rules, and opens no store",
  "runtime/branch/handoff-inherit.test.ts": 1,
  "runtime/branch/handoff.test.ts": 2,
  "runtime/engine/hardening.test.ts": ofSqlite,
  "runtime/trigger/heartbeat.test.ts": ofFiles,
  "runtime/transfer/history-family.test.ts": 3,
  "runtime/transfer/history-import.test.ts": 3,
  "runtime/transfer/history-original.test.ts": ofCore,
  "runtime/transfer/history-use.test.ts": 3,
  "runtime/transfer/history-redaction.test.ts": ofSqlite,
  "runtime/read/history.test.ts": generated,
  "runtime/govern/hold.test.ts": 4,
  "runtime/transfer/hostile-bundle.test.ts": generated,
  "runtime/read/imported-stats.test.ts": 3,
  "runtime/govern/import-review.test.ts": "takes long, and brings sessions in as move.test.ts does",
  "runtime/turn/lease-keeper.test.ts": "is about what is heard of a log, and opens no store",
  "runtime/log/idempotency-key.test.ts": 1,
  "runtime/turn/lease.test.ts": 2,
  "runtime/log/keyed-mutex.test.ts": "is about the order of work, and opens no store",
  "runtime/read/lineage.test.ts": 3,
  "runtime/log/lost-answer-outcome.test.ts": ownStore,
  "runtime/log/redact-blob.test.ts": ofCore,
  "runtime/log/redact.test.ts": ofWords,
  "runtime/log/seal.test.ts": ofCore,
  "runtime/log/lost-answer.test.ts": ownStore,
  "runtime/log/lost-tail.test.ts": ownStore,
  "runtime/context/memory-carriers.test.ts": 1,
  "runtime/workspace/memory-lasting.test.ts": atLength,
  "runtime/workspace/memory.test.ts": 1,
  "runtime/branch/merge-erased.test.ts": ofSqlite,
  "runtime/branch/merge-law.test.ts": generated,
  "runtime/branch/merge-shown.test.ts": 2,
  "runtime/branch/merge.test.ts": 2,
  "runtime/message/message-away.test.ts": 3,
  "runtime/message/message-restored.test.ts": ownStore,
  "runtime/message/message-turn.test.ts": 4,
  "runtime/message/message.test.ts": 1,
  "runtime/transfer/move-all.test.ts": "moves between a file and PostgreSQL as it is",
  "runtime/transfer/move-model.test.ts": ofModels,
  "runtime/transfer/move.test.ts": 3,
  "runtime/log/newer.test.ts": 4,
  "runtime/branch/open-key.test.ts": 1,
  "runtime/workspace/item-kinds.test.ts": ofCore,
  "runtime/project/live-items.test.ts": 2,
  "runtime/project/project-care.test.ts": 2,
  "runtime/project/plan.test.ts": 3,
  "runtime/project/budget.test.ts": 3,
  "runtime/project/projects.test.ts": 2,
  "runtime/workspace/memory-news.test.ts": 2,
  "runtime/context/lookup.test.ts": 3,
  "runtime/workspace/memory-default.test.ts": ofCore,
  "runtime/workspace/memory-queue.test.ts": 2,
  "runtime/workspace/memory-consolidate.test.ts": 1,
  "runtime/workspace/policies.test.ts": 1,
  "runtime/read/query-queue.test.ts": "is about the order of queries, and opens no store",
  "runtime/govern/rebuild.test.ts": 2,
  "runtime/replay/replay-check.test.ts": ofCore,
  "runtime/replay/replay-edge.test.ts": ofModels,
  "runtime/replay/replay.test.ts": ofModels,
  "runtime/govern/retain-kill.test.ts": "takes long; what retention does to the store is in retain.test.ts",
  "runtime/govern/retain.test.ts": 3,
  "runtime/read/recall.test.ts": ofModels,
  "runtime/read/score.test.ts": 4,
  "runtime/read/search.test.ts": 1,
  "runtime/read/time-place.test.ts": 1,
  "runtime/log/secret-doors.test.ts": ofSqlite,
  "runtime/log/secret.test.ts": ofCore,
  "runtime/engine/session.test.ts": 2,
  "runtime/transfer/project-bundle.test.ts": 2,
  "runtime/transfer/project-move.test.ts": "moves between a file and PostgreSQL as it is",
  "runtime/transfer/signed-bundle.test.ts": generated,
  "runtime/read/standing.test.ts": 2,
  "runtime/read/state-reader.test.ts": 3,
  "runtime/turn/store-clock.test.ts": ownStore,
  "runtime/turn/tokenizer.test.ts": ofWords,
  "runtime/workspace/tokens.test.ts": 4,
  "runtime/trigger/trigger-race.test.ts": 3,
  "runtime/trigger/times.test.ts": ofWords,
  "runtime/trigger/trigger.test.ts": 2,
  "runtime/log/writer.test.ts": ownStore,
  "runtime/trigger/folder-tree.test.ts": ofFiles,
  "runtime/turn/ask-calls.test.ts": ofModels,
  "runtime/turn/broken-call.test.ts": ofModels,
  "runtime/turn/external-call.test.ts": 2,
  "runtime/turn/large-result.test.ts": 2,
  "runtime/turn/loop.test.ts": 3,
  "runtime/turn/odd-usage.test.ts": ofModels,
  "runtime/turn/permission.test.ts": ofSqlite,
  "runtime/turn/strange.test.ts": ofModels,
  "runtime/turn/tool-ledger.test.ts": ofModels,
  "runtime/turn/tools-changed.test.ts": ofModels,
  "runtime/turn/turn.test.ts": 4,
  "runtime/govern/verify.test.ts": 1,
  "runtime/trigger/source-file.test.ts": ofFiles,
  "runtime/trigger/source-git.test.ts": ofFiles,
  "runtime/worker/worker-order.test.ts": 4,
  "runtime/worker/worker.test.ts": 2,
  "crash/deleted.test.ts": 4,
  "crash/durability.test.ts": ofSqlite,
  "crash/erase-kill.test.ts": ofSqlite,
  "crash/external-kill.test.ts": 2,
  "crash/memory-kill.test.ts": 2,
  "crash/rollover-kill.test.ts": 4,
  "crash/explore-kill.test.ts": 2,
  "crash/control-kill.test.ts": 3,
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
  "crash/zone-kill.test.ts": ofSqlite,
  "crash/react-kill.test.ts": 4,
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
  "cli/first-day.test.ts": ofVerbs,
  "cli/handoff.test.ts": ofVerbs,
  "cli/help.test.ts": ofWords,
  "cli/hooks.test.ts": "is about the server, whatever the store",
  "cli/import-transcripts.test.ts": ofVerbs,
  "cli/interrupted-text.test.ts": ofVerbs,
  "cli/zone-hint.test.ts": ofVerbs,
  "cli/interrupted.test.ts": ofVerbs,
  "cli/markdown-escape.test.ts": ofWords,
  "cli/memory.test.ts": ofVerbs,
  "cli/message.test.ts": ofVerbs,
  "cli/migrate-all.test.ts":
    "moves between files; runtime/move-all.test.ts has the move to PostgreSQL and back",
  "cli/model-trouble.test.ts": ofVerbs,
  "cli/offer-bindings.test.ts": ofVerbs,
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
