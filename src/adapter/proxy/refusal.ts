/** Skein's problems as what a provider would say. */
import type { ProblemCode } from "../../protocol/problem.ts";
import type { ProxyRefusal } from "./wire.ts";

const refusals: Partial<Record<ProblemCode, ProxyRefusal>> = {
  unauthorized: "unauthorized",
  forbidden: "forbidden",
  "too-large": "too-large",
  invalid: "invalid",
  "wrong-type": "invalid",
  "not-found": "not-found",
};

export const refusalOf = (code: ProblemCode): ProxyRefusal => refusals[code] ?? "unavailable";
