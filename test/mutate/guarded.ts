/** Files that guard durability, permissions, money and secrets, and how many mutants tests catch there. */
export const caughtShareMin = 0.85;

export const guarded: Readonly<Record<string, readonly string[]>> = {
  durability: [
    "src/core/chain.ts",
    "src/runtime/keeper.ts",
    "src/runtime/lease.ts",
    "src/runtime/lost-answer.ts",
    "src/runtime/seal.ts",
    "src/runtime/tool-ledger.ts",
    "src/runtime/writer.ts",
    "src/server/kept-answer.ts",
    "src/store/parts.ts",
    "src/store/memory-log.ts",
    "src/store/sqlite/append.ts",
    "src/store/sqlite/receive.ts",
    "src/store/sqlite/writer.ts",
  ],
  permissions: [
    "src/core/access-token.ts",
    "src/core/permission-order.ts",
    "src/core/permission.ts",
    "src/runtime/govern/rules.ts",
    "src/runtime/tokens.ts",
    "src/server/authorize.ts",
    "src/tool/root.ts",
  ],
  money: ["src/core/budget.ts", "src/core/money.ts", "src/core/price.ts"],
  secrets: [
    "src/core/secret.ts",
    "src/core/secret-form.ts",
    "src/core/secret-look.ts",
    "src/core/secret-reading.ts",
    "src/runtime/redact.ts",
  ],
};
