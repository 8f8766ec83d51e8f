/** Waits until something is true, and fails after a minute. */
import { setTimeout as sleep } from "node:timers/promises";

export async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 50) {
    if (await isTrue()) return;
    await sleep(50);
  }
  throw new Error("waited for a minute");
}
