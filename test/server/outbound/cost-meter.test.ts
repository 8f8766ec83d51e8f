/** Money and tokens in metrics and telemetry: the totals of `engine.cost`, and counters that only grow. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { StoredRecord } from "../../../src/core/chain.ts";
import { addSpend, noSpend, type Spend } from "../../../src/core/budget/money.ts";
import { realWorld } from "../../../src/runtime/world.ts";
import { makeMetrics } from "../../../src/server/outbound/metrics.ts";
import type { OtlpMeasure, Otlp, SumMeasure } from "../../../src/server/outbound/otlp.ts";
import { costFigures, costMetrics, type Figure } from "../../../src/server/outbound/cost-metrics.ts";
import { makeCostMeter, type CostMeter } from "../../../src/server/outbound/cost-meter.ts";
import { makeTelemetry } from "../../../src/server/outbound/telemetry.ts";
import type { Store } from "../../../src/store/port.ts";
import { kind } from "../../kind.ts";
import { live, moves, total } from "../../runtime/read/cost-lives.ts";
import { inFile, workspace } from "../../runtime/place.ts";
import { served } from "../served.ts";
import { until } from "../until.ts";

const seed = Number(process.env["SKEIN_COST_SEED"] ?? 20_261_117);

async function feedOf(store: Store): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for (let position: string | null = null; ;) {
    const page = await store.feed(position, 200);
    if (page.records.length === 0) return records;
    records.push(...page.records);
    ({ position } = page);
  }
}

const withModel = (figures: readonly Figure[], model: string, more: object = {}): number =>
  figures
    .filter(({ labels }) =>
      Object.entries({ model, ...more }).every(([name, value]) => labels[name] === value),
    )
    .reduce((sum, { count }) => sum + count, 0);

type Figures = Readonly<Record<string, readonly Figure[]>>;

/** The amounts of one model, put together from its series. */
const spendIn = (figures: Figures, model: string): Spend => {
  const sum = (key: string, more: object = {}): number => withModel(figures[key] ?? [], model, more);
  return {
    calls: sum("calls") + sum("open"),
    inputTokens: sum("tokens", { direction: "input" }),
    outputTokens: sum("tokens", { direction: "output" }),
    nanoUsd: Math.round(sum("cost") * 1e9),
    unpriced: sum("unpriced") + sum("open", { price: "unknown" }),
    estimated: sum("estimated"),
    unconfirmedTokens: sum("unconfirmedTokens"),
    unconfirmedNanoUsd: Math.round(sum("unconfirmedCost") * 1e9),
  };
};

const figuresOf = (meter: CostMeter): Figures => costFigures(meter.models());

/** The values of all counters, by series. */
function countersOf(meter: CostMeter): Map<string, number> {
  const figures = figuresOf(meter);
  return new Map(
    costMetrics
      .filter(({ isMonotonic }) => isMonotonic)
      .flatMap(({ key }) =>
        (figures[key] ?? []).map(({ labels, count }) => [`${key} ${JSON.stringify(labels)}`, count] as const),
      ),
  );
}

async function checkMonotone(store: Store, records: readonly StoredRecord[]): Promise<CostMeter> {
  const meter = makeCostMeter();
  let before = countersOf(meter);
  for (const record of records) {
    await meter.read(store, [record]);
    const now = countersOf(meter);
    for (const [series, count] of before) assert.ok((now.get(series) ?? -1) >= count, series);
    for (const { model, unconfirmedNanoUsd, unconfirmedTokens } of meter.models())
      assert.ok((unconfirmedNanoUsd ?? 0) >= 0 && unconfirmedTokens >= 0, `${model} at ${record.seq}`);
    before = now;
  }
  return meter;
}

test("generated lives: each model has the amounts of engine.cost, and no counter goes down", async () => {
  console.log(`seed ${seed}`);
  await fc.assert(
    fc.asyncProperty(moves, fc.nat(100), async (ways, cut) => {
      await using place = await inFile();
      await live(place.engine, ways);
      const records = await feedOf(place.store);
      const meter = await checkMonotone(place.store, records);
      const expected = await place.engine.cost({ by: "model" });
      for (const { group, ...spend } of expected)
        assert.deepEqual(spendIn(figuresOf(meter), group ?? ""), spend, `${group}`);
      // A server that starts in the middle of it.
      await checkMonotone(place.store, records.slice(cut % records.length));
    }),
    { numRuns: 6, seed },
  );
});

test("a page that could not be read is not counted twice", async () => {
  await using place = await inFile();
  await live(place.engine, [
    [0, 5],
    [2, 7],
  ]);
  const records = await feedOf(place.store);
  const failed = records.find(({ type }) => type === "model.failed")!;
  const bare = {
    ...failed,
    cause: 1,
    body: JSON.stringify({ model: "acme/m0", error: "crashed", costNanoUsd: null }),
  };
  const meter = makeCostMeter();
  const broken = { read: async () => Promise.reject(new Error("away")) };
  await assert.rejects(meter.read(broken, [...records, bare]), /away/);
  assert.deepEqual(meter.models(), []);
});

test("a record of 0.4 that says no bound has that of its request, also from before the start", async () => {
  await using place = await inFile();
  await live(place.engine, [
    [0, 5],
    [0, 5],
  ]);
  const records = await feedOf(place.store);
  const asked = records.findLast(({ type }) => type === "model.requested")!;
  const body = { model: "acme/m0", error: "crashed", retryable: true, costNanoUsd: null };
  const lost = { ...asked, type: "model.failed", cause: asked.seq, body: JSON.stringify(body) };
  const meter = makeCostMeter();
  await meter.read(place.store, [lost]);
  const { reserved } = JSON.parse(asked.body) as { reserved: { nanoUsd: number; tokens: number } };
  const [{ unconfirmedNanoUsd, unconfirmedTokens }] = meter.models() as [ReturnType<CostMeter["models"]>[0]];
  assert.deepEqual({ nanoUsd: unconfirmedNanoUsd, tokens: unconfirmedTokens }, reserved);
});

test("an unknown price has no series in dollars", async () => {
  await using place = await inFile();
  const session = await place.engine.open({ objective: "x" });
  await session.append("go");
  await using drive = await session.drive();
  await drive.begin();
  await drive.request({ model: "acme/free", reserve: { tokens: 10 } });
  const open = await checkMonotone(place.store, await feedOf(place.store));
  const shown = figuresOf(open);
  assert.deepEqual([shown["cost"], shown["unconfirmedCost"]], [[], []]);
  assert.equal(withModel(shown["open"] ?? [], "acme/free", { price: "unknown" }), 1);
  const usage = { inputTokens: 3, outputTokens: 4 };
  await drive.respond({ finish: "stop", usage, costNanoUsd: null, blocks: [{ type: "text", text: "ok" }] });
  const ended = figuresOf(await checkMonotone(place.store, await feedOf(place.store)));
  assert.deepEqual([ended["cost"], ended["unconfirmedCost"]], [[], []]);
  assert.equal(withModel(ended["unpriced"] ?? [], "acme/free"), 1);
  assert.equal(withModel(ended["tokens"] ?? [], "acme/free"), 7);
});

/** The series of /metrics, by the keys of the table. */
function figuresIn(text: string): Figures {
  const figures: Record<string, Figure[]> = {};
  for (const line of text.split("\n")) {
    const [, name, labels = "", count] = /^([a-z_]+)\{([^}]*)\} (\S+)$/.exec(line) ?? [];
    const metric = costMetrics.find(({ prometheus }) => prometheus === name);
    if (metric === undefined) continue;
    const pairs = [...labels.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, key, value]) => [key, value]);
    const found = Object.fromEntries(pairs) as Figure["labels"];
    (figures[metric.key] ??= []).push({ labels: found, count: Number(count) });
  }
  return figures;
}

const figuresSent = (measures: readonly (OtlpMeasure | SumMeasure)[]): Figures =>
  Object.fromEntries(
    costMetrics.map(({ key, otlp }) => {
      const found = measures.find(({ name }) => name === otlp);
      const points = found !== undefined && "points" in found ? found.points() : [];
      return [
        key,
        points.map(({ labels, count }) => ({
          labels: {
            model: `${labels["gen_ai.provider.name"]}/${labels["gen_ai.request.model"]}`,
            direction: labels["gen_ai.token.type"] ?? "",
            price: labels["skein.cost.price"] ?? "",
          },
          count,
        })),
      ];
    }),
  );

test("/metrics and OTLP give the totals of engine.cost", async () => {
  const world = realWorld();
  const lasting = kind().lasting();
  const metrics = makeMetrics(world);
  const measures: (OtlpMeasure | SumMeasure)[] = [];
  const otlp: Pick<Otlp, "span" | "measure"> = {
    span: () => undefined,
    measure: (measure) => void measures.push(measure),
  };
  {
    const store = await lasting.open({ world, workspace });
    await using place = await served({ store, besides: [metrics.beside] });
    const fail = (error: unknown): void => assert.fail(String(error));
    const following = [
      await metrics.follow(place.engine, fail),
      await makeTelemetry(otlp).follow(place.engine, fail),
    ];
    const ways = [0, 1, 2, 3, 4, 5, 6, 7, 9, 20, 14, 21, 12, 16].map((way, at) => [way, at * 31] as const);
    await live(place.engine, ways);
    const expected = await place.engine.cost({ by: "model" });
    const calls = total(expected).calls;
    const read = async (): Promise<Figures> => figuresIn(await (await place.fetch("/metrics")).text());
    const callsIn = (figures: Figures): number =>
      [...(figures["calls"] ?? []), ...(figures["open"] ?? [])].reduce((sum, { count }) => sum + count, 0);
    await until(
      async () => callsIn(await read()) === calls && callsIn(figuresSent(measures)) === calls,
      30_000,
    );
    const [scraped, sent] = [await read(), figuresSent(measures)];
    for (const { group, ...spend } of expected) {
      assert.deepEqual(spendIn(scraped, group ?? ""), spend, `/metrics ${group}`);
      assert.deepEqual(spendIn(sent, group ?? ""), spend, `OTLP ${group}`);
    }
    const { inputTokens, outputTokens } = expected.reduce<Spend>(addSpend, noSpend);
    const used = measures.find(({ name }) => name === "gen_ai.client.token.usage") as OtlpMeasure;
    const sums = used.histogram.series().reduce((sum, series) => sum + series.sum, 0);
    assert.equal(sums, inputTokens + outputTokens);
    await Promise.all(following.map((one) => one.stop()));
  }
  lasting.remove();
});
