/** The watches of a worker: one for each trigger that must be kept an eye on, begun and ended with it. */
import { isWorkspaceId, type SessionId } from "../../core/ids.ts";
import { limit } from "../../core/limit.ts";
import type { Context } from "../engine-context.ts";
import { fire, specOf } from "./fire.ts";
import type { Source } from "./source.ts";

export interface Watches {
  /** Takes in what was appended since the last time: triggers that came and went. */
  follow(): Promise<void>;
  stop(): Promise<void>;
}

interface Going {
  readonly setSeq: number;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

/** Records that change what is watched. */
const touches =
  /^(trigger\.(set|removed)|session\.(closed|reopened|archived|moved|arrived|deleted)|content\.erased)$/;

export function makeWatches(
  context: Context,
  sources: readonly Source[],
  trouble: (session: SessionId | null, text: string) => void,
): Watches {
  const { store, writer } = context;
  const going = new Map<SessionId, Map<string, Going>>();
  const over = new AbortController();
  let position: string | null = null;

  /** Before the first look the feed stands at its end: what was set earlier is found by the index. */
  async function begin(): Promise<void> {
    position = await store.feedEnd();
    for (let cursor: string | undefined; ;) {
      const page = await store.list(
        { watches: true },
        { limit: limit.listMax, ...(cursor === undefined ? {} : { cursor }) },
      );
      for (const { session } of page.rows) await update(session);
      if (page.cursor === null) return;
      cursor = page.cursor;
    }
  }

  async function update(session: SessionId): Promise<void> {
    const state = await writer.current(session).catch(() => null);
    const own = going.get(session) ?? new Map<string, Going>();
    const isOver = state === null || ["closed", "archived", "moved"].includes(state.standing.status);
    const wanted = isOver ? [] : [...state.standing.triggers.entries()];
    for (const [name, one] of own) {
      if (wanted.some(([other, { seq }]) => other === name && seq === one.setSeq)) continue;
      one.stop.abort();
      own.delete(name);
    }
    for (const [name, trigger] of wanted) {
      const source = sources.find(({ kinds }) => kinds.includes(trigger.kind));
      if (source === undefined || own.has(name)) continue;
      const spec = await specOf(context, session, trigger);
      if (spec === null) continue;
      const { seq: setSeq, lastCause } = trigger;
      const stop = new AbortController();
      const how = {
        fire: (cause: Parameters<typeof fire>[3]) => fire(context, session, { name, setSeq }, cause),
        trouble: (text: string) => trouble(session, text),
        signal: AbortSignal.any([stop.signal, over.signal]),
      };
      const done = source
        .watch(context, { session, name, setSeq, spec, lastCause }, how)
        .catch((error: unknown) => {
          trouble(session, error instanceof Error ? error.message : String(error));
        });
      own.set(name, { setSeq, stop, done });
    }
    if (own.size === 0) going.delete(session);
    else going.set(session, own);
  }

  return {
    async follow() {
      if (sources.length === 0) return;
      if (position === null) return begin();
      for (;;) {
        const page = await store.feed(position, limit.pageRecordsMax);
        const touched = new Set<SessionId>();
        for (const { session, type } of page.records)
          if (touches.test(type) && !isWorkspaceId(session)) touched.add(session as SessionId);
        for (const session of touched) await update(session);
        if (page.position === position) return;
        position = page.position;
      }
    },
    async stop() {
      over.abort();
      await Promise.all([...going.values()].flatMap((own) => [...own.values()].map(({ done }) => done)));
    },
  };
}
