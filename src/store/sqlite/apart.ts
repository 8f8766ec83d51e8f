/** Work outside of this process: in a separate process if the world can start one, otherwise in a thread. */
import { Worker } from "node:worker_threads";
import type { StoreWorld } from "../port.ts";

/** Sends the request to the file and resolves to its answer. Aborting the signal ends it. */
export const runApart = (
  world: StoreWorld,
  file: URL,
  request: object,
  signal: AbortSignal,
): Promise<unknown> => (world.apart ? world.apart(file, request, signal) : inWorker(file, request, signal));

/** A thread needs no process, but it can be ended only between two rows. */
function inWorker(file: URL, request: object, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(file, { workerData: request });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error(`${file.pathname} ended without a result`)));
    signal.addEventListener("abort", () => void worker.terminate(), { once: true });
  });
}
