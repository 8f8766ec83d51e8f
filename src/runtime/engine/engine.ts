/** The engine: sessions of one store, and the calls on all of them. One subject: the public handle. */
import { present } from "../../core/present.ts";
import { checkCall } from "../../call/check.ts";
import type { OpenOptions } from "../../core/session/commands.ts";
import type { AgentDefinition } from "../../core/workspace/agent.ts";
import { checkOptions, SkeinError } from "../../core/error.ts";
import { type LogId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import { type SessionStatus } from "../../core/session/lifecycle.ts";
import type { TriggerSpec } from "../../core/trigger/trigger.ts";
import type { ResultPage, StoreStats, WorkerRow } from "../../store/port.ts";
import { freshSessionId, requestDeps, madeBefore } from "../log/request-scope.ts";
import {
  addAgent,
  listAgents,
  showAgent,
  type AgentSummary,
  type AgentVersion,
} from "../workspace/agents.ts";
import { readBlob } from "../read/content.ts";
import type { DeliverProgress, DeliverReport } from "../message/deliver.ts";
import { readFeedPage, type FeedEvents } from "../read/event-reader.ts";
import type { ExportOptions } from "../transfer/bundle.ts";
import type { ImportOptions, ImportReport } from "../transfer/import.ts";
import type {
  ImportTranscriptOptions,
  ImportTranscriptReport,
  TranscriptSource,
} from "../transfer/history.ts";
import type { MigrateAllOptions, MigrateAllReport } from "../transfer/move-all.ts";
import { MemoryCalls } from "./memory-calls.ts";
import type { Policy } from "../../core/govern/policy.ts";
import type { PolicyEntry, SetPolicyOptions } from "../workspace/policies.ts";
import type { Approval } from "../workspace/approvals.ts";
import type { RetainOptions, RetainReport } from "../govern/retain.ts";
import { dropSessions } from "../govern/retain-drop.ts";
import type { AffectedBy, AffectedRow } from "../depend/affected.ts";
import { catchUp, search, type SearchHit, type IndexProgress } from "../read/projection.ts";
import { rebuild, type RebuildReport } from "../govern/rebuild.ts";
import type { ScanOptions, ScanReport } from "../govern/scan.ts";
import { carriedAgain, prepareCarried } from "../branch/bootstrap.ts";
import { findSession } from "../read/find.ts";
import type { Lineage } from "../read/lineage.ts";
import type { CostOptions, CostRow } from "../read/cost.ts";
import type { ImportedStats } from "../read/imported-stats.ts";
import { forget, listMemory, remember } from "../workspace/memory.ts";
import type {
  ForgetOptions,
  ForgetResult,
  MemoryEntry,
  MemoryOptions,
  RememberOptions,
} from "../workspace/memory.ts";
import { internals, type EngineInternals } from "./internals.ts";
import { makeDeps, type EngineOptions } from "./make-deps.ts";
import { checkOpen, type WriteOptions } from "../options.ts";
import { checkTexts, isObject } from "../../core/option-check.ts";
import { keepBytes, safeText } from "../log/redact.ts";
import type { Deps } from "../deps.ts";
import type { ModelFacts } from "../../model/port.ts";
import { modelOf } from "../context/model-settings.ts";
import { checkActor } from "../log/seal.ts";
import { Session } from "./session.ts";
import { standingRows, type SessionSummary } from "../read/session-list.ts";
import type { AcceptOptions, AcceptResult, Anchor, AnchorOptions } from "../govern/anchor.ts";
import type { VerifyAllOptions, VerifyAllReport } from "../govern/verify-all.ts";
import type { HookEntry, SetHookOptions } from "../workspace/webhooks.ts";
import type { TokenHolder } from "../workspace/token-reader.ts";
import type { AddTokenOptions, IssuedToken, TokenEntry, TokensOptions } from "../workspace/tokens.ts";
import type { TriggerTemplate, TemplateOptions } from "../trigger/templates.ts";
import type { WebhookAnswer, WebhookCall } from "../trigger/webhook.ts";
import type { WorkOptions, SessionWorker } from "../worker/worker.ts";
import { writtenBefore } from "../log/workspace-log.ts";
import { everyLog } from "../read/every-log.ts";
import type { AppendResult } from "../log/append-result.ts";

/** Filters and paging of `engine.sessions`. */
export interface SessionsOptions {
  readonly agent?: string;
  readonly status?: SessionStatus | readonly SessionStatus[];
  readonly labels?: Readonly<Record<string, string>>;
  /** Matches name or objective. */
  readonly text?: string;
  /** Only the sessions of this project, by its id or a suffix. */
  readonly project?: string;
  readonly activeSince?: number;
  readonly activeBefore?: number;
  readonly limit?: number;
  readonly cursor?: string;
}

/** Options of `engine.search`. */
export interface SearchOptions {
  /** Only in this session, by its id or a suffix. */
  readonly session?: string;
  /** Only in this project: in its own log and in its sessions. */
  readonly project?: string;
  readonly limit?: number;
  readonly progress?: IndexProgress;
}

/** Options of `engine.stats`. */
export interface StatsOptions {
  /** Also sums over imported sessions, by tool, project, model and week. The store needs SQL. */
  readonly imported?: boolean;
}

/** The result of `engine.stats`. */
export interface EngineStats extends StoreStats {
  /** With the option `imported`. */
  readonly imported?: ImportedStats;
}

/**
 * The sessions of one store, and the calls on all of them. `openEngine` makes it.
 *
 * @example
 *   await using engine = await openEngine({ store: "skein.db" });
 *   const session = await engine.open({ objective: "Review the retry logic" });
 */
export class Engine extends MemoryCalls implements AsyncDisposable {
  readonly #deps: Deps;
  readonly #workers: Set<SessionWorker>;
  #closed: Promise<void> | null = null;

  /** `shared`: resources of another engine, which closes them; this one never does. */
  constructor(
    options: EngineOptions,
    shared?: { readonly deps: Deps; readonly workers: Set<SessionWorker> },
  ) {
    const deps = shared?.deps ?? makeDeps(options);
    super(deps);
    this.#deps = deps;
    this.#workers = shared?.workers ?? new Set();
    if (shared !== undefined) this.#closed = Promise.resolve();
  }

  /** The same engine for another actor: its calls are recorded as theirs. Closing it does nothing. */
  as(actor: string): Engine {
    return this.#with({ ...this.#deps, actor: checkActor(actor) });
  }

  /** @internal For the server, in the same process: see internals.ts. */
  get [internals](): EngineInternals {
    const { store, world, tenant, actor, holder, live, tokens, writer } = this.#deps;
    return {
      store,
      world,
      tenant,
      actor,
      holder,
      live,
      tokens,
      writer,
      forRequest: (request) => this.#with(requestDeps(this.#deps, request)),
      sessionAt: (id, options) => new Session({ ...this.#deps, ...options }, id),
    };
  }

  /** The same engine with other dependencies. */
  #with(deps: Deps): Engine {
    if (deps === this.#deps) return this;
    const { store, world } = deps;
    return new Engine({ store, world }, { deps, workers: this.#workers });
  }

  /**
   * Opens a session: one objective, and its options; or with `from`, as the successor of another. With `key`,
   * once: a second call with the same key returns the session of the first.
   */
  async open(
    given: OpenOptions & WriteOptions & ({ readonly objective: string } | { readonly from: string }),
  ): Promise<Session> {
    // Untyped callers may pass anything; checkOpen names what is missing.
    const { key, ...options } = isObject(given) ? given : ({} as typeof given);
    checkOpen(options);
    checkTexts("open", { key });
    const deps = key === undefined ? this.#deps : requestDeps(this.#deps, { key });
    const { writer, actor, store } = deps;
    const before = await madeBefore(deps);
    if (before !== null)
      return new Session(this.#deps, before, await carriedAgain(this.#deps, before, options));
    const { opening, carriedOver } = await prepareCarried(this.#deps, options);
    const id = await freshSessionId(deps);
    await writer.begin(id, { command: { do: "open", workspace: store.workspace, ...opening } }, { actor });
    return new Session(this.#deps, id, carriedOver);
  }

  /** A handle on an existing session, by its id or a unique suffix. */
  async session(idOrEnding: string): Promise<Session> {
    return new Session(this.#deps, await this.#find(idOrEnding));
  }

  /** Sessions with their current state, the most recently active first, in pages. */
  async sessions(options: SessionsOptions = {}): Promise<ResultPage<SessionSummary>> {
    const wanted = typeof options.status === "string" ? [options.status] : options.status;
    checkCall("engine.sessions", { ...options, status: wanted });
    const { status: _status, limit: count = 50, cursor, project, ...rest } = options;
    const sessions = project === undefined ? undefined : await projectSessions(this.#deps, project);
    const filter = { ...rest, ...present({ status: wanted, sessions }) };
    const { store, world } = this.#deps;
    const page = await store.list(filter, cursor === undefined ? { limit: count } : { limit: count, cursor });
    return { ...page, rows: await standingRows(store, page.rows, world.now()) };
  }

  /** The family of a session: what was forked from what, and what was merged. */
  async lineage(idOrEnding: string): Promise<Lineage> {
    return (await import("../read/lineage.ts")).readLineage(this.#deps, await this.#find(idOrEnding));
  }

  /** Adds a version of an agent. Adding the newest definition again changes nothing. */
  addAgent(definition: AgentDefinition): Promise<AgentVersion> {
    return addAgent(this.#deps, definition);
  }

  /** The newest version of every agent of the workspace, by name. */
  agents(): Promise<AgentSummary[]> {
    return listAgents(this.#deps);
  }

  /** An agent by its name, with its definition; the newest version, or an earlier one. */
  async agent(name: string, options: { readonly version?: number } = {}): Promise<AgentVersion> {
    checkCall("engine.agent", options);
    return showAgent(this.#deps, name, options.version);
  }

  /** The facts of a model, by default the engine's own. Rejects with `unavailable` if it cannot be used. */
  async model(name?: string): Promise<ModelFacts> {
    checkTexts("model", { name });
    return (await modelOf(this.#deps, name)).facts;
  }

  /** Memory entries, the newest first: all, of one scope or owner, or with these words. */
  async memory(options: MemoryOptions = {}): Promise<MemoryEntry[]> {
    checkCall("engine.memory", options);
    return listMemory(this.#deps, options);
  }

  /** Adds a memory entry that comes from no session: a preference, a house rule. */
  async remember(options: RememberOptions): Promise<MemoryEntry> {
    checkCall("engine.remember", options);
    return remember(this.#deps, options);
  }

  /**
   * Ends it for all sessions that are opened later; those that carry it keep it. With `erase`, the contents
   * of all its versions are erased, also when it was forgotten before.
   */
  async forget(options: ForgetOptions): Promise<ForgetResult> {
    checkCall("engine.forget", options);
    if (options.erase !== true) return forget(this.#deps, options);
    return (await import("../govern/erase-memory.ts")).forgetForGood(this.#deps, options);
  }

  /** Events of all logs: at least once, in order within each. `position` is where to continue. */
  async feed(options: { readonly after?: string; readonly limit?: number } = {}): Promise<FeedEvents> {
    checkCall("engine.feed", options);
    return readFeedPage(this.#deps.store, options.after ?? null, options.limit ?? 100);
  }

  /** Full-text search over everything that was said. */
  async search(text: string, options: SearchOptions = {}): Promise<SearchHit[]> {
    checkCall("engine.search", options, { text });
    const { store, states } = this.#deps;
    const { session, project, limit: most, progress } = options;
    const only = session === undefined ? undefined : await this.#find(session);
    const logs = project === undefined ? undefined : await projectLogs(this.#deps, project);
    return search(store, states, text, present({ session: only, logs, limit: most, progress }));
  }

  /** The sessions that depend on a path, on the files that a commit changed, or on a table. */
  async affected(by: AffectedBy): Promise<readonly AffectedRow[]> {
    checkCall("engine.affected", by);
    return (await import("../depend/affected.ts")).affectedBy(this.#deps, by);
  }

  /** One read-only SELECT over the views in docs/views.md. */
  async query(
    sql: string,
    options: { readonly progress?: IndexProgress; readonly signal?: AbortSignal } = {},
  ): Promise<{ readonly columns: readonly string[]; readonly rows: readonly (readonly unknown[])[] }> {
    checkCall("engine.query", options, { sql });
    const { store, states } = this.#deps;
    const { progress, signal } = options;
    await catchUp(store, states, progress);
    return this.#query(sql, signal);
  }

  /** Without bringing items up to date first. */
  #query(
    sql: string,
    signal?: AbortSignal,
  ): Promise<{ readonly columns: readonly string[]; readonly rows: readonly (readonly unknown[])[] }> {
    const { store, actor, shared } = this.#deps;
    const { queryRowsMax, queryBytesMax: bytesMax, queryMs: timeoutMs } = limit;
    const how = { limit: queryRowsMax, bytesMax, timeoutMs, ...(signal && { signal }) };
    return shared.queries({ actor, signal }, () => store.query(sql, how));
  }

  /** The cost of model calls, by group, the most expensive first; by day, the latest first. */
  async cost(options: CostOptions = {}): Promise<CostRow[]> {
    checkCall("engine.cost", options);
    const { costSessions } = await import("./cost-sessions.ts");
    const { readCost } = await import("../read/cost.ts");
    return readCost((sql) => this.query(sql), options, await costSessions(this.#deps, options));
  }

  /** Verifies every log of the store, against the listed heads too, and the store itself. */
  async verify(options: VerifyAllOptions = {}): Promise<VerifyAllReport> {
    checkCall("engine.verify", options);
    const { verifyAll } = await import("../govern/verify-all.ts");
    return verifyAll(this.#deps, options);
  }

  /** Lists the heads of all logs in the workspace's log, and returns the root, to keep elsewhere. */
  async anchor(options: AnchorOptions = {}): Promise<Anchor> {
    return (await import("../govern/anchor.ts")).makeAnchor(this.#deps, options);
  }

  /** Accepts the current logs, after an intended restore: verify no longer reports them. */
  async acceptAnchor(options: AcceptOptions): Promise<AcceptResult> {
    return (await import("../govern/anchor.ts")).acceptHeads(this.#deps, options);
  }

  /** Finds secrets that entered the store earlier, in one session or all logs. Never returns a value. */
  async scan(options: ScanOptions = {}): Promise<ScanReport> {
    const { checkScan, scan } = await import("../govern/scan.ts");
    checkScan(options);
    const { session, progress } = options;
    const logs = session === undefined ? everyLog(this.#deps.store) : only(await this.#find(session));
    return scan(this.#deps, logs, { whole: session !== undefined, progress });
  }

  /** A session as a bundle, streamed while it is read. With `move` it leaves: it becomes read-only here. */
  async *export(idOrEnding: string, options: ExportOptions = {}): AsyncGenerator<Uint8Array> {
    const { exportBundle } = await import("../transfer/bundle.ts");
    yield* exportBundle(this.#deps, await this.#find(idOrEnding), options);
  }

  /** Imports a bundle. Nothing of it is visible before all of it is verified. Idempotent. */
  async import(source: AsyncIterable<Uint8Array>, options: ImportOptions = {}): Promise<ImportReport> {
    return (await import("../transfer/import.ts")).importBundle(this.#deps, source, options);
  }

  /** A text without the secrets that this engine knows or recognizes, as it would be stored. */
  readonly redact = (text: string): string => safeText(this.#deps.world, text);

  /**
   * Imports a conversation of another tool as a session, suspended until a person activates it. Importing a
   * source again adds only what is new. `skein/transcripts` reads the formats of other tools.
   */
  async importTranscript(
    source: TranscriptSource,
    options: ImportTranscriptOptions = {},
  ): Promise<ImportTranscriptReport> {
    return (await import("../transfer/history.ts")).importTranscript(this.#deps, source, options);
  }

  /** Moves every session to another store, with the workspace's data. A repeated call continues. */
  async migrate(options: MigrateAllOptions): Promise<MigrateAllReport> {
    return (await import("../transfer/move-all.ts")).migrateAll(this.#deps, options);
  }

  /** What a person sends: an input with a topic, validated against the session's contract for it. */
  async send(
    to: string,
    message: unknown,
    options: { readonly topic?: string; readonly key?: string } = {},
  ): Promise<AppendResult> {
    checkCall("engine.send", options);
    return (await import("../message/send.ts")).sendInput(this.#deps, await this.#find(to), message, options);
  }

  /** Delivers waiting messages to other stores, and ends requests past their deadline. */
  async deliver(options: { readonly progress?: DeliverProgress } = {}): Promise<DeliverReport> {
    checkCall("engine.deliver", options);
    return (await import("../message/deliver.ts")).deliverAll(this.#deps, options.progress);
  }

  /** Deletes everything derived and makes it again from the logs. */
  async rebuild(options: { readonly progress?: IndexProgress } = {}): Promise<RebuildReport> {
    checkCall("engine.rebuild", options);
    return rebuild(this.#deps, everyLog(this.#deps.store), options.progress);
  }

  /** Deletes a session for good. Forks keep what they share with it. */
  async delete(idOrEnding: string, options: { readonly reason?: string } = {}): Promise<void> {
    checkCall("engine.delete", options);
    const { store, once } = this.#deps;
    if ((await writtenBefore(this.#deps)) === null)
      await dropSessions(this.#deps, [{ ...options, session: await this.#find(idOrEnding) }], once);
    await store.sweep();
  }

  /** Applies due policies, beside other work; with `dryRun`, reports what it would do. */
  async retain(options: RetainOptions = {}): Promise<RetainReport> {
    return (await import("../govern/retain.ts")).retain(this.#deps, options);
  }

  /** Sets a policy of the workspace, or replaces the one of this name. `retain` follows it. */
  async setPolicy(name: string, policy: Policy, options: SetPolicyOptions = {}): Promise<PolicyEntry> {
    return (await import("../workspace/policies.ts")).setPolicy(this.#deps, name, policy, options);
  }

  /** Removes a policy. Its past effects stay. */
  async removePolicy(name: string): Promise<void> {
    return (await import("../workspace/policies.ts")).removePolicy(this.#deps, name);
  }

  /** Commands that are always allowed, in every session of the workspace. */
  async approvals(): Promise<Approval[]> {
    return (await import("../workspace/approvals.ts")).listApprovals(this.#deps);
  }

  /** Ends a saved approval: the command asks again. */
  async revokeApproval(name: string): Promise<void> {
    return (await import("../workspace/approvals.ts")).revokeApproval(this.#deps, name);
  }

  /** The policies of the workspace, by name, with the default unless it was replaced. */
  async policies(): Promise<PolicyEntry[]> {
    return (await import("../workspace/policies.ts")).listPolicies(this.#deps);
  }

  /** Issues an access token for network callers. It is shown only once. */
  async addToken(options: AddTokenOptions): Promise<IssuedToken> {
    return (await import("../workspace/tokens.ts")).addToken(this.#deps, options);
  }

  /** The valid tokens, the newest first; with `all`, also revoked and expired ones. */
  async tokens(options: TokensOptions = {}): Promise<TokenEntry[]> {
    return (await import("../workspace/tokens.ts")).listTokens(this.#deps, options);
  }

  /** Ends a token: here at once, in other processes within a second. */
  async revokeToken(idOrEnding: string, options: { readonly reason?: string } = {}): Promise<TokenEntry> {
    return (await import("../workspace/tokens.ts")).revokeToken(this.#deps, idOrEnding, options);
  }

  /** Sets a webhook: a URL that receives events from now on. One of this name is replaced. */
  async setHook(name: string, url: string, options: SetHookOptions): Promise<HookEntry> {
    return (await import("../workspace/webhooks.ts")).setHook(this.#deps, name, url, options);
  }

  /** The webhooks of the workspace by name, and how far each got. */
  async hooks(): Promise<HookEntry[]> {
    return (await import("../workspace/webhooks.ts")).listHooks(this.#deps);
  }

  /** Removes a webhook, and returns it. */
  async removeHook(name: string, options: { readonly reason?: string } = {}): Promise<HookEntry> {
    return (await import("../workspace/webhooks.ts")).removeHook(this.#deps, name, options);
  }

  /** The holder of a token; null for every invalid one, whatever is wrong with it. */
  checkToken(token: string): Promise<TokenHolder | null> {
    return this.#deps.tokens.check(token);
  }

  /**
   * Stores the bytes of an image or file, and returns the hash by which a block of an input names them. A
   * text is stored without its secrets; other bytes with a secret are refused. A stream takes little memory,
   * however long it is.
   */
  async putBlob(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<string> {
    if (typeof bytes === "object" && bytes !== null && Symbol.asyncIterator in bytes) {
      return (await import("../log/blob-upload.ts")).keepStream(this.#deps, bytes);
    }
    if (!(bytes instanceof Uint8Array) || bytes.length > limit.blobBytesMax) {
      throw new SkeinError(
        "invalid",
        `putBlob: bytes: expected at most ${limit.blobBytesMax} bytes as a Uint8Array`,
      );
    }
    return keepBytes(this.#deps, bytes, { begins: true });
  }

  /** The bytes stored under a hash: an image or file of an input, or a large content. */
  async blob(hash: string): Promise<Uint8Array> {
    return readBlob(this.#deps.store, hash);
  }

  /**
   * Starts a worker: it runs sessions that have something to do, in parallel, and does what is due by time.
   */
  async work(options: WorkOptions = {}): Promise<SessionWorker> {
    checkCall("engine.work", options);
    const { startWork } = await import("../worker/start-work.ts");
    const worker = startWork(this.#deps, options);
    this.#workers.add(worker);
    return worker;
  }

  /**
   * Sets a template: whenever it fires, it opens a new session. One of the same name is replaced. For a
   * webhook it returns the token, which is shown only once.
   */
  async trigger(
    name: string,
    spec: TriggerSpec,
    options: TemplateOptions,
  ): Promise<TriggerTemplate & { readonly token?: string }> {
    checkCall("engine.trigger", options);
    const { setTemplate } = await import("../trigger/templates.ts");
    const { template, token } = await setTemplate(this.#deps, name, spec, options);
    return { ...template, ...(token === null ? {} : { token }) };
  }

  /** Removes a template. Its sessions continue. */
  async untrigger(name: string): Promise<void> {
    return (await import("../trigger/templates.ts")).removeTemplate(this.#deps, name);
  }

  /** The templates of the workspace, by name. */
  async triggers(): Promise<TriggerTemplate[]> {
    return (await import("../trigger/templates.ts")).listTemplates(this.#deps);
  }

  /** Fires a template by hand, and returns the session that it opened. */
  async fire(name: string, options: { readonly text?: string } = {}): Promise<Session> {
    checkCall("engine.fire", options);
    const { fireTemplateNow } = await import("../trigger/templates.ts");
    return new Session(this.#deps, await fireTemplateNow(this.#deps, name, options.text));
  }

  /** A call of a webhook by its token: fires its trigger, once for each delivery, with the body as input. */
  async webhook(token: string, call: WebhookCall = {}): Promise<WebhookAnswer> {
    checkOptions("webhook", call, ["body", "headers"]);
    return (await import("../trigger/webhook.ts")).callWebhook(this.#deps, token, call);
  }

  /** Workers of this store with a recent heartbeat, in this process or in others. */
  workers(): Promise<readonly WorkerRow[]> {
    return this.#deps.store.workers();
  }

  /** Counts and sizes of the store; with `imported`, also sums over the sessions of other tools. */
  async stats(options: StatsOptions = {}): Promise<EngineStats> {
    checkCall("engine.stats", options);
    const figures = await this.#deps.store.stats();
    if (options.imported !== true) return figures;
    const { readImportedStats } = await import("../read/imported-stats.ts");
    return { ...figures, imported: await readImportedStats((sql) => this.#query(sql)) };
  }

  /** Ends work in progress here and closes the store. Sessions stay in it. May be called twice. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const { runs, states, store } = this.#deps;
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
    await runs.stop();
    await states.settled();
    await store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #find(idOrEnding: string): Promise<SessionId> {
    return findSession(this.#deps.store, idOrEnding);
  }
}

async function projectSessions(deps: Deps, project: string): Promise<readonly SessionId[]> {
  return (await import("../project/projects.ts")).sessionsOf(deps, project);
}

async function projectLogs(deps: Deps, project: string): Promise<readonly LogId[]> {
  const { findProject } = await import("../project/project-reader.ts");
  const id = await findProject(deps.projects, project);
  return [id, ...(await projectSessions(deps, id))];
}

async function* only(session: SessionId): AsyncGenerator<LogId> {
  yield await Promise.resolve(session);
}
