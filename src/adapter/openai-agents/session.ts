/** `Session` of OpenAI's Agents SDK, kept in a Skein session. */
import type {
  AgentInputItem,
  SessionHistoryRewriteArgs,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from "@openai/agents";
import type { RemoteEngine } from "../../client/engine.ts";
import { SkeinError } from "../../core/error.ts";
import { limit } from "../../core/limit.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { isGone, makeDrawers, type Drawer, type DrawerRecord, type Drawers } from "../drawer.ts";
import { History, itemRecords, nouns, type ChangeResult, type HistoryChange } from "./history.ts";
import { decodeItem, digestOf, encodeItems } from "./item.ts";

/** Options of `SkeinSession`. */
export interface SkeinSessionOptions {
  /** Any text. The same id gives the same history, in any process. */
  readonly sessionId: string;
  /**
   * Redacts secrets, so that items that hold one do not come back equal. By default items come back as they
   * were given, and those with a secret that the engine knows are refused. Required with `skein/client`.
   */
  readonly redact?: boolean;
}

interface OpenHistory {
  readonly drawer: Drawer;
  readonly history: History;
}

/** An append leaves room for values that take more than one record. */
const recordsMax = limit.appendRecordsMax / 2;

/**
 * Keeps the history of an agent in Skein: every change is one atomic append, seen by all processes.
 */
export class SkeinSession
  implements SessionHistoryRewriteAwareSession, SessionHistoryTransactionAwareSession
{
  readonly #sessionId: string;
  readonly #drawers: Drawers;
  readonly #engine: Engine | RemoteEngine;
  #open: Promise<OpenHistory> | null = null;

  constructor(engine: Engine | RemoteEngine, options: SkeinSessionOptions) {
    const { sessionId, redact } = options;
    if (typeof sessionId !== "string" || sessionId === "")
      throw new SkeinError("invalid", `SkeinSession: sessionId: expected a text, got ${typeof sessionId}`);
    this.#sessionId = sessionId;
    this.#engine = engine;
    this.#drawers = makeDrawers(engine, {
      adapter: "openai",
      kind: "session",
      nouns,
      objective: () => "OpenAI Agents SDK session",
      redact,
    });
  }

  /** The id that it was made with. */
  getSessionId(): Promise<string> {
    return Promise.resolve(this.#sessionId);
  }

  /** The items in order; with a limit, the last ones. */
  async getItems(limit?: number): Promise<AgentInputItem[]> {
    if (limit !== undefined && limit <= 0) return [];
    const items = (await this.#read())?.history.items ?? [];
    const shown = limit === undefined ? items : items.slice(Math.max(items.length - limit, 0));
    return shown.map(decodeItem);
  }

  /** Appends items: all or none. */
  async addItems(items: AgentInputItem[]): Promise<void> {
    if (items.length === 0) return;
    const records = itemRecords(encodeItems(items), recordsMax);
    // It depends on nothing that is there: what other processes wrote is read when it is asked for.
    await this.#retried(async () => (await this.#opened()).drawer.append(records));
  }

  /** Removes the last item and returns it. Of two at once each gets its own. */
  async popItem(): Promise<AgentInputItem | undefined> {
    let last: History["lastItem"] = null;
    await this.#write((history) => {
      last = history.lastItem;
      return last === null ? [] : [record("pop", { remove: [last.id] }, null)];
    });
    const popped = last as History["lastItem"];
    return popped === null ? undefined : decodeItem(popped.json);
  }

  /** Removes all items, and erases their contents from the log. Rejects when a hold protects them. */
  async clearSession(): Promise<void> {
    await this.#retried(async () => {
      const open = await this.#read();
      const from = open?.history.firstSeq ?? null;
      if (open === null || from === null) return;
      const { drawer, history } = open;
      const { firstSeq } = await drawer.append([record("clear", { clear: true }, null)]);
      const session = await this.#engine.session(drawer.session);
      await session.erase({ ranges: [[from, firstSeq - 1]], reason: "the session was cleared" });
      history.noteErased();
    });
  }

  /** Replaces the history by a compaction item and the items after it, in one append. */
  async replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void> {
    const value = encodeItems(items);
    await this.#write(() => [record("replace", { clear: true, append: value.length }, value)]);
  }

  /** Rewrites stored function calls, all in one append. */
  async applyHistoryMutations({ mutations }: SessionHistoryRewriteArgs): Promise<void> {
    const replaced = new Map(mutations.map(({ callId, replacement }) => [callId, replacement]));
    await this.#write((history) =>
      [...replaced].flatMap(([callId, replacement]) => {
        const [set, ...remove] = history.idsWhere((json) => isCall(json, callId));
        if (set === undefined) return [];
        return [record("replace", { set, remove }, encodeItems([replacement]))];
      }),
    );
  }

  /** A change that takes effect once by its operation id, or fails and changes nothing. */
  async applyHistoryTransaction({ operationId, transaction }: SessionHistoryTransactionArgs): Promise<void> {
    if (typeof operationId !== "string" || operationId.trim() === "")
      throw invalid("operationId: expected a text that is not blank");
    const given = transactionOf(transaction);
    const operation = digestOf(operationId);
    const digest = digestOf(given);
    const result = await this.#write((history) => {
      const known = history.transactionOf(operation);
      if (known !== undefined) {
        if (known !== digest) throw reused();
        return [];
      }
      const change = given.expected === null ? {} : history.replaceSuffix(given.expected);
      if (change === null)
        throw new SkeinError("conflict", "applyHistoryTransaction: the history does not end as expected");
      const noun = given.expected === null ? "items" : "replace";
      return [record(noun, { ...change, append: given.items.length, operation, digest }, given.items)];
    });
    if (result === "reused") throw reused();
  }

  /** Writes what `plan` makes of the history, again when another process was faster. */
  async #write(plan: (history: History) => readonly DrawerRecord[]): Promise<ChangeResult> {
    return this.#retried(async () => {
      for (let tries = 0; tries < limit.conflictRetriesMax; tries++) {
        const open = await this.#opened();
        await this.#refresh(open);
        const records = plan(open.history);
        if (records.length === 0) return "applied";
        const { seqs } = await open.drawer.append(records);
        await this.#refresh(open);
        const result = open.history.resultOf(seqs.at(-1) ?? 0);
        if (result !== "void") return result;
      }
      throw new SkeinError("conflict", "the session has too many concurrent writers", {
        hint: "try again",
      });
    });
  }

  async #read(): Promise<OpenHistory | null> {
    return this.#retried(async () => {
      if (this.#open === null && (await this.#drawers.find(this.#sessionId)) === null) return null;
      const open = await this.#opened();
      await this.#refresh(open);
      return open;
    });
  }

  /** Reads the records written since, by any process. All at once: no caller sees half of an append. */
  async #refresh({ drawer, history }: OpenHistory): Promise<void> {
    const records = await Array.fromAsync(drawer.read(history.next));
    for (const one of records) history.apply(one);
  }

  #opened(): Promise<OpenHistory> {
    if (this.#open !== null) return this.#open;
    const opening = this.#drawers
      .open(this.#sessionId)
      .then((drawer) => ({ drawer, history: new History() }));
    this.#open = opening;
    opening.catch(() => {
      this.#open = null;
    });
    return opening;
  }

  /** A session that was deleted begins anew. */
  async #retried<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!isGone(error) || this.#open === null) throw error;
      this.#open = null;
      return work();
    }
  }
}

function record(noun: (typeof nouns)[number], change: HistoryChange, value: unknown): DrawerRecord {
  return { noun, body: { ...change }, value };
}

const invalid = (what: string): SkeinError => new SkeinError("invalid", `applyHistoryTransaction: ${what}`);

const reused = (): SkeinError =>
  new SkeinError("conflict", "applyHistoryTransaction: operationId: used for another transaction", {
    hint: "use a new operationId",
  });

function transactionOf(transaction: SessionHistoryTransactionArgs["transaction"]) {
  if (transaction.type === "append_items" && Array.isArray(transaction.items))
    return { expected: null, items: encodeItems(transaction.items) };
  if (
    transaction.type === "replace_suffix" &&
    Array.isArray(transaction.expectedSuffix) &&
    Array.isArray(transaction.replacement)
  ) {
    const { expectedSuffix, replacement } = transaction;
    return { expected: encodeItems(expectedSuffix), items: encodeItems(replacement) };
  }
  throw invalid('transaction: expected "append_items" with items, or "replace_suffix" with two lists');
}

function isCall(json: unknown, callId: string): boolean {
  const { type, callId: id } = json as { readonly type?: unknown; readonly callId?: unknown };
  return type === "function_call" && id === callId;
}
