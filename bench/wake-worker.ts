/** A worker in a process of its own tells what it costs while nothing happens: `wake-worker STORE MS`. */
import { openEngine } from "../src/index.ts";
import { realWorld } from "../src/runtime/world.ts";

const [store = "", ms = "10000"] = process.argv.slice(2);
const world = realWorld();
await using engine = await openEngine({ store });
const beganMs = performance.now();
await using _ = await engine.work();

/** Until it is quiet: what a worker takes in when it starts is no cost of waiting. */
let startMs = 0;
for (let before = process.cpuUsage(); ;) {
  await world.sleep(1_000);
  const { user, system } = process.cpuUsage(before);
  before = process.cpuUsage();
  startMs = performance.now() - beganMs;
  if (user + system < 150_000) break;
}
globalThis.gc?.();
const before = process.cpuUsage();
const fromMs = performance.now();
await world.sleep(Number(ms));
const { user, system } = process.cpuUsage(before);
const share = (user + system) / 1_000 / (performance.now() - fromMs);
globalThis.gc?.();
console.log(JSON.stringify({ share, rss: process.memoryUsage().rss, startMs }));
