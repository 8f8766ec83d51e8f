/** Work beside this process: in a process of its own where the world starts one, else in a thread. */
import { Worker } from "node:worker_threads";
import type { StoreWorld } from "../port.ts";

/** Sends the request to the file and resolves to its answer. Ended when the signal is aborted. */
export const runApart = (
  world: StoreWorld,
  file: URL,
  request: object,
  signal: AbortSignal,
): Promise<unknown> => (world.apart ? world.apart(file, request, signal) : inWorker(file, request, signal));

/** A thread needs no process, but it is ended only between two rows. */
function inWorker(file: URL, request: object, signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(file, { workerData: request });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error(`${file.pathname} ended without an answer`)));
    signal.addEventListener("abort", () => void worker.terminate(), { once: true });
  });
}
