/** Skein's problems as what a provider would say. */
import type { ProblemCode } from "../../protocol/problem.ts";
import type { Refusal } from "./wire.ts";

const refusals: Partial<Record<ProblemCode, Refusal>> = {
  unauthorized: "unauthorized",
  forbidden: "forbidden",
  "too-large": "too-large",
  invalid: "invalid",
  "wrong-type": "invalid",
  "not-found": "not-found",
};

export const refusalOf = (code: ProblemCode): Refusal => refusals[code] ?? "unavailable";
