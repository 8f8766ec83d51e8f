/** Files that guard durability, permissions, money and secrets, and how many mutants tests catch there. */
export const caughtShareMin = 0.85;

export const guarded: Readonly<Record<string, readonly string[]>> = {
  durability: [
    "src/core/chain.ts",
    "src/runtime/turn/lease-keeper.ts",
    "src/runtime/turn/lease.ts",
    "src/runtime/log/lost-answer.ts",
    "src/runtime/log/seal.ts",
    "src/runtime/turn/tool-ledger.ts",
    "src/runtime/log/writer.ts",
    "src/server/http/stored-response.ts",
    "src/store/judge.ts",
    "src/store/memory/log.ts",
    "src/store/sqlite/append.ts",
    "src/store/sqlite/receive.ts",
    "src/store/sqlite/writer.ts",
  ],
  permissions: [
    "src/core/workspace/access-token.ts",
    "src/core/tool/permission-order.ts",
    "src/core/tool/permission.ts",
    "src/runtime/govern/rules.ts",
    "src/runtime/workspace/tokens.ts",
    "src/server/auth/authorize.ts",
    "src/tool/root.ts",
  ],
  money: ["src/core/budget/budget.ts", "src/core/budget/money.ts", "src/core/budget/price.ts"],
  secrets: [
    "src/core/secret/redactor.ts",
    "src/core/secret/encoding.ts",
    "src/core/secret/pattern.ts",
    "src/core/secret/decoding.ts",
    "src/runtime/log/redact.ts",
  ],
};
