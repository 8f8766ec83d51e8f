/**
 * The session handle: every call that changes one session. One subject: the public handle. It holds no state:
 * two handles on one session, in one process or in two, are equivalent.
 */
import { checkCall } from "../../call/check.ts";
import { checkFlags } from "../../core/option-check.ts";
import type { ItemKind } from "../../core/item/kind.ts";
import type { ContentBlock } from "../../core/schema.ts";
import type { AppendRecord } from "../../core/turn/commands.ts";
import type { Binding, Permission } from "../../core/tool/commands.ts";
import type { Budget } from "../../core/budget/commands.ts";
import type { Command } from "../../core/command.ts";
import type { ForkOptions } from "../../core/branch/commands.ts";
import type { AmendOptions, ForkAmendment } from "../branch/amend.ts";
import type { Reaction } from "../../core/trigger/trigger.ts";
import type { OnChangeOptions } from "../trigger/react.ts";
import { absolute } from "../branch/bootstrap.ts";
import { checkDeadline } from "../../core/trigger/deadline.ts";
import { SkeinError } from "../../core/error.ts";
import { quote, type SessionId } from "../../core/ids.ts";
import type { State } from "../../core/state.ts";
import type { Head } from "../../store/port.ts";
import { runOn, runOrWait, startRun, type SessionRun } from "../turn/ask.ts";
import { advanceRun, prepareAsk, prepareRun } from "../turn/prepare-run.ts";
import type { CarryOver } from "../branch/carry-over.ts";
import type { CancelTreeResult } from "../branch/children.ts";
import type { SplitOptions } from "../branch/split.ts";
import type { ClearOptions, RolloverOptions } from "../branch/succession.ts";
import type { CompressResult, CompressStrategy } from "../turn/compress.ts";
import type { UncompressOptions } from "../turn/uncompress.ts";
import type { SettleOptions, SettleResult } from "../turn/external-call.ts";
import { takeDrive, type Drive, type DriveOptions } from "../turn/drive.ts";
import type { Deps } from "../deps.ts";
import type { EraseOptions, EraseReport } from "../govern/erase.ts";
import { forkSession, type ForkPlace } from "../branch/fork.ts";
import { guardedGrant } from "../govern/rules.ts";
import type { Handoff, HandoffOptions } from "../branch/handoff.ts";
import { takeLease, type SessionLease } from "../turn/lease.ts";
import type { RecordOptions } from "../context/record.ts";
import { promoteItem, type MemoryEntry, type PromoteOptions } from "../workspace/memory.ts";
import type { MergeOptions, MergeReport } from "../branch/merge.ts";
import type { MigrateOptions, MigrateReport } from "../transfer/migrate.ts";
import {
  type AnswerOptions,
  type AskOptions,
  checkAnswer,
  checkBinding,
  inputRecord,
  recordsOf,
  stillWaiting,
  type WriteOptions,
} from "../options.ts";
import { headOf, resolvePlace } from "../read/position.ts";
import { checkBound } from "../log/redact.ts";
import type { RewindOptions, RewindResult } from "../branch/rewind-files.ts";
import type { RunResult, RunOptions } from "../turn/runner.ts";
import { SessionChecks } from "./check-calls.ts";
import { SessionView } from "./view.ts";
import type { Build, Change, ChangeOptions } from "../log/writer.ts";
import { isFree } from "../read/lease-status.ts";
import { appendResult as written, type AppendResult } from "../log/append-result.ts";
import { changeLive } from "../log/forward.ts";

interface Because {
  readonly because?: string;
}

/**
 * A handle on one session. Two handles on one session, in one process or in two, are equivalent.
 *
 * @example
 *   for await (const update of session.ask("list files")) console.log(update.type);
 *   const { status } = await session.state();
 */
export class Session extends SessionChecks {
  readonly #deps: Deps;

  /** For a handle from `open` with `from`, or `clear`: what carried over and what did not. */
  readonly carriedOver: CarryOver | null;

  constructor(deps: Deps, id: SessionId, carriedOver: CarryOver | null = null) {
    super(deps, id);
    this.#deps = deps;
    this.carriedOver = carriedOver;
  }

  /**
   * Appends input, or records of another program, to the log. A text is an input. With `verbatim`, nothing is
   * redacted: texts that only look like secrets stay, and registered secrets are refused.
   */
  async append(
    records: string | AppendRecord | readonly AppendRecord[],
    options: WriteOptions & {
      readonly expect?: { readonly seq: number };
      readonly verbatim?: boolean;
    } = {},
  ): Promise<AppendResult> {
    checkCall("session.append", options);
    checkExpected("append", options.expect);
    checkFlags("append", { verbatim: options.verbatim });
    const { writer, actor } = this.#deps;
    const { key, expect } = options;
    const verbatim = options.verbatim === true ? "unregistered" : undefined;
    const command: Command = { do: "append", records: recordsOf(records) };
    const how = { actor, key, expectSeq: expect?.seq, verbatim } as const;
    // A position of this log says nothing about another.
    if (expect !== undefined) return written(await writer.change(this.id, command, how));
    return written(await changeLive(this.#deps, this.id, command, how), this.id);
  }

  /** Records a fact, decision, task or other item that outlives every compaction. */
  async record(
    kind: ItemKind,
    key: string,
    value: unknown,
    options: RecordOptions = {},
  ): Promise<AppendResult> {
    checkCall("session.record", options, { kind, key });
    const { recordItem } = await import("../context/record.ts");
    return written(await recordItem(this.#deps, this.id, { kind, key, value }, options));
  }

  async retract(kind: ItemKind, key: string, options: Because = {}): Promise<AppendResult> {
    checkCall("session.retract", options, { kind, key });
    return written(await this.#change({ do: "retract", kind, key, ...options }));
  }

  /**
   * Pins an item: every context shows it in full. Refused with its size if the pinned items do not fit their
   * share of the model's window.
   */
  async pin(kind: ItemKind, key: string, options: WriteOptions & Because = {}): Promise<AppendResult> {
    checkCall("session.pin", options, { kind, key });
    const { pinItem } = await import("../context/pin.ts");
    return written(await pinItem(this.#deps, this.id, kind, key, options));
  }

  /** Unpins an item. It stays recorded. */
  async unpin(kind: ItemKind, key: string, options: WriteOptions & Because = {}): Promise<AppendResult> {
    checkCall("session.unpin", options, { kind, key });
    const { key: once, ...rest } = options;
    return written(await this.#change({ do: "unpin", kind, key, ...rest }, { key: once }));
  }

  /** Promotes an item to memory, for later sessions of the agent, the user or the workspace. */
  async promote(kind: ItemKind, key: string, options: PromoteOptions): Promise<MemoryEntry> {
    checkCall("session.promote", options, { kind, key });
    return promoteItem(this.#deps, this.id, { kind, key, ...options });
  }

  /** Working memory that rewinds with the session. Without a value the key is removed. */
  async scratch(key: string, value?: unknown): Promise<AppendResult> {
    checkCall("session.scratch", {}, { key });
    return written(await this.#change({ do: "scratch", key, value }));
  }

  /** Names a position; defaults to the last one. */
  async save(
    name: string,
    options: { readonly atSeq?: number; readonly note?: string } = {},
  ): Promise<AppendResult> {
    checkCall("session.save", options, { name });
    return written(await this.#change({ do: "save", name, ...options }));
  }

  /** A read-only handle at a checkpoint's name or a position. */
  async load(place: string | number): Promise<SessionView> {
    return new SessionView(this, await this.#resolve(place));
  }

  /**
   * A new session that shares everything up to a position, by default the last one. Copies nothing, unless
   * `files` names a new directory for the files as they were then.
   */
  async fork(options: ForkOptions & ForkAmendment & ForkPlace = {}): Promise<Session> {
    checkCall("session.fork", options);
    const { atSeq, files, ...rest } = options;
    const seq = await this.#resolve(atSeq ?? (await this.#head()).seq);
    return new Session(this.#deps, await forkSession(this.#deps, this.id, seq, { ...rest, files }));
  }

  /**
   * Continues from an earlier position. Later records stay in the log. With `files`, it undoes
   * the file changes of tools since: all of them, or it changes nothing and rejects with `conflict`.
   */
  async rewind(place: string | number, options: RewindOptions = {}): Promise<RewindResult> {
    checkCall("session.rewind", options);
    const toSeq = await this.#resolve(place);
    const { files = false, ...rest } = options;
    if (!files) {
      const earlier = await this.#deps.states.at(this.id, toSeq);
      return written(await this.#change({ do: "rewind", earlier, ...rest }));
    }
    return (await import("../branch/rewind-files.ts")).rewindFiles(this.#deps, this.id, toSeq, rest);
  }

  /**
   * Closes this session and opens the next with the same agent, objective, bindings, triggers and files, and
   * with the rest of the budget: one append for both. With `handoff` the next one begins with the handoff of
   * this one. `carriedOver` of the handle lists what carried over and what did not.
   */
  async clear(options: ClearOptions = {}): Promise<Session> {
    checkCall("session.clear", options);
    const { clearSession } = await import("../branch/succession.ts");
    const { next, carriedOver } = await clearSession(this.#deps, this.id, options);
    return new Session(this.#deps, next, carriedOver);
  }

  /**
   * Goes on as a new session: one append hands off, closes this one and opens the next with all that others
   * expect of it. What is sent to this id arrives there. Refused while a call is open.
   */
  async rollover(options: RolloverOptions = {}): Promise<Session> {
    checkCall("session.rollover", options);
    const { rolloverSession } = await import("../branch/succession.ts");
    const { next, carriedOver } = await rolloverSession(this.#deps, this.id, options);
    return new Session(this.#deps, next, carriedOver);
  }

  /**
   * Gives another task that came up here a session of its own, with chosen items, documents and inputs: by
   * default what lasts, and the inputs that drifted. This session stays as it is.
   */
  async split(options: SplitOptions = {}): Promise<Session> {
    checkCall("session.split", options);
    const { splitSession } = await import("../branch/split.ts");
    return new Session(this.#deps, await splitSession(this.#deps, this.id, options));
  }

  /** Merges what another session learned. Conflicts are values; until all are resolved nothing changes. */
  async merge(options: MergeOptions): Promise<MergeReport> {
    return (await import("../branch/merge.ts")).mergeSession(this.#deps, this.id, options);
  }

  /** Scores the session, or a position of it. The last score of each name counts. */
  async score(
    name: string,
    value: number,
    options: Because & { readonly seq?: number } = {},
  ): Promise<AppendResult> {
    checkCall("session.score", options, { name, value });
    return written(await this.#change({ do: "score", name, value, ...options }));
  }

  /** Protects the session from erasure and deletion until the hold of this name is lifted. */
  async hold(name: string, options: Reason = {}): Promise<AppendResult> {
    checkCall("session.hold", options, { name });
    return written(await this.#change({ do: "hold", name, ...options }));
  }
  async lift(name: string, options: Reason = {}): Promise<AppendResult> {
    checkCall("session.lift", options, { name });
    return written(await this.#change({ do: "lift", name, ...options }));
  }

  /**
   * Erases contents for good: at some positions, those that hold a text, or all of the session's own. Forks
   * lose what they share with it. Repeat it after a crash: it finishes.
   */
  async erase(options: EraseOptions = {}): Promise<EraseReport> {
    return (await import("../govern/erase.ts")).eraseSession(this.#deps, this.id, options);
  }

  /**
   * Changes objective, instructions, constraints, agent or model settings from here on. Nothing is allowed
   * that was not before. The context shows it as superseding the old until its next boundary.
   */
  async amend(options: AmendOptions): Promise<AppendResult> {
    checkCall("session.amend", options);
    const { amendCommand } = await import("../branch/amend.ts");
    return written(await this.#change((state) => amendCommand(this.#deps, this.id, state, options)));
  }

  /**
   * Says what a change of a document or a binding does: `mark` it as stale, `reload` it (a diff is in the
   * context from the next turn on), `wake` the session as well, or `ignore`. Workers watch it.
   */
  async onChange(
    source: string,
    react: Reaction | "ignore",
    options: OnChangeOptions = {},
  ): Promise<AppendResult> {
    checkCall("session.onChange", options, { source, react });
    const { setOnChange } = await import("../trigger/react.ts");
    return written(await setOnChange(this.#deps, this.id, source, react, options));
  }

  /** Loads a document that has changed again, or all; the context shows the difference from here on. */
  async reload(options: { readonly source?: string } = {}): Promise<AppendResult> {
    checkCall("session.reload", options);
    const { reloadDocuments } = await import("../trigger/react.ts");
    return written(await reloadDocuments(this.#deps, this.id, options.source));
  }

  /** Continues with another model, or in another store. Repeat it after a crash: it finishes. */
  async migrate(options: MigrateOptions): Promise<MigrateReport> {
    return (await import("../transfer/migrate.ts")).migrateSession(this.#deps, this.id, options);
  }

  async rename(name: string): Promise<AppendResult> {
    checkCall("session.rename", {}, { name });
    return written(await this.#change({ do: "rename", name }));
  }

  async label(
    set: Readonly<Record<string, string>>,
    options: { readonly remove?: readonly string[] } = {},
  ): Promise<AppendResult> {
    checkCall("session.label", options, { set });
    checkDeadline(set);
    return written(await this.#change({ do: "label", set, ...options }));
  }

  async prioritize(priority: number): Promise<AppendResult> {
    checkCall("session.prioritize", {}, { priority });
    return written(await this.#change({ do: "prioritize", priority }));
  }

  async activate(options: Reason = {}): Promise<AppendResult> {
    return this.#simple("activate", options);
  }
  async suspend(options: Reason = {}): Promise<AppendResult> {
    return this.#simple("suspend", options);
  }
  /** Ends the turn in progress, also in the middle of a stream or a tool, in any process. */
  async interrupt(options: Reason = {}): Promise<AppendResult> {
    checkCall("session.interrupt", options);
    const build = async (): Promise<Command> => {
      const lease = (await this.#head()).lease;
      return { do: "interrupt", idle: isFree(this.#deps, lease), ...options };
    };
    return written(await this.#change(build));
  }
  /** With `tree`, also its live children, the deepest first. */
  async cancel(
    options: Reason & { readonly tree?: boolean } = {},
  ): Promise<AppendResult & Partial<CancelTreeResult>> {
    checkCall("session.cancel", options);
    const { tree = false, ...rest } = options;
    if (!tree) return this.#simple("cancel", rest);
    const { cancelTree } = await import("../branch/children.ts");
    const { writer, actor } = this.#deps;
    let own: AppendResult | null = null;
    const end = async (session: SessionId): Promise<void> => {
      const asked = session === this.id;
      const change = await writer.change(session, { do: "cancel", ...rest }, { actor, asked });
      if (session === this.id) own = written(change);
    };
    const done = await cancelTree(this.#deps, this.id, end);
    return { ...(own as unknown as AppendResult), ...done };
  }
  async reopen(options: Reason = {}): Promise<AppendResult> {
    return this.#simple("reopen", options);
  }
  /** Makes a closed session read-only and packs all of it. */
  async archive(options: Reason = {}): Promise<AppendResult> {
    const done = await this.#simple("archive", options);
    await this.#deps.store.pack(this.id, done.headSeq);
    return done;
  }

  /** Closes the session. With `expect`, only if this position is still its last: else `conflict`. */
  async close(
    options: Reason & {
      readonly outcome?: "completed" | "failed" | "expired";
      readonly expect?: { readonly seq: number };
    } = {},
  ): Promise<AppendResult> {
    checkCall("session.close", options);
    const { expect, ...rest } = options;
    checkExpected("close", expect);
    return written(await this.#change({ do: "close", ...rest }, { expectSeq: expect?.seq }));
  }

  /** Sleeps until a time or until something wakes it; with `triggers`, until one of these fires. */
  async sleep(
    options: Reason & { readonly untilMs?: number; readonly triggers?: readonly string[] } = {},
  ): Promise<AppendResult> {
    checkCall("session.sleep", options);
    const build = ({ standing }: State): Command => {
      const missing = options.triggers?.find((name) => !standing.triggers.has(name));
      if (missing === undefined) return { do: "sleep", ...options };
      throw new SkeinError("not-found", `sleep: triggers: no such trigger ${quote(missing)}`, {
        hint: '"skein trigger list ID" lists the triggers',
      });
    };
    return written(await this.#change(build));
  }

  async bind(binding: Binding): Promise<AppendResult> {
    checkBinding(binding);
    checkBound(this.#deps.world, binding);
    return written(await this.#change({ do: "bind", ...absolute(binding) }));
  }

  async unbind(name: string): Promise<AppendResult> {
    checkCall("session.unbind", {}, { name });
    return written(await this.#change({ do: "unbind", name }));
  }

  async grant(permission: Permission): Promise<AppendResult> {
    checkCall("session.grant", permission);
    return written(await this.#change(guardedGrant(this.#deps, this.id, permission)));
  }

  async budget(limits: Budget, options: Reason = {}): Promise<AppendResult> {
    checkCall("session.budget", options, { limits });
    return written(await this.#change({ do: "budget", limits, ...options }));
  }

  /** An input for the next turn, or with `steer` for the next step of the turn in progress. */
  async input(
    input: string | readonly ContentBlock[],
    options: WriteOptions & { readonly mode?: "queue" | "steer" } = {},
  ): Promise<AppendResult> {
    checkCall("session.input", options);
    const { key, mode } = options;
    const command: Command = { do: "append", records: [inputRecord(input, mode)] };
    return written(await changeLive(this.#deps, this.id, command, { actor: this.#deps.actor, key }), this.id);
  }

  /**
   * Sends an input and runs the session: events, live deltas and a result. The run starts at once; leaving
   * the loop cancels nothing.
   */
  ask(input: string | readonly ContentBlock[], options: AskOptions = {}): SessionRun {
    const { signal, key, mode } = options;
    return startRun(this.#deps, this.id, {
      start: async () => {
        checkCall("session.ask", options);
        // Reports what is missing for a run before anything is written.
        const first = await prepareAsk(this.#deps, this.id);
        const command: Command = { do: "append", records: [inputRecord(input, mode)] };
        const change = await changeLive(this.#deps, this.id, command, { actor: this.#deps.actor, key });
        const { state, firstSeq: seq, session } = change;
        const before = session === this.id ? first : await prepareRun(this.#deps, session);
        return { seq, session, prepared: await advanceRun(this.#deps, session, before, state) };
      },
      run: async ({ prepared, session }) => {
        try {
          const stop = signal === undefined ? {} : { signal };
          const ran = await runOrWait(this.#deps, session, { prepared, ...stop });
          return session === this.id ? ran : { session, ...ran };
        } catch (error) {
          throw stillWaiting(error, (await this.fold()).standing.inbox.waiting.length > 0);
        }
      },
    });
  }

  /** Runs the session until it is idle or suspended. Rejects with `conflict` if another process runs it. */
  run(options: RunOptions = {}): Promise<RunResult> {
    checkCall("session.run", options);
    return runOn(this.#deps, this.id, options);
  }

  /** Like `run`, and streams updates from now on. */
  watch(options: RunOptions = {}): SessionRun {
    return startRun(this.#deps, this.id, {
      start: async () => {
        checkCall("session.watch", options);
        return { seq: (await this.#head()).seq + 1 };
      },
      run: () => runOn(this.#deps, this.id, options),
    });
  }

  /** Takes the lease and returns the commands of a turn, for your own loop. */
  drive(options: DriveOptions = {}): Promise<Drive> {
    checkCall("session.drive", options);
    return takeDrive(this.#deps, this.id, options);
  }

  /** Answers what the session waits for: tool calls that need approval, or an unknown outcome. */
  async answer(options: AnswerOptions): Promise<AppendResult> {
    checkAnswer(options);
    const { answerChange } = await import("../govern/remember-answer.ts");
    const { build, also } = await answerChange(this.#deps, this.id, options);
    return written(await this.#change(build, { also }));
  }

  /**
   * Settles an external call by its id, exactly once: repeating the same outcome changes nothing. A result
   * after the deadline, an interrupt or a rewind is kept as evidence.
   */
  async settle(call: string, options: SettleOptions = {}): Promise<SettleResult> {
    checkCall("session.settle", options, { call });
    const { settleExternal } = await import("../turn/external-call.ts");
    return settleExternal(this.#deps, this.id, (build, key) => this.#change(build, { key }), call, options);
  }

  /** Makes the context smaller: the transcript stays in the log. */
  async compress(
    options: { readonly strategy?: CompressStrategy; readonly instructions?: string } = {},
  ): Promise<CompressResult> {
    checkCall("session.compress", options);
    const { compressSession } = await import("../turn/compress.ts");
    return compressSession(this.#deps, this.id, options);
  }

  /** Undoes a compaction: the context shows its range again. Refused if that is too long for the model. */
  async uncompress(options: UncompressOptions = {}): Promise<AppendResult> {
    checkCall("session.uncompress", options);
    const { uncompressCommand } = await import("../turn/uncompress.ts");
    return written(await this.#change((state) => uncompressCommand(this.#deps, this.id, state, options)));
  }

  /** The document for the next session. Returned again as it is while nothing was said since. */
  async handoff(options: HandoffOptions = {}): Promise<Handoff> {
    return (await import("../branch/handoff.ts")).handoffSession(this.#deps, this.id, options, {
      asked: true,
    });
  }

  /** Takes the right to run the session; refused while another process holds it. */
  async lease(options: { readonly holder: string; readonly leaseMs?: number }): Promise<SessionLease> {
    checkCall("session.lease", options);
    return takeLease(this.#deps, this.id, options);
  }

  async #simple(verb: SimpleVerb, options: Reason): Promise<AppendResult> {
    checkCall(`session.${verb}`, options);
    return written(await this.#change({ do: verb, ...options }));
  }

  #change(build: Build, options: Partial<ChangeOptions> = {}): Promise<Change> {
    const { writer, actor } = this.#deps;
    return writer.change(this.id, build, { actor, ...options });
  }

  #head(): Promise<Head> {
    return headOf(this.#deps, this.id);
  }

  #resolve(place: string | number): Promise<number> {
    return resolvePlace(this.#deps, this.id, place);
  }
}

function checkExpected(call: string, expect: { readonly seq: number } | undefined): void {
  if (expect === undefined || Number.isInteger(expect.seq)) return;
  throw new SkeinError("invalid", `${call}: expect: expected a position`, {
    hint: "for example { seq: 12 }",
  });
}

interface Reason {
  readonly reason?: string;
}
type SimpleVerb = "activate" | "suspend" | "cancel" | "reopen" | "archive";
