/**
 * A program that works while retention goes on: some sessions, each with an append every few milliseconds.
 * For every line on its standard input it prints how long each append took since the line before.
 */
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { openEngine } from "../src/index.ts";
import { inputOf } from "./measure.ts";

const [, , path = "", tasks = "4"] = process.argv;
const pauseMs = 10;
const contentBytes = 1_024;

const engine = await openEngine({ store: path });
let times: number[] = [];
let going = true;

async function work(): Promise<void> {
  const session = await engine.open({ objective: "work that goes on" });
  const text = inputOf(contentBytes);
  while (going) {
    const start = performance.now();
    await session.append(text);
    times.push(performance.now() - start);
    await setTimeout(pauseMs);
  }
}

const all = Promise.all(Array.from({ length: Number(tasks) }, work));
for await (const line of createInterface({ input: process.stdin })) {
  if (line === "end") break;
  console.log(JSON.stringify(times));
  times = [];
}
going = false;
await all;
await engine.close();
