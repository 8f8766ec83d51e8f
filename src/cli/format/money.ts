/** Money as people read it: the texts of src/core/budget/money.ts. */
import { moneyText, type Spend } from "../../core/budget/money.ts";
import { count } from "./text.ts";

/** `$12.34`; small amounts keep up to three significant digits. Null is an unknown price. */
export const money = (nanoUsd: number | null): string =>
  nanoUsd === null ? "an unknown price" : moneyText(nanoUsd);

/** `1,200 + up to 17,000 unconfirmed`: those that are counted, and the rest of what was reserved. */
export const tokensText = ({ inputTokens, outputTokens, unconfirmedTokens }: Spend): string =>
  `${count(inputTokens + outputTokens)}${
    unconfirmedTokens === 0 ? "" : ` + up to ${count(unconfirmedTokens)} unconfirmed`
  }`;
