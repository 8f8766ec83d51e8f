/** Sets the limits of a session, or shows what is used of them. */
import { budgetLeft } from "../../core/budget/budget.ts";
import { SkeinError } from "../../core/error.ts";
import { spendOf, spendText, type Spend } from "../../core/budget/money.ts";
import { resources, type Amounts, type UsedAmounts } from "../../core/state.ts";
import type { Session } from "../../runtime/engine/session.ts";
import { budgetOf, budgetOptions } from "../command/budget-options.ts";
import { present } from "../command/input.ts";
import { money } from "../format/money.ts";
import { roughly } from "../../core/text/utc.ts";
import type { Screen } from "../command/screen.ts";
import { table } from "../format/table.ts";
import { count, plural } from "../format/text.ts";
import { verb } from "../command/verb.ts";

export const budget = verb({
  name: "budget",
  line: "Limit what a session may use, or show what it has used; at a limit it is suspended and says why.",
  args: ["ID"],
  options: {
    ...budgetOptions,
    unlimited: { type: "flag", what: "no limits" },
    reason: { type: "text", what: "why; it is kept in the log" },
  },
  about: [
    "Without options it shows limits, use and what is left. New limits take the place of those before; " +
      "what is not named is unlimited. They count all that the session ever used, so more is a higher " +
      "limit; a session that a limit has suspended may go on then. Session tools (record, recall, send …) " +
      "do not count as tool calls.",
  ],
  examples: [
    "skein budget 4x8kz1  # what is used and what is left",
    "skein budget 4x8kz1 --usd 2 --steps 40  # two dollars and forty steps in all",
    "skein budget 4x8kz1 --unlimited  # no limits any more",
  ],
  async run({ args, options, out, session }) {
    const limits = budgetOf(options);
    if (limits !== undefined && options.unlimited) {
      throw new SkeinError("invalid", "budget: limits and --unlimited are both given", {
        hint: "leave one out",
      });
    }
    const found = await session(args.ID);
    if (limits === undefined && !options.unlimited) {
      if (options.reason === undefined) return show(out, found);
      throw new SkeinError("invalid", "budget: a reason is given, but no limits", {
        hint: "for example: skein budget ID --usd 2 --steps 40",
      });
    }
    const { seq, headSeq, duplicate } = await found.budget(limits ?? {}, present({ reason: options.reason }));
    const { limits: now } = (await found.fold()).standing;
    const left = resources.flatMap((one) => (now[one] === undefined ? [] : [shownLimit(one, now[one])]));
    await out.answer({ session: found.id, seq, headSeq, duplicate, limits: now }, () => [
      `budget set at ${seq} of ${found.id}: ${left.length === 0 ? "no limits" : left.join(", ")}`,
    ]);
    return undefined;
  },
});

const names: Readonly<Record<keyof UsedAmounts, string>> = {
  nanoUsd: "money",
  tokens: "tokens",
  steps: "steps",
  turns: "turns",
  toolCalls: "tool calls",
  wallMs: "time at work",
};

async function show(out: Screen, session: Session): Promise<void> {
  const state = await session.fold();
  const { limits, used, allotted, reserved, unpriced } = state.standing;
  const left = budgetLeft(state);
  const held: Amounts = reserved?.amounts ?? {};
  const cost = spendOf(state);
  const rows = resources.map((resource) => [
    names[resource],
    usedText(resource, used[resource], cost),
    limits[resource] === undefined ? "unlimited" : amount(resource, limits[resource]),
    left[resource] === undefined ? "" : amount(resource, left[resource]),
  ]);
  const columns = [
    { title: "" },
    { title: "USED", align: "right" },
    { title: "LIMIT", align: "right" },
    { title: "LEFT", align: "right" },
  ] as const;
  const value = { session: session.id, limits, used, left, allotted, reserved: held, unpriced, cost };
  await out.answer(value, () => [
    ...table(columns, rows, { width: out.columns, heading: out.bold }),
    ...(unpriced === 0 ? [] : [`${plural(unpriced, "call")} of an unknown price on top`]),
    ...(cost.unconfirmedTokens === 0
      ? []
      : ["unconfirmed: reserved by model calls not settled yet; the budget counts both"]),
  ]);
}

/** `$0.015 + up to $0.17 unconfirmed`: the same words as every other surface. */
function usedText(resource: keyof UsedAmounts, value: number, cost: Spend): string {
  const { nanoUsd, unconfirmedNanoUsd, inputTokens, outputTokens, unconfirmedTokens } = cost;
  if (resource === "nanoUsd") return spendText({ nanoUsd, unconfirmedNanoUsd, unpriced: 0 });
  if (resource !== "tokens" || unconfirmedTokens === 0) return amount(resource, value);
  return `${count(inputTokens + outputTokens)} + up to ${count(unconfirmedTokens)} unconfirmed`;
}

const shownLimit = (resource: keyof UsedAmounts, most: number): string =>
  `${names[resource]} ${amount(resource, most)}`;

function amount(resource: keyof UsedAmounts, value: number): string {
  if (resource === "nanoUsd") return money(value);
  return resource === "wallMs" ? roughly(value) : count(value);
}
