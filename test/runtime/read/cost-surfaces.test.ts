/** The cost of generated lives: every surface gives the amounts that the fold gives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runWords } from "../../../src/cli/command/run.ts";
import { collectingSurface } from "../../../src/cli/command/screen.ts";
import { noSpend, spendOf, type Spend } from "../../../src/core/budget/money.ts";
import type { Engine } from "../../../src/runtime/engine/engine.ts";
import { internalsOf } from "../../../src/runtime/engine/internals.ts";
import { costRow, type CostRow } from "../../../src/runtime/read/cost.ts";
import type { Session } from "../../../src/runtime/engine/session.ts";
import { cases } from "../../kind.ts";
import { fine, served } from "../../server/served.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { callModel, total } from "./cost-lives.ts";
import { inFile, type FilePlace } from "../place.ts";
import { engineWith, scripted, use, type Line } from "../turn/scripted.ts";

/**
 * The ways: 0–7 end a call in a turn of its own, 16 leaves it open, as a process that dies does; 20 forks, 21
 * opens a successor, 22 rewinds; 30–33 forward the call of another program and end it, or leave it open.
 */
async function live(engine: Engine, ways: readonly (readonly [number, number])[]): Promise<Session[]> {
  const { project } = await engine.openProject({ objective: "all of it" });
  const first = await engine.open({ objective: "one", labels: { team: "web", "2026": "yes" }, project });
  const sessions = [first];
  let session = first;
  for (const [way, size] of ways) {
    if (way === 22) {
      await session.rewind(1);
      continue;
    }
    if (way >= 30) {
      await forwardCall(engine, session, way, size);
      continue;
    }
    if (way >= 20) {
      const parent = session;
      session =
        way % 2 === 0
          ? await parent.fork({ name: "fork" })
          : await engine.open({ objective: "next", from: parent.id });
      sessions.push(session);
      continue;
    }
    await session.append("go");
    await using drive = await session.drive();
    const { turn, reserved } = (await drive.state()).standing;
    // What a runner writes that takes over from one that died.
    if (reserved !== null && reserved.isForwarded !== true) await drive.fail({ error: "crashed" });
    if (turn === null) await drive.begin();
    if (way === 16) {
      await drive.request({ model: "acme/m0", reserve: { tokens: 7, nanoUsd: 7 + size } });
      continue;
    }
    await callModel(drive, session, way, size);
    await drive.end();
  }
  return sessions;
}

const sha = "0".repeat(64);

async function forwardCall(engine: Engine, session: Session, way: number, size: number): Promise<void> {
  const { writer, actor } = internalsOf(engine);
  const { turn, status, reserved: open } = (await writer.current(session.id)).standing;
  if (turn !== null || status !== "open" || open !== null) return;
  const model = "acme/m0";
  const known = { messages: 1, known: 0, chain: sha, bytes: 9, settings: sha };
  const reserved = way === 33 ? { tokens: 9 } : { tokens: 9, nanoUsd: 9 + size };
  const asked = { provider: "acme", model, path: "/v1/messages", ...known, reserved };
  const forwarded = await writer.change(
    session.id,
    { do: "forward", entries: [], body: asked, content: { sent: sha } },
    { actor },
  );
  const requestSeq = forwarded.headSeq;
  const usage = { inputTokens: 5, outputTokens: size };
  const rest = { requestSeq, answer: null };
  if (way === 30) {
    // Reasoning that the provider may bill.
    const bound = size % 2 === 0 ? {} : { unconfirmed: { tokens: 5, nanoUsd: 6 } };
    const body = { model, status: 200, usage, costNanoUsd: size, ...bound, bytes: 3, ms: 1 };
    await writer.change(session.id, { do: "pass-on", ...rest, body, content: { received: sha } }, { actor });
  } else if (way === 31) {
    const bound = { tokens: 3, nanoUsd: 4 };
    const body = { model, error: "dropped", usage, costNanoUsd: size, unconfirmed: bound };
    await writer.change(session.id, { do: "fail-forwarded", ...rest, body, content: undefined }, { actor });
  }
}

const shownOf = ({ nanoUsd, unconfirmedNanoUsd, unpriced }: Spend) => ({
  nanoUsd,
  unconfirmedNanoUsd,
  unpriced,
});

const untilStopped = () => AbortSignal.abort();
/** What `skein … --json` prints, line by line. */
async function printed(words: readonly string[], path: string): Promise<Record<string, unknown>[]> {
  const surface = collectingSurface(null);
  const code = await runWords([...words, "--store", path, "--json"], { surface, untilStopped });
  assert.equal(code, 0, surface.collected.stderr);
  const lines = surface.collected.stdout.split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** A surface gives the amounts of some sessions by id; `spend` is what the fold has. More are added here. */
type Surface = (place: FilePlace, spend: ReadonlyMap<string, Spend>) => Promise<void>;
export const surfaces: Record<string, Surface> = {
  async "engine.cost"({ engine }, spend) {
    for (const { group, ...row } of await engine.cost({ by: "session" }))
      assert.deepEqual(row, spend.get(group ?? ""));
    const all = total([...spend.values()]);
    for (const by of ["session", "agent", "model", "day", "user", "label:team", "label:2026"])
      assert.deepEqual(total(await engine.cost({ by })), all, by);
    const [session = "", one] = [...spend].at(-1) ?? [];
    assert.deepEqual(total(await engine.cost({ session })), one);
    // Forks, children and successors of one session are one family.
    assert.deepEqual(total(await engine.cost({ session, family: true })), all);
  },
  async "state().cost"({ engine }, spend) {
    for (const [id, one] of spend) assert.deepEqual((await (await engine.session(id)).state()).cost, one);
  },
  async lists({ engine }, spend) {
    const { rows } = await engine.sessions({});
    assert.equal(rows.length, spend.size);
    for (const row of rows)
      assert.deepEqual(shownOf(row as never), shownOf(spend.get(row.session) ?? noSpend));
  },
  async "the view costs"({ engine }, spend) {
    const { rows } = await engine.query(
      `SELECT session, sum(calls), sum(input_tokens), sum(output_tokens), sum(nano_usd),
        sum(nano_usd IS NULL), sum(estimated), sum(unconfirmed_tokens), sum(unconfirmed_nano_usd),
        sum(unpriced)
       FROM costs GROUP BY session`,
    );
    for (const row of rows) {
      const { group, ...found } = costRow(row);
      assert.deepEqual(found, spend.get(group ?? ""));
      assert.equal(Number(row[9]), found.unpriced);
    }
    assert.equal(rows.length, [...spend.values()].filter(({ calls }) => calls > 0).length);
  },
  async HTTP({ open }, spend) {
    await using server = await served({ store: await open() });
    const { token } = server;
    const costs = fine(await server.call("engine.cost", { params: { by: "session" }, token })) as CostRow[];
    for (const { group, ...row } of costs) assert.deepEqual(row, spend.get(group ?? ""));
    const list = fine(await server.call("engine.sessions", { token })) as {
      rows: (Spend & { session: string })[];
    };
    assert.equal(list.rows.length, spend.size);
    for (const row of list.rows) assert.deepEqual(shownOf(row), shownOf(spend.get(row.session) ?? noSpend));
  },
  async "the project"({ engine, path }, spend) {
    const [row] = await engine.projects();
    // A family without a project.
    if (row === undefined) return;
    const all = total([...spend.values()]);
    assert.equal(row.sessions, spend.size);
    assert.deepEqual(row.cost, shownOf(all));
    assert.deepEqual((await engine.project(row.project)).cost, shownOf(all));
    for (const by of ["session", "agent", "model", "day", "label:team"])
      assert.deepEqual(total(await engine.cost({ project: row.project, by })), all, by);
    const [listed] = await printed(["project"], path);
    assert.deepEqual(listed?.["cost"], shownOf(all));
  },
  async "the command line"({ path }, spend) {
    for (const { session, ...row } of await printed(["cost"], path))
      assert.deepEqual(row, spend.get(String(session)));
    const listed = await printed(["ps", "--all"], path);
    assert.equal(listed.length, spend.size);
    for (const { id, ...row } of listed)
      assert.deepEqual(shownOf(row as never), shownOf(spend.get(String(id)) ?? noSpend));
    for (const [id, one] of spend) {
      const [shown] = await printed(["show", id], path);
      assert.deepEqual(shown?.["cost"], one);
    }
  },
};

async function compared(place: FilePlace, ids: readonly string[]): Promise<void> {
  const spend = new Map<string, Spend>();
  for (const id of ids) spend.set(id, spendOf(await (await place.engine.session(id)).fold()));
  for (const [name, surface] of Object.entries(surfaces)) {
    await surface(place, spend).catch((error: unknown) => {
      throw new Error(`${name}: ${(error as Error).message}`, { cause: error });
    });
  }
}

const seed = Number(process.env["SKEIN_COST_SEED"] ?? 20_261_117);
const moves = fc.array(
  fc.tuple(fc.constantFrom(0, 1, 2, 3, 4, 5, 6, 7, 9, 14, 16, 20, 21, 22, 30, 31, 32, 33), fc.nat(500)),
  {
    minLength: 1,
    maxLength: 10,
  },
);

test("every surface gives the amounts of the fold, to the nano-dollar", async () => {
  console.log(`seed ${seed}`);
  const one = async (ways: readonly (readonly [number, number])[]): Promise<void> => {
    await using place = await inFile();
    const sessions = await live(place.engine, ways);
    const ids = sessions.map(({ id }) => id);
    if (ways.length > 10) await compared(place, ids);
    // Packed, and from an index that was made anew.
    for (const { id } of sessions) await place.store.pack(id, Number.MAX_SAFE_INTEGER);
    await place.engine.rebuild();
    await compared(place, ids);
  };
  await one(
    [0, 1, 2, 3, 4, 5, 6, 7, 9, 14, 22, 30, 31, 32, 30, 33, 1, 32, 20, 16, 20, 4, 21, 3, 16].map(
      (way) => [way, 40 + way] as const,
    ),
  );
  await fc.assert(fc.asyncProperty(moves, one), { ...cases(2), seed });
});

test("a parent, its child and calls of an unknown price are one family everywhere", async () => {
  await using place = await inFile();
  const lines: Line[] = [
    [use("open", { objective: "Book the hotel", wait: true })],
    "Booked.",
    "Done.",
    "Done.",
  ];
  const engine = engineWith(scripted(lines), { store: await place.open(), world: realWorld() });
  const parent = await engine.open({ objective: "Plan the trip", labels: { team: "web" } });
  await parent.append("Go.");
  await parent.run();
  const { rows } = await engine.sessions({});
  assert.equal(rows.length, 2, "the child");
  for (const { session } of rows) await (await engine.session(session)).run();
  await compared(
    place,
    rows.map(({ session }) => session),
  );
  await engine.close();
});
