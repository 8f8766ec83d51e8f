/**
 * The client's world: network, timers, and randomness. It also runs in browsers, so it uses what both they
 * and Node have. Tests pass their own.
 */

/** The used part of `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface ClientWorld {
  readonly fetch: Fetch;
  /** Resolves early if the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A unique key. */
  newKey(): string;
  /** From 0 to below 1. */
  chance(): number;
  /** Whether a body can be streamed. Browser pages cannot, except over HTTP/2. */
  readonly sendsStreams: boolean;
}

const keyBytes = 16;

/** Its first 48 bits are the time, so that ids derived from it sort by time. */
function uuidV7(nowMs: number, random: Uint8Array): string {
  const time = nowMs.toString(16).padStart(12, "0");
  const hex = Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex.slice(0, 3)}-8${hex.slice(3, 6)}-${hex.slice(6, 18)}`;
}

export function clientWorld(given: Fetch | undefined): ClientWorld {
  return {
    fetch: given ?? ((url, init) => fetch(url, init)),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) return resolve();
        const done = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        signal?.addEventListener("abort", done, { once: true });
      }),
    newKey: () => uuidV7(Date.now(), crypto.getRandomValues(new Uint8Array(keyBytes))),
    chance: () => Math.random(),
    sendsStreams: !("document" in globalThis || "WorkerGlobalScope" in globalThis),
  };
}
