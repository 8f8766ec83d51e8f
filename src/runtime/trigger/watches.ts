/** The watches of a worker: one for each trigger with a source, begun and ended with it. */
import { readRows } from "../read/session-rows.ts";
import type { TriggerKind } from "../../core/trigger/events.ts";
import { sessionNotFound } from "../../core/error.ts";
import { isSessionId, isWorkspaceId, type LogId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { State } from "../../core/state.ts";
import { errorText } from "../../core/first-error.ts";
import type { TriggerSpec } from "../../core/trigger/trigger.ts";
import type { Deps } from "../deps.ts";
import { fire, specOf } from "./fire.ts";
import type { Cause, Source, TriggerWatch } from "./source.ts";
import {
  fireDueTemplates,
  fireTemplate,
  foldedTemplates,
  withContent,
  type RetryDelays,
} from "./templates.ts";

export interface Watches {
  /** Reads what was appended since the last time: added and removed triggers. */
  follow(): Promise<void>;
  /** When a template is due next; Infinity when none is. */
  nextMs(): number;
  stop(): Promise<void>;
}

interface WantedWatch extends Omit<TriggerWatch, "spec"> {
  readonly kind: TriggerKind;
  readonly spec: () => Promise<TriggerSpec | null>;
  readonly fire: (cause: Cause) => Promise<string | null | undefined>;
}

interface RunningWatch {
  readonly setSeq: number;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** Records that change what is watched. */
const touches =
  /^(trigger\.(set|removed)|session\.(closed|reopened|archived|moved|arrived|deleted)|content\.erased)$/;

export function makeWatches(
  deps: Deps,
  sources: readonly Source[],
  trouble: (session: SessionId | null, text: string) => void,
): Watches {
  const { store, writer, states } = deps;
  const going = new Map<LogId, Map<string, RunningWatch>>();
  let isOver = false;
  let position: string | null = null;
  let beginning: Promise<void> = Promise.resolve();
  let turn: Promise<void> = Promise.resolve();
  const patience: RetryDelays = { failed: new Map() };
  let nextMs = Infinity;

  /**
   * The index finds triggers that were set before the feed was read; the caller does not wait for the last of
   * many.
   */
  async function begin(): Promise<void> {
    for await (const { session } of readRows(store, { watches: true })) {
      if (isOver) return;
      await inTurn(() => update(session, passingBy));
    }
  }

  /** One after the other: two at once would both begin the same watch. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const done = turn.then(work);
    turn = done.catch(() => undefined);
    return done;
  }

  /** Reads a state without caching it, since the cache is for running sessions. */
  async function passingBy(session: SessionId): Promise<State> {
    const head = await store.head(session);
    if (head === undefined) throw sessionNotFound(session);
    return states.at(session, head.seq);
  }

  async function update(session: SessionId, read = writer.current): Promise<void> {
    const state = await read(session).catch(() => null);
    const isAtEnd = state === null || ["closed", "archived", "moved"].includes(state.standing.status);
    const wanted = isAtEnd ? [] : [...state.standing.triggers.entries()];
    await sync(
      session,
      wanted.map(([name, trigger]) => ({
        session,
        name,
        kind: trigger.kind,
        setSeq: trigger.seq,
        lastCause: trigger.lastCause,
        spec: () => specOf(deps, session, trigger),
        fire: (cause) => fire(deps, session, { name, setSeq: trigger.seq }, cause),
      })),
    );
  }

  async function updateTemplates(): Promise<void> {
    const { refs } = await foldedTemplates(deps);
    await sync(
      store.workspace,
      [...refs.values()].map((ref) => ({
        session: null,
        name: ref.name,
        kind: ref.kind,
        setSeq: ref.seq,
        lastCause: ref.lastCause,
        spec: async () => (await withContent(deps, ref)).spec,
        fire: async (cause) => {
          await fireTemplate(deps, await withContent(deps, ref), cause);
          const now = (await foldedTemplates(deps)).refs.get(ref.name);
          return now?.seq === ref.seq ? now.lastCause : undefined;
        },
      })),
    );
  }

  /** Ends the removed watches of a log, and begins the new ones. */
  async function sync(owner: LogId, wanted: readonly WantedWatch[]): Promise<void> {
    const own = going.get(owner) ?? new Map<string, RunningWatch>();
    for (const [name, one] of own) {
      if (wanted.some((other) => other.name === name && other.setSeq === one.setSeq)) continue;
      one.stop.abort();
      own.delete(name);
    }
    for (const { session, name, kind, setSeq, lastCause, spec: read, fire: fireFor } of wanted) {
      const source = sources.find(({ kinds }) => kinds.includes(kind));
      if (source === undefined || own.has(name)) continue;
      const spec = await read();
      if (spec === null || isOver) continue;
      const stop = new AbortController();
      const how = {
        fire: fireFor,
        trouble: (text: string) => trouble(session, text),
        signal: stop.signal,
      };
      const done = source
        .watch(deps, { session, name, setSeq, spec, lastCause }, how)
        .catch((error: unknown) => {
          trouble(session, errorText(error));
        });
      own.set(name, { setSeq, stop, done });
    }
    if (own.size === 0) going.delete(owner);
    else going.set(owner, own);
  }

  /** A trigger of the lost history may have the name and the position of a current one. */
  async function endAll(): Promise<void> {
    for (const own of going.values()) for (const { stop } of own.values()) stop.abort();
    going.clear();
  }

  return {
    async follow() {
      const due = await fireDueTemplates(deps, patience, (text) => trouble(null, text));
      nextMs = due ?? Infinity;
      if (sources.length === 0) return;
      if (position === null) {
        position = await store.feedEnd();
        await inTurn(updateTemplates);
        beginning = begin().catch((error: unknown) => {
          position = null;
          trouble(null, errorText(error));
        });
        return;
      }
      for (;;) {
        const page = await store.feed(position, limit.pageRecordsMax);
        if (page.rolledBackTo !== undefined) {
          // The rollback may have removed triggers: everything is read again.
          await inTurn(endAll);
          position = null;
          return;
        }
        const touched = new Set<SessionId>();
        let templates = false;
        for (const { session, type } of page.records) {
          if (!touches.test(type)) continue;
          if (isWorkspaceId(session)) templates ||= type !== "session.deleted";
          else if (isSessionId(session)) touched.add(session);
        }
        for (const session of touched) await inTurn(() => update(session));
        if (templates) await inTurn(updateTemplates);
        if (page.position === position) return;
        position = page.position;
      }
    },
    nextMs: () => nextMs,
    async stop() {
      isOver = true;
      await beginning;
      await turn;
      const all = [...going.values()].flatMap((own) => [...own.values()]);
      for (const { stop } of all) stop.abort();
      await Promise.all(all.map(({ done }) => done));
    },
  };
}
