/** A project of 1,000 sessions, beside as many others: what its pages and commands read. */
import { openEngine, type Engine } from "../src/index.ts";
import { startPostgres } from "../test/postgres/server.ts";
import { makeDirectory, median, number, samples, timeMs, type Measure } from "./measure.ts";

const sessions = 1_000;
const atOnce = 50;
const mostMs = 50;

export async function benchProject(): Promise<Measure[]> {
  using directory = makeDirectory();
  await using server = await startPostgres({ settings: { shared_buffers: "512MB" } });
  return [
    ...(await measured("SQLite", directory.path("project.db"))),
    ...(await measured("PostgreSQL", await server.newDatabase())),
  ];
}

async function measured(kind: string, store: string): Promise<Measure[]> {
  const id = await fill(store);
  // Opened again: nothing of the project is known to the process.
  await using engine = await openEngine({ store });
  const coldMs = await timeMs(() => engine.projects());
  const detail = `the first takes ${number(coldMs)} ms`;
  const one = async (
    what: string,
    work: () => Promise<number>,
    expected: number,
    bar: Measure["bar"] = { most: mostMs },
  ): Promise<Measure> => {
    const times = await samples(31, async () => {
      const found = await work();
      if (found !== expected) throw new Error(`${what}: ${found} instead of ${expected}`);
    });
    const name = `${kind}: project of 1,000 sessions: ${what}`;
    return { name, value: median(times), unit: "ms", bar, detail: "" };
  };
  const list = await one(
    "list of projects with its cost",
    async () => sum(await engine.projects()),
    sessions,
  );
  return [
    { ...list, detail },
    await one("its page", async () => (await engine.project(id)).sessions.length, sessions),
    await one("list 50 of its sessions", async () => rows(engine, id), 50),
    // A query: on SQLite most of it is the start of the process that it runs in.
    await one("cost by model", () => costOf(engine, id, "model"), sessions, null),
    await one("cost by session", () => costOf(engine, id, "session"), sessions, null),
    await one("search a word that all have", async () => hits(engine, id, "needle"), 20),
    await one("search a word that one has", async () => hits(engine, id, "number500"), 1),
  ];
}

const sum = (all: readonly { readonly cost: { readonly nanoUsd: number } }[]): number =>
  all.reduce((total, { cost }) => total + cost.nanoUsd, 0);
const costOf = async (engine: Engine, project: string, by: string): Promise<number> =>
  (await engine.cost({ project, by })).reduce((total, one) => total + one.calls, 0);
const rows = async (engine: Engine, project: string): Promise<number> =>
  (await engine.sessions({ project, limit: 50 })).rows.length;
const hits = async (engine: Engine, project: string, text: string): Promise<number> =>
  (await engine.search(text, { project })).length;

/** Each session has an input and a model call of one nano-dollar; every second belongs to the project. */
async function fill(store: string): Promise<string> {
  await using engine = await openEngine({ store, durability: "process" });
  const { project } = await engine.openProject({ objective: "Move the shop", name: "shop" });
  for (let made = 0; made < sessions; made += atOnce) {
    const each = Array.from({ length: atOnce }, (_, place) => made + place);
    await Promise.all(each.flatMap((n) => [live(engine, n, project), live(engine, n, undefined)]));
  }
  await engine.search("needle");
  return project;
}

async function live(engine: Engine, place: number, project: string | undefined): Promise<void> {
  const session = await engine.open({
    objective: `work ${place}`,
    ...(project === undefined ? {} : { project }),
  });
  await session.append(project === undefined ? "a needle elsewhere" : `the needle number${place}`);
  await using drive = await session.drive();
  await drive.begin();
  await drive.request({ model: "acme/large", reserve: { tokens: 9 } });
  const usage = { inputTokens: 1, outputTokens: 1 };
  const blocks = [{ type: "text" as const, text: "Done." }];
  await drive.respond({ finish: "stop", usage, costNanoUsd: 1, blocks });
  await drive.end();
}
