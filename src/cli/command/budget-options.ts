/** The options that spell a budget. */
import type { Budget } from "../../core/budget/commands.ts";
import type { Amounts } from "../../core/state.ts";
import { present } from "../../core/present.ts";
import type { Options, OptionValues } from "./verb.ts";

export const budgetOptions = {
  usd: { type: "number", value: "DOLLARS", what: "at most this much money" },
  tokens: { type: "count", value: "N", what: "at most this many tokens" },
  steps: { type: "count", value: "N", what: "at most this many steps" },
  turns: { type: "count", value: "N", what: "at most this many turns" },
  "tool-calls": { type: "count", value: "N", what: "at most this many tool calls" },
  wall: { type: "span", value: "SPAN", what: "at most this much active time, such as 30m" },
} as const satisfies Options;

/** Limits as the options that set them. */
export function limitWords(limits: Amounts): string[] {
  const { nanoUsd, tokens, steps, turns, toolCalls, wallMs } = limits;
  const words: readonly (readonly [keyof typeof budgetOptions, string | number | undefined])[] = [
    ["usd", nanoUsd === undefined ? undefined : Number((nanoUsd / 1e9).toFixed(9))],
    ["tokens", tokens],
    ["steps", steps],
    ["turns", turns],
    ["tool-calls", toolCalls],
    ["wall", wallMs === undefined ? undefined : `${Math.ceil(wallMs / 1_000)}s`],
  ];
  return words.flatMap(([name, most]) => (most === undefined ? [] : [`--${name} ${most}`]));
}

/** The given budget; undefined without one. */
export function budgetOf(options: OptionValues<typeof budgetOptions>): Budget | undefined {
  const { usd, tokens, steps, turns, wall: wallMs } = options;
  const budget: Budget = present({ usd, tokens, steps, turns, toolCalls: options["tool-calls"], wallMs });
  return Object.keys(budget).length === 0 ? undefined : budget;
}
