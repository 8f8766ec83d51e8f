/**
 * The campaign of kills of the server: `npm run campaign:kill -- --kills 100 --writers 16 --readers 20
 * [--seed N]`. Ends with 1 when anything acknowledged was lost, anything is there twice, or a reader has not
 * the exact log.
 */
import { parseArgs } from "node:util";
import { freshSeed } from "../crash/random.ts";
import { killServer } from "./kill-load.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "100" },
    writers: { type: "string", default: "16" },
    readers: { type: "string", default: "20" },
    life: { type: "string", default: "1500" },
    seed: { type: "string", default: String(freshSeed()) },
  },
});
const { problems, ...counts } = await killServer({
  kills: Number(values.kills),
  writers: Number(values.writers),
  readers: Number(values.readers),
  lifeMs: Number(values.life),
  seed: Number(values.seed),
  progress: (kills) => {
    if (kills % 10 === 0) console.log(`${kills} kills`);
  },
});
console.log(`seed ${values.seed}`, counts);
console.log(`${problems.length} problems`);
for (const problem of problems.slice(0, 20)) console.log(`problem: ${problem}`);
if (problems.length > 0) process.exitCode = 1;
