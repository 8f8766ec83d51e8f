/** Says what model calls have cost, by session, agent, model, day, user or label. */
import { shortId } from "../../core/text/short-id.ts";
import { SkeinError } from "../../core/error.ts";
import { addSpend, noSpend, spendText, type Spend } from "../../core/budget/money.ts";
import { costRow, type CostRow } from "../../runtime/read/cost.ts";
import { locateStore } from "../../store/registry.ts";
import { present } from "../command/input.ts";
import { table } from "../format/table.ts";
import { count, oneLine } from "../format/text.ts";
import { verb } from "../command/verb.ts";
import { openHere } from "./tenants.ts";

export const cost = verb({
  name: "cost",
  line: "Show what models have cost: by session, agent, model, day, user, label or tenant.",
  args: ["ID?"],
  options: {
    by: {
      type: "text",
      value: "GROUP",
      what: "session, agent, model, day, user, label:KEY or tenant; by default session; with an ID, model",
    },
    family: {
      type: "flag",
      what: "of ID with all its forks, children and successors, and those it comes from",
    },
    since: { type: "time", what: "only from this moment on" },
    until: { type: "time", what: "only before this moment" },
    daily: { type: "flag", what: "a row for each day of each group" },
  },
  about: [
    "Answers, failed calls, compactions and handoffs by a model count. An unknown price is shown as " +
      "unknown, never as zero. What no provider confirmed (a call that is open, or was lost in a crash, " +
      "and hidden reasoning of one that was interrupted) is shown beside it as an upper bound, which " +
      "budgets count.",
    "By tenant, the store must be in PostgreSQL, and the role one that is not kept to a tenant.",
  ],
  examples: [
    "skein cost  # by session, the most expensive first",
    "skein cost --by day --since 2026-11-01  # a month",
    "skein cost --by label:team  # by a label of the sessions",
    "skein cost 4x8kz1 --by model --json  # one session, for programs",
    "skein cost 4x8kz1 --family  # a session with its forks, children and successors",
  ],
  async run({ args, options, out, engine, place }) {
    if (options.family && args.ID === undefined) {
      throw new SkeinError("invalid", "cost: --family needs an ID", { hint: "any session of the family" });
    }
    const by = options.by ?? (args.ID === undefined || options.family ? "session" : "model");
    const { since, until } = options;
    const { family, daily } = options;
    const found =
      by === "tenant"
        ? await byTenant(place, args.ID, present({ since, until }))
        : await (await engine()).cost({ by, ...present({ session: args.ID, since, until }), family, daily });
    if (out.json) {
      for (const { group, ...rest } of found) await out.emit({ [by]: group, ...rest });
      return;
    }
    if (found.length === 0) {
      out.note("no model was called");
      return;
    }
    const columns = [
      ...(daily ? [{ title: "DAY" }] : []),
      { title: by.toUpperCase() },
      { title: "CALLS", align: "right" },
      { title: "TOKENS IN", align: "right" },
      { title: "OUT", align: "right" },
      { title: "COST", align: "right" },
    ] as const;
    const first = (day = ""): string[] => (daily ? [day] : []);
    const lines = found.map((row) => [...first(row.day), ...cells(nameOf(by, row), row)]);
    const sum = [...first(), ...cells("in all", found.reduce<Spend>(addSpend, noSpend))];
    const total = found.length === 1 ? [] : [sum];
    const width = out.columns;
    for (const line of table(columns, [...lines, ...total], { width, heading: out.bold }))
      await out.line(line);
  },
});

async function byTenant(
  place: string,
  id: string | undefined,
  between: { readonly since?: number; readonly until?: number },
): Promise<CostRow[]> {
  if (id !== undefined) {
    throw new SkeinError("invalid", "cost: --by tenant: expected no ID, a session is one tenant's", {
      hint: "skein cost --by tenant",
    });
  }
  if ((await locateStore(place)).tenancy === undefined) {
    throw new SkeinError(
      "refused",
      `cost: --by tenant: expected a store in PostgreSQL, got ${oneLine(place)}`,
      {
        hint: "a file is one tenant's; --store postgres://user@host/database",
      },
    );
  }
  const tenants = await openHere(place);
  try {
    const rows = (await tenants.costs(between)).map(costRow);
    return rows.toSorted((a, b) => b.nanoUsd - a.nanoUsd || b.unpriced - a.unpriced);
  } finally {
    await tenants.close();
  }
}

const nameOf = (by: string, { group }: CostRow): string =>
  group === null ? "(none)" : by === "session" ? shortId(group) : oneLine(group);

const cells = (name: string, spend: Spend): string[] => [
  name,
  count(spend.calls),
  count(spend.inputTokens),
  count(spend.outputTokens),
  spendText(spend),
];
