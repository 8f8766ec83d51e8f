/** The content of a context window, as shares of a bar. */
import type { PartKind } from "../../core/context/source.ts";

export interface WindowFill {
  readonly reasons: readonly { readonly kind: PartKind; readonly tokens: number }[];
  readonly tokens: number;
  readonly windowTokens: number | null;
  readonly zones: { readonly strainedTokens: number | null; readonly fullTokens: number | null };
}

export interface Share {
  readonly kind: PartKind;
  readonly name: string;
  readonly tokens: number;
  /** Of the whole bar, 0 to 100. */
  readonly percent: number;
}

export interface WindowShares {
  /** In context order; empty ones are left out. */
  readonly shares: readonly Share[];
  /** Null if the context window is unknown. */
  readonly free: number | null;
  /** Where zones begin, 0 to 100 of the bar. */
  readonly marks: readonly { readonly zone: "strained" | "full"; readonly percent: number }[];
}

export const kindNames: Readonly<Record<PartKind, string>> = {
  settings: "Settings",
  tools: "Tools",
  instructions: "Instructions",
  document: "Documents",
  memory: "Memory",
  pinned: "Pinned items",
  summary: "Summary",
  items: "Items",
  transcript: "Transcript",
};
const kinds = Object.keys(kindNames) as readonly PartKind[];

export function sharesOf({ reasons, tokens, windowTokens, zones }: WindowFill): WindowShares {
  const whole = Math.max(windowTokens ?? 0, tokens, 1);
  const percentOf = (part: number): number => (part / whole) * 100;
  const shares = kinds.flatMap((kind) => {
    const sum = reasons.reduce((all, reason) => all + (reason.kind === kind ? reason.tokens : 0), 0);
    return sum === 0 ? [] : [{ kind, name: kindNames[kind], tokens: sum, percent: percentOf(sum) }];
  });
  const marks = (
    [
      ["strained", zones.strainedTokens],
      ["full", zones.fullTokens],
    ] as const
  ).flatMap(([zone, from]) => (from === null || from > whole ? [] : [{ zone, percent: percentOf(from) }]));
  return { shares, free: windowTokens === null ? null : Math.max(0, windowTokens - tokens), marks };
}
