/**
 * Which resources changed, from the feed of the store. Shared by all subscribers of one store, and idle
 * without them.
 */
import type { SessionEvent } from "../../core/event.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";
import { uriOf } from "./output.ts";

/** A resource that changed; null: the list of sessions has more or fewer of them. */
export type ChangeListener = (uri: string | null) => void;

export interface Updates {
  /** Until the returned function is called. */
  subscribe(changed: ChangeListener): () => void;
}

const pageEvents = 200;
/** After an error of the store. */
const againMs = 1_000;

export function makeUpdates(engine: Engine, trouble: (error: unknown) => void): Updates {
  const { store, world } = internalsOf(engine);
  const subscribers = new Set<ChangeListener>();
  let over: AbortController | null = null;

  async function follow(signal: AbortSignal): Promise<void> {
    let noted = Promise.withResolvers<void>();
    const unwatch = store.watch(() => noted.resolve());
    let after: string | null = null;
    try {
      after = await store.feedEnd();
      while (!signal.aborted) {
        const page = await engine.feed({ ...(after === null ? {} : { after }), limit: pageEvents });
        after = page.position;
        tell(page.events);
        if (page.events.length > 0) continue;
        await Promise.race([noted.promise, ended(signal)]);
        noted = Promise.withResolvers<void>();
      }
    } catch (error) {
      if (signal.aborted) return;
      trouble(error);
      await world.sleep(againMs, signal);
      if (!signal.aborted) void follow(signal);
    } finally {
      unwatch();
    }
  }

  /** Once for each resource, however many events changed it. */
  function tell(events: readonly SessionEvent[]): void {
    const uris = new Set<string>();
    let isListed = false;
    for (const { session, type } of events) {
      if (!session.startsWith("ses_")) continue;
      isListed ||= type === "session.opened" || type === "session.forked";
      uris.add(uriOf.sessions).add(uriOf.session(session)).add(uriOf.events(session));
      uris.add(uriOf.handoff(session)).add(uriOf.context(session));
      if (type.startsWith("item.")) uris.add(uriOf.items(session));
    }
    for (const changed of subscribers) {
      if (isListed) changed(null);
      for (const uri of uris) changed(uri);
    }
  }

  return {
    subscribe(changed) {
      // One function may subscribe twice.
      const own: ChangeListener = (uri) => changed(uri);
      subscribers.add(own);
      if (over === null) {
        over = new AbortController();
        void follow(over.signal);
      }
      return () => {
        subscribers.delete(own);
        if (subscribers.size > 0) return;
        over?.abort();
        over = null;
      };
    },
  };
}

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) return done();
    signal.addEventListener("abort", () => done(), { once: true });
  });
