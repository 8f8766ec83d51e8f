/**
 * Turns through `drive`: a request renders, measures and digests the context, so that its cost must follow
 * what is new in it and not what it holds. Prints the curve.
 */
import { openEngine } from "../src/index.ts";
import { inputOf, makeDirectory, number, timeMs, type Measure } from "./measure.ts";

const turns = 1_000;
const marks = [100, 200, 400, 600, 800, 1_000];
const chars = 2_000;

export async function benchDrive(): Promise<Measure[]> {
  const curve = await measureCurve();
  const detail = curve.map(({ turn, ms }) => `${turn}: ${number(ms / 1_000)} s`).join(", ");
  const from = curve.find(({ turn }) => turn === 200)?.ms ?? 0;
  const to = curve.at(-1)?.ms ?? 0;
  return [
    { name: "1,000 turns through drive", value: to / 1_000, unit: "s", bar: { most: 4 }, detail },
    {
      name: "1,000 turns through drive: exponent from 200 to 1,000",
      value: Math.log(to / from) / Math.log(turns / 200),
      unit: "",
      bar: { most: 1.05 },
      detail: "time ~ turns^exponent",
    },
  ];
}

async function measureCurve(): Promise<{ readonly turn: number; readonly ms: number }[]> {
  using directory = makeDirectory();
  await using engine = await openEngine({
    store: directory.path("drive.db"),
    durability: "process",
    env: {},
  });
  const session = await engine.open({ objective: "Drive", model: "bench/instant" });
  await using drive = await session.drive();
  const [said, answer] = [inputOf(chars), inputOf(chars)];
  const curve: { turn: number; ms: number }[] = [];
  let ms = 0;
  for (let turn = 1; turn <= turns; turn++) {
    ms += await timeMs(async () => {
      await session.append(`${turn} ${said}`);
      await drive.begin();
      await drive.request({ model: "bench/instant" });
      const blocks = [{ type: "text", text: `${turn} ${answer}` }] as const;
      const usage = { inputTokens: 100, outputTokens: 100 };
      await drive.respond({ finish: "stop", usage, costNanoUsd: 0, blocks });
      await drive.end();
    });
    if (marks.includes(turn)) curve.push({ turn, ms });
  }
  return curve;
}
