/**
 * The behaviour tests of the engine, and which of them run once more over HTTP: all of a file but some tests,
 * or none of it; each with its reason.
 */

type Row = { readonly but: Readonly<Record<string, string>> } | string;

const all: Row = { but: {} };
const but = (exceptions: Readonly<Record<string, string>>): Row => ({ but: exceptions });

const driven = "takes the lease or drives turns itself, which needs the engine in its process";
const firstResult = "the client reports the first result of a call that it sent without a key";
const worded = "the table refuses it first, in words of its own";
const inside = "is about the inside of the engine or its store";
const processes = "is about several processes, with engines of their own";
const long = "takes long, and calls nothing that the others do not call";
const hasFunction = "gives a function or a signal that needs the engine in its process";
const otherUse = "uses a key for something else, which a server refuses";
const often = "makes thousands of calls";

/**
 * Run over HTTP by `npm run test:long` only. Every route, with each status and error code, that they call is
 * called by the other files too (seen by recording the requests of the whole table).
 */
export const longFiles: ReadonlySet<string> = new Set([
  "branch/bootstrap.test.ts",
  "transfer/bundle.test.ts",
  "turn/file-keeping.test.ts",
  "workspace/memory.test.ts",
  "message/message-away.test.ts",
  "turn/permission.test.ts",
  "replay/replay.test.ts",
  "log/secret-doors.test.ts",
  "transfer/signed-bundle.test.ts",
  "turn/large-result.test.ts",
  "turn/odd-usage.test.ts",
  "govern/verify.test.ts",
]);

/** Of test/runtime. */
export const table: Readonly<Record<string, Row>> = {
  "turn/tools-changed.test.ts": all,
  "turn/large-result.test.ts": but({
    "a session that stopped at such a result in 0.4.0 resumes": driven,
    "a probe's large output is a blob": driven,
    "a program that drives a session can settle a call with a large output": driven,
  }),
  "check/explore.test.ts": but({ "bad input is refused, and nothing is forked": inside }),
  "check/checks.test.ts": but({
    "an agent's handle sets no checks": inside,
  }),
  "turn/ask-calls.test.ts": but({
    "an ask of one step makes 4 appends, with two heads read between input and turn": inside,
    "a session with bindings opens and closes its tools under the lease": inside,
    "a run that is iterated late yields the same events, without the deltas":
      "a client reads the updates once, as they come",
  }),
  "turn/broken-call.test.ts": all,
  "read/imported-stats.test.ts": all,
  "transfer/history-family.test.ts": "reads transcripts in its process",
  "transfer/foreign-transcript.test.ts": all,
  "transfer/history-import.test.ts": "reads transcripts in its process",
  "transfer/history-original.test.ts": "reads chunks in its process",
  "transfer/history-redaction.test.ts": "reads transcripts in its process",
  "transfer/history-use.test.ts": "reads transcripts in its process",
  "transfer/signed-bundle.test.ts": all,
  "turn/permission.test.ts": all,
  "turn/uncompress.test.ts": all,
  "turn/zone.test.ts": all,
  "turn/control-tools.test.ts": all,
  "turn/zone-rollover.test.ts": all,
  "turn/zone-signals.test.ts": inside,
  "turn/tool-ledger.test.ts": driven,
  "trigger/folder-tree.test.ts": inside,
  "govern/import-review.test.ts": all,
  "govern/rules.test.ts": all,
  "read/cost-surfaces.test.ts": driven,
  "read/cost.test.ts": driven,
  "govern/clock-check.test.ts": inside,
  "govern/anchor.test.ts": inside,
  "workspace/agent-file.test.ts": "reads files only",
  "workspace/agents.test.ts": all,
  "log/request-scope.test.ts": inside,
  "engine/bad-input.test.ts": but({
    "a priority and the name of an agent are refused in words that people know": worded,
  }),
  "read/blob.test.ts": all,
  "branch/bootstrap.test.ts": all,
  "transfer/bundle.test.ts": all,
  "govern/canary.test.ts": long,
  "branch/children.test.ts": long,
  "branch/clear.test.ts": long,
  "branch/amend.test.ts": all,
  "depend/dependencies.test.ts": all,
  "trigger/react.test.ts": "watches files with workers in its process",
  "branch/split.test.ts": but({
    "one append for both logs; a closed session splits too": inside,
  }),
  "branch/rollover.test.ts": but({
    "a rollover between two steps continues the turn in the next session": inside,
    "it is refused while a call is open, and says which": driven,
  }),
  "turn/compaction-chance.test.ts": long,
  "turn/compaction-midway.test.ts": long,
  "turn/compaction.test.ts": long,
  "context/context-reader.test.ts": inside,
  "context/context-view.test.ts": all,
  "context/pin.test.ts": but({ "a second pin of the same item writes nothing": firstResult }),
  "context/account.test.ts": inside,
  "context/grow.test.ts": inside,
  "context/retrieve.test.ts": all,
  "context/vectors.test.ts": "is about what a turn brings into its context",
  "trigger/depend.test.ts": long,
  "branch/deleted-key.test.ts": processes,
  "branch/diff.test.ts": but({
    "strangers have nothing in common; a long transcript is cut, and says so": driven,
    "places and aspects that do not exist are refused": worded,
  }),
  "govern/erase-copies.test.ts": all,
  "govern/erase-dying.test.ts": inside,
  "govern/erase.test.ts": but({ "another process that showed a content before shows a gap after": driven }),
  "read/events.test.ts": but({
    "following returns existing events, then new ones, and ends on request":
      "has it end after 5 ms, which is less than the way to the server may take",
  }),
  "turn/file-keeping.test.ts": but({
    "files stay unchanged while the session runs, after unbinding, and without the option": driven,
  }),
  "turn/files.test.ts": inside,
  "turn/ended-holder.test.ts": processes,
  "turn/external-call.test.ts": but({
    "the same outcome again changes nothing, and another one is refused": firstResult,
    "after the deadline the outcome is unknown, and a later result is stored as evidence": firstResult,
    "an outcome with its keys in another order is the same outcome": firstResult,
  }),
  "branch/handoff-inherit.test.ts": all,
  "branch/handoff.test.ts": but({
    "the same log gives the same bytes for every caller":
      "makes two sessions of one id, which follows from the key of a request",
  }),
  "engine/hardening.test.ts": all,
  "trigger/heartbeat.test.ts": driven,
  "read/history.test.ts": long,
  "govern/hold.test.ts": all,
  "transfer/hostile-bundle.test.ts": "counts the bytes that are read of a bundle",
  "turn/lease-keeper.test.ts": inside,
  "log/idempotency-key.test.ts": but({ "a key is good once in a session, and again in another": otherUse }),
  "turn/lease.test.ts": driven,
  "log/keyed-mutex.test.ts": inside,
  "read/lineage.test.ts": long,
  "log/lost-answer-outcome.test.ts": inside,
  "log/redact-blob.test.ts": inside,
  "log/redact.test.ts": inside,
  "log/seal.test.ts": inside,
  "log/lost-answer.test.ts": inside,
  "log/lost-tail.test.ts": inside,
  "context/memory-carriers.test.ts": all,
  "workspace/memory-lasting.test.ts": long,
  "workspace/memory.test.ts": but({ "bad input is refused with a way out, and writes nothing": worded }),
  "branch/merge-erased.test.ts": all,
  "branch/merge-law.test.ts": often,
  "branch/merge-shown.test.ts": all,
  "branch/merge.test.ts": but({
    "answers that are none": worded,
    "more items than one append holds come in several, and the event with the last": often,
  }),
  "message/message-away.test.ts": all,
  "message/message-restored.test.ts": inside,
  "message/message-turn.test.ts": all,
  "message/message.test.ts": but({
    "a message is in both logs, a value goes as its JSON, and a key sends only once": worded,
    "deadlines that cannot be are refused": worded,
    "a contract that is not a schema, or accepts nothing, is refused with the reason": worded,
    "a full inbox refuses sessions, takes what people say, and is seen in lists": driven,
  }),
  "transfer/move-all.test.ts": long,
  "transfer/move-model.test.ts": all,
  "transfer/move.test.ts": long,
  "log/newer.test.ts": driven,
  "branch/open-key.test.ts": but({
    "two calls of open with one key give one session": "over HTTP the header Idempotency-Key is the key",
  }),
  "workspace/item-kinds.test.ts": all,
  "project/live-items.test.ts": driven,
  "project/project-care.test.ts": all,
  "transfer/project-bundle.test.ts": all,
  "transfer/project-move.test.ts": all,
  "project/budget.test.ts": "is about what a run draws, and asks through an engine in its process",
  "project/plan.test.ts": but({
    "a mistake in a plan is reported, and nothing is written": worded,
    "a hostile session gets no check of its ticket changed, by itself or by a fork":
      "acts as another actor in its process",
    "a plan is set, extended, shortened, and is in the log alone": "opens the place once more",
  }),
  "project/projects.test.ts": but({
    "a wrong id, an unknown project and a wrong option are refused by name": worded,
    "changes of several engines at once are all written, each once": "acts as another actor in its process",
  }),
  "workspace/memory-default.test.ts": driven,
  "workspace/memory-news.test.ts": driven,
  "context/lookup.test.ts": driven,
  "workspace/memory-consolidate.test.ts": but({
    "of two consolidations at once, each change is made once": processes,
    "workers do it when a person lets them, two of them once, and not before": processes,
    "a plan keeps what a person wrote or approved, then the newest, and never merges across readers": inside,
  }),
  "workspace/memory-queue.test.ts": but({
    "numbers that name nothing are refused, and values that are too long never wait": worded,
    "a full queue takes nothing more, says so, and is paged": often,
  }),
  "workspace/policies.test.ts": but({
    "an invalid policy or option is refused, and leaves no trace": worded,
  }),
  "read/query-queue.test.ts": inside,
  "govern/rebuild.test.ts": long,
  "replay/replay-check.test.ts": but({
    "every state and context of a log comes out as it was recorded, across rewinds and forks": hasFunction,
  }),
  "replay/replay-edge.test.ts": but({
    "a turn that another harness drove is run again by this one, with no tools as there": driven,
  }),
  "replay/replay.test.ts": but({
    "the same model does the same again, against recorded results, and nothing runs": hasFunction,
    "a scoring function judges both runs, and its scores are recorded in the fork": hasFunction,
    "a scoring function that fails is named, and the fork is there all the same": hasFunction,
    "an aborted replay leaves no turn open, and reports the turns it ran": hasFunction,
    "invalid arguments are refused, and leave no fork":
      "has a model throw a foreign error, which a server does not reveal",
  }),
  "govern/retain-kill.test.ts": processes,
  "govern/retain.test.ts": long,
  "read/score.test.ts": but({ "a score that is none is refused, and nothing is written": worded }),
  "read/recall.test.ts": "is about what a tool gives the model, within a turn",
  "read/search.test.ts": all,
  "read/time-place.test.ts": all,
  "log/secret-doors.test.ts": all,
  "log/secret.test.ts": all,
  "engine/session.test.ts": but({ "a position past the end, or none at all, is not found": worded }),
  "read/standing.test.ts": but({
    "a session with work waits for a worker; a running one names its process": driven,
    "one that was given back with something left to do waits for another try, and is not next": driven,
  }),
  "read/state-reader.test.ts": inside,
  "turn/store-clock.test.ts": driven,
  "turn/tokenizer.test.ts": inside,
  "workspace/tokens.test.ts": "tokens are checked by the server itself; test/server has their tests",
  "trigger/trigger-race.test.ts": processes,
  "trigger/times.test.ts": inside,
  "trigger/trigger.test.ts": but({
    "a template that cannot open is refused when set; a later failure is retried": worded,
  }),
  "turn/loop.test.ts": but({
    "after a crash an unsafe call is unknown and waits for a person, others run again": driven,
    "a probe finds the outcome of an unsafe call": driven,
    "an unsafe call that its holder finishes after the lease has expired does not run twice": driven,
  }),
  "turn/odd-usage.test.ts": all,
  "turn/strange.test.ts": but({
    "bad options of an engine, a compression and a drive are refused before anything happens": driven,
  }),
  "turn/turn.test.ts": but({
    "an unanswered input with a key is processed": driven,
    "a run says why it failed, though the lease could not be given back either": inside,
  }),
  "govern/verify.test.ts": all,
  "trigger/source-file.test.ts": inside,
  "trigger/source-git.test.ts": inside,
  "worker/worker-order.test.ts": inside,
  "worker/worker.test.ts": processes,
  "log/writer.test.ts": inside,
};
