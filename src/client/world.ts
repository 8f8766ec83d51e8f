/**
 * The client's world: the network, timers, and chance. It runs in browsers too, so it takes what both they
 * and Node have. Tests give it a world of their own.
 */

/** As much of `fetch` as is used. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface ClientWorld {
  readonly fetch: Fetch;
  /** Resolves early when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A key that nobody else has. */
  newKey(): string;
  /** From 0 to below 1. */
  chance(): number;
  /** Whether a body can be sent as it is made. Pages of browsers cannot, unless by HTTP/2. */
  readonly sendsStreams: boolean;
}

const keyBytes = 16;

/** Its first 48 bits are the time, so that what is made with it can be put in order by its id. */
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
