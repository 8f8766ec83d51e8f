/**
 * Follows the feed for as long as the server runs, for exporters. It reads no faster than its consumer, and
 * retries after errors.
 */
import type { StoredRecord } from "../../core/chain.ts";
import { SkeinError } from "../../core/error.ts";
import type { Engine } from "../../runtime/engine/engine.ts";
import { internalsOf } from "../../runtime/engine/internals.ts";

export interface FeedFollower {
  /** Resolves when nothing is in progress any more. May be called twice. */
  stop(): Promise<void>;
}

export interface FeedFollowOptions {
  /** A position of the feed; null is its beginning, and without one it begins with new events. */
  readonly after?: string | null;
  /** Called with each page in order, the next one after it is done; a failed one is delivered again. */
  readonly heard: (
    page: { readonly records: readonly StoredRecord[]; readonly position: string },
    signal: AbortSignal,
  ) => Promise<void> | void;
  /** How long it pauses once it has caught up, so that more is read at once; no pause by default. */
  readonly restMs?: number;
  /**
   * Called after a rollback of the store, with the position to continue from: later events are delivered
   * again. `common` is null when no common position is known; then the result says where to continue.
   */
  readonly rolledBack?: (common: string | null) => Promise<string | null> | string | null;
  /** Called now and then while there is nothing new. */
  readonly idle?: () => Promise<void> | void;
  readonly trouble: (error: unknown) => void;
}

const pageRecords = 200;
const againMsMin = 250;
const againMsMax = 30_000;
/** A store may miss writes of other processes; then polling finds them. */
const lookMs = 1_000;

const rolledBack = (): SkeinError =>
  new SkeinError("corrupt", "feed: the store was rolled back and lost acknowledged events", {
    hint: "a failover or a restored backup lost them; see docs/operating.md",
  });

/** Begins at once; everything written after it resolves is delivered. */
export async function followFeed(engine: Engine, options: FeedFollowOptions): Promise<FeedFollower> {
  const { store, world } = internalsOf(engine);
  const over = new AbortController();
  let position = options.after === undefined ? await store.feedEnd() : options.after;
  let news = new AbortController();
  const unwatch = store.watch(() => news.abort());

  async function readOn(): Promise<void> {
    for (let againMs = againMsMin; !over.signal.aborted;) {
      const seen = new AbortController();
      news = seen;
      try {
        const page = await store.feed(position, pageRecords);
        if (page.rolledBackTo !== undefined) {
          options.trouble(rolledBack());
          const { rolledBackTo: common } = page;
          position =
            options.rolledBack === undefined
              ? (common ?? (await store.feedEnd()))
              : await options.rolledBack(common);
          continue;
        }
        if (page.records.length > 0) await options.heard(page, over.signal);
        if (over.signal.aborted) return;
        ({ position } = page);
        againMs = againMsMin;
        if (page.records.length >= pageRecords) continue;
        if (options.restMs !== undefined) await world.sleep(options.restMs, over.signal);
        if (page.records.length > 0) continue;
        await options.idle?.();
        await world.sleep(lookMs, seen.signal);
      } catch (error) {
        if (over.signal.aborted) return;
        options.trouble(error);
        await world.sleep(againMs, over.signal);
        againMs = Math.min(againMs * 2, againMsMax);
      }
    }
  }

  const reading = readOn();
  return {
    async stop() {
      over.abort();
      news.abort();
      unwatch();
      await reading;
    },
  };
}
