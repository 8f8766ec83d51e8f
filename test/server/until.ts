/** Waits for what happens soon by itself. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

export async function until(holds: () => Promise<boolean>, withinMs = 5_000): Promise<void> {
  for (let waitedMs = 0; !(await holds()); waitedMs += 10) {
    assert.ok(waitedMs < withinMs, "it did not happen in time");
    await sleep(10);
  }
}
