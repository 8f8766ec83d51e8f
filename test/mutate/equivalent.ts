/** Mutants that change nothing anyone can observe, each with the reason. Known by the text of their line. */
export interface Equivalent {
  readonly file: string;
  /** The line of the source without the space around it, or its beginning. */
  readonly line: string;
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

export const equivalent: readonly Equivalent[] = [
  {
    file: "src/core/budget/budget.ts",
    line: "if (got === undefined) return [];",
    from: "got === undefined",
    to: "false",
    why: "The rest is then not a number, which is not above zero: nothing is returned either way.",
  },
  {
    file: "src/core/budget/budget.ts",
    line: "const most = state.standing.limits[resource] ?? 0;",
    from: "0",
    to: "(0 + 1)",
    why: "Something is left of a resource only if it has a limit, so the fallback is never taken.",
  },
  ...[
    ["<=", "<"],
    ["200", "(200 + 1)"],
  ].map(([from = "", to = ""]) => ({
    file: "src/core/workspace/access-token.ts",
    line: 'const [, encoded, id, secret] = (typeof text === "string" && text.length <= 200',
    from,
    to,
    why: "The form matches at most 159 characters; the length only saves the work on long texts.",
  })),
  {
    file: "src/core/workspace/access-token.ts",
    line: "if (encoded === undefined || id === undefined || secret === undefined) return null;",
    from: "encoded === undefined || id === undefined || secret === undefined",
    to: "false",
    why: "Without a match there is no tenant's name to decode, and an empty name is refused below.",
  },
  {
    file: "src/core/workspace/access-token.ts",
    line: "if (encoded === undefined || id === undefined || secret === undefined) return null;",
    from: "||",
    to: "&&",
    why: "The three groups of the form match together or not at all.",
  },
  {
    file: "src/core/budget/money.ts",
    line: "if (costNanoUsd === null || price === null)",
    from: "||",
    to: "&&",
    why: "The usage is known here, so the cost is null exactly when the price is.",
  },
  {
    file: "src/core/budget/money.ts",
    line: "const most = costOf(price, { inputTokens: 0, outputTokens: tokens }) ?? 0;",
    from: "0",
    to: "(0 + 1)",
    why: "With a price and a usage a cost is never null, so the fallback is never taken.",
  },
];
