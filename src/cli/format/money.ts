/** Money as people read it: the texts of src/core/budget/money.ts. */
import { moneyText } from "../../core/budget/money.ts";

/** `$12.34`; small amounts keep up to three significant digits. Null is an unknown price. */
export const money = (nanoUsd: number | null): string =>
  nanoUsd === null ? "an unknown price" : moneyText(nanoUsd);
