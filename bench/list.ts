/** Finding the most recent of many sessions. */
import { openEngine, type SessionsOptions } from "../src/index.ts";
import { makeDirectory, median, samples, type Measure } from "./measure.ts";

const sessions = 100_000;
const agents = 10;
const teams = 5;

export async function benchList(): Promise<Measure[]> {
  using directory = makeDirectory();
  await using engine = await openEngine({ store: directory.path("list.db"), durability: "process" });
  for (let made = 0; made < sessions; made += 500) {
    await Promise.all(
      Array.from({ length: 500 }, async (_, place) => {
        const number = made + place;
        const labels = { team: `t${number % teams}`, ticket: `n${number}` };
        const session = await engine.open({
          objective: `session ${number}`,
          agent: `a${number % agents}`,
          labels,
        });
        if (number % 3 === 0) await session.close();
      }),
    );
  }
  const measure = async (name: string, options: SessionsOptions, expected: number): Promise<Measure> => {
    const times = await samples(101, async () => {
      const page = await engine.sessions({ ...options, limit: 50 });
      if (page.rows.length !== expected) throw new Error(`${name}: ${page.rows.length} rows`);
    });
    return {
      name,
      value: median(times),
      unit: "ms",
      bar: { most: 5 },
      detail: `${expected} of ${sessions.toLocaleString("en-US")}`,
    };
  };
  return [
    await measure("50 most recent sessions", {}, 50),
    await measure(
      "… of an agent, a status and a label",
      { agent: "a7", status: "open", labels: { team: "t2" } },
      50,
    ),
    await measure("… with a label that one session has", { labels: { ticket: "n4711" } }, 1),
  ];
}
