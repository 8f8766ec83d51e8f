/** What the built-in list says of a model, by its name with or without provider and date. */
import type { TokenPrice } from "../../core/budget/price.ts";
import models from "../../model/models.json" with { type: "json" };

interface ListedModel {
  readonly price?: TokenPrice | null;
  readonly outputTokensMax?: number;
}

const listed = new Map(
  Object.entries(models.models as Readonly<Record<string, ListedModel>>).map(([name, facts]) => [
    name.slice(name.indexOf("/") + 1),
    facts,
  ]),
);

/** `claude-sonnet-5-5-20260929`, `anthropic/claude-sonnet-5-5`. Null: the list does not have it. */
function find(model: string): ListedModel | null {
  const name = model.slice(model.lastIndexOf("/") + 1);
  return listed.get(name) ?? listed.get(name.replace(/-\d{8}$/, "")) ?? null;
}

export const priceOf = (model: string): TokenPrice | null => find(model)?.price ?? null;

export function lookUpModel(
  model: string,
): { readonly price: TokenPrice | null; readonly outputTokensMax: number | null } | null {
  const found = find(model);
  return found === null
    ? null
    : { price: found.price ?? null, outputTokensMax: found.outputTokensMax ?? null };
}
