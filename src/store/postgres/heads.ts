/** Heads of logs as this process left them. They may be out of date: every statement judges for itself. */
import type { LogId } from "../../core/ids.ts";
import type { End } from "./records.ts";

export interface KnownHead extends End {
  readonly epoch: number;
  /** As `active_at` in the schema. */
  readonly activeAt: number;
}

export interface Heads {
  get(session: LogId): KnownHead | undefined;
  set(session: LogId, head: KnownHead): void;
  forget(session: LogId): void;
}

/** Heads kept at hand; past that the oldest go. */
const headsMax = 20_000;

export function makeHeads(): Heads {
  const heads = new Map<LogId, KnownHead>();
  return {
    get: (session) => heads.get(session),
    set(session, head) {
      heads.delete(session);
      heads.set(session, head);
      if (heads.size <= headsMax) return;
      const [oldest] = heads.keys();
      if (oldest !== undefined) heads.delete(oldest);
    },
    forget: (session) => void heads.delete(session),
  };
}
