/**
 * The session handle: every call on one session. It holds no state of its own; two handles on one session, in
 * one process or in two, are as good as one.
 */
import type { ItemKind } from "../core/catalogue/durable.ts";
import type {
  AppendRecord,
  Binding,
  Budget,
  Command,
  ForkOptions,
  OpenOptions,
  Permission,
} from "../core/command.ts";
import type { StoredRecord } from "../core/chain.ts";
import { withdrawn } from "../core/decide/branch.ts";
import { checkOptions, SkeinError } from "../core/error.ts";
import { makeSessionId, quote, type SessionId } from "../core/ids.ts";
import { limit } from "../core/limit.ts";
import type { State } from "../core/state.ts";
import type { Store } from "../store/port.ts";
import { readContent } from "./content.ts";
import { readEvents, type Event, type EventsOptions } from "./event-reader.ts";
import { takeLease, type Lease } from "./lease.ts";
import { readItems, type Item } from "./projection.ts";
import type { StateReader } from "./state-reader.ts";
import { viewState, type StateView } from "./state-view.ts";
import { verifyLog, type VerifyOptions, type VerifyReport } from "./verify.ts";
import type { Build, Change, ChangeOptions, Writer } from "./writer.ts";
import type { World } from "./world.ts";

/** What the handles of one engine share. */
export interface Context {
  readonly store: Store;
  readonly world: World;
  readonly states: StateReader;
  readonly writer: Writer;
  readonly actor: string;
}

/** Where a change ended up. */
export interface Written {
  /** The first record that the change wrote. */
  readonly seq: number;
  readonly headSeq: number;
  /** True when a change with the same key had been written before, and nothing was written now. */
  readonly duplicate: boolean;
}

export interface WriteOptions {
  /** A second change with the same key is not written; it gives the result of the first. */
  readonly key?: string;
}

interface Because {
  readonly because?: string;
}

export class Session {
  readonly id: SessionId;
  readonly #context: Context;

  constructor(context: Context, id: SessionId) {
    this.#context = context;
    this.id = id;
  }

  /** The state now, or at an earlier position, with its contents. */
  async state(options: { readonly atSeq?: number } = {}): Promise<StateView> {
    checkOptions("state", options, ["atSeq"]);
    const { store, world } = this.#context;
    return viewState(store, world, this.id, await this.fold(options));
  }

  /** The state as the log gives it: names and positions, no contents. */
  async fold(options: { readonly atSeq?: number } = {}): Promise<State> {
    checkOptions("fold", options, ["atSeq"]);
    const { states } = this.#context;
    const head = await this.#head();
    return states.at(this.id, await this.#position(options.atSeq ?? head.seq));
  }

  /** The durable tier, with values. */
  async items(options: { readonly atSeq?: number } = {}): Promise<Item[]> {
    return readItems(this.#context.store, this.id, await this.fold(options));
  }

  /** Events by position or time, to the end or on and on. */
  events(options: EventsOptions = {}): AsyncGenerator<Event> {
    return readEvents(this.#context.store, this.id, options);
  }

  /**
   * The records exactly as they are stored, from the first to the last there is now; a fork's begin with
   * its parent's.
   */
  async *records(): AsyncGenerator<StoredRecord> {
    const { seq: toSeq } = await this.#head();
    for (let fromSeq = 1; fromSeq <= toSeq;) {
      const range = { fromSeq, toSeq, limit: limit.pageRecordsMax, contents: true };
      const page = await this.#context.store.read(this.id, range);
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

  /** Position and hash of the last record. To be noted elsewhere, and given to `verify` later. */
  async head(): Promise<{ readonly seq: number; readonly hash: string; readonly at: number }> {
    const { seq, hash, at } = await this.#head();
    return { seq, hash, at };
  }

  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    checkOptions("verify", options, ["head", "own"]);
    return verifyLog(this.#context.store, this.#context.world, this.id, options);
  }

  /** Puts input, or records of another program, into the log. A text is an input. */
  async append(
    records: string | AppendRecord | readonly AppendRecord[],
    options: WriteOptions & { readonly expect?: { readonly seq: number } } = {},
  ): Promise<Written> {
    checkOptions("append", options, ["key", "expect"]);
    if (options.expect !== undefined && !Number.isInteger(options.expect.seq)) {
      throw new SkeinError("invalid", "append: expect names no position", { hint: "give { seq: 12 }" });
    }
    const { writer, actor } = this.#context;
    const { key, expect } = options;
    const command: Command = { do: "append", records: recordsOf(records) };
    return written(await writer.change(this.id, command, { actor, key, expectSeq: expect?.seq }));
  }

  /** A fact, decision, task or artifact that is to outlive every compaction. */
  async record(
    kind: ItemKind,
    key: string,
    value: unknown,
    options: WriteOptions & Because & { readonly status?: "open" | "done" | "dropped" } = {},
  ): Promise<Written> {
    checkOptions("record", options, ["key", "because", "status"]);
    const { key: once, ...rest } = options;
    return written(await this.#change({ do: "record", kind, key, value, ...rest }, { key: once }));
  }

  async retract(kind: ItemKind, key: string, options: Because = {}): Promise<Written> {
    checkOptions("retract", options, ["because"]);
    return written(await this.#change({ do: "retract", kind, key, ...options }));
  }

  /** Working memory that rewinds with the session. Without a value the key is removed. */
  async scratch(key: string, value?: unknown): Promise<Written> {
    return written(await this.#change({ do: "scratch", key, value }));
  }

  /** Gives a position a name; by default the last one. */
  async save(
    name: string,
    options: { readonly atSeq?: number; readonly note?: string } = {},
  ): Promise<Written> {
    checkOptions("save", options, ["atSeq", "note"]);
    return written(await this.#change({ do: "save", name, ...options }));
  }

  /** A read-only handle at a checkpoint's name or a position. */
  async load(place: string | number): Promise<View> {
    return new View(this, await this.#resolve(place));
  }

  /** A new session that shares everything up to a position, by default the last one. Copies nothing. */
  async fork(options: ForkOptions & { readonly atSeq?: number } = {}): Promise<Session> {
    checkOptions("fork", options, ["atSeq", "objective", "name", "budget", "labels"]);
    const { atSeq, ...rest } = options;
    const { store, world, states, writer, actor } = this.#context;
    const seq = await this.#position(atSeq ?? (await this.#head()).seq);
    const from = await states.at(this.id, seq);
    const [record] = await store.read(this.id, { fromSeq: seq, toSeq: seq, limit: 1, contents: false });
    const id = makeSessionId({ nowMs: world.now(), random: world.random(10) });
    const lost = withdrawn(from, await writer.current(this.id));
    const grant: Permission[] = [];
    for (const { ref, ...rule } of lost.permissions) {
      const content = ref === null ? undefined : await readContent(store, this.id, ref.seq);
      // A rule whose pattern was erased counts for no call; without the pattern it would be about every call.
      const erased = ref !== null && ref.hash !== null && content === undefined;
      if (erased && rule.rule === "allow") grant.push({ ...rule, rule: "none" });
      else grant.push({ ...(content as { pattern?: unknown } | undefined), ...rule });
    }
    const { unbind } = lost;
    const command: Command = {
      do: "fork",
      parentHash: record?.hash ?? "",
      by: "person",
      unbind,
      grant,
      ...rest,
    };
    // The parent named in the fork's first record is this session, also where the position is older than
    // itself.
    const parentState = { ...from, standing: { ...from.standing, session: this.id } };
    await writer.begin(id, { command, from: parentState, parent: { session: this.id, seq } }, { actor });
    return new Session(this.#context, id);
  }

  /** Goes on with the mind of an earlier position. What was appended since stays in the log. */
  async rewind(
    place: string | number,
    options: { readonly requeue?: boolean; readonly reason?: string } = {},
  ): Promise<Written> {
    checkOptions("rewind", options, ["requeue", "reason"]);
    const toSeq = await this.#resolve(place);
    const earlier = await this.#context.states.at(this.id, toSeq);
    return written(await this.#change({ do: "rewind", earlier, ...options }));
  }

  /**
   * Closes this session and opens the next with the same agent, objective and bindings: one append for
   * both.
   */
  async clear(
    options: { readonly objective?: string; readonly name?: string; readonly reason?: string } = {},
  ): Promise<Session> {
    checkOptions("clear", options, ["objective", "name", "reason"]);
    const { clearSession } = await import("./clear.ts");
    return new Session(this.#context, await clearSession(this.#context, this.id, options));
  }

  async rename(name: string): Promise<Written> {
    return written(await this.#change({ do: "rename", name }));
  }

  async label(
    set: Readonly<Record<string, string>>,
    options: { readonly remove?: readonly string[] } = {},
  ): Promise<Written> {
    checkOptions("label", options, ["remove"]);
    if (typeof set !== "object" || set === null) {
      throw new SkeinError("invalid", `label: ${quote(set)} are no labels`, {
        hint: 'for example { team: "web" }',
      });
    }
    return written(await this.#change({ do: "label", set, ...options }));
  }

  async prioritize(priority: number): Promise<Written> {
    return written(await this.#change({ do: "prioritize", priority }));
  }

  async activate(options: Reason = {}): Promise<Written> {
    return this.#simple("activate", options);
  }
  async suspend(options: Reason = {}): Promise<Written> {
    return this.#simple("suspend", options);
  }
  async interrupt(options: Reason = {}): Promise<Written> {
    return this.#simple("interrupt", options);
  }
  async cancel(options: Reason = {}): Promise<Written> {
    return this.#simple("cancel", options);
  }
  async reopen(options: Reason = {}): Promise<Written> {
    return this.#simple("reopen", options);
  }
  async archive(options: Reason = {}): Promise<Written> {
    return this.#simple("archive", options);
  }

  async close(
    options: Reason & { readonly outcome?: "completed" | "failed" | "expired" } = {},
  ): Promise<Written> {
    checkOptions("close", options, ["outcome", "reason"]);
    if (options.outcome !== undefined && !["completed", "failed", "expired"].includes(options.outcome)) {
      throw new SkeinError("invalid", `close: there is no outcome ${quote(options.outcome)}`, {
        hint: '"completed", "failed" or "expired"; cancel cancels',
      });
    }
    return written(await this.#change({ do: "close", ...options }));
  }

  async sleep(options: Reason & { readonly untilMs?: number } = {}): Promise<Written> {
    checkOptions("sleep", options, ["untilMs", "reason"]);
    return written(await this.#change({ do: "sleep", ...options }));
  }

  async bind(binding: Binding): Promise<Written> {
    const known = ["kind", "name", "mode", "path", "url", "command", "secrets", "options"];
    checkOptions("bind", binding, known);
    checkBinding(binding);
    return written(await this.#change({ do: "bind", ...binding }));
  }

  async unbind(name: string): Promise<Written> {
    return written(await this.#change({ do: "unbind", name }));
  }

  async grant(permission: Permission): Promise<Written> {
    checkOptions("grant", permission, ["tool", "rule", "name", "pattern", "reason"]);
    return written(await this.#change({ do: "grant", ...permission }));
  }

  async budget(limits: Budget, options: Reason = {}): Promise<Written> {
    checkBudget(limits);
    checkOptions("budget", options, ["reason"]);
    return written(await this.#change({ do: "budget", limits, ...options }));
  }

  /** Takes the right to run the session; refused while somebody else holds it. */
  async lease(options: { readonly holder: string; readonly leaseMs?: number }): Promise<Lease> {
    checkOptions("lease", options, ["holder", "leaseMs"]);
    return takeLease(this.#context, this.id, options);
  }

  async #simple(verb: SimpleVerb, options: Reason): Promise<Written> {
    checkOptions(verb, options, ["reason"]);
    return written(await this.#change({ do: verb, ...options }));
  }

  #change(build: Build, options: Partial<ChangeOptions> = {}): Promise<Change> {
    const { writer, actor } = this.#context;
    return writer.change(this.id, build, { actor, ...options });
  }

  async #head() {
    const head = await this.#context.store.head(this.id);
    if (head !== undefined) return head;
    throw new SkeinError("not-found", `there is no session ${this.id}`, {
      hint: '"skein ps" lists what there is',
    });
  }

  async #position(seq: number): Promise<number> {
    const head = await this.#head();
    if (Number.isInteger(seq) && seq >= 1 && seq <= head.seq) return seq;
    throw new SkeinError("not-found", `there is no position ${seq} in ${this.id}; it ends at ${head.seq}`, {
      hint: `give a position from 1 to ${head.seq}`,
    });
  }

  async #resolve(place: string | number): Promise<number> {
    if (typeof place === "number") return this.#position(place);
    const state = await this.#context.writer.current(this.id);
    const seq = state.standing.checkpoints.get(place);
    if (seq !== undefined) return seq;
    const names = [...state.standing.checkpoints.keys()];
    throw new SkeinError("not-found", `there is no checkpoint ${quote(place)} in ${this.id}`, {
      hint:
        names.length === 0
          ? "it has none yet; save makes one"
          : `there are: ${names.slice(0, 10).join(", ")}`,
    });
  }
}

interface Reason {
  readonly reason?: string;
}
type SimpleVerb = "activate" | "suspend" | "interrupt" | "cancel" | "reopen" | "archive";

/** A session as it was at a position. Reads only; to go on from here, fork or rewind. */
export class View {
  readonly session: Session;
  readonly seq: number;

  constructor(session: Session, seq: number) {
    this.session = session;
    this.seq = seq;
  }

  state(): Promise<StateView> {
    return this.session.state({ atSeq: this.seq });
  }
  items(): Promise<Item[]> {
    return this.session.items({ atSeq: this.seq });
  }
  events(options: EventsOptions = {}): AsyncGenerator<Event> {
    return this.session.events({ ...options, toSeq: Math.min(this.seq, options.toSeq ?? this.seq) });
  }
  fork(options: ForkOptions = {}): Promise<Session> {
    return this.session.fork({ ...options, atSeq: this.seq });
  }
  rewind(options: { readonly requeue?: boolean; readonly reason?: string } = {}): Promise<Written> {
    return this.session.rewind(this.seq, options);
  }
}

const written = ({ firstSeq, headSeq, duplicate }: Change): Written => ({
  seq: firstSeq,
  headSeq,
  duplicate,
});

function recordsOf(records: string | AppendRecord | readonly AppendRecord[]): readonly AppendRecord[] {
  if (typeof records === "string") return [{ type: "input.received", text: records }];
  const list = (Array.isArray(records) ? records : [records]) as readonly AppendRecord[];
  const wrong = list.findIndex((record: unknown) => typeof record !== "object" || record === null);
  if (wrong === -1) return list;
  throw new SkeinError("invalid", `append: ${quote(list[wrong])} is no record`, {
    hint: 'give a text, or an object with a type: "input.received" or "x.name"',
  });
}

/** Lists must be lists: a text would be taken apart into its characters. */
function checkBinding({ command, secrets }: Binding): void {
  for (const [name, list] of Object.entries({ command, secrets })) {
    if (list === undefined || Array.isArray(list)) continue;
    throw new SkeinError("invalid", `bind: ${name} is not a list`, { hint: 'for example ["ls", "-l"]' });
  }
}

function checkBudget(budget: Budget): void {
  checkOptions("budget", budget, ["usd", "tokens", "steps", "turns", "toolCalls", "wallMs"]);
  for (const [name, value] of Object.entries(budget)) {
    if (
      typeof value === "number" &&
      value >= 0 &&
      value <= Number.MAX_SAFE_INTEGER / 1e9 ** Number(name === "usd")
    )
      continue;
    throw new SkeinError("invalid", `budget: ${name} is ${quote(value)}`, {
      hint: "limits are numbers, not negative",
    });
  }
}

export function checkOpen(options: OpenOptions): void {
  const known = ["objective", "name", "agent", "model", "instructions", "constraints", "labels", "priority"];
  checkOptions("open", options, [...known, "expiresAfterIdleMs", "bind", "grant", "budget", "from"]);
  if (typeof options.objective !== "string" || options.objective.trim() === "") {
    throw new SkeinError("invalid", "open: a session needs an objective", {
      hint: "say in a sentence what it is for",
    });
  }
  if (options.objective.length > limit.objectiveCharsMax) {
    throw new SkeinError("invalid", `open: an objective has at most ${limit.objectiveCharsMax} characters`);
  }
  for (const name of ["bind", "grant", "constraints"] as const) {
    if (options[name] === undefined || Array.isArray(options[name])) continue;
    throw new SkeinError("invalid", `open: ${name} is not a list`, { hint: "give an array" });
  }
  for (const binding of options.bind ?? []) checkBinding(binding);
  if (options.budget !== undefined) checkBudget(options.budget);
}
