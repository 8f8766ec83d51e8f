/** Stores with much in them, made in seconds: ten thousand sessions, a log of a hundred thousand events. */
import type { Engine, Session } from "../../src/index.ts";

export const manySessions = 10_000;
export const manyEvents = 100_000;
const together = 250;
const names = ["Import", "Report", "Refund", "Review", "Migration"];

export async function makeManySessions(engine: Engine, count = manySessions): Promise<void> {
  for (let made = 0; made < count; made += together) {
    await Promise.all(
      Array.from({ length: Math.min(together, count - made) }, async (_, place) => {
        const number = made + place + 1;
        const session = await engine.open({
          name: `${names[number % names.length]} ${number}`,
          objective: `What is to be done about number ${number}`,
          agent: `agent-${number % 7}`,
          labels: { team: `t${number % 5}` },
          priority: number % 10,
        });
        if (number % 3 === 0) await session.close();
      }),
    );
  }
}

/** Turns with items now and then, and between them what another program has recorded. */
export async function makeLongLog(engine: Engine, count = manyEvents, turns = 100): Promise<Session> {
  const session = await engine.open({ name: "A long log", objective: "See it whole" });
  const eachTurn = Math.ceil(count / turns);
  for (let turn = 1; ; turn++) {
    await session.input(`Note that figure-${turn % 40} is ${turn} and state is at ${turn}.`);
    await session.run();
    const { seq } = await session.head();
    const left = Math.min(eachTurn, count - seq);
    if (left <= 0) return session;
    for (let made = 0; made < left; made += 1_000) {
      const next = Math.min(1_000, left - made);
      await session.append(
        Array.from({ length: next }, (_, place) => ({
          type: "x.trace.noted" as const,
          content: { text: `step ${made + place} of turn ${turn}` },
        })),
      );
    }
  }
}
