/** The metrics of model costs: their names for Prometheus and OTLP, and their series. */
import { addSpend, type Spend } from "../../core/budget/money.ts";
import type { Labels } from "./histogram.ts";
import type { ModelCost } from "./cost-meter.ts";

export interface Figure {
  readonly labels: Labels;
  readonly count: number;
}

interface CostMetric {
  readonly key: CostKey;
  readonly prometheus: string;
  readonly otlp: string;
  readonly unit: string;
  readonly help: string;
  readonly isMonotonic: boolean;
}

type CostKey =
  | "calls"
  | "unpriced"
  | "estimated"
  | "tokens"
  | "cost"
  | "open"
  | "unconfirmedTokens"
  | "unconfirmedCost";

export const costMetrics: readonly CostMetric[] = [
  {
    key: "calls",
    prometheus: "skein_model_calls_total",
    otlp: "skein.model.calls",
    unit: "{call}",
    help: "Model calls that ended.",
    isMonotonic: true,
  },
  {
    key: "unpriced",
    prometheus: "skein_model_calls_unpriced_total",
    otlp: "skein.model.calls.unpriced",
    unit: "{call}",
    help: "Model calls of unknown price. Their cost is in no other metric.",
    isMonotonic: true,
  },
  {
    key: "estimated",
    prometheus: "skein_model_calls_estimated_total",
    otlp: "skein.model.calls.estimated",
    unit: "{call}",
    help: "Model calls whose tokens Skein counted.",
    isMonotonic: true,
  },
  {
    key: "tokens",
    prometheus: "skein_model_tokens_total",
    otlp: "skein.model.tokens",
    unit: "{token}",
    help: "Tokens of model calls, reported by the provider or estimated by Skein.",
    isMonotonic: true,
  },
  {
    key: "cost",
    prometheus: "skein_model_cost_usd_total",
    otlp: "skein.model.cost",
    unit: "USD",
    help: "Confirmed cost of model calls with a known price.",
    isMonotonic: true,
  },
  {
    key: "open",
    prometheus: "skein_model_calls_open",
    otlp: "skein.model.calls.open",
    unit: "{call}",
    help: "Model calls that are open now.",
    isMonotonic: false,
  },
  {
    key: "unconfirmedTokens",
    prometheus: "skein_model_unconfirmed_tokens",
    otlp: "skein.model.unconfirmed.tokens",
    unit: "{token}",
    help: "Most tokens that open, lost and interrupted calls may have used besides.",
    isMonotonic: false,
  },
  {
    key: "unconfirmedCost",
    prometheus: "skein_model_unconfirmed_usd",
    otlp: "skein.model.unconfirmed.cost",
    unit: "USD",
    help: "Most that open, lost and interrupted calls may have cost besides.",
    isMonotonic: false,
  },
];

/** The series of each metric. A model whose price is unknown has none in dollars: unknown is not zero. */
export function costFigures(models: readonly ModelCost[]): Readonly<Record<CostKey, readonly Figure[]>> {
  const each = (of: (model: ModelCost) => readonly Figure[]): readonly Figure[] => models.flatMap(of);
  const sum = (pick: (spend: Spend) => number): readonly Figure[] =>
    each(({ model, reported, estimated }) => [
      { labels: { model }, count: pick(addSpend(reported, estimated)) },
    ]);
  return {
    calls: sum(({ calls }) => calls),
    unpriced: sum(({ unpriced }) => unpriced),
    estimated: sum(({ estimated }) => estimated),
    tokens: each((one) =>
      bySource(one).flatMap(({ labels, spend }) => [
        { labels: { ...labels, direction: "input" }, count: spend.inputTokens },
        { labels: { ...labels, direction: "output" }, count: spend.outputTokens },
      ]),
    ),
    cost: each((one) =>
      one.isPriced ? bySource(one).map(({ labels, spend }) => ({ labels, count: usd(spend.nanoUsd) })) : [],
    ),
    open: each(({ model, open }) => [
      { labels: { model, price: "known" }, count: open.priced },
      { labels: { model, price: "unknown" }, count: open.unpriced },
    ]),
    unconfirmedTokens: each(({ model, unconfirmedTokens: count }) => [{ labels: { model }, count }]),
    unconfirmedCost: each(({ model, unconfirmedNanoUsd: bound }) =>
      bound === null ? [] : [{ labels: { model }, count: usd(bound) }],
    ),
  };
}

const usd = (nanoUsd: number): number => nanoUsd / 1e9;

const bySource = ({ model, reported, estimated }: ModelCost): { labels: Labels; spend: Spend }[] => [
  { labels: { model, usage: "reported" }, spend: reported },
  { labels: { model, usage: "estimated" }, spend: estimated },
];
