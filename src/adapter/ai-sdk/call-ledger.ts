/**
 * The ledger of a durable run: what was asked and what came of it, as records of a session. A call is known
 * by the digest of its arguments and its number among equal ones, so a program that runs again finds its own.
 */
import { SkeinError } from "../../core/error.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import type { Session } from "../../runtime/engine/session.ts";
import type { Drive } from "../../runtime/turn/drive.ts";
import { sha256 } from "./ids.ts";
import { fromJson, toJson } from "./call-json.ts";

/** What a call is, and how often an equal one was made before it. */
export interface CallId {
  readonly call: string;
  readonly n: number;
}

/** What is recorded of a call before it is made. */
export interface Intent {
  readonly kind: "model" | "tool";
  /** The name of the model or tool. */
  readonly name: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly content?: unknown;
}

/** The outcome of a call. */
export interface RecordedOutcome {
  readonly status: "ok" | "error" | "unknown";
  readonly value: unknown;
  readonly body?: Readonly<Record<string, unknown>>;
}

interface Entry {
  attempts: number;
  /** True: the last attempt has no outcome, and its process is gone. */
  isOpen: boolean;
  /** Where the outcome is; null before there is one. */
  settledSeq: number | null;
}

const types = {
  intent: "x.ai-sdk.requested",
  outcome: "x.ai-sdk.settled",
  failed: "x.ai-sdk.failed",
  lost: "x.ai-sdk.lost",
} as const;

/** Token counts of a run. */
export interface RunUsage {
  /** Model calls that were answered, each counted once. */
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Model calls that were under way when their process ended: the provider may have charged for them. */
  readonly unconfirmedCalls: number;
}

/** Calls of one run. Only the holder of the session's lease has one. */
export class CallLedger {
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #drive: Drive;
  readonly #entries = new Map<string, Entry>();
  /** By digest: numbers that are taken by a call under way, or settled in this process. */
  readonly #taken = new Map<string, Set<number>>();
  #usage: RunUsage = { calls: 0, inputTokens: 0, outputTokens: 0, unconfirmedCalls: 0 };

  private constructor(engine: Engine, session: Session, drive: Drive) {
    this.#engine = engine;
    this.#session = session;
    this.#drive = drive;
  }

  /** Reads what earlier processes recorded. */
  static async open(engine: Engine, session: Session, drive: Drive): Promise<CallLedger> {
    const ledger = new CallLedger(engine, session, drive);
    for await (const event of session.events({ types: Object.values(types) })) {
      const body = event.body as RecordBody;
      ledger.#note(event.type, body, event.seq);
    }
    return ledger;
  }

  get usage(): RunUsage {
    return this.#usage;
  }

  /** The next call with these arguments. Release it if it fails, so that a retry is the same call. */
  take(kind: string, args: unknown): CallId {
    const call = sha256(`${kind}\n${toJson(args)}`).slice(0, 32);
    const taken = this.#taken.get(call) ?? new Set();
    this.#taken.set(call, taken);
    let n = 1;
    while (taken.has(n)) n += 1;
    taken.add(n);
    return { call, n };
  }

  /** The recorded outcome of a call; null if there is none. */
  async outcome(id: CallId): Promise<RecordedOutcome | null> {
    const seq = this.#entries.get(nameOf(id))?.settledSeq ?? null;
    if (seq === null) return null;
    for await (const event of this.#session.events({ fromSeq: seq, toSeq: seq })) {
      const { status } = event.body as { readonly status: RecordedOutcome["status"] };
      if (event.erased) throw erased(seq);
      return { status, value: await this.#value(event.content) };
    }
    throw erased(seq);
  }

  /** True when an earlier process began the call, and left no outcome. */
  wasCut(id: CallId): boolean {
    return this.#entries.get(nameOf(id))?.isOpen ?? false;
  }

  /** Records that a call is about to be made. Make it only once this has resolved. */
  async begin(id: CallId, intent: Intent): Promise<void> {
    try {
      await this.#begin(id, intent);
    } catch (error) {
      this.release(id);
      throw error;
    }
  }

  async #begin(id: CallId, { kind, name, body = {}, content }: Intent): Promise<void> {
    // Fails when another process has taken over.
    await this.#drive.lease.renew();
    const before = this.#entries.get(nameOf(id));
    const attempt = (before?.attempts ?? 0) + 1;
    const lost =
      before?.isOpen === true
        ? [{ type: types.lost, body: { ...id, kind, name, attempt: attempt - 1 } }]
        : [];
    const intent = { type: types.intent, body: { ...id, kind, name, attempt, ...body } };
    const records = [
      ...lost,
      content === undefined ? intent : { ...intent, content: await this.#stored(content) },
    ];
    const key = `${nameOf(id)}:begin:${attempt}`;
    const { seq, duplicate } = await this.#session.append(records, { key, verbatim: true });
    if (duplicate) {
      throw new SkeinError("conflict", `durable run: call ${nameOf(id)} is made by another process`, {
        hint: "run it in one process at a time",
      });
    }
    for (const [place, record] of records.entries()) this.#note(record.type, record.body, seq + place);
    this.#setOpen(id, false);
  }

  /** Records the outcome of a call. If that fails, the call was made, and nothing says how it ended. */
  async settle(id: CallId, intent: Intent, { status, value, body = {} }: RecordedOutcome): Promise<void> {
    const { kind, name } = intent;
    const record = {
      type: types.outcome,
      body: { ...id, kind, name, status, ...body },
      content: await this.#stored(value),
    };
    const key = `${nameOf(id)}:settled`;
    try {
      const { seq } = await this.#session.append([record], { key, verbatim: true });
      this.#note(types.outcome, record.body, seq);
    } catch (error) {
      this.#setOpen(id, true);
      this.release(id);
      throw error;
    }
  }

  /** Records that an attempt failed. The next equal call is another attempt. */
  async fail(id: CallId, { kind, name }: Intent, message: string): Promise<void> {
    const attempt = this.#entries.get(nameOf(id))?.attempts ?? 1;
    const body = { ...id, kind, name, attempt };
    const content = { message: message.slice(0, 2_000) };
    const key = `${nameOf(id)}:failed:${attempt}`;
    await this.#session.append([{ type: types.failed, body, content }], { key });
    this.release(id);
  }

  /** The call was not made: the next equal one is this one. */
  release({ call, n }: CallId): void {
    this.#taken.get(call)?.delete(n);
  }

  #note(type: string, body: RecordBody, seq: number): void {
    const id = { call: body.call, n: body.n };
    const entry = this.#entries.get(nameOf(id)) ?? { attempts: 0, isOpen: false, settledSeq: null };
    this.#entries.set(nameOf(id), entry);
    if (type === types.intent) Object.assign(entry, { attempts: body.attempt ?? 1, isOpen: true });
    else entry.isOpen = false;
    if (type === types.lost && body.kind === "model")
      this.#usage = { ...this.#usage, unconfirmedCalls: this.#usage.unconfirmedCalls + 1 };
    if (type !== types.outcome || entry.settledSeq !== null) return;
    entry.settledSeq = seq;
    if (body.kind !== "model") return;
    const { calls, inputTokens, outputTokens } = this.#usage;
    this.#usage = {
      ...this.#usage,
      calls: calls + 1,
      inputTokens: inputTokens + (body.inputTokens ?? 0),
      outputTokens: outputTokens + (body.outputTokens ?? 0),
    };
  }

  #setOpen(id: CallId, isOpen: boolean): void {
    const entry = this.#entries.get(nameOf(id));
    if (entry !== undefined) entry.isOpen = isOpen;
  }

  /** JSON text holds what a record cannot: NUL, half surrogate pairs. A long one is a blob. */
  async #stored(value: unknown): Promise<{ readonly json: string } | { readonly blob: string }> {
    const json = toJson(value);
    if (json.length <= jsonCharsMax) return { json };
    return { blob: await this.#engine.putBlob(new TextEncoder().encode(json)) };
  }

  async #value(content: unknown): Promise<unknown> {
    const { json, blob } = content as { readonly json?: string; readonly blob?: string };
    if (blob === undefined) return fromJson(json ?? "null");
    return fromJson(new TextDecoder().decode(await this.#engine.blob(blob)));
  }
}

const jsonCharsMax = 200_000;

interface RecordBody {
  readonly call: string;
  readonly n: number;
  readonly kind: string;
  readonly attempt?: number;
  readonly inputTokens?: number;
  readonly outputTokens?: number;
}

const nameOf = ({ call, n }: CallId): string => `${call}:${n}`;

const erased = (seq: number): SkeinError =>
  new SkeinError("not-found", `durable run: the outcome at position ${seq} was erased`, {
    hint: "start another run",
  });
