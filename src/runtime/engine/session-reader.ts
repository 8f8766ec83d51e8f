/** All reads of one session. session.ts has the changes. */
import { checkCall } from "../../call/check.ts";
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { SessionId } from "../../core/ids.ts";
import { present } from "../../core/present.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import type { Head } from "../../store/port.ts";
import type { Deps } from "../deps.ts";
import type { DependencyOptions, DependencyRow } from "../depend/dependencies.ts";
import { showContext, type RenderedContext } from "../context/context-view.ts";
import { listTools, type OfferedTool } from "../turn/run-context.ts";
import type { SessionDiff, DiffOptions, DiffPlace } from "../branch/diff.ts";
import { readEvents, type EventsOptions } from "../read/event-reader.ts";
import type { Lineage } from "../read/lineage.ts";
import { headOf, resolvePlace } from "../read/position.ts";
import { readItems, type SessionItem } from "../read/projection.ts";
import type { ReplayResult, ReplayOptions } from "../replay/replay.ts";
import type { CompactionStages } from "../read/stages.ts";
import { type StateView, viewState } from "../read/state-view.ts";
import type { VerifyOptions, VerifyReport } from "../govern/verify.ts";
import { makeReadSaid } from "../read/event-cache.ts";
import type { ExportedTranscript, ExportTranscriptOptions } from "../transfer/foreign-transcript.ts";
import type { SessionEvent } from "../../core/event.ts";

export class SessionReader {
  readonly id: SessionId;
  readonly #deps: Deps;

  constructor(deps: Deps, id: SessionId) {
    this.#deps = deps;
    this.id = id;
  }

  /** The state now, or at an earlier position, with its contents. */
  async state(options: { readonly atSeq?: number | string } = {}): Promise<StateView> {
    checkCall("session.state", options);
    return viewState(this.#deps, this.id, await this.fold(options));
  }

  /** The state as the log gives it: names and positions, no contents. */
  async fold(options: { readonly atSeq?: number | string } = {}): Promise<State> {
    checkCall("session.fold", options);
    const { states } = this.#deps;
    const head = await this.#head();
    return states.at(this.id, await this.#position(options.atSeq ?? head.seq));
  }

  /** The items, with values. */
  async items(options: { readonly atSeq?: number | string } = {}): Promise<SessionItem[]> {
    const state = await this.fold(options);
    return readItems(this.#deps.store, this.id, state, await makeReadSaid(this.#deps, this.id));
  }

  /** Everything it loaded, read or queried, with digest, range and position, and whether it has changed. */
  async deps(options: DependencyOptions = {}): Promise<readonly DependencyRow[]> {
    checkCall("session.deps", options);
    const { listDependencies } = await import("../depend/dependencies.ts");
    return listDependencies(this.#deps, this.id, await this.fold(present({ atSeq: options.atSeq })), options);
  }

  /** Events by position or time, to the end, or following. */
  events(options: EventsOptions = {}): AsyncGenerator<SessionEvent> {
    const { store, writer } = this.#deps;
    return readEvents(store, this.id, options, writer.suspendRolledBack);
  }

  /**
   * The records exactly as they are stored, from the first to the current last; a fork's begin with its
   * parent's.
   */
  async *records(): AsyncGenerator<StoredRecord> {
    const { seq: toSeq } = await this.#head();
    for (let fromSeq = 1; fromSeq <= toSeq;) {
      const range = { fromSeq, toSeq, limit: limit.pageRecordsMax, contents: true };
      const page = await this.#deps.store.read(this.id, range);
      yield* page;
      const last = page.at(-1);
      if (last === undefined) {
        throw new SkeinError("corrupt", `record ${fromSeq} of ${this.id} is missing`, {
          hint: `run "skein verify ${this.id}" to see what is damaged`,
        });
      }
      fromSeq = last.seq + 1;
    }
  }

  /** Position and hash of the last record. Note them elsewhere, and pass them to `verify` later. */
  async head(): Promise<{ readonly seq: number; readonly hash: string; readonly at: number }> {
    const { seq, hash, at } = await this.#head();
    return { seq, hash, at };
  }

  /** Hashes every record again, and checks the log against the chain and its listed head. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    checkCall("session.verify", options);
    return (await import("../govern/verify-all.ts")).verifySession(this.#deps, this.id, options);
  }

  /** The family of this session: what was forked from what, and what was merged. */
  async lineage(): Promise<Lineage> {
    return (await import("../read/lineage.ts")).readLineage(this.#deps, this.id);
  }

  /** What differs between two positions of it, or from another session; by default to its current state. */
  async diff(from: DiffPlace, to?: DiffPlace, options: DiffOptions = {}): Promise<SessionDiff> {
    return (await import("../branch/diff.ts")).diffPlaces(this.#deps, this.id, { from, to }, options);
  }

  /** Computes every hash of the log again; or runs again from a position, in a fork, and compares. */
  async replay<O extends ReplayOptions = ReplayOptions>(options?: O): Promise<ReplayResult<O>> {
    return (await import("../replay/replay.ts")).replaySession(this.#deps, this.id, options);
  }

  /** What the request at a position sent to the model, or what the next one after it would send. */
  async context(
    options: { readonly atSeq?: number | string; readonly uncompacted?: boolean } = {},
  ): Promise<RenderedContext> {
    checkCall("session.context", options);
    return showContext(this.#deps, this.id, {
      ...options,
      atSeq: await this.#position(options.atSeq ?? (await this.#head()).seq),
    });
  }

  /**
   * The parts of what compactions replaced: turns, in stages, in days, and earlier compactions. With `node`
   * the parts of one of them.
   */
  async stages(node?: string): Promise<CompactionStages> {
    checkCall("session.stages", {}, node === undefined ? {} : { node });
    const { readStages } = await import("../read/stages.ts");
    return readStages(this.#deps, this.id, await this.fold(), node);
  }

  /** The conversation on its current path as a file of another tool, or as plain messages. */
  async exportTranscript(options: ExportTranscriptOptions): Promise<ExportedTranscript> {
    checkCall("session.exportTranscript", options);
    const { exportTranscript } = await import("../transfer/foreign-transcript.ts");
    return exportTranscript(this.#deps, this.id, options);
  }

  /** The offered tools, and the decision of the rules that name no arguments. */
  tools(): Promise<readonly OfferedTool[]> {
    return listTools(this.#deps, this.id);
  }

  #head(): Promise<Head> {
    return headOf(this.#deps, this.id);
  }

  #position(place: number | string): Promise<number> {
    return resolvePlace(this.#deps, this.id, place);
  }
}
